r"""TCP connections that carry the traffic of a job, from `ss -tni` and its variants.

ESTAB 0  4123312  172.31.9.12:41022  172.31.9.20:50331
     cubic wscale:7,7 rto:204 rtt:0.31/0.1 mss:8949 cwnd:411 bytes_acked:81223001244 send 95.0Gbps delivery_rate 9.5Gbps
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader

NAME = "TCP connections"
TRIGGERS = ("bytes_acked:", "bytes_sent:", "delivery_rate")
VERSIONS = "ss -ti of iproute2 3 to 6"

#: A connection that has carried more than this is one of the job's data, not of its control.
BULK = 5e9


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "bytes": re.compile(r"\bbytes_(?:acked|sent):(?P<n>\d+)"),
        "rate": re.compile(r"\bdelivery_rate (?P<n>\d+(?:\.\d+)?)(?P<u>[KMG])bps"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    bulk: list[int] = []
    rates: list[float] = []
    for index in lines_with(document, ("bytes_acked:", "bytes_sent:")):
        text = document.messages[index]
        counts = [int(m["n"]) for m in patterns["bytes"].finditer(text)]
        if counts and max(counts) > BULK:
            bulk.append(index)
            rate = patterns["rate"].search(text)
            if rate:
                rates.append(float(rate["n"]) * {"K": 1e-6, "M": 1e-3, "G": 1.0}[rate["u"]])
    if bulk:
        yield reader.job(bulk[0], "tcp.bulk_streams", len(bulk))
        if rates:
            yield reader.job(bulk[0], "tcp.stream_gbps", round(max(rates), 3))
