"""What a secret looks like on a line: rules for `redact`, loaded only where a line may hold one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

#: A quotation mark, perhaps escaped.
_Q = r"(?:\\{0,3}[\"']|&quot;)"
#: What stands between a name and its value: "name": "value", ["name"] = f"value", name: str = "value", "name", "value": "value".
_SEP = rf"{_Q}?\]?\s*(?:,\s*{_Q}?value{_Q}?\s*:|:\s*(?:str|Optional\[str\]|str\s*\|\s*None)\s*=|:=|={{1,2}}|:(?!:)|%3[AaDd])\s*"
#: A tag of YAML or a mark of Python before a value, and its quotation mark.
_MARKS = rf"(?:!!?\w{{1,20}}\s+)?(?:[rbfuRBFU]{{1,2}}(?=[\"']))?{_Q}?"
#: A value after its quotation mark goes up to the closing one, any other up to a blank.
_VALUE = (
    r"(?:(?<=\\[\"'])(?!\s)[^\"'\\\n]{1,2000}(?=\\{1,3}[\"'])"
    r"|(?<!\\\")(?<=\")(?!\s)(?:[^\"\\\n]|\\.){1,2000}(?=\")|(?<!\\')(?<=')(?!\s)(?:[^'\\\n]|\\.){1,2000}(?=')"
    r"|(?:\\[ ]|[^\s\"',;)}\]])+)"
)
_END = r"(?![A-Za-z0-9_-])"
_START = r"(?<![A-Za-z0-9_/+-])"
#: Keys that can be told by their shape alone: kind, literals of which a line with one has at least one (in lower case), pattern.
_SHAPES: tuple[tuple[str, str, str], ...] = (
    ("aws-key", "akia asia aroa aida abia acca", _START + r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z2-7]{16}" + _END),
    (
        "hf-token",
        "hf_ api_org_",
        _START + r"(?:hf_[A-Za-z]{30,40}|api_org_[A-Za-z]{30,40}|hf_[A-Za-z0-9]{30,40})" + _END,
    ),
    (
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        _START + r"(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})" + _END,
    ),
    (
        "gitlab-token",
        "glpat- glptt- gldt- glrt- glcbt- glft- glsoat- glagent- glimt-",
        _START + r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt)-[A-Za-z0-9_-]{20,}",
    ),
    ("slack-token", "xox", _START + r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", "hooks.slack", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+"),
    ("discord-webhook", "api/webhooks", r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]+"),
    (
        "office-webhook",
        "office.com/webhook office365.com/webhook",
        r"https://[\w.-]{0,100}office(?:365)?\.com/webhook\w*/[^\s\"'<>]+",
    ),
    ("telegram-token", ":aae :aaf :aag :aah", r"(?<![0-9])[0-9]{8,10}:AA[E-H][A-Za-z0-9_-]{30,}"),
    ("openai-key", "sk-", _START + r"sk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-)?[A-Za-z0-9_-]{20,}"),
    ("google-key", "aiza", _START + r"AIza[A-Za-z0-9_-]{35}" + _END),
    ("google-token", "ya29.", _START + r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("nvidia-key", "nvapi-", _START + r"nvapi-[A-Za-z0-9_-]{20,}"),
    ("wandb-key", "local- wandb_v1_", _START + r"(?:local-[0-9a-f]{40}|wandb_v1_[A-Za-z0-9_]{20,})" + _END),
    ("pypi-token", "pypi-", _START + r"pypi-[A-Za-z0-9_-]{50,}"),
    ("npm-token", "npm_", _START + r"npm_[A-Za-z0-9]{36}" + _END),
    ("docker-token", "dckr_", _START + r"dckr_[op]at_[A-Za-z0-9_-]{20,}"),
    ("stripe-key", "k_live_ k_test_", _START + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("vault-token", "hvs. hvb.", _START + r"hv[sb]\.[A-Za-z0-9_-]{20,}"),
    ("jwt", "eyj", _START + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("databricks-token", "dapi", _START + r"dapi[0-9a-f]{32}" + _END),
    ("groq-key", "gsk_", _START + r"gsk_[A-Za-z0-9]{40,}" + _END),
    ("replicate-token", "r8_", _START + r"r8_[A-Za-z0-9]{30,}" + _END),
    ("tailscale-key", "tskey-", _START + r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    ("grafana-token", "glsa_ glc_", _START + r"gl(?:sa|c)_[A-Za-z0-9_=-]{30,}"),
    ("age-key", "age-secret-key", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
)
_BEARER = re.compile(r"(?i)\b(bearer|basic|authorization: *(?:token|bearer|basic)?) +([A-Za-z0-9._~+/-]{12,}={0,2})")
_HEADER = re.compile(
    r"(?i)((?:authorization|x-api-key|x-auth-token|x-goog-api-key|x-amz-security-token|x-vault-token|private-token|cookie|set-cookie)[\"']?\s*:\s*[\"']?)((?!\[redacted)[^\s\"',}][^\n\"'}]*)"
)
#: The last @ before the path ends the password, which may hold one itself.
_URL = re.compile(r"(://)([^\s/:@\"'<>\[\]]{0,200}):(?!\[redacted)([^\s/\"'<>]{1,2000})@(?=[^\s@])")
#: A token in the place of a user's name.
_URL_TOKEN = re.compile(r"(?i)(https?://)(?!\[redacted)([^\s/:@\"'<>\[\]]{16,200})(:[^\s/@]{0,64})?@(?=[A-Za-z0-9])")
#: user:password@host without a scheme; not an image with its digest, a symbol with its version or an address with its interface.
_LOGIN = re.compile(
    r"(?<![\w./:@\[-])([A-Za-z][\w.-]{0,63}):([^\s/:\"'<>,;]{4,200})@(?!sha256:|GLIBC)(?=(?:[A-Za-z0-9][\w-]*\.)+[A-Za-z0-9]|[A-Za-z0-9][\w-]*[:/])"
)
_QUERY = re.compile(
    r"(?i)([?&](?:access_?token|api_?key|sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)|awsaccesskeyid|token|key|secret|password)=)([^\s&\"'<>]{6,})"
)
#: A setting whose name says that its value is secret: NAME=value, "name": "value", --name value.
_NAMED = re.compile(
    r"""(?ix)
    (?<![a-z0-9])
    ( [a-z0-9_.-]{0,60}?
      (?P<kind> passw(?:or)?d | passphrase | passwd | secret(?:[_-]?access)?(?:[_-]?key)? | api[_-]?key | access[_-]?key(?:[_-]?id)? | account[_-]?key
        | private[_-]?key | auth[_-]?key | signing[_-]?key | encryption[_-]?key | (?:wandb|openai|anthropic|comet|neptune|ngc|mlflow|hf|kaggle)[_-](?:api[_-]?)?key
        | (?:auth|access|refresh|bearer|session|security|hf|hub|huggingface|github|gitlab|slack|bot|api|id|wandb|ngc|sas|registry|user|write|read|login)[_-]?token
        | (?<![a-z0-9_])(?<![a-z0-9]-)token | credentials? )
      (?:_?[a-z0-9]{0,3})?
    )
    (?P<sep> """
    + _SEP
    + r""" | ["']? \s*,\s*(?=["'])(?!["'][\w.-]+["']\s*:) )
    (?P<quote> """
    + _MARKS
    + r""")
    (?P<value> """
    + _VALUE
    + ")"
)
#: Short names of passwords and tickets, which are words of other meaning too.
_SHORT = re.compile(
    r"(?i)(?<![a-z0-9])(?P<name>[a-z0-9_.-]{0,60}?(?:pass|pw|pwd|jwt))(?P<sep>"
    + _SEP
    + _MARKS
    + r")(?P<value>"
    + _VALUE
    + ")"
)
_SHORT_NAME = re.compile(
    r"(?i)(?:(?P<sure>.*[_.-](?:pass|pw|pwd|jwt)|(?:db|ssh|sudo|su|root|user|admin|become|ldap|smtp|ftp|http|proxy|mail|vnc|ipmi|bmc|redis|mysql|pg|sql|bind|login|key|my|default)(?:pass|pw|pwd)|jwt)|-{0,2}(?:pass|pw))"
)
_OTHER_PASS = re.compile(
    r"(?i)(?:.*[_.-])?(?:forward|backward|fwd|bwd|first|second|third|one|two|single|multi|num|n|per|is|last|low|high|band|all|test|tests|render|max|min|optimizer|train|eval|data|status)[_.-]?pass|(?:.*[_.-])?old_?pwd"
)
#: ENV NAME value, setenv NAME value, set -x NAME value.
_SET = re.compile(
    r"(?<!\S)(?P<set>(?:ENV|ARG|setenv|set\s+-[a-zA-Z]{0,3}x[a-zA-Z]{0,3})\s{1,9}(?P<name>[A-Za-z_][A-Za-z0-9_]{0,60}?(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS|_PWD|_PW|_JWT|API_?KEY|ACCESS_KEY|PRIVATE_KEY|WANDB_KEY|HF_KEY|KAGGLE_KEY|CREDENTIALS|(?<=_)token|api_key|password))\s{1,9}"
    + _MARKS
    + r")(?P<value>"
    + _VALUE
    + ")"
)
_USER = re.compile(
    r"(?<![\w-])((?:curl|wget|httpie|xh)\b[^\n|;]{0,500}?\s(?:-[a-zA-Z]{0,6}[uU]\s{0,9}|--(?:proxy-)?user(?:=|\s{1,9}))[\"']?[^\s:\"'/]{0,100}:)([^\s\"']+)"
)
_PIPED = re.compile(
    r"(?<!\S)((?:echo|printf)\s{1,9}(?:-\w{1,3}\s{1,9})?[\"']?)([^\s\"'|]{1,2000}|(?<=\")[^\"\n|]{1,2000}|(?<=')[^'\n|]{1,2000})(?=[\"']?\s{0,9}\|[^\n]{0,300}(?:--password-stdin|sudo\s[^\n|]{0,40}-S|kinit\b|sshpass\b|chpasswd\b|passwd\b|--with-token|--stdin\b))"
)
#: kaggle.json
_KAGGLE = re.compile(
    rf"({_Q}username{_Q}[^\n]{{0,200}}?{_Q}key{_Q}\s{{0,9}}:\s{{0,9}}{_Q})([0-9a-f]{{32}})(?![0-9a-f])"
)
_FLAG = re.compile(
    r"(?i)(?<!\S)(--?[a-z0-9_-]{0,40}?(?P<kind>token|key|password|passwd|passphrase|secret)\s+[\"']?)((?<=\")[^\"\n]{1,2000}(?=\")|(?<=')[^'\n]{1,2000}(?=')|[^\s\"'-][^\s\"']*)"
)
_EXPORTED = re.compile(
    r"(?<![A-Za-z0-9])(?P<name>WANDB_API_KEY|[A-Z][A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|APIKEY|CREDENTIALS|PRIVATE_KEY|ACCESS_KEY))"
    + f"(?P<sep>{_SEP}{_MARKS})(?P<value>{_VALUE})"
)
_NETRC = re.compile(r"(?i)\b(login\s{1,9}\S{1,200}\s{1,9}password\s{1,9})(\S+)")
_OPTION = re.compile(
    r"(?<!\S)(sshpass\b[^\n|;]{0,200}?\s-p ?|(?:mysql|mysqldump|mariadb)\b[^\n|;]{0,200}?\s-p"
    r"|(?:docker|podman|nerdctl|helm|crane|skopeo|enroot|oras)\b[^\n|;]{0,200}?\blogin\b[^\n|;]{0,200}?\s-p ?"
    r"|ipmi\w{0,20}\b[^\n|;]{0,200}?\s-[pP] ?)([\"']?)(?!\[redacted)((?<=\")[^\"\n]+(?=\")|(?<=')[^'\n]+(?=')|[^\s\"']\S*)"
)
#: What a sentence tells: "password is X", "pwd X", "token X".
_TOLD = re.compile(
    r"(?i)(?<![\w/$-])(?P<kind>password|passwd|passphrase|pwd|token)(?P<sep>\s+is(?:\s+now)?\s*:?\s+|\s+for\s+\S{1,64}:\s+|\s*[:=]\s*|\s+)(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;)}\]]{4,200})"
)
#: What is told of a password instead of itself.
_STATES = frozenset((
    "valid", "invalid", "correct", "incorrect", "wrong", "required", "missing", "empty", "expired", "weak", "strong",
    "short", "long", "being", "used", "needed", "necessary", "prompted", "accepted", "rejected", "denied", "disabled",
    "enabled", "changed", "stored", "stale", "unknown", "undefined", "optional", "hidden", "unset", "blank",
    "authentication", "protected", "available", "present", "absent", "case-sensitive", "here", "there", "that",
    "this", "what", "from", "only", "also", "still", "never", "always", "just",
))  # fmt: skip
#: Base64 that holds a login or a key, by the name in front of it.
_ENCODED = re.compile(
    r"(?i)((?<![a-z0-9_-])(?:\"auth\"|'auth'|client-key-data|\.?dockerconfigjson|\.?dockercfg|identitytoken|keytab)[\"']?\s*[:=]\s*[\"']?)([A-Za-z0-9+/_-]{8,}={0,2})"
)
_WANDB = re.compile(
    r"(?i)(wandb\b[^\n]{0,100}?(?:login|api[ _-]?key)[^\n]{0,160}?(?<![0-9a-f]))([0-9a-f]{40})(?![0-9a-f])"
)
#: (literal in lower case, what replaces the key, pattern)
_BY_SHAPE = tuple(
    (mark, f"[redacted:{kind}]", re.compile(pattern)) for kind, marks, pattern in _SHAPES for mark in marks.split()
)
#: Values that are no secret, whatever the name in front says.
_HARMLESS = re.compile(
    r"(?i)(?:\\|[|>][+-]?\d?|none|null|nil|true|false|yes|no|set|unset|not|required|missing|invalid|expired|empty|\*+|x{3,}|\.{3}.*|<.*|\[redacted.*|\$.*|%\(.*|\{.*|-?\d{1,7}(?:\.\d+)?|\w*error\w*|str|int|bytes|optional.*|os\.\w.*|getpass.*|self\.\w.*|args\.\w.*)[.:]?"
)


#: Characters of a line up to which what became of it is remembered: ranks print the same settings again and again.
_REMEMBERED = 512


#: Characters of a value that is blanked whatever it looks like: to look for names of secrets inside it takes too long.
LONG_VALUE = 4096


def redact_line(line: str) -> str:
    """The line without its secrets."""
    return _remembered(line) if len(line) <= _REMEMBERED else _redacted(line)


def _redacted(line: str) -> str:
    low = line.lower()
    line = _EXPORTED.sub(_exported, line)
    for mark, blank, pattern in _BY_SHAPE:
        if mark in low:
            line = pattern.sub(blank, line)
    if "@" in low:
        line = _URL.sub(lambda m: m[0] if m[3].isdigit() else f"{m[1]}[redacted:credentials]@", line)
        line = _LOGIN.sub(_login, line)
        if "http" in low:
            line = _URL_TOKEN.sub(_url_token, line)
    if "auth" in low or "cookie" in low or "x-" in low or "private-token" in low:
        line = _HEADER.sub(_group("header"), line)
    if "auth" in low or "bearer" in low or "basic" in low:
        line = _BEARER.sub(lambda m: m[0] if not _secret_looking(m[2]) else f"{m[1]} [redacted:token]", line)
    if "auth" in low or "client-key" in low or "docker" in low or "identitytoken" in low or "keytab" in low:
        line = _ENCODED.sub(_group("login"), line)
    if "wandb" in low:
        line = _WANDB.sub(lambda m: f"{m[1]}[redacted:wandb-key]", line)
    if "&" in low or "?" in low:
        line = _QUERY.sub(_group("query"), line)
    if "login" in low:
        line = _NETRC.sub(_group("password"), line)
    if " -p" in low:
        line = _OPTION.sub(_option, line)
    if "curl" in low or "wget" in low or "xh" in low or "httpie" in low:
        line = _USER.sub(_group("password"), line)
    if "|" in low and ("echo" in low or "printf" in low):
        line = _PIPED.sub(_group("password"), line)
    if "username" in low:
        line = _KAGGLE.sub(lambda m: f"{m[1]}[redacted:secret]", line)
    if "env" in low or "set" in low or "arg" in low:
        line = _SET.sub(_value_set, line)
    if "pass" in low or "pw" in low or "jwt" in low:
        line = _SHORT.sub(_short, line)
    if "-" in low:
        line = _FLAG.sub(_flag, line)
    if "token" in low or "key" in low or "pass" in low or "secret" in low or "credential" in low:
        line = _named(line)
    return _TOLD.sub(_told, line) if "pass" in low or "pwd" in low or "token" in low else line


_remembered = lru_cache(maxsize=8192)(_redacted)


def _named(line: str) -> str:
    """A value that turns out to be harmless may itself be the name of a secret: the search goes on at its start."""
    out: list[str] = []
    done = at = 0
    while (found := _NAMED.search(line, at)) is not None:
        name = _kind_of(found)
        if name is None:
            at = found.start("value")
            continue
        out += (line[done : found.start("value")], f"[redacted:{name}]")
        done = at = found.end()
    return "".join((*out, line[done:])) if out else line


def _kind_of(found: re.Match[str]) -> str | None:
    value, kind = found["value"], found["kind"].lower()
    if _HARMLESS.fullmatch(value) or value.startswith("[redacted"):
        return None
    if len(value) > LONG_VALUE:
        return "secret"
    if (kind in ("token", "secret") or kind.startswith("credential")) and not any(
        _secret_looking(word) for word in value.split()
    ):
        return None
    return "password" if kind.startswith("passw") or kind == "passphrase" else "token" if "token" in kind else "secret"


def _flag(found: re.Match[str]) -> str:
    kind, value = found["kind"].lower(), found[3]
    password = kind.startswith("pass")
    if value.startswith("[redacted") or _HARMLESS.fullmatch(value) or not (password or _secret_looking(value)):
        return found[0]
    return f"{found[1]}[redacted:{'password' if password else 'token' if kind == 'token' else 'secret'}]"


def _login(found: re.Match[str]) -> str:
    value = found[2]
    mixed = any(c.isalpha() for c in value) and any(not c.isalpha() for c in value)
    return f"{found[1]}:[redacted:password]@" if mixed and not value.startswith("[redacted") else found[0]


def _told(found: re.Match[str]) -> str:
    value, kind, is_told = found["value"], found["kind"].lower(), " is" in found["sep"].lower()
    if _HARMLESS.fullmatch(value) or "[redacted" in value or value.lower().rstrip(".:!?") in _STATES:
        return found[0]
    if kind == "token":
        secret = len(value) >= 16 and sum(c.isdigit() for c in value) >= 3 and _MIXED.fullmatch(value) is not None
    elif kind == "pwd":
        secret = value[0] not in "/~.$`-" and value[1:2] != ":" and (is_told or _password_looking(value))
    else:
        secret = is_told or _password_looking(value)
    return (
        f"{found['kind']}{found['sep']}{found['quote']}[redacted:{'token' if kind == 'token' else 'password'}]"
        if secret
        else found[0]
    )


def _password_looking(value: str) -> bool:
    """Letters and digits or signs together, as words of a sentence do not have them."""
    return (
        any(c.isalpha() for c in value) and any(c.isdigit() or c in "!#$%&*+?@^~" for c in value) and "/" not in value
    )


def _exported(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if _HARMLESS.fullmatch(value):
        return found[0]
    kind = "password" if "PASSW" in name else "token" if name.endswith("TOKEN") else "secret"
    return f"{name}{found['sep']}[redacted:{kind}]"


def _value_set(found: re.Match[str]) -> str:
    if _HARMLESS.fullmatch(found["value"]) or found["value"].lower() in _WORDS:
        return found[0]
    name = found["name"].lower()
    return (
        f"{found['set']}[redacted:{'token' if name.endswith('token') else 'password' if 'pass' in name else 'secret'}]"
    )


#: What follows the name of a setting in a sentence.
_WORDS = frozenset((
    "is", "was", "has", "in", "to", "from", "and", "or", "for", "with", "must", "should", "as", "=", "found", "defined",
    "exists", "will", "cannot", "could", "does", "if", "by", "on", "at", "value", "variable",
))  # fmt: skip


def _short(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    known = _SHORT_NAME.fullmatch(name)
    if known is None or _OTHER_PASS.fullmatch(name) or _HARMLESS.fullmatch(value) or value[0] in "/~.$`-:[":
        return found[0]
    assigned = "=" in found["sep"]
    upper = name.isupper() and assigned and known["sure"] is not None
    if not upper and (not _password_looking(value) or _MEASURED.fullmatch(value)):
        return found[0]
    if name.lower().endswith("pwd") and "/" in value:
        return found[0]
    if known["sure"] is None and not (assigned and len(value) >= 8):
        return found[0]
    return f"{name}{found['sep']}[redacted:{'token' if name.lower().endswith('jwt') else 'password'}]"


_MEASURED = re.compile(r"[\d.,:x*+-]+\s*[A-Za-z%/]{1,6}")
"""A number with its unit."""


def _url_token(found: re.Match[str]) -> str:
    if not _secret_looking(found[2]):
        return found[0]
    return f"{found[1]}[redacted:credentials]@"


def _option(found: re.Match[str]) -> str:
    return found[0] if _HARMLESS.fullmatch(found[3]) else f"{found[1]}{found[2]}[redacted:password]"


def _secret_looking(value: str) -> bool:
    """Long and mixed: a word or a number after `token:` is no secret."""
    return (
        len(value) >= 12
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and "/" not in value[:2]
    )


_MIXED = re.compile(r"(?!0[xX])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+~=-]+")


def _group(kind: str) -> Callable[[re.Match[str]], str]:
    return lambda found: found[0] if _HARMLESS.fullmatch(found[2]) else f"{found[1]}[redacted:{kind}]"


#: What is secret by the end of its name, for a value that stands on the next line.
_SECRET_NAME = re.compile(
    r"(?i).*(?:(?:^|[_.-])token|[_-]secret|^-*secret|passw(?:or)?d|passwd|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|secret[_-]?key"
    r"|credentials|(?:wandb|hf|openai|kaggle|comet|neptune|ngc)[_-]key|[_.-](?:pass|pwd|pw|jwt)|^-*pass|dockerconfigjson)"
)
_AWAITS = re.compile(
    rf"(?:(?:(?<=[\s{{,-])|^){_Q}?(?:name|key){_Q}?\s*[:=]\s*{_Q}?(?P<env>[A-Za-z_.][\w.-]{{0,100}}){_Q}?,?"
    rf"|(?<![\w.-])(?P<name>[\w.-]{{1,100}}){_Q}?\]?(?:\s*:\s*(?P<block>[|>][+-]?\d?)|\s*[=:]\s*(?P<rest>\\)|(?P<flag>[\s=]\s*\\)))\s*$"
)
_NEXT_VALUE = re.compile(rf"((?:[^\n]{{0,100}}[\s{{,])?{_Q}?value{_Q}?\s*[:=]\s*{_MARKS})({_VALUE})")
_NEXT_WORD = re.compile(rf"(\s*{_MARKS})({_VALUE})")

#: What a logger puts before a line.
_LOGGER = re.compile(r"(?:\[[^\]\n]{1,40}\]|[\w.-]{1,64}(?:\[\w+\])?):(?=\s[^\n]*:)")
#: How a value goes on after the line with its name: (way, what a logger put before that line, indent of that line, kind, whether only a mixed one is secret).
Awaited = tuple[str, str, int, str, bool]


def awaited(line: str) -> Awaited | None:
    """What the next line holds, where a name of a secret stands at the end of this one."""
    found = _AWAITS.search(line, max(0, len(line) - 300))
    if found is None:
        return None
    name = found["env"] or found["name"]
    if not _SECRET_NAME.fullmatch(name) or (found["flag"] and not name.startswith("-")):
        return None
    kind = "token" if name.lower().endswith("token") else "password" if "pass" in name.lower() else "secret"
    way = "value" if found["env"] else "block" if found["block"] else "word"
    before = _LOGGER.match(line)
    mark = before[0] if before and way == "block" else ""
    rest = line[len(mark) :]
    return way, mark, len(rest) - len(rest.lstrip()), kind, bool(found["flag"]) and kind == "token"


def redact_next(line: str, after: Awaited) -> tuple[str, bool]:
    """(the line without the value that the line before announced, whether the value may go on)."""
    way, mark, indent, kind, mixed = after
    if way == "block":
        if not line.startswith(mark):
            return line, False
        text = line[len(mark) :].lstrip()
        if not text or len(line) - len(text) - len(mark) <= indent:
            return line, False
        start, end = len(line) - len(text), len(line.rstrip())
        return f"{line[:start]}[redacted:{kind}]{line[end:]}", True
    found = (_NEXT_VALUE if way == "value" else _NEXT_WORD).match(line)
    if found is None or _HARMLESS.fullmatch(found[2]) or found[2].startswith(("-", "[redacted")):
        return line, False
    if mixed and not _secret_looking(found[2]):
        return line, False
    return f"{found[1]}[redacted:{kind}]{line[found.end() :]}", False
