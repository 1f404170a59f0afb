"""What a secret looks like on a line: rules for `redact`, loaded only where a line may hold one."""

from __future__ import annotations

import re
from collections.abc import Callable

_END = r"(?![A-Za-z0-9_-])"
_START = r"(?<![A-Za-z0-9_/+-])"
#: Keys that can be told by their shape alone.
_SHAPES: tuple[tuple[str, str], ...] = (
    ("aws-key", _START + r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z2-7]{16}" + _END),
    ("hf-token", _START + r"(?:hf_[A-Za-z]{30,40}|api_org_[A-Za-z]{30,40}|hf_[A-Za-z0-9]{30,40})" + _END),
    ("github-token", _START + r"(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})" + _END),
    ("gitlab-token", _START + r"gl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{20,}"),
    ("slack-token", _START + r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+"),
    ("openai-key", _START + r"sk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-)?[A-Za-z0-9_-]{20,}"),
    ("google-key", _START + r"AIza[A-Za-z0-9_-]{35}" + _END),
    ("google-token", _START + r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("nvidia-key", _START + r"nvapi-[A-Za-z0-9_-]{20,}"),
    ("wandb-key", _START + r"(?:local-[0-9a-f]{40}|wandb_v1_[A-Za-z0-9_]{20,})" + _END),
    ("pypi-token", _START + r"pypi-[A-Za-z0-9_-]{50,}"),
    ("npm-token", _START + r"npm_[A-Za-z0-9]{36}" + _END),
    ("docker-token", _START + r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    ("stripe-key", _START + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("vault-token", _START + r"hv[sb]\.[A-Za-z0-9_-]{20,}"),
    ("jwt", _START + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("databricks-token", _START + r"dapi[0-9a-f]{32}" + _END),
)
_BEARER = re.compile(r"(?i)\b(bearer|basic|authorization: *(?:token|bearer|basic)?) +([A-Za-z0-9._~+/-]{12,}={0,2})")
_HEADER = re.compile(
    r"(?i)((?:authorization|x-api-key|x-auth-token|cookie|set-cookie)[\"']?\s*:\s*[\"']?)((?!\[redacted)[^\s\"',}][^\n\"'}]*)"
)
_URL = re.compile(r"(://)([^\s/:@\"'<>\[\]]{0,200}):([^\s/@\"'<>]{1,2000})@")
_QUERY = re.compile(
    r"(?i)([?&](?:access_?token|api_?key|sig|signature|x-amz-(?:signature|credential|security-token)|token|key|secret|password)=)([^\s&\"'<>]{6,})"
)
#: A setting whose name says that its value is secret: NAME=value, "name": "value", --name value.
_NAMED = re.compile(
    r"""(?ix)
    (?<![a-z0-9])
    ( [a-z0-9_.-]{0,60}?
      (?P<kind> passw(?:or)?d | passphrase | passwd | secret(?:[_-]?access)?(?:[_-]?key)? | api[_-]?key | access[_-]?key(?:[_-]?id)? | account[_-]?key
        | private[_-]?key | auth[_-]?key | signing[_-]?key | encryption[_-]?key | (?:wandb|openai|anthropic|comet|neptune|ngc|mlflow|hf)[_-](?:api[_-]?)?key
        | (?:auth|access|refresh|bearer|session|security|hf|hub|huggingface|github|gitlab|slack|bot|api|id|wandb|ngc|sas|registry|user|write|read|login)[_-]?token
        | (?<![a-z0-9_])(?<![a-z0-9]-)token | credentials? )
      (?:_?[a-z0-9]{0,3})?
    )
    (?P<sep> ["']? \s* (?: = | :(?!:) ) \s* | ["']? \s*,\s*(?=["']) )
    (?P<quote> ["']? )
    (?P<value> [^\s"',;)}\]]+ )
    """
)
_FLAG = re.compile(
    r"(?i)(?<!\S)(--?[a-z0-9_-]{0,40}?(?P<kind>token|key|password|passwd|passphrase|secret)\s+[\"']?)([^\s\"'-][^\s\"']*)"
)
_EXPORTED = re.compile(
    r"(?<![A-Za-z0-9])(WANDB_API_KEY|[A-Z][A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|APIKEY|CREDENTIALS|PRIVATE_KEY|ACCESS_KEY))(\s*[=:]\s*)(\"[^\"\n]*\"|'[^'\n]*'|[^\s\"',;)}\]]+)"
)
_NETRC = re.compile(r"(?i)\b(login\s{1,9}\S{1,200}\s{1,9}password\s{1,9})(\S+)")
_OPTION = re.compile(r"(?<!\S)(sshpass\b[^\n|;]{0,200}?\s-p ?|(?:mysql|mysqldump|mariadb)\b[^\n|;]{0,200}?\s-p)(\S+)")
_ALL_SHAPES = re.compile("|".join(f"(?P<k{i}>{pattern})" for i, (_, pattern) in enumerate(_SHAPES)))
#: Values that are no secret, whatever the name in front says.
_HARMLESS = re.compile(
    r"(?i)(?:none|null|nil|true|false|yes|no|set|unset|not|required|missing|invalid|expired|empty|\*+|x{3,}|\.{3}.*|<.*|\[redacted.*|\$.*|%\(.*|\{.*|-?\d{1,7}(?:\.\d+)?|\w*error\w*|str|int|bytes|optional.*|os\.\w.*|getpass.*|self\.\w.*|args\.\w.*)[.:]?"
)


def redact_line(line: str) -> str:
    line = _EXPORTED.sub(_exported, line)
    line = _ALL_SHAPES.sub(_shape, line)
    line = _URL.sub(lambda m: m[0] if m[3].isdigit() else f"{m[1]}[redacted:credentials]@", line)
    line = _HEADER.sub(_group("header"), line)
    line = _BEARER.sub(lambda m: m[0] if not _secret_looking(m[2]) else f"{m[1]} [redacted:token]", line)
    line = _QUERY.sub(_group("query"), line)
    line = _NETRC.sub(_group("password"), line)
    line = _OPTION.sub(_group("password"), line)
    line = _FLAG.sub(_flag, line)
    return _named(line)


def _shape(found: re.Match[str]) -> str:
    return f"[redacted:{_SHAPES[int((found.lastgroup or 'k0')[1:])][0]}]"


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
    if (kind in ("token", "secret") or kind.startswith("credential")) and not _secret_looking(value):
        return None
    return "password" if kind.startswith("passw") or kind == "passphrase" else "token" if "token" in kind else "secret"


def _flag(found: re.Match[str]) -> str:
    kind, value = found["kind"].lower(), found[3]
    password = kind.startswith("pass")
    if value.startswith("[redacted") or _HARMLESS.fullmatch(value) or not (password or _secret_looking(value)):
        return found[0]
    return f"{found[1]}[redacted:{'password' if password else 'token' if kind == 'token' else 'secret'}]"


def _exported(found: re.Match[str]) -> str:
    name, value = found[1], found[3].strip("\"'")
    if not value or _HARMLESS.fullmatch(value):
        return found[0]
    kind = "password" if "PASSW" in name else "token" if name.endswith("TOKEN") else "secret"
    return f"{name}{found[2]}[redacted:{kind}]"


def _secret_looking(value: str) -> bool:
    """Long and mixed: a word or a number after `token:` is no secret."""
    return (
        len(value) >= 12
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and "/" not in value[:2]
    )


def _group(kind: str) -> Callable[[re.Match[str]], str]:
    return lambda found: found[0] if _HARMLESS.fullmatch(found[2]) else f"{found[1]}[redacted:{kind}]"
