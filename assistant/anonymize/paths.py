"""Paths and URLs: system folders and the names of files stay, folders of users and projects become `user-1`, `dir-7`."""

from __future__ import annotations

import re

from assistant.anonymize.common import DOMAINS, ORGS, is_plain
from assistant.anonymize.pseudonyms import Pseudonyms

PATH = re.compile(
    r"(?:(?<![\w.:/~<\\-])|(?<=\\[nrt])|(?<=file://)|(?<=\w:)(?=/[a-zA-Z]))~?/(?:[\w.@+=%~-]+/)+[\w.@+=%~-]*|(?<![\w/.])~/[\w.@+=%~-]+"
)
_SYSTEM = frozenset(
    [
        "usr",
        "lib",
        "lib64",
        "lib32",
        "libexec",
        "etc",
        "proc",
        "sys",
        "dev",
        "var",
        "bin",
        "sbin",
        "run",
        "boot",
        "nix",
        "snap",
        "conda",
        "site-packages",
        "build-result",
    ]
)
_HOMES = frozenset(["home", "users", "homes"])
_PLACES = frozenset(
    [
        "work",
        "scratch",
        "user",
        "people",
        "staff",
        "students",
        "data",
        "project",
        "projects",
        "lustre",
        "gpfs",
        "fsx",
        "nfs",
        "beegfs",
        "weka",
    ]
)
_USER_ID = re.compile(r"[A-Za-z]{1,3}\d{4,}[A-Za-z]?")
_LIBRARY = re.compile(
    r"site-packages|dist-packages|python3\.\d+|torch_extensions|third_party|csrc|conda-bld|node_modules"
)
_FILE = re.compile(r".*\.[A-Za-z][A-Za-z0-9_]{0,11}(?:\.\w+)?")
URL = re.compile(
    r"\b(https?|ssh|git|ftp|wss?|rsync)://((?:[\w.+-]+@)?)([\w.-]+)((?::\d+)?)((?:/[\w.@+=%~:!*,;()-]*)*)((?:\?[^\s\"'<>)\]]*)?)((?:#[\w.=-]*)?)"
)
BUCKET = re.compile(
    r"\b(s3a?|gs|gcs|r2|oss|cos|az|abfss?|wasbs?|adl|hdfs|swift|minio)://([\w.-]+)((?:@[\w.-]+)?)((?:/[\w.@+=%~-]*)*)"
)
_VALUES = re.compile(r"([?&][\w.-]+)=([^&]*)")


def replace_paths(text: str, names: Pseudonyms) -> str:
    return PATH.sub(lambda found: _path(found[0], names), text) if "/" in text else text


def _path(path: str, names: Pseudonyms) -> str:
    if path.endswith("."):
        bare = path.rstrip(".")
        return _path(bare, names) + path[len(bare) :] if bare.strip("/~") else path
    steps = path.split("/")
    if len(steps) > 1 and steps[0] == "" and steps[1] in _SYSTEM:
        return path
    return "/".join(_steps(steps, names))


def _steps(steps: list[str], names: Pseudonyms) -> list[str]:
    out: list[str] = []
    for at, step in enumerate(steps):
        last = at == len(steps) - 1
        if _LIBRARY.fullmatch(step):
            return out + steps[at:]
        if not step or step in (".", "..", "~") or step.startswith("."):
            out.append(step)
        elif (
            at and (steps[at - 1].lower() in _HOMES or (at == 2 and steps[1] in ("user", "u"))) and (at < 3 or not last)
        ) or (at and not last and steps[at - 1].lower() in _PLACES and _USER_ID.fullmatch(step)):
            out.append(names.name("user", step))
        elif step.endswith(".git") and len(step) > 4:
            out.append(step if is_plain(step[:-4]) else f"{names.name('dir', step[:-4])}.git")
        elif (last and _FILE.fullmatch(step)) or is_plain(step) or "[redacted" in step:
            out.append(step)
        else:
            out.append(names.name("dir", step))
    return out


def replace_urls(text: str, names: Pseudonyms) -> str:
    if "://" not in text:
        return text
    text = BUCKET.sub(lambda found: _bucket(found, names), text)
    return URL.sub(lambda found: _url(found, names), text)


def _bucket(found: re.Match[str], names: Pseudonyms) -> str:
    scheme, bucket, account, rest = found.groups()
    kind = "host" if scheme == "hdfs" else "bucket"
    if account:
        account = f"@{names.name('domain', account[1:])}" if not DOMAINS.fullmatch(account[1:]) else account
    return f"{scheme}://{names.name(kind, bucket)}{account}{'/'.join(_steps(rest.split('/'), names))}"


def _url(found: re.Match[str], names: Pseudonyms) -> str:
    scheme, user, host, port, path, query, mark = found.groups()
    public = DOMAINS.fullmatch(host) is not None and not host.endswith(
        ("amazonaws.com", "windows.net", "googleapis.com", "internal", "local")
    )
    steps = path.split("/")
    if user and "[redacted" not in user:
        user = f"{names.name('user', user[:-1])}@"
    if public:
        return f"{scheme}://{user}{host}{port}{'/'.join(_public(host, steps, names))}{query}{mark}"
    shown = host if re.fullmatch(r"[\d.]+", host) else site(host, names)
    query = _VALUES.sub(
        lambda m: f"{m[1]}={m[2] if re.fullmatch(r'[0-9.:]*|true|false', m[2]) or '[redacted' in m[2] else 'x'}", query
    )
    return f"{scheme}://{user}{shown}{port}{'/'.join(_steps(steps, names))}{query}{'#x' if mark else ''}"


def _public(host: str, steps: list[str], names: Pseudonyms) -> list[str]:
    """Of a site on which everybody has a place: whose place it is."""
    if not re.search(
        r"github|gitlab|huggingface|hf\.co|wandb|docker|ghcr|quay|comet|neptune|nvcr|gcr\.io|pkg\.dev", host
    ):
        return steps
    if len(steps) < 2 or steps[1].lower() in ORGS or is_plain(steps[1]):
        return steps
    return [steps[0], names.name("org", steps[1]), *_steps(steps[2:], names)]


def site(host: str, names: Pseudonyms) -> str:
    """The name of a server: as a host where it is known or has a number, else as a whole."""
    if "." not in host or any(c.isdigit() for c in host.partition(".")[0]) or DOMAINS.fullmatch(host):
        return names.name("host", host) if not DOMAINS.fullmatch(host.partition(".")[2] or "-") else host
    return names.name("domain", host) if not host.endswith(".example") else host
