r"""How near the nodes of a job are: topology labels, zones, placement groups and hops.

      "NetworkNodes": ["nn-1a", "nn-2a", "nn-3a"]
gke-a3-pool1-0001   Ready   <none>   9d   v1.29.4   b-17   s-02   us-central1-c      (headings BLOCK SUBBLOCK ZONE)
SwitchName=leaf01 Level=0 LinkSpeed=1 Nodes=h[001-016]
[3] -> switch port {0xfc6a1c0300bb0001}[3] lid 201-201 "leaf-r1"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import indices_of, lines_with
from assistant.parsers._net import Reader

NAME = "node placement"
TRIGGERS = (
    "NetworkNodes",
    "ZONE",
    "BLOCK",
    "RACK",
    "SwitchName=",
    "-> switch port",
    "Placement",
    "Zone",
    " zone",
    "/zone",
    "-zone",
    "\nzone",
    '"zone',
    "=zone",
    " rack",
    "/rack",
    "-rack",
    "\track",
    '"rack',
    "=rack",
    "networkblock",
    "network-block",
    "island",
    "Rack",
)
VERSIONS = (
    "AWS describe-instance-topology, GKE and kubectl node labels, Slurm topology (scontrol show topology), ibtracert"
)

_NODES = re.compile(r"\"NetworkNodes\":\s*\[(?P<ids>[^\[\]]+)\]")
_HEADING = re.compile(
    r"^(?:SUB)?BLOCK$|^(?:TOR|RACK|ZONE|CLUSTER|SPINE|HOST-?GROUP|TOPOLOGY\S*|PHYSICALHOST)$|^zone$", re.IGNORECASE
)
_ZONE = re.compile(r"\b(?:us|eu|ap|sa|ca|me|af|asia|europe|northamerica)-[a-z]+-?\d+-?[a-f]\b|\b[a-z]+\d?-az\d\b")
_LABEL = re.compile(
    r"\b(?P<kind>rack|network-?block|(?:hpc-?)?island|hall|row|cell|scalable-?unit|cabinet)[-_=: ]?(?P<which>[a-z]?\d+\w*)\b",
    re.IGNORECASE,
)
_NAMES = ("NAME", "NODE", "HOST", "INSTANCE")
_REGIONS = ("us-", "eu-", "ap-", "sa-", "ca-", "me-", "af-", "asia-", "europe-", "northamerica-", "-az")
_KINDS = ("rack", "network", "island", "hall", "row", "cell", "scalable", "cabinet")
_SWITCH = re.compile(r"SwitchName=(?P<name>\S+) .{0,200}?\bLevel=(?P<level>\d+).{0,200}?\bNodes=(?P<nodes>\S+)")
_LIST = re.compile(r"\bNodeList=(?P<nodes>[A-Za-z]\S*)")
_ITEM = re.compile(r"([A-Za-z][\w.-]*?)(?:\[([\d,-]+)\]|(\d+))(?:,|$)")


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    yield from _network_nodes(reader)
    yield from _labels(reader)
    yield from _switches(reader)
    yield from _hops(reader)


def _network_nodes(reader: Reader) -> Iterator[Fact]:
    """AWS: the switches above each instance, from the core down; sharing the last one means one hop."""
    paths: list[tuple[int, list[str]]] = []
    for index in lines_with(reader.document, ("NetworkNodes",)):
        found = _NODES.search(reader.document.lines[index])
        if found:
            paths.append((index, re.findall(r"\"([^\"]+)\"", found["ids"])))
    for level, name in ((0, "core switches"), (1, "aggregation switches")):
        values = {p[level] for _, p in paths if len(p) > level}
        if len(values) > 1 and len(values) * 2 >= len(paths):
            yield reader.job(paths[0][0], "placement.apart", f"{len(paths)} instances under {len(values)} {name}")
            return


def _labels(reader: Reader) -> Iterator[Fact]:
    """A table of nodes with a column of racks, blocks or zones."""
    columns: list[str] = []
    start = 0
    values: dict[str, set[str]] = {}
    rows = 0
    for index, text in enumerate(reader.document.messages):
        heads = text[:40].lstrip().upper().startswith(_NAMES)
        if not (columns or heads):
            continue
        words = text.split()
        if (
            words
            and words[0].upper() in ("NAME", "NODE", "HOST", "HOSTNAME", "INSTANCE")
            and any(_HEADING.match(w) for w in words)
        ):
            columns, start, rows, values = words, index, 0, {}
            continue
        if not columns or len(words) != len(columns) or set(text.strip()) <= set("- +|"):
            continue
        rows += 1
        for heading, word in zip(columns, words, strict=True):
            if _HEADING.match(heading):
                values.setdefault(heading.upper(), set()).add(word)
    for heading, found in values.items():
        if len(found) > 1 and rows >= 2:
            yield reader.job(start, "placement.apart", f"{rows} nodes in {len(found)} different {heading.lower()}s")
            return
    yield from _tokens(reader)
    zoned = {
        z[0]: i
        for i in reversed(lines_with(reader.document, _REGIONS))
        for z in _ZONE.finditer(reader.document.lines[i])
    }
    zones = set(zoned)
    regional = {z for z in zones if not re.search(r"-az\d$", z)}
    if len(regional) > 1 and not values:
        line = min(zoned.values())
        yield reader.job(line, "placement.zones", ", ".join(sorted(regional)[:4]))


def _tokens(reader: Reader) -> Iterator[Fact]:
    """Lines of nodes that carry a label such as rack-a1, networkblock-3 or hpcisland-2."""
    found: dict[str, dict[str, str]] = {}
    first = 0
    for index in indices_of(reader.document.text.lower(), _KINDS):
        text = reader.document.messages[index]
        if len(text) > 400:
            continue
        words = text.split()
        if len(words) < 2 or not re.match(r"[A-Za-z][\w.-]*\d", words[0]):
            continue
        for label in _LABEL.finditer(text[len(words[0]) :]):
            first = first or index
            found.setdefault(label["kind"].lower(), {})[words[0]] = label[0]
    for kind, nodes in found.items():
        if len(nodes) >= 3 and len(set(nodes.values())) > 1:
            yield reader.job(
                first, "placement.apart", f"{len(nodes)} nodes in {len(set(nodes.values()))} different {kind}s"
            )
            return


def _expand(text: str) -> set[str]:
    """Host names of h[001-003,007],g5."""
    out: set[str] = set()
    for name, ranges, single in _ITEM.findall(text):
        for part in (ranges or single).split(","):
            low, _, high = part.partition("-")
            if low.isdecimal() and (not high or high.isdecimal()) and len(out) < 5000:
                numbers = range(int(low), int(high or low) + 1)
                out.update(f"{name}{n:0{len(low)}d}" for n in numbers[:2000])
    return out


def _switches(reader: Reader) -> Iterator[Fact]:
    """Slurm: the nodes of a job against the switches of the topology."""
    switches: dict[int, dict[str, set[str]]] = {}
    job: tuple[int, set[str]] | None = None
    for index in lines_with(reader.document, ("SwitchName=", "NodeList=")):
        text = reader.document.lines[index]
        found = _SWITCH.search(text)
        if found:
            switches.setdefault(int(found["level"]), {})[found["name"]] = _expand(found["nodes"])
            continue
        listed = _LIST.search(text)
        if listed and "(null)" not in listed["nodes"]:
            job = (index, _expand(listed["nodes"]))
    if not job or not switches:
        return
    for level in sorted(switches, reverse=True):
        used = [name for name, nodes in switches[level].items() if nodes & job[1]]
        size = max(len(n) for n in switches[level].values())
        if len(used) > max(1, -(-len(job[1]) // max(size, 1))):
            yield reader.job(
                job[0], "placement.apart", f"{len(job[1])} nodes under {len(used)} switches of level {level}"
            )
            return


def _hops(reader: Reader) -> Iterator[Fact]:
    """ibtracert: how many switches lie between two ports."""
    hops: list[tuple[int, int]] = []
    for index in lines_with(reader.document, ("From ca {", "From node {", "From switch {", "-> switch port {")):
        text = reader.document.lines[index]
        if re.match(r"\s*From (?:ca|node|switch) \{", text):
            hops.append((0, index))
        elif "-> switch port {" in text and hops:
            hops[-1] = (hops[-1][0] + 1, hops[-1][1])
    counts = {n for n, _ in hops}
    if len(counts) > 1:
        far = max(hops)
        yield reader.job(far[1], "placement.apart", f"{min(counts)} switch to one peer and {far[0]} to another")
