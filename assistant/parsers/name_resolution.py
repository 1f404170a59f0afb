r"""What host names resolve to, from /etc/hosts, getent, hostname -i, nslookup, host and ping.

$ cat /etc/hosts
127.0.0.1   localhost
127.0.1.1   node7.cluster.local node7

$ hostname -i
127.0.1.1

$ getent hosts node7
127.0.1.1       node7.cluster.local node7
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "name resolution"
TRIGGERS = (
    "127.0.0.1 ",
    "127.0.0.1\t",
    "127.0.1.1",
    "::1 ",
    "::1\t",
    "gethostbyname(",
    "getent",
    "hostname -",
    "nslookup",
    "NXDOMAIN",
    "PING ",
    "has address",
    "not known",
    "/etc/hosts",
    "in name resolution",
)
VERSIONS = "/etc/hosts, getent, host, nslookup, dig of BIND 9, hostname -I, resolvectl, Python's getaddrinfo errors"

_LOCAL = frozenset(
    (
        "localhost",
        "localhost.localdomain",
        "localhost4",
        "localhost6",
        "ip6-localhost",
        "ip6-loopback",
        "localhost6.localdomain6",
        "localhost4.localdomain4",
        "kubernetes.docker.internal",
    )
)
_ADDRESS_BEGINS = tuple("0123456789abcdef:")
#: Of these one stands in every message of a failed resolution.
_FAILED = ("not known", "emporary failure", "NXDOMAIN", "not found: ")
_NAME = r"[A-Za-z][A-Za-z0-9]*(?:[.-][A-Za-z0-9]+)*"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "hosts": re.compile(
            rf"^(?P<ip>127(?:\.\d+){{3}}|::1|\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f:]+)[ \t]+(?P<names>{_NAME}(?:[ \t]+{_NAME})*)[ \t]*(?:#.*)?$"
        ),
        "command": re.compile(r"(?:^|[$#>] ?)hostname (?:-i|-I|--ip-address)\b"),
        "getent": re.compile(
            rf"getent (?:ahosts|hosts|ahostsv4) [\"']?(?P<name>\$\(hostname\)|`hostname`|\$HOSTNAME|{_NAME})"
        ),
        "address": re.compile(r"^(?P<ip>127(?:\.\d+){3}|\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f:]+)(?:[%\s].*)?$"),
        "ping": re.compile(rf"^PING (?P<name>{_NAME}) \((?P<ip>127(?:\.\d+){{3}})\)"),
        "python": re.compile(r"gethostbyname\(.*?\)\D{0,12}(?P<ip>127(?:\.\d+){3})"),
        "failed": re.compile(
            r"(?:ping: (?:unknown host )?(?P<a>[\w.-]+): (?:Name or service not known|Temporary failure in name resolution)"
            r"|server can't find (?P<b>[\w.-]+): NXDOMAIN|Host (?P<c>[\w.-]+) not found: |hostname: (?P<d>Name or service not known|Temporary failure))"
        ),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    asked = ""
    yield from _families(reader)
    for index, text in enumerate(document.messages):
        if asked:
            found = patterns["address"].match(text.strip())
            if found:
                yield from _resolved(reader, index, asked, found["ip"], own=True)
            if found or text.strip():
                asked = ""
        if "hostname -" in text and patterns["command"].search(text):
            asked = "own name"
            continue
        getent = patterns["getent"].search(text) if "getent " in text else None
        if getent:
            asked = getent["name"]
            continue
        found = patterns["hosts"].match(text) if text[:1] in _ADDRESS_BEGINS else None
        if found:
            yield from _hosts_line(reader, index, found["ip"], found["names"].split())
            continue
        found = patterns["ping"].match(text) if text.startswith("PING ") else None
        if found is None and "gethostbyname(" in text:
            found = patterns["python"].search(text)
        if found:
            name = found["name"] if "name" in found.re.groupindex else "own name"
            if name not in _LOCAL:
                yield from _resolved(reader, index, name, found["ip"], own=True)
            continue
        found = patterns["failed"].search(text) if any(word in text for word in _FAILED) else None
        if found:
            yield reader.host(index, "net.resolve_failed", found["a"] or found["b"] or found["c"] or "own name")


def _families(reader: Reader) -> Iterator[Fact]:
    """getent ahosts lists every address of a name; where all of them are IPv6 the name is of no use to IPv4."""
    if not any(kind in reader.document.text for kind in ("STREAM", "DGRAM", "RAW")):
        return
    name, first, found = "", 0, set[bool]()
    for index, text in enumerate([*reader.document.messages, ""]):
        row = re.match(r"(?P<ip>[0-9a-f.:]+)\s+(?:STREAM|DGRAM|RAW)\b", text)
        if row:
            found.add(":" in row["ip"])
            continue
        if name and found == {True}:
            yield reader.host(first, "net.resolved_ipv6_only", name)
        asked = _patterns()["getent"].search(text)
        name, first, found = (asked["name"] if asked else ""), index, set[bool]()


def _hosts_line(reader: Reader, index: int, ip: str, names: list[str]) -> Iterator[Fact]:
    """A line of /etc/hosts or getent; loopback lines count only where they carry a name of their own."""
    real = [
        n
        for n in names
        if n not in ("STREAM", "DGRAM", "RAW")
        and n.lower() not in _LOCAL
        and not n.lower().startswith(("ip6-", "localhost"))
    ]
    if real:
        yield from _resolved(reader, index, real[0], ip, own=ip.startswith("127.") or ip == "::1")


def _resolved(reader: Reader, index: int, name: str, ip: str, own: bool) -> Iterator[Fact]:
    yield reader.host(index, "net.resolved_addr", f"{name}={ip}")
    if own and (ip.startswith("127.") or ip == "::1"):
        yield reader.host(index, "net.hostname_loopback", True)
