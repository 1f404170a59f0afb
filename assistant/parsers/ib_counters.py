r"""Error, congestion and loss counters of RDMA ports: perfquery, ibqueryerrors, ibdiagnet, rdma statistic, sysfs.

# Port counters: Lid 12 port 1 (CapMask: 0x5A00)
SymbolErrorCounter:..............19342
PortXmitWait:....................2418231

link mlx5_0/1 rx_write_requests 0 out_of_sequence 12 packet_seq_err 9 rp_cnp_handled 88123
/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:311
GUID 0x98039b0300a1b2c3 port 12: [SymbolErrorCounter == 1544] [LinkDownedCounter == 3] [PortXmitWait == 871223]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "RDMA port counters"
TRIGGERS = (
    "SymbolErrorCounter",
    "PortXmitWait",
    "LinkDownedCounter",
    "hw_counters/",
    "/counters/",
    "rx_write_requests",
    "out_of_sequence",
)
VERSIONS = (
    "perfquery, ibqueryerrors of infiniband-diags 1.6 to 5, rdma statistic of iproute2 5 to 6, /sys "
    "counters and hw_counters (mlx5, bnxt_re, irdma, efa)"
)

#: Counters of a bad link; a value up to the number is ordinary (link training at boot, single symbol errors).
_ERRORS = {
    "symbolerrorcounter": 100, "symbol_error": 100, "linkerrorrecoverycounter": 0, "link_error_recovery": 0,
    "linkdownedcounter": 1, "link_downed": 1, "portrcverrors": 0, "port_rcv_errors": 0, "locallinkintegrityerrors": 0,
    "local_link_integrity_errors": 0, "excessivebufferoverrunerrors": 0, "excessive_buffer_overrun_errors": 0,
    "portfecuncorrectableblockctr": 0, "rx_icrc_encapsulated": 0,
}  # fmt: skip
_CONGESTION = {
    "portxmitwait": 100_000, "port_xmit_wait": 100_000, "np_ecn_marked_roce_packets": 10_000, "np_cnp_sent": 10_000,
    "rp_cnp_handled": 10_000, "portxmitdiscards": 0, "port_xmit_discards": 0,
}  # fmt: skip
_LOSS = {
    "out_of_sequence": 0, "packet_seq_err": 0, "implied_nak_seq_err": 0, "duplicate_request": 0, "roce_adp_retrans": 0,
    "roce_adp_retrans_to": 0, "rx_drops": 1000, "roce_slow_restart": 0, "retrans_pkts": 1000, "retrans_timeout_events": 0,
}  # fmt: skip
_RETRIES = {"local_ack_timeout_err": 0, "req_transport_retries_exceeded": 0}
_KNOWN = frozenset((*_ERRORS, *_CONGESTION, *_LOSS, *_RETRIES))
_GROUPS = (
    ("ib.error_counter", _ERRORS),
    ("ib.congestion_counter", _CONGESTION),
    ("ib.loss_counter", _LOSS),
    ("ib.retry_counter", _RETRIES),
)

_DEVICES = ("mlx4_", "mlx5_", "bnxt_re", "irdma", "rdmap", "efa_", "hfi1_")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "head": re.compile(r"# Port (?:extended )?counters: (?P<who>.+?) port (?P<port>\d+)"),
        "node": re.compile(r"^\s*Errors for (?:0x[0-9a-fA-F]+ )?\"(?P<name>[^\"]+)\""),
        "perfquery": re.compile(r"^(?P<name>[A-Z][A-Za-z0-9]+):\.+(?P<value>0x[0-9a-fA-F]+|\d+)\s*$"),
        "statistic": re.compile(r"^\s*link (?P<dev>[\w.-]+)/(?P<port>\d+) (?P<items>(?:\w+ \d+\s*)+)$"),
        "sysfs": re.compile(
            r"infiniband/(?P<dev>[\w.-]+)/ports/(?P<port>\d+)/(?:hw_)?counters/(?P<name>\w+)[:= ]+(?P<value>\d+)"
        ),
        "errors": re.compile(r"port (?P<port>\d+|ALL):?\s+(?P<items>(?:\[\w+ == \d+[^\]]*\]\s*)+)"),
        "item": re.compile(r"\[(?P<name>\w+) == (?P<value>\d+)"),
        "bare": re.compile(r"^\s*(?P<name>[a-z]+_[a-z_]+)\s*[:=]?\s+(?P<value>\d+)\s*$"),
        "device": re.compile(r"\b(?P<dev>mlx[45]_\w+|bnxt_re\w*|irdma\w+|rdmap\w+|efa_\d+|hfi1_\d+)\b"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    device = node = ""
    heading: list[str] = []
    for index, text in enumerate(document.messages):
        if "Errors for " in text and (named := patterns["node"].match(text)):
            node = named["name"]
            continue
        head = patterns["head"].search(text) if "ounters: " in text else None
        if head:
            device = f"{head['who']} port {head['port']}"
            continue
        words = text.split()
        if (
            len(words) > 1
            and not words[1].isdecimal()
            and sum(w.lower() in _KNOWN for w in words) >= 2
            and not any(w.isdecimal() for w in words)
        ):
            heading = words
            continue
        for name, value, where in _counters(text, device, node) or (
            _columns(words, heading, device) if heading else []
        ):
            yield from _fact(reader, index, name, value, where)
        if any(word in text for word in _DEVICES):
            named = patterns["device"].search(text)
            device = named["dev"] if named else device


def _columns(words: list[str], heading: list[str], device: str) -> list[tuple[str, int, str]]:
    """A row of a table whose headings are names of counters."""
    if len(words) != len(heading) or not all(w.isdecimal() for w in words[1:]):
        return []
    where = f"{heading[0].lower()} {words[0]}" if words[0].isdecimal() else words[0]
    return [(n, int(v), where or device) for n, v in zip(heading, words, strict=True) if v.isdecimal()]


def _counters(text: str, device: str, node: str) -> list[tuple[str, int, str]]:
    patterns = _patterns()
    found = patterns["perfquery"].match(text)
    if found:
        return [(found["name"], int(found["value"], 16 if found["value"].startswith("0x") else 10), device)]
    found = patterns["sysfs"].search(text) if "/counters/" in text or "/hw_counters/" in text else None
    if found:
        return [(found["name"], int(found["value"]), f"{found['dev']}:{found['port']}")]
    found = patterns["statistic"].match(text)
    if found:
        words = found["items"].split()
        return [
            (n, int(v), f"{found['dev']}:{found['port']}")
            for n, v in zip(words[::2], words[1::2], strict=False)
            if v.isdecimal()
        ]
    found = patterns["errors"].search(text) if " == " in text else None
    if found:
        if found["port"] == "ALL":
            return []  # the sum of the ports that follow
        where = f"{node} port {found['port']}".strip()
        return [(m["name"], int(m["value"]), where) for m in patterns["item"].finditer(found["items"])]
    found = patterns["bare"].match(text)
    if found:
        return [(found["name"], int(found["value"]), device)]
    return []


def _fact(reader: Reader, index: int, name: str, value: int, where: str) -> Iterable[Fact]:
    for key, counters in _GROUPS:
        bound = counters.get(name.lower())
        if bound is not None and value > bound:
            yield reader.nic(index, key, name, where or "port", value)
