"""How many nodes and GPUs, which model: "2 nodes of 8 A100", "4x8 a100 80gb", "two dgx h100", "64 GPUs over 8 nodes"."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.facts import Value
from assistant.understand.hardware import Gpu, Machine, gpus, machine
from assistant.understand.text import COUNT, HOST_WORD, mentions, negated, number, regex

Found = tuple[str, Value, bool]
"""Key, value, and whether it is inferred from a machine's type and not said."""

_GPU_WORD = r"(?:gpus?|cards?|accelerators?|graphics cards)"
_SAME = r"(?:such|identical|similar|more|of (?:these|those|them)|different|physical|cloud|aws|gpu|big|small|azure|gcp|ubuntu|linux|slurm|dell|supermicro|hgx|bare[- ]metal|compute|desktop|amd|intel|epyc|xeon|equal|spot|single-gpu|\d+-gpu|nvidia|kubernetes|k8s|ray)"
_MODEL = r"(?:(?:nvidia |geforce |tesla )?(?:(?:rtx|gtx|titan|quadro) ?[\w]* ?)?(?:\d+ ?x ?)?(?:[a-z]{1,3}-?\d{1,4}\w*|\d{4})(?: ?ti| ada)?)"


#: What is told of one host among several: "one node was reinstalled".
_SINGLED_OUT = regex(
    r"^\s*(?:was|has|had|of (?:the|our|my|them|these)|fails?|failed|died|dies|crash\w*|drops?|dropped|goes|went|seems|reports|complains|lost|less|more|only has|lags"
    r"|(?:is|are) (?:slow\w*|down|dead|missing|late|different|older|newer|unreachable|gone))\b"
)


def read_machines(text: str) -> Iterator[Found]:
    """Facts on the machines of the job that a text states."""
    models = gpus(text)
    known = machine(text)
    nodes = _nodes(text)
    per_node = _per_node(text, boxed=known is None)
    total = _total(text)
    times = _times(text, models)
    if times is not None:
        first, second = times
        if second is not None:
            nodes, per_node = first, second
        elif (
            per_node is None
            and nodes is not None
            and nodes > 1
            and first % nodes == 0
            and first >= 2 * nodes
            and _in_all(text)
        ):
            per_node = first // nodes
        elif per_node is None and first <= 16 and total is None:
            per_node = first
    if known is not None:
        yield from _of_type(*known, text, nodes, per_node, bool(models))
        counted = _count_before(text, known[1])
        nodes = counted if counted is not None else nodes
    if models:
        first_model = models[0]
        yield "gpu", first_model.written, False
        yield "gpu_family", first_model.family, False
        yield "gpu_class", first_model.kind, False
        if len({m.family for m in models}) > 1:
            yield "gpu_mixed", ", ".join(sorted({m.family for m in models})), False
    if total is not None and nodes and per_node is None and total % nodes == 0 and total >= nodes:
        per_node = total // nodes
    if total is not None and nodes is None and per_node and total % per_node == 0 and total > per_node:
        nodes = total // per_node
    if nodes is not None:
        yield "nodes", nodes, False
    if per_node is not None:
        yield "gpus_per_node", per_node, False
    if total is None and nodes and per_node:
        total = nodes * per_node
    if total is not None and total > 1:
        yield "world_size", total, False


def _of_type(
    known: Machine, start: int, text: str, nodes: int | None, per_node: int | None, named: bool
) -> Iterator[Found]:
    if not named:
        yield "gpu", known.gpu, False
        yield "gpu_family", known.family, False
        yield "gpu_class", "workstation" if known.family == "GB10" else "datacenter", False
    if per_node is None:
        yield "gpus_per_node", known.gpus, False
        counted = _count_before(text, start) or nodes
        if counted:
            yield "world_size", counted * known.gpus, False
    yield "network_kind", known.network, True
    yield "network_gbps", known.gbps, True
    yield "network_nics", known.nics, True
    yield "network_rdma", known.network != "ethernet", True
    if known.cloud:
        yield "cloud", known.cloud, False
        yield "virtual_machine", known.virtual, False


def _count_before(text: str, start: int) -> int | None:
    """The count right before a machine's name: "two dgx h100", "4x p5.48xlarge", "8 nodes of p4d"."""
    found = regex(
        rf"(?<![\w.])({COUNT})\s*(?:x|×|\*)?\s*(?:{_SAME} )?(?:{HOST_WORD} )?(?:of |with |on |are |\()?(?:the |type |standard[ _])?$"
    ).search(text[:start])
    return number(found[1]) if found else None


def _nodes(text: str) -> int | None:
    counts = []
    pattern = rf"(?<![\w.-])(?P<n>{COUNT})(?![x×]\w)[ -]?(?:x |× )?(?:(?:{_SAME}|{_MODEL}) ){{0,2}}?(?P<w>{HOST_WORD})(?![\w-]*[.:/=]\w)\b"
    for match in mentions(text, pattern):
        if _other_meaning(text, match.start(), match.end(), match["w"]) or regex(rf"^{COUNT}-(?:gpu|card)s? ").match(
            match[0]
        ):
            continue
        count = number(match["n"])
        if count:
            counts.append(count)
    for match in regex(
        r"\b(?:a |an |the same |my |our |this |per )?(?:single|same|other|second) (?:node|machine|server|host|box|instance|pc|computer)\b"
    ).finditer(text):
        counts.append(2 if "second" in match[0].lower() or "other" in match[0].lower() else 1)
    for match in regex(r"--?(?:nnodes|nodes|num[_-]?nodes|N)[ =](\d+)\b").finditer(text):
        counts.append(int(match[1]))
    for match in regex(rf"\bfrom ({COUNT}) to ({COUNT}) {HOST_WORD}\b").finditer(text):
        counts += [n for n in (number(match[1]), number(match[2])) if n]
    if (
        (single := regex(r"\bsingle[- ]node\b|\bone[- ]node\b").search(text)) is not None
        and not _SINGLED_OUT.search(text[single.end() :])
        and not counts
        and not regex(r"\bmulti[- ]?node|several (?:nodes|machines)").search(text)
    ):
        counts.append(1)
    if counts and max(counts) == 1 and not regex(r"\b(?:one|single|1) (?:gpu|card|device)\b").search(text):
        alone = regex(
            rf"\b(?:on|over|across|with|for|in|using) ({COUNT})(?=\s*(?:[.,;)]|$|it\b|the\b|i\b|gives?\b|takes?\b|needs?\b|is\b))"
        ).findall(text)
        counts += [n for n in map(number, alone) if n and n > 1]
    words = regex(
        rf"\b(?:over|across|between|to|with|and) (?:a |the )?(?:another|second|other) {HOST_WORD}\b|\badding a (?:node|machine|server)\b"
    ).search(text)
    if words and max(counts, default=1) == 1:
        counts.append(2)
    if (
        counts
        and max(counts) == 1
        and regex(
            r"\b(?:multi[- ]?node|several (?:nodes|machines|servers|hosts)|many nodes|multiple (?:nodes|machines|servers|hosts)|more than one (?:node|machine)|inter-?node|between (?:the |my |our )?(?:nodes|machines|hosts|servers)|across (?:nodes|machines|hosts|servers)|over the network)\b"
        ).search(text)
    ):
        return None
    return max(counts, default=None)


def _other_meaning(text: str, start: int, end: int, word: str) -> bool:
    """A count of hosts that is not the size of the job: "one of 8 nodes failed" is, "8 nodes behind" is not."""
    if regex(r"\b(?:numa|ib|switch|leaf|spine|head|login|storage|compiler|graph)\s*$").search(
        text[max(0, start - 12) : end - len(word)]
    ):
        return True
    if text[start:end].lower().startswith(("one ", "1 ")) and _SINGLED_OUT.search(text[end:]):
        return True
    return regex(r"^\s*(?:ago|away|down the|cores?|sockets?)\b").search(text[end:]) is not None


def _per_node(text: str, *, boxed: bool) -> int | None:
    model = r"(?:nvidia |amd |tesla |geforce |rtx |gtx |quadro )?[a-z]{0,3}[ -]?\d[\w-]*(?: ?ti\b)?"
    patterns = (
        rf"({COUNT}) (?:[\w-]+ ){{0,3}}?{_GPU_WORD}(?: \([^)]*\))? (?:(?:per|a|an|/|on every|in every|inside each|on each|in each) ?(?:{HOST_WORD}|side)\b|each\b)",
        rf"{HOST_WORD},? (?:of|with|having|has|have|each with|each|x|×|holding|and) ({COUNT})(?![\d.]) ?(?:x |× ?)?(?:[\w-]+ ){{0,3}}?(?:{_GPU_WORD}|{model})",
        rf"({COUNT}) ?(?:x |× ?)?{model}(?: [\w-]+)? (?:(?:per|on each|in each|a|an) ?{HOST_WORD}\b|each\b)",
        rf"({COUNT}) (?:gpus?|{model}) (?:in|on|inside|of) (?:a|one|the|my|our|this|each) (?:single )?(?:[\w-]+ )?{HOST_WORD}",
        rf"{HOST_WORD} with ({COUNT})\b",
        rf"({COUNT}) (?:per|in each|on each|each per) {HOST_WORD}\b",
        rf"\b({COUNT})[- ]?gpu (?:[\w-]+ )?{HOST_WORD}",
        rf"({COUNT}) (?:[\w-]+ ){{0,2}}?{_GPU_WORD},? (?:on )?(?:one|a|1|single|same) (?:single )?{HOST_WORD}",
        r"--?nproc[_-]per[_-]node[ =](\d+)",
        rf"\b(?:one|a|single) {HOST_WORD},? (?:with |of |and )?({COUNT}) (?:[\w-]+ ){{0,2}}?{_GPU_WORD}",
    )
    found: list[int] = []
    for pattern in patterns:
        for match in regex(rf"(?<![\w.]){pattern}" if pattern[0] == "(" else pattern).finditer(text):
            count = number(match[1])
            if count and count <= 72 and not negated(text, match.start()):
                found.append(count)
        if found:
            return max(found)
    if regex(rf"\bsingle[- ]gpu {HOST_WORD}|\b(?:one|1|a single) gpu (?:per|each|a|in each|on each)\b").search(text):
        return 1
    return _boxed(text) if boxed else None


def _boxed(text: str) -> int | None:
    """ "eight K80", "four RTX 4090" in a text that speaks of no more than one host."""
    models = gpus(text)
    if not models:
        return None
    before = text[: models[0].start]
    if regex(rf"^[ -]*(?:{_SAME} )?{HOST_WORD}\b").search(text[models[0].start + len(models[0].written) :]):
        return None
    match = regex(rf"(?<![\w.])({COUNT})\s*(?:x|×|\*)?\s*(?:nvidia |amd |tesla )?$").search(before)
    count = number(match[1]) if match else None
    if count is None or not 1 < count <= 16:
        return None
    more = _nodes(text)
    return None if more and more > 1 and _in_all(text) else count


def _total(text: str) -> int | None:
    patterns = (
        rf"({COUNT}) (?:[\w-]+ ){{0,3}}?{_GPU_WORD} (?:in total|total|altogether|overall|in all)\b",
        rf"({COUNT}) (?:[\w-]+ ){{0,3}}?(?:{_GPU_WORD}|ranks|processes|workers) (?:over|across|on|spread over|distributed over|in) (?:{COUNT}|several|multiple|many) (?:[\w-]+ )?{HOST_WORD}",
        r"\bworld[_ ]?size(?: of| is|=|:)? ?(\d+)",
        r"(?<![\w.])(\d+) ranks\b",
        rf"(?<![\w.])(\d{{2,5}}) (?:[\w-]+ ){{0,2}}?{_GPU_WORD}\b",
        r"(?<![\w.])(\d{2,5}) (?:nvidia )?(?:[abhv]\d{2,3}|mi\d{3}x?)s?\b",
    )
    for pattern in patterns:
        counts = [n for n in (number(m[1]) for m in regex(pattern).finditer(text)) if n and n > 1]
        if pattern.startswith("(?<![\\w.])(\\d{2,5})"):
            counts = [n for n in counts if n > 16 or ((_nodes(text) or 0) > 1 and _in_all(text))]
        if counts:
            return max(counts)
    return None


def _in_all(text: str) -> bool:
    """The count of GPUs is that of the whole job, as far as the words tell."""
    return (
        regex(rf"\b(?:over|across|in total|altogether|in all|spread)\b|{_GPU_WORD} on {COUNT} {HOST_WORD}").search(text)
        is not None
    )


def _times(text: str, models: list[Gpu]) -> tuple[int, int | None] | None:
    """ "4x8 a100" -> (4, 8); "8xA100" -> (8, None)."""
    both = regex(r"(?<![\w.])(\d{1,4}) ?(?:x|×|\*) ?(\d{1,2})(?: ?(?:x|×|\*))? ?(?=[a-z])").search(text)
    if both and (any(0 <= m.start - both.end() <= 8 for m in models) or regex(_GPU_WORD).match(text[both.end() :])):
        return int(both[1]), int(both[2])
    for model in models:
        match = regex(r"(?<![\w.])(\d{1,4}|two|three|four|eight) ?(?:x|×|\*) ?$").search(text[: model.start])
        if match:
            count = number(match[1])
            if count:
                return count, None
    return None
