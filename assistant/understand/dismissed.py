"""Where a text names a thing only to put it aside: what was ruled out, looks right, was suspected in vain or is mended.

"Name resolution looks right", "we ruled out the disks", "I suspected the switch first", "after fixing the data loader", "nothing
about a full disk in the log": the words in question raise a thing that is not the matter. Only the name of the thing is put
aside, not the words that do so: a pattern that is about "ping works" still finds it, one that is about "ping" does not.
"""

from __future__ import annotations

import re
from functools import lru_cache

_FLAGS = re.IGNORECASE | re.MULTILINE

#: A word of the name of a thing; words with which a condition or another clause begins are none.
_WORD = (
    r"(?!(?:is|are|was|were|and|but|with|without|if|when|while|after|once|by|using|until|unless|because|since|so|then|that|which|who"
    r"|old|older|previous|earlier|fresh|\d+|two|three|four|five|six|eight|nine|ten|it|this|everything|all|nothing|only|alone|each|one|single|first|both|others?|same|still|also|i|we|they|he|she|you|than|as|for|to|get|gets|has|have)\b)"
    r"[\w/.'-]*[\w/]"
)
#: The name of a thing.
_THING = rf"(?:(?:the|our|my|a|an|any)\s+)?{_WORD}(?:\s+(?:of\s+|on\s+|in\s+)?(?:the\s+)?{_WORD}){{0,3}}"
#: Several of them.
_THINGS = rf"{_THING}(?:(?:,\s*(?:and\s+|or\s+|nor\s+)?|\s+(?:and|or|nor)\s+){_THING}){{0,4}}"

_GOOD = (
    r"(?:(?:is|are|was|were|looks?|looked|seems?|seemed|appears?|turned out)\s+(?:to be\s+)?"
    r"(?:(?:all|perfectly|completely|also|both|quite|otherwise|just|absolutely)\s+)?(?:fine|ok|okay|right|good|correct|healthy|clean|sane|innocent|in order)"
    r"|(?:(?:is|are|was|were|can)(?:\s+(?:certainly|clearly|definitely|surely|probably))?\s*(?:not|n'?t)|cannot)\s+(?:be\s+)?(?:(?:really|even)\s+)?(?:the|an?|to)\s+"
    r"(?:(?:real|actual|main)\s+)?(?:problem|cause|culprit|reason|issue|bottleneck|blame|limit|matter|explanation|factor)"
    r"|(?:(?:is|are|was|were|has been|have been|can be|could be)\s+)(?:already\s+)?(?:ruled out|excluded|out of the question|off the table))"
)
_IN_VAIN = (
    r"(?:(?:it (?:is|was) )?(?:the )?same (?:result|thing|error|speed|hang|outcome|problem|behaviou?r|picture|story)|no (?:change|difference|effect|success|luck|improvement)|nothing (?:changed|changes|changes)"
    r"|(?:(?:it|that|this|which) )?(?:did|does) ?n[o']t (?:help|change|matter|make a difference)|(?:it |that |this )?(?:changed|changes|made|makes) (?:nothing|no difference)|without (?:success|effect|any effect)|to no avail|all the same)"
)

#: Each pattern names what is put aside `x`.
_ASIDE: tuple[str, ...] = (
    rf"(?:(?<=[.!?;:,] )|^|(?<=\band )|(?<=\bthat )|(?<=\bsays ))(?P<x>{_THINGS})(?=\s+{_GOOD}\b)(?!\s+{_GOOD}\s+(?:with|when|if|as long|until|only|without|at first|for (?:a|the|some|about|\d)|on (?:one|a single)|after|again|in the beginning)\b)",
    rf"\b(?:rul(?:e|ed|es|ing) out|exclud(?:e|ed|es|ing)|eliminat(?:e|ed|es|ing)|cross(?:ed)? out)\s+(?P<x>{_THINGS})",
    rf"\b(?:it|that|this)(?:'?s| is| was| isn'?t| wasn'?t| can(?:not|'?t)| can not)(?:\s+(?:certainly|clearly|surely|definitely))?(?:(?<=n't)|(?<=nt)|(?<=cannot)|\s+not)\s+(?:be\s+)?(?P<x>(?:the|a|an|our|my)\s+{_WORD}(?:\s+{_WORD}){{0,2}}(?:\s*,?\s*(?:and\s+|or\s+)?(?:not|nor)\s+{_WORD}(?:\s+{_WORD}){{0,2}})*)",
    rf"\b(?:i|we)\s+(?:had\s+|have\s+|at\s+)?(?:first\s+|initially\s+)?(?:suspected|blamed|thought (?:it (?:was|might be|would be)|of)|believed it (?:was|to be)|put it down to)\s+(?P<x>{_THINGS})",
    rf"\b(?:i|we)\s+had\s+(?P<x>{_THINGS})\s+(?:in suspicion|under suspicion|in mind)\b",
    rf"\b(?:after|by|since)\s+(?:i\s+|we\s+)?(?:fixing|fixed|mending|solving|solved|repairing|sorting out|getting rid of|curing|ironing out)\s+(?P<x>{_THINGS})",
    rf"\b(?:i|we)\s+(?:have\s+|had\s+)?(?:already\s+|long ago\s+)?(?:fixed|solved|repaired|sorted out|got rid of)\s+(?P<x>{_THINGS})",
    rf"(?:(?<=[.!?;:,] )|^)(?P<x>{_THINGS})(?=\s+(?:(?:is|are|was|were|has been|have been|got)\s+(?:already |long since |since )|(?:has|have) been )(?:fixed|solved|sorted out)\b)",
    rf"\bnothing\s+(?:\w+\s+)?(?:about|of|like)\s+(?P<x>{_THINGS})",
    rf"\b(?:no (?:sign|trace|hint|indication|evidence|symptoms?)s? of|has nothing to do with|have nothing to do with|not (?:because of|due to|caused by|related to))\s+(?P<x>{_THINGS})",
    rf"\b(?:tried|copied|moved|swapped|replaced|changed|switched|updated|upgraded|downgraded|reinstalled|raised|increased|lowered|varied|doubled)\s+(?P<x>[^.;:!?\n]{{3,90}}?)[,;:.]?\s+(?:but\s+|and\s+|with\s+|to\s+)?(?={_IN_VAIN}\b)",
    rf"(?:(?<=[.!?;:,] )|^)(?P<x>(?:other|another|a different|different|new|a new)\s+{_THINGS})(?=(?:[,:]|\s+(?:gives?|shows?|makes?|has|had|did))\s+(?:me\s+)?(?:the\s+)?{_IN_VAIN}\b)",
)  # fmt: skip

#: Words without one of which nothing is put aside: looked for first.
_SIGNS = re.compile(
    r"fine|ok|right|good|correct|healthy|clean|sane|innocent|in order|rul|exclu|elimin|cross|not|n't|isnt|suspe|blam|thought|believed|put it"
    r"|in mind|fix|mend|solv|repair|sort|rid of|curing|ironing|nothing|no |same|avail|success|effect",
    re.IGNORECASE,
)


#: A guess put as a question: "Is gloo taking the wrong card?", "do I need another plugin?", "Could it be the switch?"
_GUESS = re.compile(
    r"(?:(?<=[.!?] )|(?<=^)|(?<=, ))(?:(?:so|or|and|but|then|now|maybe|perhaps),? )?(?:"
    r"(?:is|are|was|does|do|did|could|might|can|would|should|has|have)(?:n'?t)? (?!(?:this|that|it|there) )[^.?!]{3,110}\?"
    r"|(?:is|was|could|can|might|may) (?:this|that|it) (?:be )?(?:that |because |due |caused |related )?(?:the|a|an|my|our|some|of|to|by)? ?(?!normal|expected|ok|fine|right)[^.?!]{3,80}\?)"
    # "Worker threads or memory?"
    r"|(?<=[.!?] )(?!(?:why|what|how|which|where|when|who|whose|since)\b)(?:[\w/'-]+,? ){1,6}[\w/'-]+\?\s*$",
    _FLAGS,
)


@lru_cache(maxsize=512)
def guess_spans(sentence: str) -> tuple[tuple[int, int], ...]:
    """Where a text of several sentences only asks whether something is the reason; that is no observation."""
    spans = tuple(m.span() for m in _GUESS.finditer(sentence))
    told = len(sentence) - sum(b - a for a, b in spans)
    return spans if told >= 60 else ()


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, _FLAGS) for p in _ASIDE)


@lru_cache(maxsize=256)
def dismissed_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where things are named that the text itself puts aside."""
    if not _SIGNS.search(text):
        return ()
    return tuple(sorted({m.span("x") for p in _patterns() for m in p.finditer(text[:8000])}))


def told_only(text: str) -> str:
    """The text without the names of what it puts aside and without what it only asks."""
    out, at = [], 0
    for start, end in sorted(dismissed_spans(text) + guess_spans(text)):
        out.append(text[at : max(at, start)])
        at = max(at, end)
    return "".join(out) + text[at:]
