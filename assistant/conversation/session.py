"""A session: an append-only list of what the user said, attached and answered, and what was asked.

Everything else is derived from it, so a session can be replayed, corrected and undone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from assistant.facts import JOB, CaseFile, Fact, Input, Origin, Value
from assistant.gather import add_document
from assistant.intake.document import Document
from assistant.triage import derive_more, signature_facts
from assistant.understand import read_sentence
from assistant.understand.symptom import scores
from assistant.understand.text import regex
from knowledge.load import Knowledge


@dataclass(frozen=True, slots=True)
class Said:
    """A message in the user's own words."""

    text: str


@dataclass(frozen=True, slots=True)
class Attached:
    """A text that was handed over, as the intake made it ready."""

    name: str
    text: str
    first_line: int = 1
    notes: tuple[str, ...] = ()
    """What is to be said about reading it, such as that it was cut off."""
    shifts: tuple[tuple[int, int], ...] = ()
    repeats: tuple[tuple[int, int], ...] = ()
    """As in a Document: where line numbers jump, and lines whose copies were left out."""

    @classmethod
    def of(cls, document: Document) -> Attached:
        return cls(
            document.name,
            document.text,
            document.first_line,
            (),
            tuple(document.shifts),
            tuple(sorted(document.repeats.items())),
        )

    def document(self) -> Document:
        return Document(self.name, self.text, self.first_line, shifts=list(self.shifts), repeats=dict(self.repeats))


@dataclass(frozen=True, slots=True)
class Asked:
    question: str


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to a question; value None is "I don't know"."""

    question: str
    fact: str
    value: Value | None
    text: str


@dataclass(frozen=True, slots=True)
class Undone:
    """Takes back the user's last message, attachment or answer that still counts."""


Event = Said | Attached | Asked | Answered | Undone

SHOWN = "shown."
"""Facts of questions that ask for something to be attached."""

_STRONG_SYMPTOM = 2.5
_CORRECTS = regex(r"\b(?:actually|no,|correction|i meant|sorry|wrong|rather|not (?:a )?(?:hang|crash|slow))\b")


@dataclass
class Session:
    """The events, and what follows from them."""

    events: list[Event] = field(default_factory=list)
    _read: dict[Attached, CaseFile] = field(default_factory=dict, repr=False)
    _built: tuple[list[Event], CaseFile] | None = field(default=None, repr=False)
    _base: tuple[list[Attached], CaseFile] | None = field(default=None, repr=False)

    def add(self, event: Event) -> None:
        self.events.append(event)

    def active(self) -> list[Event]:
        """The events that still count, oldest first."""
        kept: list[Event] = []
        for event in self.events:
            if not isinstance(event, Undone):
                kept.append(event)
                continue
            while kept and isinstance(kept[-1], Asked):
                kept.pop()
            taken = kept.pop() if kept else None
            if isinstance(taken, Answered) and taken.value is True and taken.fact.startswith(SHOWN):
                while kept and isinstance(kept[-1], Attached):
                    kept.pop()
        return kept

    def asked(self) -> frozenset[str]:
        return frozenset(e.question for e in self.active() if isinstance(e, Asked | Answered))

    def pending(self) -> str | None:
        """The question that waits for its answer."""
        events = self.active()
        last = next((e for e in reversed(events) if isinstance(e, Asked | Answered)), None)
        return last.question if isinstance(last, Asked) else None

    def unanswered_in_a_row(self) -> int:
        """How many of the last answers were "I don't know"."""
        count = 0
        for event in reversed(self.active()):
            if isinstance(event, Answered) and event.value is None:
                count += 1
            elif not isinstance(event, Asked):
                break
        return count

    def last_undoable(self) -> Event | None:
        return next((e for e in reversed(self.active()) if not isinstance(e, Asked)), None)

    def case(self, kb: Knowledge) -> CaseFile:
        """The case file of all events that count; it is kept as long as no new one tells anything."""
        telling: list[Event] = [
            e for e in self.active() if not isinstance(e, Asked) and not (isinstance(e, Answered) and e.value is None)
        ]
        if self._built is None or self._built[0] != telling:
            self._built = (telling, self._build(telling, kb))
        return self._built[1]

    def _build(self, active: list[Event], kb: Knowledge) -> CaseFile:
        case = self._attachments([e for e in active if isinstance(e, Attached)], kb).working_copy()
        case.says, case.sentences = [], []
        told: dict[str, list[Fact]] = {}
        for event in active:
            if isinstance(event, Said):
                case.says.append(event.text)
                case.sentences.append(event.text)
                _tell(told, _facts_of(event.text, told))
            elif isinstance(event, Answered) and event.value is not None:
                origin = Origin("answer", quote=event.text[:240])
                _tell(told, _extra_facts(event))
                _tell(told, [Fact(event.fact, event.value, origin)])
                if isinstance(event.value, str):
                    case.says.append(event.text)
        _resolve_unit(told)
        for facts in told.values():
            case.add(facts)
        derive_more(case, kb)
        return case

    def _attachments(self, attached: list[Attached], kb: Knowledge) -> CaseFile:
        """The case file of these attachments alone; kept until there are others."""
        if self._base is None or self._base[0] != attached:
            base = CaseFile()
            for event in attached:
                self._add_attachment(base, event, kb)
            base.add(signature_facts(base, kb))
            self._base = (attached, base)
        return self._base[1]

    def _add_attachment(self, case: CaseFile, event: Attached, kb: Knowledge) -> None:
        """Scans a text once and takes its facts and hits from memory afterwards."""
        known = self._read.get(event)
        if known is None:
            known = CaseFile()
            kinds = add_document(known, kb, event.document())
            size = len(event.text.encode("utf-8", "replace"))
            lines = len(event.text.splitlines())
            known.inputs.append(Input(event.name, size, lines, ", ".join(kinds) or "text", list(event.notes)))
            self._read[event] = known
        inputs, known.inputs = known.inputs, []
        case.join(known)
        known.inputs = inputs
        _join(case.inputs, known.inputs[0])


def _join(inputs: list[Input], part: Input) -> None:
    """Adds a text to those that were read; further parts of a long one count with the first."""
    last = inputs[-1] if inputs else None
    if last is None or last.path != part.path:
        inputs.append(replace(part, notes=list(part.notes)))
        return
    last.bytes += part.bytes
    last.lines += part.lines
    last.notes += part.notes
    kinds = [k for k in (*last.kind.split(", "), *part.kind.split(", ")) if k != "text"]
    last.kind = ", ".join(dict.fromkeys(kinds)) or "text"


def _tell(told: dict[str, list[Fact]], facts: Iterable[Fact]) -> None:
    """Facts of one message; what it says of a thing replaces what was said of it before."""
    fresh: dict[str, list[Fact]] = {}
    for fact in facts:
        fresh.setdefault(fact.key, []).append(fact)
    for key, group in fresh.items():
        if all(f.origin.kind == "derived" for f in group) and key in told:
            continue
        told[key] = group


@lru_cache(maxsize=1024)
def _read(text: str) -> tuple[Fact, ...]:
    return tuple(read_sentence(text))


def _facts_of(text: str, told: dict[str, list[Fact]]) -> list[Fact]:
    """What a later message says; it changes the kind of trouble only where it clearly speaks of it."""
    facts = list(_read(text))
    if "symptom" in told:
        strong = max(scores(text).values()) >= _STRONG_SYMPTOM and (
            len(text) > 40 or _CORRECTS.search(text) is not None
        )
        if not strong:
            facts = [f for f in facts if f.key != "symptom"]
        else:
            facts = [f for f in facts if f.key != "symptom" or f.value != "question"]
    return facts


def _extra_facts(event: Answered) -> list[Fact]:
    """Other facts in the words of an answer ("two, each with 8 A100")."""
    return [f for f in _read(event.text) if f.key not in (event.fact, "symptom") and f.subject == JOB]


def _resolve_unit(told: dict[str, list[Fact]]) -> None:
    """Once it is known what the user meant by GB/s, the rate is put right."""
    meant, rate = told.get("network_unit_meant"), told.get("network_gbps")
    if meant and rate and meant[-1].value == "bytes" and isinstance(rate[-1].value, int | float):
        told["network_gbps"] = [Fact("network_gbps", rate[-1].value * 8, meant[-1].origin)]
