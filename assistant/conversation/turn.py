"""The conversation itself: reads a message, updates the session, words the reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from assistant.conversation import replies
from assistant.conversation.answers import read_answer
from assistant.conversation.branches import tree_blocks
from assistant.conversation.intents import Intent, asks_about_message, intent_of
from assistant.conversation.messages import explain
from assistant.conversation.paste import split_pasted
from assistant.conversation.session import Answered, Asked, Attached, Said, Session, Undone
from assistant.conversation.words import question_blocks, understood, why_asked
from assistant.diagnosis.diagnose import SURE, Diagnosis, diagnose
from assistant.diagnosis.next_step import NextStep, leads_clearly, step_of
from assistant.diagnosis.rank import rank
from assistant.facts import CaseFile, Fact
from assistant.intake.redact import typed
from assistant.report.as_text import blocks_to_text
from assistant.report.words import Block
from assistant.understand import read_sentence
from knowledge.load import Knowledge

PATIENCE = 3
"""So many answers "I don't know" in a row end the questions."""

MOST_QUESTIONS = 6
ASSUMED = frozenset(("network_kind", "network_gbps", "network_nics"))
"""Facts that are taken from the type of a machine and said to be so."""
MOST_INPUTS = 12
"""Inputs that are named one by one when many are read at once."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said back, and the state behind it."""

    blocks: list[Block]
    diagnosis: Diagnosis
    question: NextStep | None = None
    """The question that now waits for an answer."""
    done: bool = False
    """Nothing more is asked: a cause stands clear, or no answer would change much."""
    quit: bool = False

    def text(self, width: int = 100, *, colour: bool = False) -> str:
        return blocks_to_text(self.blocks, width, colour=colour)


@dataclass
class Conversation:
    """A session with its knowledge base. `turn` is all that a face needs."""

    kb: Knowledge
    session: Session = field(default_factory=Session)
    _told: str = ""
    _contradictions: frozenset[str] = frozenset()
    _known: frozenset[tuple[str, str]] = frozenset()
    _read_before: int = 0
    _kept: tuple[int, CaseFile, Diagnosis] | None = field(default=None, repr=False)

    def turn(self, text: str = "", attachments: Iterable[Attached] = ()) -> Reply:
        """One turn: what the user wrote and attached, and what is said to it."""
        new = list(attachments)
        prose, pasted = split_pasted(typed(text), sum(isinstance(e, Attached) for e in self.session.events))
        new += pasted
        intent = intent_of(prose) if prose and not new else None
        if intent is not None and not self._is_answer(prose, intent):
            return self._asked_back(intent)
        if prose and not new and asks_about_message(prose):
            explained = explain(prose, self.kb)
            if explained is not None:
                self.session.add(Said(prose))
                return self._reply(explained.blocks, quiet=True)
        for attachment in new:
            self.session.add(attachment)
        step = self._pending_step()
        if new and step is not None and step.kind == "test":
            self.session.add(Answered(step.id, step.fact, True, ", ".join(a.name for a in new[:3])))
        return self._reply(self._take(prose) if prose else [])

    def attach(self, attachments: Iterable[Attached]) -> Reply:
        return self.turn("", attachments)

    def _is_answer(self, text: str, intent: Intent) -> bool:
        """ "ok" or "good" may be the answer to a question, "why" is not."""
        step = self._pending_step()
        return (
            step is not None
            and intent in ("thanks", "more", "quit")
            and not text.startswith("/")
            and read_answer(text, step, self.kb) is not None
        )

    def _pending_step(self) -> NextStep | None:
        name = self.session.pending()
        question = self.kb.questions.get(name) if name else None
        return step_of(question, []) if question else None

    def _take(self, text: str) -> list[Block]:
        """Adds a message to the session, as the answer to the open question where it is one."""
        step = self._pending_step()
        answer = read_answer(text, step, self.kb) if step is not None else None
        if step is None or answer is None:
            self.session.add(Said(text))
            lost = step is not None and len(text.split()) < 5 and not read_sentence(text)
            return (
                [
                    Block(
                        "text",
                        "I can't read that as an answer. Give the mark of a choice, say it in your own words, or \"I don't know\".",
                    )
                ]
                if lost
                else []
            )
        own_words = isinstance(answer.value, bool) or answer.label in ("", text[:120])
        self.session.add(
            Answered(step.id, step.fact, answer.value, text if own_words else f"{step.text} {answer.label}")
        )
        if answer.kind == "unknown" and step.how:
            return [Block("text", f"That's fine. Should you want to find out: {step.how}")]
        return []

    def _state(self) -> tuple[CaseFile, Diagnosis]:
        """The case and its diagnosis; both are kept until the session grows."""
        length = len(self.session.events)
        if self._kept is None or self._kept[0] != length:
            case = self.session.case(self.kb)
            self._kept = (length, case, diagnose(case, self.kb, self.session.asked()))
        return self._kept[1:]

    def _asked_back(self, intent: Intent) -> Reply:
        if intent == "undo":
            return self._undo()
        case, diagnosis = self._state()
        step = None if _clear(diagnosis) else self._current_step(diagnosis)
        if intent == "quit":
            return Reply([Block("text", "Good bye.")], diagnosis, step, done=True, quit=True)
        simple: dict[Intent, Callable[[], list[Block]]] = {
            "why": lambda: replies.why_blocks(diagnosis, self.kb),
            "sure": lambda: replies.why_blocks(diagnosis, self.kb),
            "ruled-out": lambda: replies.ruled_out_blocks(diagnosis),
            "facts": lambda: replies.facts_blocks(diagnosis),
            "help": replies.help_blocks,
            "more": lambda: replies.more_blocks(diagnosis),
            "fix": lambda: replies.fix_again(diagnosis),
            "where": lambda: replies.where_blocks(diagnosis),
            "tree": lambda: tree_blocks(diagnosis, rank(case, self.kb), self.kb),
            "thanks": lambda: [
                Block("text", "You're welcome. Say so if the fix did not help, or attach the log of the next run.")
            ],
        }
        if intent in ("why-ask", "how"):
            blocks = why_asked(step, self.kb) if step else [Block("text", "I am not asking anything at the moment.")]
        else:
            blocks = simple[intent]()
        if step is not None and intent != "thanks":
            blocks = [*blocks, *question_blocks(step)]
        return Reply(blocks, diagnosis, step, done=step is None)

    def _current_step(self, diagnosis: Diagnosis) -> NextStep | None:
        name = self.session.pending()
        return step_of(self.kb.questions[name], diagnosis.findings) if name in self.kb.questions else None

    def _open_pending(self, case: CaseFile, diagnosis: Diagnosis) -> NextStep | None:
        """The question that waits, unless what it asks has become known by another way."""
        step = self._current_step(diagnosis)
        return None if step is None or case.about(step.fact) else step

    def _undo(self) -> Reply:
        last = self.session.last_undoable()
        if last is None:
            return self._reply([Block("text", "There is nothing to take back.")], quiet=True)
        what = {Said: "what you said", Attached: "the attachment", Answered: "your answer"}.get(
            type(last), "the last step"
        )
        shown = last.name if isinstance(last, Attached) else getattr(last, "text", "")
        self.session.add(Undone())
        self._told = ""
        return self._reply([Block("text", f'Taken back: {what} ("{" ".join(shown.split())[:80]}").')])

    def _reply(self, lead: list[Block], *, quiet: bool = False) -> Reply:
        """The reply after the session has changed. `quiet`: an explanation was given already, so no finding is pressed."""
        case, diagnosis = self._state()
        blocks = [*lead, *self._news(case, diagnosis)] if not quiet else list(lead)
        if quiet:
            waiting = self._current_step(diagnosis)
            return Reply(
                [*blocks, *(question_blocks(waiting) if waiting else [])], diagnosis, waiting, done=waiting is None
            )
        pending = self._open_pending(case, diagnosis)
        clear = _clear(diagnosis)
        step = None if clear else (pending or self._next(diagnosis))
        if clear or step is None:
            blocks += self._conclusion(diagnosis, clear)
            return Reply(blocks, diagnosis, done=True)
        if pending is None:
            self.session.add(Asked(step.id))
        blocks += self._preliminary(diagnosis)
        blocks += question_blocks(step)
        return Reply(blocks, diagnosis, step)

    def _next(self, diagnosis: Diagnosis) -> NextStep | None:
        asked = sum(isinstance(e, Asked) for e in self.session.active())
        if asked >= MOST_QUESTIONS or self.session.unanswered_in_a_row() >= PATIENCE:
            return None
        return diagnosis.next

    def _news(self, case: CaseFile, diagnosis: Diagnosis) -> list[Block]:
        """What was understood and read in this turn, and contradictions that came up in it."""
        told = [
            f
            for f in case.facts
            if f.origin.kind in ("say", "stated", "answer")
            or (f.origin.kind == "derived" and f.origin.file is None and f.key in ASSUMED)
        ]
        keys = frozenset((f.key, str(f.value)) for f in told)
        fresh: list[Fact] = [f for f in told if (f.key, str(f.value)) not in self._known]
        self._known = keys
        sentence = understood(fresh)
        blocks = [Block("text", sentence)] if sentence else []
        blocks += self._inputs_read(case)
        blocks += [Block("note", c) for c in diagnosis.contradictions if c not in self._contradictions]
        self._contradictions = frozenset(diagnosis.contradictions)
        return blocks

    def _inputs_read(self, case: CaseFile) -> list[Block]:
        """What was read since the last reply, of which kind it is, and whether it tells anything."""
        fresh = case.inputs[self._read_before :]
        self._read_before = len(case.inputs)
        if not fresh:
            return []
        telling = {f.origin.file for f in case.facts} | {o.file for h in case.hits.values() for o in h.samples}
        out = []
        for item in fresh[:MOST_INPUTS]:
            remarks = [*item.notes, *([] if item.path in telling else ["nothing telling in it"])]
            end = f" ({'; '.join(remarks)})" if remarks else ""
            out.append(
                Block("text", f"Read {item.path}: {item.kind}, {item.lines} line{'s' if item.lines != 1 else ''}{end}.")
            )
        if len(fresh) > MOST_INPUTS:
            out.append(Block("text", f"... and {len(fresh) - MOST_INPUTS} more."))
        return out

    def _preliminary(self, diagnosis: Diagnosis) -> list[Block]:
        best = diagnosis.findings[0] if diagnosis.findings else None
        if best is not None and best.probability >= SURE and best.id != self._told:
            self._told = best.id
            return replies.told_finding(diagnosis, sure=False)
        return replies.so_far(diagnosis)

    def _conclusion(self, diagnosis: Diagnosis, clear: bool) -> list[Block]:
        if diagnosis.verdict == "healthy":
            return [*replies.healthy_blocks(diagnosis), *replies.harmless_blocks(diagnosis)]
        best = diagnosis.findings[0] if diagnosis.findings else None
        mark = f"{best.id} {'clear' if clear else 'open'}" if best else "none"
        if mark == self._told and best is not None:
            return [Block("text", f"This does not change it: {best.title} ({round(best.probability * 100)} %).")]
        self._told = mark
        if best is None or not clear:
            return replies.exhausted(diagnosis)
        return [*replies.told_finding(diagnosis, sure=True), *replies.harmless_blocks(diagnosis)]


def _clear(diagnosis: Diagnosis) -> bool:
    """Nothing needs to be asked: one cause leads by far, or nothing is wrong."""
    if diagnosis.verdict == "healthy":
        return True
    chances = [f.probability for f in diagnosis.findings[:2]]
    return bool(chances) and leads_clearly(chances[0], chances[1] if len(chances) > 1 else 0.0)
