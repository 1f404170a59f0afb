"""How fast, how busy, since when: GPU load, slowdown, throughput at several sizes, one node against two."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.facts import Value
from assistant.understand.text import COUNT, HOST_WORD, NUMBER, decimal, mentioned, mentions, negated, number, regex

Found = tuple[str, Value, bool]

IDLE_BELOW = 45.0
BUSY_FROM = 80.0

_ONE = rf"(?:one|a single|single|1|each single|either|any one|any single|each|a|every|only one) (?:gpu )?{HOST_WORD}"
_JUST_ONE = rf"(?:one|a single|just one|1|any one|any single|only one) (?:gpu )?{HOST_WORD}"
_GOOD = (
    r"(?:fine|ok(?:ay)?|good|well|normal(?:ly)?|no (?:trouble|problems?|issues?)|without (?:any )?(?:trouble|problems?|issues?|errors?)|works?|worked|(?:at )?full speed|fast(?:er)?|perfect(?:ly)?|great|as expected"
    r"|healthy|runs? (?:through|to the end|perfectly)|never shows? it|never (?:happens|fails|hangs)|happy|smooth(?:ly)?|all right|alright|quick(?:ly)?|does not happen|doesn'?t happen|close to linear|9\d ?(?:%|percent))"
)


def read_performance(text: str) -> Iterator[Found]:
    """Facts on speed and load that a text states."""
    yield from _gpu_load(text)
    factor = slowdown(text)
    if factor is not None:
        yield "slowdown_factor", factor, False
    yield from throughput(text)
    alone = single_node_ok(text)
    if alone is not None:
        yield "single_node_ok", alone, False
    yield from _history(text)


def _gpu_load(text: str) -> Iterator[Found]:
    gpu = r"\b(?:gpus?|cards?|devices?|nvidia-smi|cuda cores|sm)\b"
    load = rf"{gpu}[^.;!?\n]{{0,50}}?(?<![\w.])(\d{{1,3}})(?: ?(?:-|–|to|and|or) ?(\d{{1,3}}))? ?(?:%|percent|per cent)"
    for match in regex(load).finditer(text):
        between = match[0].lower()
        if regex(
            r"\b(?:mem\w*|vram|faster|slower|power|scaling|fan|speed|cpu|of the time|temperature|cost|efficien)\b"
        ).search(between) or regex(
            r"^\s*(?:of the (?:time|speed)|faster|slower|of its|memory|vram|scaling|power)"
        ).search(text[match.end() :]):
            continue
        low, high = float(match[1]), float(match[2] or match[1])
        if high > 100:
            continue
        mean = (low + high) / 2
        others = regex(r"\b(?:the other|others|while|whereas|rest)\b[^.]{0,60}(\d{1,3}) ?%").search(
            text[match.end() : match.end() + 90]
        )
        if (
            regex(r"\bone of\b|\bonly one\b|\bsingle gpu\b|\bits gpu\b").search(
                text[max(0, match.start() - 40) : match.end()]
            )
            or others
            or (match[2] and high - low > 50)
        ):
            yield "gpu_state", "mixed", False
        else:
            yield "gpu_util_pct", mean, False
            yield "gpu_state", _state(mean), False
        return
    before = r"(?:gpus?|cards?|gpu (?:util\w*|usage|load))\b(?: [\w'-]+){0,4}? "
    if regex(
        rf"\b{before}(?:fluctuat\w+|jumps?|alternat\w+|oscillat\w+|goes up and down|go up and down|spik\w+|(?:dip|drop)s? to (?:zero|0) (?:between|now|every|from|regularly|periodically))"
    ).search(text):
        yield "gpu_state", "mixed", False
    elif mentioned(
        text,
        rf"\b{before}(?:idle|idling|at zero|zero|0 ?%|starv\w+|hardly (?:busy|used)|barely (?:busy|used|loaded|working)|mostly (?:idle|waiting|wait)|under-?utili[sz]ed|bored|doing nothing|low|waiting|asleep|cold)\b|\b(?:idle|starv(?:ed|ing)|under-?utili[sz]ed) gpus?\b|\blow gpu (?:util\w*|usage|load)\b|\bno gpu (?:util\w*|usage|load)\b",
    ):
        yield "gpu_state", "idle", False
    elif mentioned(
        text,
        rf"\b{before}(?:busy|fully (?:used|loaded|utili[sz]ed)|maxed(?: out)?|pegged|saturated|working hard|at full (?:load|tilt))\b|\bgpus? (?:are |is )?spinning\b",
    ):
        yield "gpu_state", "busy", False


def _state(percent: float) -> str:
    return "idle" if percent <= IDLE_BELOW else "busy" if percent >= BUSY_FROM else "mixed"


_FRACTION = {
    "half": 2.0,
    "third": 3.0,
    "quarter": 4.0,
    "fourth": 4.0,
    "fifth": 5.0,
    "sixth": 6.0,
    "eighth": 8.0,
    "tenth": 10.0,
    "twentieth": 20.0,
    "hundredth": 100.0,
}
_MULTIPLE = {"twice": 2.0, "double": 2.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0, "ten": 10.0, "twenty": 20.0}  # fmt: skip
_AMOUNT = rf"(?P<v>{NUMBER}) ?(?P<u>k|m)?"


def slowdown(text: str) -> float | None:
    """How many times slower than expected, as stated: "4x slower", "a third of the speed", "from 180 to 10 GB/s"."""
    match = mentioned(
        text,
        rf"({NUMBER})(?: ?(?:-|to|–) ?({NUMBER}))? ?(?:x|×|times|fold)[ -](?:slower|longer|as (?:long|slow)|the time|more time|worse|lower)",
    )
    if match:
        low = decimal(match[1])
        return round((low + decimal(match[2])) / 2 if match[2] else low, 3)
    match = mentioned(
        text,
        r"\b(two|three|four|five|six|seven|eight|ten|twenty) times (?:slower|longer|as (?:long|slow)|the time|worse)",
    ) or mentioned(text, r"\b(twice|double) (?:as (?:long|slow)|the (?:time|step time)|as much time)")
    if match:
        return _MULTIPLE[match[1].lower()]
    match = mentioned(
        text,
        r"\b(?:an?|one|about an?|to an?) (third|quarter|fourth|fifth|sixth|eighth|tenth|twentieth|hundredth)\b(?: of)?",
    )
    if match and not regex(r"^ (?:gpu|node|machine|server|run|epoch|step|time|one|party)").search(text[match.end() :]):
        return _FRACTION[match[1].lower()]
    if mentioned(
        text,
        r"\bhalf (?:of )?(?:the |that |its |as |my |our )?(?:speed|throughput|fast|performance|rate|single)|\bhalf of the single\b|\bhalves\b|\bhalved\b|\b(?:drop(?:s|ped)?|fell|falls|cut|went|down) (?:to|by|in) half\b",
    ):
        return 2.0
    if mentioned(text, r"\border of magnitude (?:slower|lower|less|worse|longer)\b"):
        return 10.0
    match = mentioned(
        text,
        rf"({NUMBER}) ?(?:%|percent|per cent) (?:slower|longer|speed hit|slowdown|less|lower|drop|performance (?:loss|hit|drop)|loss|hit|overhead)",
    )
    if match:
        share = decimal(match[1]) / 100
        longer = regex(r"slower|longer|overhead").search(match[0]) is not None
        return round(1 + share if longer else 1 / (1 - share) if share < 1 else 1 + share, 3)
    return _from_to(text)


def _from_to(text: str) -> float | None:
    unit = r"(?P<w>tflops?|[gm]b(?:it)?/s|[gm]bps|it/s|(?:samples?|images?|img|tokens?|tok)(?: ?/ ?s(?:ec)?| per sec\w*| a second)?|s/it|seconds?|secs?|s\b|ms\b|minutes?|min\b|hours?|h\b|days?)"
    for pattern in (
        rf"\bfrom (?:about |roughly |around |~ ?)?(?P<a>{NUMBER}) ?(?P<ka>k?)\b ?(?:[a-z/]{{1,12}} )?(?:[a-z]+ ){{0,3}}?(?:down |up )?to (?:about |roughly |around |only |just |~ ?)?(?P<b>{NUMBER}) ?(?P<kb>k?)(?= |[a-z]) ?{unit}",
        rf"\btook (?P<a>{NUMBER}) ?{unit}.{{0,60}}?\b(?:takes|now takes|needs|and now|to) (?:about |now )?(?P<b>{NUMBER}) ?(?P=w)",
        rf"\bneeds? (?P<a>{NUMBER}) ?{unit}[^.]{{0,40}}?needs? (?P<b>{NUMBER})\b",
        rf"\b(?:steady at|used to be|was|were|got|gave) (?:about |around )?(?P<a>{NUMBER}) ?{unit}.{{0,80}}?\b(?:fell|fallen|dropped|drops|sank|down) to (?:about |around )?(?P<b>{NUMBER})\b",
        rf"(?<![\w.])(?P<a>{NUMBER}) ?{unit}[^.;\n]{{0,20}}? (?:vs\.?|versus|instead of|compared (?:to|with)|against) (?:about |the )?(?P<b>{NUMBER}) ?(?P=w)",
    ):
        match = regex(pattern).search(text)
        if match is None:
            continue
        groups = match.groupdict()
        first = decimal(match["a"]) * (1000 if groups.get("ka") else 1)
        second = decimal(match["b"]) * (1000 if groups.get("kb") else 1)
        is_time = regex(r"^(?:s|secs?|seconds?|ms|minutes?|min|hours?|h|days?|s/it)$").match(match["w"]) is not None
        ratio = second / first if is_time and first else first / second if second else 0.0
        if "versus" in pattern and ratio:
            ratio = max(ratio, 1 / ratio)
        if 1.02 < ratio < 10000:
            return round(ratio, 3)
    return None


_RATE_UNIT = r"(?P<u>samples?|images?|img|tokens?|tok|sentences?|seqs?|sequences?|it|its|iterations?|steps?|batches)(?: ?/ ?| per | an? |/)s(?:ec(?:ond)?s?)?\b"
_TIME_UNIT = r"(?P<u>s|secs?|seconds?|ms|minutes?|mins?|hours?|h|days?)(?: ?(?:/|per|an?|for an?|for one|each) ?(?:it(?:er(?:ation)?)?|step|epoch|batch))?\b"
_THING = rf"(?<![\w.])(?P<n>{COUNT}|both) (?:(?:such|of them|more|identical|a\w?\d+|v100|h100|a800|\d+x\w+) )?(?P<w>{HOST_WORD}|gpus?|devices?|cards?)"


def throughput(text: str) -> Iterator[Found]:
    """Throughput at several counts of nodes or GPUs, and how well it scales."""
    rates = _pairs(text, rf"(?<![\w.])(?P<v>{NUMBER}) ?(?P<k>k)? ?{_RATE_UNIT}")
    times = {} if len(rates) > 1 else _pairs(text, rf"(?<![\w.])(?P<v>{NUMBER})(?P<k>)[ -]?{_TIME_UNIT}")
    if len(rates) > 1:
        per_rank = (
            regex(r"(?<![\w.])\d+(?:\.\d+)? ?(?:it|its|iterations?|steps?|batches)(?: ?/ ?| per | an? )s").search(text)
            is not None
        )
        per_gpu = regex(r"\bs(?:ec\w*)?(?: ?/ ?| per )gpu\b").search(text) is not None
        yield from by_nodes({n: v * n if per_rank or per_gpu else v for n, v in rates.items()})
    elif len(times) > 1:
        epoch = regex(r"\bepochs?\b|\b(?:whole|full|total) (?:run|training)\b").search(text) is not None
        yield from by_nodes({n: (1.0 if epoch else n) / v for n, v in times.items() if v})


def by_nodes(rates: dict[int, float]) -> Iterator[Found]:
    """The two facts on throughput at several counts."""
    if len(rates) < 2:
        return
    small, large = min(rates), max(rates)
    yield "throughput.by_nodes", ", ".join(f"{n}={rates[n]:.6g}" for n in sorted(rates)), False
    if rates[small] > 0:
        yield "scaling.efficiency", round(rates[large] / rates[small] * small / large, 4), False


def _pairs(text: str, value: str) -> dict[int, float]:
    """Values that the text ties to a count of hosts or GPUs: "23.9 samples/s on one node", "four in one box give 608 images/s"."""
    found: dict[int, float] = {}
    kinds: set[str] = set()
    patterns = (
        rf"{value}[^.;!?,\n]{{0,25}}? (?:on|with|over|across|using|for|in) (?:only |just |all )?{_THING}",
        rf"{_THING}[^.;!?\n\d]{{0,30}}? (?:needs?|gives?|gave|gets?|takes?|took|does|do|reach\w*|yields?|makes?|at|is|are|has|have|had) (?:about |only |around |just )?{value}",
    )
    for pattern in patterns:
        for match in regex(pattern).finditer(text):
            count = 2 if match["n"].lower() == "both" else number(match["n"])
            if count:
                found.setdefault(count, decimal(match["v"]) * (1000 if match["k"] else 1))
                kinds.add(
                    "gpu" if match["w"].lower()[0] in "gdc" and not match["w"].lower().startswith("dgx") else "node"
                )
        if len(found) == 1:
            found.update(_bare_second(text, next(iter(found))))
        if len(found) > 1:
            return found if len(kinds) == 1 else {}
    return found


def _bare_second(text: str, known: int) -> dict[int, float]:
    """The second value where its unit or noun is left out: "10 seconds on one server and 60 on two", "two machines need 90"."""
    for pattern in (
        rf"(?:and|but|,) (?:about |only |around )?(?P<v>{NUMBER})(?: (?:on|with|over|across|for)) (?P<n>{COUNT}|both)\b(?! (?:minutes|seconds|hours))",
        rf"(?P<n>{COUNT}|both)(?: {HOST_WORD}| gpus?)? (?:needs?|takes?|took|gives?|gave|get) (?:about |only |around )?(?P<v>{NUMBER})\b",
    ):
        for match in regex(pattern).finditer(text):
            count = 2 if match["n"].lower() == "both" else number(match["n"])
            if count and count != known:
                return {count: decimal(match["v"])}
    return {}


def single_node_ok(text: str) -> bool | None:
    """Whether one node alone works or is fast, as far as the text tells."""
    same = r"(?:the )?same (?:problem|thing|happens|result|behaviou?r|error|hang|crash|slowness|speed|figure)"
    bad = rf"\b(?:even|already|also|too) (?:on|with|within|inside) {_JUST_ONE}|\b(?:on|with) {_JUST_ONE}\b[^.;!?,\n]{{0,25}}\b(?:also|too|{same}|as well|is slow|hangs|fails|crashes|i always get|it always)\b|\b{same} (?:on|with) {_JUST_ONE}\b"
    if mentioned(text, bad):
        return False
    good = (
        rf"\b(?:on|with|within|inside|using|in|for) {_ONE}\b[^.;!?\n]{{0,60}}?(?<!not )\b{_GOOD}\b",
        rf"(?<!not )\b{_GOOD}\b[^.;!?,\n]{{0,40}}? (?:on|with|within|inside) {_ONE}\b",
        rf"\bsingle[- ]node\b[^.;!?\n]{{0,40}}?\b{_GOOD}\b|\b{_GOOD}[^.;!?\n]{{0,20}}\bsingle[- ]node\b",
        rf"\b(?:slower|longer|worse|less) than (?:on |with |for )?(?:just )?(?:{_ONE}|one\b|alone)",
        rf"\b(?:speed|throughput|fast|rate|performance|of that) (?:of|on|as|as on) (?:just )?(?:{_ONE}|one\b)",
        rf"\b(?:standalone|alone|on its own|by itself|individually|locally)\b[^.;!?\n]{{0,40}}\b{_GOOD}\b|\b{_GOOD}\b[^.;!?\n]{{0,20}}\b(?:standalone|alone|on (?:its|their) own|individually)\b",
        rf"\bas soon as (?:i|we)? ?(?:use|add|go|run|there are)[^.;!?\n]{{0,25}}\b(?:(?:two|2|a second|several|more than one|multiple|another) {HOST_WORD}|multi-?node)|\bas soon as we go multi",
        rf"\badding (?:a|another|a second|one more) {HOST_WORD} makes it (?:slower|worse)|\bgoing from (?:one|1|a single) to (?:two|2|more|several) {HOST_WORD}",
        rf"\bonly (?:when|with|if|across|over|on) (?:i |we |using )*(?:use |run |go |train )*(?:on |over |across )?(?:two|2|several|multiple|more than one|multi-?node|both) ?{HOST_WORD}",
    )
    return True if any(mentioned(text, pattern) for pattern in good) else None


_SINCE = r"\b(?:since|after|ever since|following) (?P<what>(?:(?:we|i|the|our|my|an?|upgrading|updating|moving|switching|changing|migrating|installing|rebuilding|reinstalling|replacing|enabling|turning|adding|going|it|they|yesterday|last)\b)(?:[^.;!?\n,]|\.(?=\w)){3,120})"
_CHANGE = regex(
    r"\b(?:upgrad\w*|updat\w*|mov(?:e|ed|ing)|switch(?:ed|ing)? (?:to|from|over)|chang\w*|migrat\w*|install\w*|rebuil\w*|reinstall\w*|replac\w*|new (?:image|driver|kernel|version|release|container|cluster|nodes?|switch|environment|os|firmware|model|torch|pytorch|nccl|cuda)|enabl\w*|turn(?:ed|ing) on|add(?:ed|ing)|release|reboot\w*|maintenance|image went|went to|version \d|bump\w*|downgrad\w*|patch\w*)\b"
)


def _history(text: str) -> Iterator[Found]:
    for match in mentions(text, _SINCE):
        if _CHANGE.search(match["what"]):
            yield "when_began", "after-change", False
            yield "what_changed", " ".join(match["what"].split()).rstrip(" ,"), False
            return
    swap = mentioned(
        text,
        r"\b(?:as soon as we use|went from [^.]{3,30} to|moved (?:from|our|to)|turned on|upgraded|updated (?:the|to|our|my)|switched (?:to|from))\b(?:[^.;!?\n]|\.(?=\w)){0,100}",
    )
    if swap and not negated(text, swap.start()):
        yield "when_began", "after-change", False
        yield "what_changed", " ".join(swap[0].split()), False
    elif mentioned(
        text,
        r"\b(?:suddenly|all of a sudden|out of (?:nowhere|the blue)|overnight|from one (?:day|step|moment) to the (?:next|other)|in the middle of (?:a|the) run|since (?:yesterday|this morning|monday|tuesday|wednesday|thursday|friday|last (?:night|week))|without any change|nobody (?:touched|changed))\b",
    ):
        yield "when_began", "suddenly", False
    elif mentioned(
        text,
        r"\b(?:over time|gradually|step by step|bit by bit|more and more|slowly (?:gets|got|grows|degrades)|gets? (?:slower|worse) (?:and|over|with|the longer|every)|the longer it runs|creeps? up|little by little|first steps are fine|sinks?)\b",
    ):
        yield "when_began", "over-time", False
    elif mentioned(
        text,
        r"\b(?:from the (?:very )?(?:start|beginning|outset|first step)|always (?:been|was|like)|never (?:worked|ran|got it)|first (?:time|test|attempt|try)|trying to get|new (?:cluster|setup|machine|machines)|right from|since the beginning|just (?:set up|bought|got))\b",
    ):
        yield "when_began", "always", False
