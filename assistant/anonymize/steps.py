"""The steps over a text, in their order; both passes run them (see the package)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from assistant.anonymize.candidates import Finder
from assistant.anonymize.common import DOMAINS, ORGS, is_own, is_plain
from assistant.anonymize.labels import compiled
from assistant.anonymize.nodelists import LIST, compress, expand
from assistant.anonymize.paths import replace_paths, replace_urls, site
from assistant.anonymize.pseudonyms import Pseudonyms
from assistant.anonymize.tables import replace_tables

Step = Callable[[str, Pseudonyms], str]

_ARN = re.compile(r"\b(arn:aws[\w-]*:[\w-]*:[\w-]*:)(\d{12})?:([\w./:+=,@-]+)")
_ECR = re.compile(r"\b(\d{12})(?=\.dkr\.ecr\.)")
_ECR_PATH = re.compile(r"(\.dkr\.ecr\.[\w-]+\.amazonaws\.com/)([\w.+-]+(?:/[\w.+-]+)*)")
_AWS_ACCOUNT = re.compile(r"(?i)((?:aws[_-]?)?account[_-]?(?:id|number)?[\"']?\s*[:=]\s*[\"']?)(\d{12})\b")
_CLOUD = re.compile(
    r"(?<![\w-])(i|vpc|subnet|sg|eni|vol|ami|fs|rtb|lt|pg|igw|acl|nat|eipalloc|cr|sir|rtbassoc)-([0-9a-f]{17}|[0-9a-f]{8})(?![\w-])"
)
_MAIL = re.compile(r"(?<![\w.+/-])([A-Za-z0-9][\w.+-]*)(@|%40)((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,})(?![\w-])")
_PERSON = re.compile(
    r"(?<![\w@])([^\W\d_a-z][\w'.-]{0,30}(?: [^\W\d_a-z][\w'.-]{0,30}){1,3})(?=[\"']? <[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}>)"
)
_GIT = re.compile(r"(?<=@)((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}:)([\w.+~-]+(?:/[\w.+~-]+)*)(?=\.git\b)")
_AT = re.compile(r"(?<![\w.+/=@-])([a-z_][\w.-]*)@([A-Za-z][\w.-]*\w)(?=[:\s\]'\"$~,)]|$)")
_VERSION = re.compile(r"v?\d[\w.]*|(?:latest|sha\d+|GLIBC\S*|main|master|eth\d+|ib\d+|stable|next|plt|got|local|all)")
_ENDS = "com|org|net|edu|gov|mil|int|local|internal|lan|corp|cluster|hpc|intra|private|priv|cloud|uk|de|fr|ch|eu|jp|cn|kr|nl|se|fi|es|ca|au|at|be|pl|cz|dk|no|ru|br"
_FQDN = re.compile(rf"(?<![\w.@/-])((?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+(?:{_ENDS}))(?![\w(=-]|\.\w)")
_IMAGE = re.compile(
    r"((?:\bimage[\"']?\s*[:=]\s*[\"']?|\bimage \"|--container-image[= ]|\bIMAGE=|\b(?:docker|podman|enroot|apptainer|singularity)\b[^\n]{0,200}?(?:docker://))(?:docker://)?)([\w.-]+(?:\.[\w-]+|:\d+)[:\d]*[/#])?([\w.+-]+(?:/[\w.+-]+)*)"
)
_UUID = re.compile(r"\b(GPU|MIG)-([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\b")
_SERIAL = re.compile(
    r"(?i)(\b(?:(?:serial(?:[_ ](?:number|no))?|board id|asset tag|s/?n)[\"']?\s*[:=]\s*[\"']?|serial (?:number|no\.?) |board (?:s/?n|serial) ))(?=[A-Z0-9]*\d)([A-Z0-9]{6,})\b"
)
_V4 = re.compile(r"(?<![\w.])(?<!\d-)((?:\d{1,3}\.){3}\d{1,3})(?![\w]|\.\d)")
_V4_DASHED = re.compile(r"(?<![A-Za-z0-9])(ip-)?(\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})(?![\w]|-\d)")
_IS_VERSION = re.compile(
    r"(?i)(?:==|[~<>]=|\.so\.|version[\"']?[ :=]*(?:is )?v?|\bv|cu\d\d[ =:\"-]*|ofed\S*[ :-]*|driver[ :=]*|firmware[ :=]*|\bfw[ :=]*|release[ :=]*|lib\w+[ :=-]+|nvidia-[\w-]+\s+|\bucx[ :=-]*|build[ :=]*|cudnn[ :=]*|cublas[ :=]*)$"
)
_V6 = re.compile(
    r"(?<![\w:.])((?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|(?:fe80|f[cd][0-9a-f]{2}|[23][0-9a-f]{3}|::ffff)(?::[0-9a-f]{0,4}){1,7}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?)(?![\w:])",
    re.I,
)
_MAC = re.compile(r"(?<![\w:-])([0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5})(?![\w:-])")
_LONG_MAC = re.compile(r"(?<![\w:])((?:[0-9a-f]{2}:){12})((?:[0-9a-f]{2}:){7}[0-9a-f]{2})(?![\w:])")
_GUID = re.compile(
    r"(?i)(guid[\w ]*[\"']?\s*[:=(]?\s*[\"']?|\b(?:Switch|CA|HCA|Ca|Router)[ :\t]+\d*[ \t]*\"?|\"[HSR]-)((?:0x)?[0-9a-f]{16}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4})(?![\w:])"
)
_ANY_GUID = re.compile(r"(?i)(?<![\w:])(0x)?([0-9a-f]{16}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4})(?![\w:])")


def replace_all(text: str, names: Pseudonyms) -> str:
    """The text with its names noted or replaced."""
    if names.learning:
        names.note_own(text)
    text = replace_tables(text, names)
    lines = text.split("\n")
    distinct = list(dict.fromkeys(lines))
    if len(distinct) > 0.8 * len(lines):
        return _replaced(text, names)
    known = dict(zip(distinct, _replaced("\n".join(distinct), names).split("\n"), strict=True))
    return "\n".join([known[line] for line in lines])


def _replaced(text: str, names: Pseudonyms) -> str:
    """All steps that look at one line at a time."""
    steps, finder = _steps()
    where = finder.lines(text)
    if where is None:
        for step in steps:
            text = step(text, names)
    else:
        lines = text.split("\n")
        for step, numbers in zip(steps, where, strict=True):
            if numbers:
                changed = step("\n".join([lines[n] for n in numbers]), names).split("\n")
                for number, line in zip(numbers, changed, strict=True):
                    lines[number] = line
        text = "\n".join(lines)
    return text if names.learning else names.everywhere(text)


@cache
def _steps() -> tuple[tuple[Step, ...], Finder]:
    """The steps in their order, and what finds their lines."""
    labels = [(_label(kind, pattern), find) for kind, find, pattern in compiled()]
    pairs: list[tuple[Step, tuple[str, ...]]] = [*STEPS[:BEFORE_LABELS], *labels, *STEPS[BEFORE_LABELS:]]
    return tuple(step for step, _ in pairs), Finder([patterns for _, patterns in pairs])


def _label(kind: str, pattern: re.Pattern[str]) -> Step:
    return lambda text, names: pattern.sub(lambda found: _labelled(found, kind, names), text)


def _cloud(text: str, names: Pseudonyms) -> str:
    numbers = names.addresses
    if "arn:aws" in text:
        text = _ARN.sub(
            lambda m: f"{m[1]}{numbers.numbered('aws-account', m[2], '{:012d}') if m[2] else ''}:{_arn(m[3], names)}",
            text,
        )
    if ".dkr.ecr." in text:
        text = _ECR_PATH.sub(lambda m: m[1] + "/".join(_shown(m[2].split("/"), names)), text)
        text = _ECR.sub(lambda m: numbers.numbered("aws-account", m[1], "{:012d}"), text)
    if "ccount" in text or "ACCOUNT" in text:
        text = _AWS_ACCOUNT.sub(lambda m: m[1] + numbers.numbered("aws-account", m[2], "{:012d}"), text)
    return _CLOUD.sub(lambda m: f"{m[1]}-{numbers.numbered(f'{m[1]}-id', m[2], f'{{:0{len(m[2])}x}}')}", text)


def _arn(rest: str, names: Pseudonyms) -> str:
    return (
        re.sub(r"(?<=[/:])[\w.+=,@-]+", lambda m: m[0] if is_plain(m[0]) else names.name("resource", m[0]), rest)
        if re.search(r"[/:]", rest)
        else names.name("bucket", rest)
    )


def _images(text: str, names: Pseudonyms) -> str:
    if "mage" not in text and "IMAGE" not in text and "docker" not in text:
        return text

    def image(found: re.Match[str]) -> str:
        label, registry, path = found[1], found[2] or "", found[3]
        steps = path.split("/")
        server = re.split(r"[:/#]", registry)[0]
        if server and DOMAINS.fullmatch(server):
            if len(steps) > 1 and steps[0].lower() not in ORGS and not is_plain(steps[0]):
                steps = [names.name("org", steps[0]), *_shown(steps[1:], names)]
        elif server:
            registry = site(server, names) + registry[len(server) :]
            steps = _shown(steps, names)
        elif len(steps) > 1 and steps[0].lower() not in ORGS:
            steps = _shown(steps, names)
        return f"{label}{registry}{'/'.join(steps)}"

    return _IMAGE.sub(image, text)


def _shown(steps: list[str], names: Pseudonyms) -> list[str]:
    return [s if is_plain(s) or s.lower() in ORGS else names.name("dir", s) for s in steps]


def _mails(text: str, names: Pseudonyms) -> str:
    if "@" not in text and "%40" not in text:
        return text

    def repository(found: re.Match[str]) -> str:
        steps = found[2].split("/")
        if steps[0].lower() in ORGS:
            return found[0]
        owner = steps[0] if len(steps) == 1 or is_plain(steps[0]) else names.name("org", steps[0])
        return "/".join([found[1] + owner, *_shown(steps[1:], names)])

    def mail(found: re.Match[str]) -> str:
        user, sign, domain = found.groups()
        if _VERSION.fullmatch(domain) or (user == "git" and DOMAINS.fullmatch(domain)):
            return found[0]
        host = any(c.isdigit() for c in domain.partition(".")[0])
        kept = DOMAINS.fullmatch(domain) is not None or domain.endswith(".iam.gserviceaccount.com")
        return f"{names.name('user', user)}{sign}{domain if kept else names.name('host', domain) if host else site(domain, names)}"

    def at(found: re.Match[str]) -> str:
        user, host = found[1], found[2]
        if _VERSION.fullmatch(host) or "." in host or (is_own(user) and is_own(host)):
            return found[0]
        return f"{names.name('user', user)}@{names.name('host', host)}"

    text = _PERSON.sub(lambda m: names.name("user", m[1]), text)
    return _AT.sub(at, _MAIL.sub(mail, _GIT.sub(repository, text)))


def _labelled(found: re.Match[str], kind: str, names: Pseudonyms) -> str:
    group = "v" if found["v"] is not None else "w"
    start, end = found.span(group)
    value = found[group]
    new = _hosts(value, names) if kind == "hosts" else names.name(kind, value)
    return found[0][: start - found.start()] + new + found[0][end - found.start() :]


_ITEMS = re.compile(r"[^,\[\]]*\[[^\]]*\][^,]*|[^,]+")


def _hosts(text: str, names: Pseudonyms) -> str:
    """A list of hosts, also with brackets or with slots (`a:8,b:8`)."""
    return ",".join(_host_item(item, names) for item in _ITEMS.findall(text))


def _host_item(item: str, names: Pseudonyms) -> str:
    expanded = expand(item)
    if expanded:
        new = [names.name("host", host) for host in expanded]
        return item if new == expanded else compress(new)
    host, colon, slots = item.partition(":")
    return f"{names.name('host', host)}{colon}{slots}"


def _brackets(text: str, names: Pseudonyms) -> str:
    """Lists of nodes wherever they stand, where they hold a host that is known."""
    if names.learning or names.keep_hosts or "[" not in text:
        return text

    def known(found: re.Match[str]) -> str:
        expanded = expand(found[0])
        stem = found[0].partition("[")[0]
        if not expanded or not (names.knows_stem(stem) or any(names.knows_host(host) for host in expanded)):
            return found[0]
        return compress([names.name("host", host) for host in expanded])

    return LIST.sub(known, text)


def _identifiers(text: str, names: Pseudonyms) -> str:
    known = names.addresses
    text = _UUID.sub(lambda m: f"{m[1]}-{known.numbered(m[1], m[2], '{:08x}-0000-0000-0000-000000000000')}", text)
    return _SERIAL.sub(lambda m: m[1] + known.numbered("serial", m[2], f"{{:0{len(m[2])}d}}"), text)


def _hardware(text: str, names: Pseudonyms) -> str:
    known = names.addresses
    text = _GUID.sub(lambda m: m[1] + known.guid(m[2]), text)
    text = _LONG_MAC.sub(lambda m: m[1] + known.guid(m[2]), text)
    text = _MAC.sub(lambda m: known.mac(m[1]), text)
    text = _V6.sub(lambda m: known.v6(m[1]), text)
    return _ANY_GUID.sub(lambda m: known.guid(m[0]) if known.is_guid(m[2].replace(":", "")) else m[0], text)


def _addresses(text: str, names: Pseudonyms) -> str:
    def address(found: re.Match[str]) -> str:
        before = _IS_VERSION.search(found.string, max(0, found.start() - 40), found.start())
        return found[0] if before else names.addresses.v4(found[1])

    return _V4_DASHED.sub(lambda m: _dashed(m, names), _V4.sub(address, text))


def _dashed(found: re.Match[str], names: Pseudonyms) -> str:
    address = found[2].replace("-", ".")
    if not found[1] and not address.startswith(("10.", "192.168.", "172.")):
        return found[0]
    if names.keep_hosts:
        return found[0]
    return (found[1] or "") + names.addresses.v4(address).replace(".", "-")


def _domains(text: str, names: Pseudonyms) -> str:
    def domain(found: re.Match[str]) -> str:
        name = found[1]
        if (
            name.lower() != name
            or name.startswith(("torch.", "self.", "np.", "os.", "www.w3.", "ip-"))
            or DOMAINS.fullmatch(name)
        ):
            return name
        return site(name, names)

    return _FQDN.sub(domain, text)


STEPS: tuple[tuple[Step, tuple[str, ...]], ...] = (
    (replace_urls, ("://",)),
    (_cloud, ("arn:aws", r"\.dkr\.ecr\.", "account", r"[a-z]-[0-9a-f]{8}")),
    (_images, ("image", "docker://")),
    (replace_paths, (r"(?:^|[^A-Za-z0-9_.:/~<\\-]|[A-Za-z0-9_]:|\\[nrt]|file://)~?/[A-Za-z0-9_.@+=%~-]",)),
    (_mails, ("[A-Za-z0-9_+.-](?:@|%40)[A-Za-z0-9]",)),
    (_brackets, (r"[A-Za-z0-9._-]\[[0-9]",)),
    (_identifiers, ("(?:GPU|MIG)-[0-9a-f]{8}-", "serial", "board id", "asset tag", "(?:^|[^a-z0-9])s/?n[^a-z]")),
    (
        _hardware,
        (
            "[0-9a-f]{16}",
            "[0-9a-f]{4}:[0-9a-f]{4}:[0-9a-f]{4}:[0-9a-f]{4}",
            "[0-9a-f]{2}[:-][0-9a-f]{2}[:-][0-9a-f]{2}[:-][0-9a-f]{2}[:-][0-9a-f]{2}[:-][0-9a-f]{2}",
            "(?:[0-9a-f]{1,4}:){7}[0-9a-f]",
            "(?:fe80|f[cd][0-9a-f]{2}|[23][0-9a-f]{3}|::ffff):[0-9a-f]{0,4}:",
            "::ffff:[0-9]",
        ),
    ),
    (_addresses, (r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]", "[0-9]-[0-9]{1,3}-[0-9]{1,3}-[0-9]")),
    (_domains, (rf"\.(?:{_ENDS})(?:[^A-Za-z0-9_(=-]|$)",)),
)
"""What is done, and patterns (without regard to case) of which a line has one where there is something to do."""
BEFORE_LABELS = 5
