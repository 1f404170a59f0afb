"""What a secret looks like on a line: rules for `redact`, loaded only where a line may hold one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

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
_OPTION = re.compile(
    r"(?<!\S)(sshpass\b[^\n|;]{0,200}?\s-p ?|(?:mysql|mysqldump|mariadb)\b[^\n|;]{0,200}?\s-p"
    r"|(?:docker|podman|nerdctl|helm|crane|skopeo|enroot|oras)\b[^\n|;]{0,200}?\blogin\b[^\n|;]{0,200}?\s-p ?)(\S+)"
)
#: What a sentence tells: "password is X", "pwd X", "token X".
_TOLD = re.compile(
    r"(?i)(?<![\w/$-])(?P<kind>password|passwd|passphrase|pwd|token)(?P<sep>\s+is(?:\s+now)?\s*:?\s+|\s*[:=]\s*|\s+)(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;)}\]]{4,200})"
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
    r"(?i)(?:none|null|nil|true|false|yes|no|set|unset|not|required|missing|invalid|expired|empty|\*+|x{3,}|\.{3}.*|<.*|\[redacted.*|\$.*|%\(.*|\{.*|-?\d{1,7}(?:\.\d+)?|\w*error\w*|str|int|bytes|optional.*|os\.\w.*|getpass.*|self\.\w.*|args\.\w.*)[.:]?"
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
        line = _OPTION.sub(_group("password"), line)
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
    if (kind in ("token", "secret") or kind.startswith("credential")) and not _secret_looking(value):
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


_MIXED = re.compile(r"(?!0[xX])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+~=-]+")


def _group(kind: str) -> Callable[[re.Match[str]], str]:
    return lambda found: found[0] if _HARMLESS.fullmatch(found[2]) else f"{found[1]}[redacted:{kind}]"
