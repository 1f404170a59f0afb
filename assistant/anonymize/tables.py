"""Tables of squeue, sinfo, sacct, kubectl; and /etc/hosts: the names that stand in their columns."""

from __future__ import annotations

import re

from assistant.anonymize.nodelists import expand
from assistant.anonymize.pseudonyms import Pseudonyms

_COLUMNS = {
    "NODELIST": "hosts", "NODELIST(REASON)": "hosts", "HOSTNAMES": "host", "HOST": "host", "NODE": "host", "USER": "user", "ACCOUNT": "account", "ACCT": "account",
    "NAMESPACE": "namespace", "JOBNAME": "job", "NodeList": "hosts", "User": "user", "Account": "account", "JobName": "job", "Partition": "", "HOSTNAME": "host", "CLUSTER": "project", "AUTHINFO": "user",
}  # fmt: skip
_HEAD = re.compile(
    r"(?m)^(?=[^\n]*(?:NODELIST|NodeList|JOBID|JobID|NAMESPACE|HOSTNAMES|RESTARTS|\bROLES\b|JobName))[^\n]*$"
)
_HEAD_WORDS = ("NODELIST", "NodeList", "JOBID", "JobID", "NAMESPACE", "HOSTNAMES", "RESTARTS", "ROLES", "JobName")
_WORD = re.compile(r"\S+")
_ETC_HOSTS = re.compile(
    r"(?m)^(?:\d{1,3}\.){3}\d{1,3}[ \t]+([A-Za-z][\w.-]*(?:[ \t]+[A-Za-z][\w.-]*){0,5})[ \t]*(?:#[^\n]*)?$"
)
_WHOAMI = re.compile(r"(\bwhoami[ \t]*\n)([a-z][a-z0-9._-]+)(?=\n)")
ROWS = 100_000


def replace_tables(text: str, names: Pseudonyms) -> str:
    heads = list(_HEAD.finditer(text)) if any(word in text for word in _HEAD_WORDS) else []
    for found in heads:
        names_of = _kinds(found[0])
        if names_of:
            _rows(text, found.end() + 1, "|" if "|" in found[0] else None, names_of, names)
    if "whoami" in text:
        text = _WHOAMI.sub(lambda m: m[1] + names.name("user", m[2]), text)
    return _ETC_HOSTS.sub(lambda m: _alias(m, names), text)


def _kinds(head: str) -> list[str]:
    words = [w.strip() for w in head.split("|")] if "|" in head else head.split()
    kinds = [_COLUMNS.get(w, "") for w in words]
    if "RESTARTS" in words and "NAME" in words:
        kinds[words.index("NAME")] = "host"
    elif "AUTHINFO" in words and "NAME" in words:  # a mark stands in the first column, or nothing
        kinds[words.index("NAME")] = "project"
        kinds = kinds[words[0] == "CURRENT" :]
    elif ("ROLES" in words and "NAME" in words) or ("JOBID" in words and "NAME" in words):
        kinds[words.index("NAME")] = "host" if "ROLES" in words else "job"
    return kinds if any(kinds) else []


def _rows(text: str, at: int, separator: str | None, kinds: list[str], names: Pseudonyms) -> None:
    """Notes the names of a table; where they stand, `everywhere` and the columns of `place` replace them."""
    for _ in range(ROWS):
        end = text.find("\n", at)
        line = text[at : end if end != -1 else len(text)]
        cells = [c.strip() for c in line.removeprefix("* ").split(separator)]
        if (not line.strip() or len(cells) < len(kinds) - 1) and (line.strip("-+ |") or not line):
            return
        for cell, kind in zip(cells, kinds, strict=False):
            if kind and cell and not set(cell) <= set("-+."):
                _note(cell, kind, names)
        if end == -1:
            return
        at = end + 1


def _note(cell: str, kind: str, names: Pseudonyms) -> None:
    if cell.startswith(("(", "<")):
        return
    if kind != "hosts":
        names.name(kind, cell)
        return
    for item in re.findall(r"[^,\[\]]*\[[^\]]*\][^,]*|[^,]+", cell):
        for host in expand(item) or [item]:
            names.name("host", host)


def _alias(found: re.Match[str], names: Pseudonyms) -> str:
    start = found.start(1) - found.start()
    new = _WORD.sub(lambda m: names.name("host", m[0]), found[1])
    return found[0][:start] + new + found[0][start + len(found[1]) :]


__all__ = ["replace_tables"]
