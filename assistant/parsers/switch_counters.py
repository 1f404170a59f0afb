r"""Interface counters of switches: SONiC, Cumulus, Cisco NX-OS and IOS, Arista EOS.

    IFACE    STATE            RX_OK        RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR            TX_OK ...    TX_DRP    TX_OVR
Ethernet0        U  812,331,229,001  31201.22 MB/s     62.4%         0         0         0  799,123,331,120 ...   919,233         0

0 input error  0 CRC  41233 output discard
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "switch counters"
TRIGGERS = ("TX_DRP", "RX_ERR", "output discard", "output drops", "OutDiscards", "InDiscards", "CRC")
VERSIONS = "SONiC 2019 to 2024, Cumulus 4 and 5, Cisco NX-OS 7 to 10 and IOS, Arista EOS 4"

_PORT = re.compile(r"^\s*(?P<port>(?:Ethernet|Eth|Et|swp|Te|Hu|Fo|Gi|xe-|et-)[\d/:]+\w*)\b")
_WORDS = re.compile(
    r"(?<![\d,])(?P<n>[\d,]{1,20}) (?P<what>output discards?|input discards?|output drops|output errors|CRC|input errors?|symbol errors?)\b"
    r"|Total output drops: (?P<m>\d+)"
)
#: How headings and rows of a table begin, and what stands in a sentence with a count.
_BEGINS: tuple[str, ...] = ("IFACE", "PORT", "INTERFACE", "Iface", "Port", "Interface", "iface", "port", "interface")
_BEGINS += ("Eth", "Et", "swp", "Te", "Hu", "Fo", "Gi", "xe-", "et-")
_SAID = ("discard", "drops", "error", "CRC")
_DROPS = frozenset(("RX_DRP", "TX_DRP", "InDiscards", "OutDiscards", "TX_OVR", "RX_OVR"))
_ERRORS = frozenset(("RX_ERR", "TX_ERR", "FCSErr", "InErrors", "SymbolErr"))
_FEW = 1000


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    columns: list[str] = []
    port = "switch port"
    for index, text in enumerate(document.messages):
        begin = text[:40].lstrip()
        if not (begin.startswith(_BEGINS) or any(word in text for word in _SAID)):
            continue
        words = text.split()
        if words and words[0].upper() in ("IFACE", "PORT", "INTERFACE") and (_DROPS | _ERRORS) & set(words):
            columns = words
            continue
        named = _PORT.match(text)
        if named:
            port = named["port"]
            yield from _row(reader, index, port, columns, _cells(words))
        for found in _WORDS.finditer(text):
            count = int((found["n"] or found["m"]).replace(",", ""))
            what = found["what"] or "output drops"
            bad = re.search(r"CRC|symbol|input error", what)
            if bad and count > 100:
                yield reader.nic(index, "nic.error_counter", what, port, count)
            elif not bad and count > _FEW:
                yield reader.nic(index, "nic.loss_counter", what, port, count)


def _cells(words: list[str]) -> list[str]:
    """The cells of a row; a rate and its unit are one cell."""
    out: list[str] = []
    for word in words:
        if re.fullmatch(r"[KMGT]?[Bb](?:it)?/s", word) and out:
            continue
        out.append(word)
    return out


def _row(reader: Reader, index: int, port: str, columns: list[str], cells: list[str]) -> Iterable[Fact]:
    if not columns or len(cells) != len(columns):
        return
    for name, cell in zip(columns, cells, strict=True):
        number = cell.replace(",", "")
        if not number.isdecimal():
            continue
        if name in _DROPS and int(number) > _FEW:
            yield reader.nic(index, "nic.loss_counter", name, port, int(number))
        elif name in _ERRORS and int(number) > 100:
            yield reader.nic(index, "nic.error_counter", name, port, int(number))
