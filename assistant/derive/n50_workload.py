"""Conclusions about the work itself: how throughput scales, which process stands apart, whether the data divides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from assistant.derive._stated_rates import Rate, stated_rates
from assistant.facts import CaseFile, Fact, Origin

_AT = re.compile(r"(?P<n>\d+) (?P<what>\w+)=(?P<v>[\d.e+-]+) (?P<unit>\w+)")


def derive(case: CaseFile) -> Iterable[Fact]:
    return [*_scaling(case), *_stacks(case), *_tensor_parallel(case), *_stated_counts(case), *_shards(case)]


def _number(case: CaseFile, key: str) -> float | None:
    value = case.value(key)
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _scaling(case: CaseFile) -> Iterator[Fact]:
    """Throughput at the smallest and the largest count, from logs first, from words otherwise."""
    groups: list[tuple[list[Rate], Origin]] = []
    logged: dict[str, list[Rate]] = {}
    origin = Origin("derived")
    for fact in case.about("throughput.at"):
        found = _AT.fullmatch(str(fact.value))
        if found is not None:
            logged.setdefault(found["unit"], []).append(
                Rate(int(found["n"]), found["what"], float(found["v"]), found["unit"])
            )
            origin = fact.origin
    groups += [(rates, origin) for rates in logged.values() if len({r.count for r in rates}) > 1]
    if not groups:
        groups = [
            (rates, Origin("say", quote=", ".join(f"{r.count} {r.what}: {r.value:.4g}" for r in rates)))
            for rates in stated_rates(case.says)
        ]
    if not groups:
        return
    rates, origin = groups[0]
    small, large = min(rates, key=lambda r: r.count), max(rates, key=lambda r: r.count)
    if small.what != large.what or large.count <= small.count or small.value <= 0:
        return
    gain, more = large.value / small.value, large.count / small.count
    efficiency = gain if small.unit == "steps" else gain / more
    where = Origin("derived", origin.file, origin.line, quote=origin.quote)
    yield Fact(
        "throughput.by_nodes",
        ", ".join(f"{r.count}={r.value:.4g}" for r in sorted(rates, key=lambda r: r.count)),
        where,
    )
    yield Fact("scaling.efficiency", round(efficiency, 3), where)
    yield Fact("scaling.gain", round(gain, 3), where)
    yield Fact("scaling.unit", small.unit, where)
    yield Fact("scaling.counts", small.what, where)
    if (efficiency * more if small.unit == "steps" else gain) < 1:
        yield Fact("scaling.negative", True, where)
    if small.unit == "steps" and efficiency >= 0.85:
        yield Fact("scaling.steps_unchanged", True, where)


def _stacks(case: CaseFile) -> Iterator[Fact]:
    """The process that stands elsewhere while the others wait in a collective."""
    dumped = case.about("stack.where")
    if len(dumped) < 2:
        return
    places = Counter(str(f.value) for f in dumped)
    waiting = places.get("collective", 0) + places.get("cuda-sync", 0)
    odd = [f for f in dumped if f.value not in ("collective", "cuda-sync")]
    if waiting and odd and len(odd) <= waiting:
        for fact in odd:
            yield Fact("stack.odd_where", fact.value, fact.origin, fact.subject)
    elif waiting == len(dumped):
        yield Fact("stack.all_in_collective", True, dumped[0].origin)
        functions = {str(f.value) for f in case.about("stack.function")} - {"wait", "synchronize", "item", "wrapper"}
        if len(functions) > 1:
            yield Fact("stack.collectives_differ", True, dumped[0].origin)


def _tensor_parallel(case: CaseFile) -> Iterator[Fact]:
    size, gpus, nodes = _number(case, "config.tp"), _number(case, "gpus_per_node"), _number(case, "nodes")
    if size and gpus and size > gpus and (nodes is None or nodes > 1):
        yield Fact("config.tp_spans_nodes", True, Origin("derived"))


_PLACE = re.compile(
    r"\b(?:batch|step|iteration|it|iter|minibatch)(?:es|s)?\W{0,3}(?:number |no\.? )?(?P<n>\d{1,7}) ?(?:of|/|out of) ?(?P<total>\d{1,7})\b|\b(?P<n2>\d{1,7}) ?(?:of|/|out of) ?(?P<total2>\d{1,7}) (?:batches|steps|iterations)|\bat (?P<n3>\d{2,7}) ?/ ?(?P<total3>\d{2,7})\b",
    re.IGNORECASE,
)
_SAMPLES = re.compile(
    r"\b(?P<n>\d[\d,]{1,9}) (?:\w+ )?(?:samples|images|examples|rows|items|files|sequences|documents|records|utterances)\b",
    re.IGNORECASE,
)
_RANKS = re.compile(r"\b(?P<n>\d{1,4}) ?(?:x )?(?:\w+ )?(?:gpus|ranks|processes|cards|devices)\b", re.IGNORECASE)


def _stated_counts(case: CaseFile) -> Iterator[Fact]:
    """Places in an epoch and numbers of samples that the user states."""
    for sentence in case.says:
        place = _PLACE.search(sentence)
        if place is not None:
            number, total = (
                int(place["n"] or place["n2"] or place["n3"]),
                int(place["total"] or place["total2"] or place["total3"]),
            )
            if total >= 10 and total - max(3, total // 200) <= number <= total:
                yield Fact("progress.said_at_end", True, Origin("derived", quote=place[0]))
        samples, ranks = _SAMPLES.search(sentence), _RANKS.search(sentence)
        if samples is not None and ranks is not None:
            count, size = int(samples["n"].replace(",", "")), int(ranks["n"])
            if 1 < size < count and count % size and not samples["n"].endswith("000"):
                yield Fact("input.indivisible", True, Origin("derived", quote=f"{samples[0]}, {ranks[0]}"))


_SHARD_WORDS = re.compile(
    r"\b(?:n|num|number of)[_ ]?shards?\W{1,4}(?P<n>\d{1,5})\b|\b(?P<n2>\d{1,5}|one|a single|two|three|four|five|six|seven|eight) (?:(?:big|large|data|tar|webdataset|parquet|input|tfrecord|training|jsonl) ){0,2}(?:shards?|tar(?:s| files?)|tarballs?|parquet files?|tfrecord files?)\b(?! (?:per|for each|each|a) )",
    re.IGNORECASE,
)
_FEW = {"one": 1, "a single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}


def _shards(case: CaseFile) -> Iterator[Fact]:
    """Shards of the data against the processes that read them."""
    best = min(case.about("input.shards"), key=lambda f: int(f.value), default=None)
    count, origin = (int(best.value), best.origin) if best is not None else (0, Origin("derived"))
    if best is None:
        found = next((m for say in case.says if (m := _SHARD_WORDS.search(say))), None)
        if found is None:
            return
        text = (found["n"] or found["n2"]).lower()
        count, origin = _FEW.get(text) or int(text), Origin("say", quote=found[0])
    named = next((m for say in case.says if (m := _RANKS.search(say))), None)
    each = _number(case, "gpus_per_node") or _number(case, "launch.nproc")
    ranks = _number(case, "world_size") or (
        each * (_number(case, "nodes") or 1.0) if each else float(named["n"]) if named else 1.0
    )
    workers = max(
        (float(f.value) for f in case.about("dataloader_workers") if isinstance(f.value, int | float)), default=1.0
    )
    if 0 < count < ranks * max(workers, 1.0) and ranks > 1:
        yield Fact("input.fewer_shards", True, Origin("derived", origin.file, origin.line, quote=origin.quote))
    if 0 < count < 4096 and ranks > 1 and count % ranks:
        yield Fact(
            "input.shards_uneven",
            f"{count} shards, {ranks:g} ranks",
            Origin("derived", origin.file, origin.line, quote=origin.quote),
        )
