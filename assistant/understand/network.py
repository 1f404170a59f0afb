"""Networks as people name them, and the traffic that they saw.

People write 1GB/s for 1 Gbit/s: a rate in bytes that is a usual rate in bits is taken as bits, and marked as doubtful.
"""

from __future__ import annotations

from collections.abc import Iterator

from assistant.facts import Value
from assistant.understand.text import COUNT, decimal, denied, mentioned, mentions, negated, number, regex

Found = tuple[str, Value, bool]

_USUAL = (1.0, 2.5, 5.0, 10.0, 20.0, 25.0, 40.0, 50.0, 56.0, 100.0, 200.0, 400.0, 800.0)

_KINDS: tuple[tuple[str, str, bool], ...] = (
    ("roce", r"\brocev?\d?\b|\broce[ -]?v?[12]\b|\brdma over (?:converged )?ethernet\b", True),
    ("efa", r"\befa\b|\belastic fabric adapter", True),
    ("omni-path", r"\bomni-?path\b|\bopa\b|\bhfi1?\b", True),
    ("slingshot", r"\bslingshot\b|\bcxi\b", True),
    ("infiniband", r"\binfini-?band\b|\bibs?\b(?![_/]|verbs)|\b(?:hdr|ndr|edr|fdr|qdr|xdr)(?:[- ]?\d{2,3})?\b|\bipoib\b|\bib\d\b", True),
    ("wireless", r"\bwi-?fi\b|\bwlan\b|\bwireless\b", False),
    ("ethernet", r"\bethernet\b|\d ?g(?:ig)?b?e\b|\bgbe\b|\bgige\b|(?<!\d )(?<!\d)\bgigabit (?:ethernet|lan|network|switch|nics?|link)\b|\blan\b|\b\d+ ?gbase|\bgvnic\b|\btcpxo?\b|\bena\b", False),
)  # fmt: skip

_IB_RATE = {"qdr": 40.0, "fdr": 56.0, "edr": 100.0, "hdr": 200.0, "ndr": 400.0, "xdr": 800.0}
_FREE = r"(?:(?<=\dx)|(?<=\d×)|(?<![\w.]))"
_LINK_WORD = r"(?:ethernet|network(?:ing)?|nics?|cards?|links?|ports?|lan|switch(?:es)?|adapters?|connection|interconnect|roce|infiniband|ib|efa|uplinks?|fabric|interfaces?|cables?|qsfp\d*|sfp\d*|mellanox|connectx[- ]?\d*)"
_BITS = r"(?:g ?b(?:it)?(?:/s(?:ec)?|ps)|gbits?(?:/s(?:ec)?)?|gigabits?(?: per second|/s)?|gig|gb ?e|gige|g ?be|gb|g)"

_TRAFFIC = r"(?P<a>\d+(?:\.\d+)?)(?: ?(?:-|–|to|and|or) ?(?P<b>\d+(?:\.\d+)?))? ?(?P<u>[kmg]i?b(?:yte|it)?s?(?:/s(?:ec)?|ps| per second| a second)|[mg]bits?(?:/s(?:ec)?)?)"
_ON_WIRE = regex(
    r"\b(?:on|over|across|through) the (?:wire|network|link|nic|line|card|interface|10g|ib)\b|\bwire\b|\btraffic\b|\biftop\b|\bnload\b|\bsar\b|\bdstat\b|\bbmon\b|\bbwm|\bvnstat\b"
    r"|\bnetwork (?:usage|utili[sz]ation|throughput|load|activity|bandwidth|graph|rate)\b|\b(?:nic|interface|card|link)s? (?:only )?(?:shows?|sees?|does|moves?|carr(?:y|ies)|runs? at|is at|sits at|never (?:exceeds|goes above))"
    r"|\b(?:send|sends|sending|transfers?|receives?)\b"
)  # fmt: skip


def read_network(text: str) -> Iterator[Found]:
    """Facts on the network between the hosts that a text states."""
    kind = _kind(text)
    if kind is not None:
        yield "network_kind", kind[0], False
        yield "network_rdma", kind[1], False
    elif mentioned(
        text, r"\brdma (?:is )?(?:in use|used|works|enabled|active|on)\b|\b(?:with|over|via|use[sd]?|using) rdma\b"
    ):
        yield "network_rdma", True, False
    elif denied(text, r"\binfini-?band\b|\brdma\b|\broce\b") is not None:
        yield "network_rdma", False, False
    rate = _rate(text, kind[0] if kind else None)
    if rate is not None:
        gbps, doubtful = rate
        yield "network_gbps", gbps, False
        if doubtful:
            yield "network_unit_doubt", doubtful, False
        if kind is None and gbps in (1.0, 2.5, 5.0, 10.0):
            yield "network_kind", "ethernet", False
            yield "network_rdma", False, False
    nics = _nics(text)
    if nics is not None:
        yield "network_nics", nics, False
    yield from _traffic(text)
    yield from _measured(text)


def _kind(text: str) -> tuple[str, bool] | None:
    """The network between the hosts; a correction ("actually it's RoCE") comes last and wins."""
    found: list[tuple[int, str, bool]] = []
    for name, pattern, rdma in _KINDS:
        found += [(m.start(), name, rdma) for m in mentions(text, pattern) if not _not_there(text, m.start(), m.end())]
    if not found:
        return None
    corrected = regex(r"\b(?:actually|i meant|correction|sorry,? it'?s|not \w+,? but)\b").search(text)
    if corrected:
        later = [f for f in found if f[0] > corrected.start()]
        if later:
            return later[0][1:]
    names = {f[1] for f in found}
    if len(names) > 1 and _EITHER.search(text):
        return None
    order = ("roce", "efa", "omni-path", "slingshot", "infiniband", "ethernet", "wireless")
    best = next(n for n in order if n in names)
    if best == "ethernet" and "wireless" in names:
        best = "wireless"
    return best, next(f[2] for f in found if f[1] == best)


_EITHER = regex(
    r"\b(?:roce|rdma|infini-?band|ib|ethernet|efa)(?: v2)?,? or (?:just |plain |only )?(?:roce|infini-?band|ib|ethernet|efa)\b"
)


def _not_there(text: str, start: int, end: int) -> bool:
    """ "Is it the InfiniBand?" states that there is one; "ib_write_bw", "NCCL_IB_HCA" and "instead of IB" do not."""
    return (
        text[max(0, start - 1) : start] in ("_", "/")
        or regex(
            r"^\s*(?:is|was|isn'?t)? ?(?:not (?:available|present|installed|there|used)|missing|absent|unavailable)\b"
        ).search(text[end:])
        is not None
    )


def _rate(text: str, kind: str | None) -> tuple[float, str] | None:
    """Rate of one NIC in Gbit/s; the second value is what was written, where its unit is doubtful."""
    for match in mentions(text, r"\b(hdr|ndr|edr|fdr|qdr|xdr)(?:[- ]?(\d{2,3}))?\b"):
        return (float(match[2]) if match[2] else _IB_RATE[match[1].lower()]), ""
    if mentioned(text, r"\bgigabit (?:ethernet|lan|network|switch|nics?|link)\b") and not regex(r"\d+ ?gigabit").search(
        text
    ):
        return 1.0, ""
    patterns = (
        rf"{_FREE}(?P<n>\d+(?:\.\d+)?)[ -]?(?P<u>gb ?e|gige|gbase\w*)\b",
        rf"{_FREE}(?P<n>\d+(?:\.\d+)?)[ -]?(?P<u>gb/s|gbyte/s|gigabytes?(?:/s| per second)|{_BITS})\b(?:[ -](?:\w+[ -]){{0,2}}?){_LINK_WORD}\b",
        rf"\b{_LINK_WORD}\b(?: (?:is|are|has|with|of|at|runs at|speed|called|between|them|each|only|just|a|an|the|rated|says|nodes|two|servers|machines|about|link|rate|from|to|in|on)){{0,5}}[ :=(,-]*(?P<n>\d+(?:\.\d+)?)[ -]?(?P<u>gb/s|gbyte/s|{_BITS})(?![\w/])",
        rf"^\W*(?P<n>\d+(?:\.\d+)?)[ -]?(?P<u>gb/s|{_BITS})\W*$",
        r"\b(?:roce|efa|ethernet|infiniband|ib|opa|omni-?path)[- ](?P<n>\d{1,3}) ?(?P<u>g?)\b",
        rf"{_FREE}(?P<n>\d+)(?P<u>g)\b(?= (?:between|network|eth|ib))",
        rf"\b(?:over|via|\d+ ?x|\d+ ?×) ?(?P<n>\d+(?:\.\d+)?) ?(?P<u>{_BITS})\b(?![\w/])",
    )
    for pattern in patterns:
        rates = []
        for match in mentions(text, pattern):
            written = match[0]
            value = float(match["n"])
            unit = match["u"].lower()
            bytes_written = "GB/s" in written or "GBps" in written or "byte" in unit
            if value not in _USUAL or regex(r"\b(?:of )?(?:memory|ram|vram|disk|gpu|model|swap|checkpoint)\b").search(
                text[match.end("u") : match.end("u") + 12]
            ):
                continue
            if regex(r"\b(?:pcie|gpu|sxm|vram|memory|ram|[ahv]\d{2,3})\b").search(written):
                continue
            if _TEST_RESULT.search(text[max(0, match.start() - 40) : match.start()]):
                continue
            rates.append((value, f"{match['n']} GB/s" if bytes_written else ""))
        if rates:
            return max(rates)
    return None


_TEST_RESULT = regex(r"\b(?:iperf\d?|busbw|algbw|all-?reduce|measures?|gives|gets?|reach\w*|see)\b[^.]{0,25}$")


def _nics(text: str) -> int | None:
    match = mentioned(
        text,
        rf"(?<![\w.])(?P<n>{COUNT})(?: ?x ?| ?× ?| )(?:(?:\d+(?:\.\d+)? ?(?:g\w*|gbit/s)?|roce|efa|ib|hdr|ndr|edr|infiniband|ethernet|mellanox|connectx-?\d*|bonded)[ -]?){{0,3}}(?:nics?|hcas?|ports?|rails?|adapters?|network cards?|connectx-?\d+|cx-?\d)\b",
    )
    count = number(match["n"]) if match else None
    if count is None:
        match = mentioned(text, r"(?<![\w.])(?P<n>\d{1,2}) ?(?:x|×) ?\d{1,3} ?g(?:b|be|bps|bit)?\b(?!i)")
        count = number(match["n"]) if match else None
    return count if count and count <= 32 else None


def _gbps(low: str, high: str | None, unit: str) -> float:
    value = (decimal(low) + decimal(high)) / 2 if high else decimal(low)
    scale = {"k": 1e-6, "m": 1e-3, "g": 1.0}[unit[0].lower()]
    is_bytes = unit[1:2] == "B" or "byte" in unit.lower() or unit[1:3] in ("iB",)
    if "bit" in unit.lower():
        is_bytes = False
    return round(value * scale * (8 if is_bytes else 1), 4)


def _traffic(text: str) -> Iterator[Found]:
    for match in regex(_TRAFFIC).finditer(text):
        around = text[max(0, match.start() - 70) : match.end() + 60]
        if _ON_WIRE.search(around) and not regex(
            r"\b(?:iperf|ib_(?:write|read|send)|busbw|algbw|dd |disk|write[sd]? \d|nfs|read(?:s|ing)?)\b"
        ).search(around):
            yield "net.observed_gbps", _gbps(match["a"], match["b"], match["u"]), False
            return


def _measured(text: str) -> Iterator[Found]:
    for match in regex(_TRAFFIC).finditer(text):
        before, after = (
            text[max(0, match.start() - 70) : match.start()],
            text[match.end() : match.end() + 50].split(". ")[0],
        )
        if regex(r"\biperf\d?\b").search(before + after):
            yield "net.iperf_gbps", _gbps(match["a"], match["b"], match["u"]), False
        elif regex(r"\bib_(?:write|read|send)_bw\b|\bperftest\b").search(before + after):
            yield "net.rdma_bw_gbps", _gbps(match["a"], match["b"], match["u"]), False
        elif regex(r"\bbus ?bw\b|\bbus bandwidth\b|\ball_?reduce_perf\b|\bnccl[- ]tests?\b").search(before + after):
            yield "nccl_tests.busbw_peak_gbs", round(_gbps(match["a"], match["b"], match["u"]) / 8, 4), False
        else:
            continue
        return
    ping = regex(
        r"\b(?:ping|latency|round[- ]trips?|rtt)\b[^.;]{0,40}?(\d+(?:\.\d+)?) ?(ms|us|µs|milliseconds?|microseconds?)\b"
    ).search(text)
    if ping and not negated(text, ping.start()):
        value = float(ping[1]) * (1.0 if ping[2].lower().startswith(("ms", "milli")) else 1e-3)
        yield "net.rtt_ms", round(value, 5), False
