r"""`dcgmi dmon -e ...`: sampled fields of each GPU under their short names.

#Entity   GPUTL             MCUTL             POWER             TMPTR        ESVTL        EDVTL        FBUSD
ID                                             W                 C
GPU 0     75                42                185.300           68           0            0            28456
"""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, hosts_by_line
from assistant.parsers._samples import thin

NAME = "dcgmi dmon"
TRIGGERS = ("#Entity", "# Entity")
VERSIONS = "DCGM 2.0 to 4.4: dcgmi dmon -e with any fields, columns by their short names"

#: Short names of DCGM's fields and what they are; the unit is the one of the key.
COLUMNS = {
    "GPUTL": ("gpu.util", 1.0),
    "POWER": ("gpu.power_w", 1.0),
    "TMPTR": ("gpu.temp_c", 1.0),
    "GTEMP": ("gpu.temp_c", 1.0),
    "MMTMP": ("gpu.mem_temp_c", 1.0),
    "SMCLK": ("gpu.sm_clock_mhz", 1.0),
    "FBUSD": ("gpu.mem_used_mib", 1.0),
    "XIDER": ("gpu.xid", 1.0),
    "PCIRC": ("gpu.pcie_replays", 1.0),
    "EDVTL": ("gpu.ecc_uncorrected", 1.0),
    "ESVTL": ("gpu.ecc_corrected", 1.0),
    "SMACT": ("gpu.sm_active", 100.0),
    "TENSO": ("gpu.tensor_active", 100.0),
}
WHOLE = frozenset(("gpu.xid", "gpu.pcie_replays", "gpu.ecc_uncorrected", "gpu.ecc_corrected"))
#: Facts that only say something where they are not zero.
NOT_ZERO = frozenset(("gpu.xid",))


def parse(document: Document) -> Iterable[Fact]:
    return thin(_rows(document))


def _rows(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    columns: list[str] = []
    for index, text in enumerate(document.lines):
        if "ntity" in text and text.lstrip().startswith("#"):
            columns = text.replace("# Entity", "#Entity").split()[1:]
            continue
        if not columns or "GPU" not in text:
            continue
        words = text.split()
        if len(words) < 2 or words[0] != "GPU" or not words[1].isdecimal() or len(words) - 2 != len(columns):
            continue
        origin = None
        for name, cell in zip(columns, words[2:], strict=True):
            known = COLUMNS.get(name)
            try:
                value = float(cell)
            except ValueError:
                continue
            if known is None or (known[0] in NOT_ZERO and not value):
                continue
            origin = origin or document.origin(index, "tool")
            key, factor = known
            yield Fact(
                key,
                int(value) if key in WHOLE else round(value * factor, 3),
                origin,
                gpu_subject(hosts[index], words[1]),
            )
