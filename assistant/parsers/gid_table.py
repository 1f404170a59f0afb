r"""GIDs of RoCE ports, from show_gids, ibv_devinfo -v and sysfs listings.

DEV     PORT    INDEX   GID                                     IPv4            VER     DEV
mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:0a00:0105 10.0.1.5        v2      ens1f0np0

        GID[  3]:               ::ffff:10.0.1.5, RoCE v2
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "GID table"
TRIGGERS = ("RoCE v", "GID[", "n_gids_found", "\tv2\t", " v2 ", "\tv1\t", " v1 ")
VERSIONS = "show_gids of MLNX_OFED 4 to 24, ibv_devinfo -v of rdma-core 17 to 55, /sys/class/infiniband/*/ports/*/gids"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "row": re.compile(
            r"^\s*(?P<dev>[A-Za-z]\w+)\s+(?P<port>\d+)\s+(?P<index>\d+)\s+(?P<gid>(?:[0-9a-f]{4}:){7}[0-9a-f]{4})"
            r"\s+(?:(?P<ip>\d+\.\d+\.\d+\.\d+)\s+)?(?P<version>v1|v2)\b"
        ),
        "device": re.compile(r"^\s*hca_id:\s+(?P<dev>\S+)"),
        "port": re.compile(r"^\s+port:\s+(?P<port>\d+)"),
        "gid": re.compile(r"^\s+GID\[\s*(?P<index>\d+)\]:\s+(?P<gid>[0-9a-f:.]+)(?:,\s*(?P<version>\S.*?))?\s*$"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    device, port = "", "1"
    first: dict[tuple[str | None, str], int] = {}
    good: dict[tuple[str | None, str], tuple[int, int]] = {}
    for index, text in enumerate(document.messages):
        found = patterns["device"].match(text)
        if found:
            device = found["dev"]
            continue
        found = patterns["port"].match(text)
        if found:
            port = found["port"]
            continue
        found = patterns["row"].match(text)
        if found:
            key = (reader.hosts[index], f"{found['dev']}:{found['port']}")
            ipv4 = found["ip"] is not None or found["gid"].startswith("0000:0000:0000:0000:0000:ffff:")
            version2 = found["version"] == "v2"
        else:
            found = patterns["gid"].match(text)
            if not found or not device or "RoCE" not in (found["version"] or ""):
                continue
            key = (reader.hosts[index], f"{device}:{port}")
            ipv4 = "ffff:" in found["gid"]
            version2 = "v2" in found["version"]
        first.setdefault(key, index)
        if ipv4 and version2:
            good.setdefault(key, (index, int(found["index"])))
    for key, line in first.items():
        if key in good:
            yield reader.nic(good[key][0], "gid.ipv4_index", good[key][1], key[1])
        else:
            yield reader.nic(line, "net.gid_missing_ipv4", True, key[1])
