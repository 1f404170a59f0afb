"""The schema of the knowledge base. Every file is checked against it when the base is compiled.

Authors: `docs/knowledge.md` shows one commented entry of each kind.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3)]
CauseId = Annotated[str, StringConstraints(pattern=r"^(healthy|(net|nccl|gpu|host|input|work|launch)\.[a-z0-9-]+)$")]
Kebab = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Symptom = Literal["slow", "hang", "crash", "jitter", "question"]
Strength = Literal[
    "proves", "strong", "moderate", "weak", "weak-against", "moderate-against", "strong-against", "rules-out"
]
Rate = Literal["very-common", "common", "occasional", "rare", "never"]
Role = Literal["root", "echo", "either", "benign", "info"]
Who = Literal["user", "cluster-admin", "provider", "vendor"]


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a valid regular expression: {error}") from None
    return pattern


Regex = Annotated[str, StringConstraints(min_length=3), AfterValidator(_compiles)]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Condition(Model):
    """One condition. Exactly one of the leading keys is used; comparisons go with `fact`.

    hit       a signature (id, or a pattern with * at the end) was found in an attachment
    log       this regular expression is found in a line of an attachment (case-sensitive; start with (?i) if not)
    says      this regular expression is found in what the user wrote (never case-sensitive)
    text      either of the two
    fact      a fact with this key exists; with `is`, `in`, `gt` ... its value compares so. Keys: vocabulary.yaml
    symptom   the trouble is of this kind (slow, hang, crash, jitter, question)
    all, any, not   combine
    """

    all: list[Condition] | None = None
    any: list[Condition] | None = None
    not_: Condition | None = Field(default=None, alias="not")
    hit: str | list[str] | None = None
    log: Regex | None = None
    says: Regex | None = None
    text: Regex | None = None
    fact: str | None = None
    symptom: Symptom | list[Symptom] | None = None

    is_: str | int | float | bool | None = Field(default=None, alias="is")
    in_: list[str | int | float | bool] | None = Field(default=None, alias="in")
    ne: str | int | float | bool | None = None
    gt: float | int | str | None = None
    ge: float | int | str | None = None
    lt: float | int | str | None = None
    le: float | int | str | None = None
    matches: Regex | None = None
    differs: bool | None = None
    """True: the values differ between subjects (hosts, ranks); False: several subjects, all alike."""
    min_count: int | None = None
    """With hit or log: at least so many lines."""

    @model_validator(mode="after")
    def _one_leader(self) -> Condition:
        leaders = [
            n
            for n in ("all", "any", "not_", "hit", "log", "says", "text", "fact", "symptom")
            if getattr(self, n) is not None
        ]
        if len(leaders) != 1:
            raise ValueError(
                f"a condition has exactly one of all, any, not, hit, log, says, text, fact, symptom; this one has {leaders}"
            )
        compares = [
            n
            for n in ("is_", "in_", "ne", "gt", "ge", "lt", "le", "matches", "differs")
            if getattr(self, n) is not None
        ]
        if compares and leaders != ["fact"]:
            raise ValueError("is, in, ne, gt, ge, lt, le, matches and differs compare a fact")
        if self.min_count is not None and leaders not in (["hit"], ["log"]):
            raise ValueError("min_count goes with hit or log")
        return self


class Example(Model):
    """A little session: what the user says, states and attaches."""

    say: str | None = None
    log: str | None = None
    facts: dict[str, str | int | float | bool] = Field(default_factory=dict)
    known: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Facts that only a comparison of many files yields, given directly."""
    name: str = "example.log"
    """Name of the attachment, where it matters (job.sbatch, ds_config.json)."""


def _example(value: Any) -> Any:
    return {"log": value} if isinstance(value, str) else value


class RuleExamples(Model):
    hit: list[Example] = Field(min_length=1)
    miss: list[Example] = Field(min_length=1)
    """At least one look-alike: near enough to fool a careless rule."""
    silent: list[Example] = Field(default_factory=list)
    """`when` holds and `unless` keeps the rule silent. Required where `unless` is given."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {k: [_example(v) for v in (vs if isinstance(vs, list) else [vs])] for k, vs in data.items()}
        return data


class EvidenceRule(Model):
    id: Kebab
    when: Condition
    unless: Condition | None = None
    """The condition under which the rule stays silent."""
    strength: Strength
    text: Text
    """What was seen and why it tells, as a sentence. {host} {rank} {value} and the named groups of a hit are filled in."""
    group: str | None = None
    """Rules of one group say the same thing in different ways: only the strongest of them counts."""
    examples: RuleExamples

    @model_validator(mode="after")
    def _silence_is_shown(self) -> EvidenceRule:
        if self.unless is not None and not self.examples.silent:
            raise ValueError(f"rule {self.id}: `unless` needs an example under examples.silent")
        return self


class Confirm(Model):
    how: Text
    command: str | None = None
    expect: Text
    """What shows that it is this cause, and what shows that it is not."""


class Fix(Model):
    id: Kebab
    title: Text
    kind: Literal["cures", "mitigates"]
    hides: Text | None = None
    """For a mitigation: what stays wrong and is no longer seen."""
    who: Who
    steps: list[Text] = Field(min_length=1)
    commands: list[str] = Field(default_factory=list)
    """Commands and settings. {placeholders} of placeholders.yaml are filled with the session's own names."""
    gain: Text
    """What it brings, with a range and what it depends on; no figure without a source."""
    risk: Text
    undo: Text
    verify: Text
    when: Condition | None = None
    """Only offered when this holds."""
    effort: Literal["minutes", "hours", "days", "purchase"] = "minutes"

    @model_validator(mode="after")
    def _mitigation_says_what_it_hides(self) -> Fix:
        if self.kind == "mitigates" and not self.hides:
            raise ValueError(f"fix {self.id}: a mitigation says under `hides` what it leaves unseen")
        return self


class Mistaken(Model):
    cause: CauseId
    tell: Text
    """How to tell the two apart."""


class Cause(Model):
    id: CauseId
    title: Text
    since: str = "0.1.0"
    explanation: Text
    shows: Text
    """How it shows: what the user sees."""
    base_rates: dict[Symptom, Rate]
    evidence: list[EvidenceRule] = Field(min_length=1)
    steps_back_for: list[CauseId] = Field(default_factory=list)
    """Causes that explain this one's evidence: when one of them stands on evidence of its own, this one steps back."""
    confirm: list[Confirm] = Field(min_length=1)
    fixes: list[Fix] = Field(min_length=1)
    mistaken_for: list[Mistaken] = Field(default_factory=list)
    sources: list[str] = Field(min_length=1)


class SignatureFact(Model):
    key: str
    value: str | int | float | bool
    """A value, or a template with the named groups in braces."""
    subject: Literal["job", "host", "rank"] = "job"


class SignatureExamples(Model):
    hit: list[str] = Field(min_length=1)
    miss: list[str] = Field(min_length=1)


class Signature(Model):
    """A pattern of a log line and what it means."""

    id: Kebab
    title: Text
    """The message in short, as a person would name it."""
    area: str
    role: Role
    match: Regex
    """Found by the scanner: no look-around, no back-reference; has a literal of five characters or more."""
    extract: Regex | None = None
    """Named groups; applied to a line that matched. Without it the named groups of `match` are used."""
    means: Text
    causes: dict[CauseId, Literal["proves", "strong", "moderate", "weak"]] = Field(default_factory=dict)
    """What the line points to, by itself, when it is not an echo."""
    facts: list[SignatureFact] = Field(default_factory=list)
    versions: str = "all"
    false_positives: str = ""
    """When the line means nothing bad."""
    sources: list[str] = Field(min_length=1)
    examples: SignatureExamples
    since: str = "0.1.0"


class Tellings(Model):
    """Ways in which people who have a cause describe it without knowing it. The word model learns from them."""

    cause: CauseId
    tellings: list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=20)]] = Field(min_length=10)


class Choice(Model):
    label: Text
    value: str | int | float | bool


class Question(Model):
    id: Kebab
    fact: str
    ask: Text
    why: Text
    how: Text
    """How to find the answer: a command, and where to run it."""
    choices: list[Choice] = Field(default_factory=list)
    tells: dict[str, list[CauseId]] = Field(default_factory=dict)
    """For an answer (the value as text, or * for any): the causes that become likelier. Used to choose the next question."""
    when: Condition | None = None
    cost: float = Field(default=1.0, gt=0)
    """Effort for the user; 1 is a thing they know by heart, 3 is a command to run."""
    order: int = 50


class VocabularyEntry(Model):
    key: str
    type: Literal["text", "integer", "number", "boolean"]
    unit: str = ""
    subject: str = "job"
    means: Text
    alike: Literal["", "equal", "similar"] = ""
    """What it should be on the hosts and ranks of one job: the same value, or figures that lie close together."""
    called: str = ""
    """What a sentence calls it (for `alike`)."""


class Placeholder(Model):
    name: Kebab | Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$")]
    facts: list[str]
    """Facts whose value fills it, best first."""
    fallback: str
    means: Text


class TreeNode(Model):
    id: Kebab
    title: Text
    question: str | None = None
    """Id of the question that opens or closes this branch."""
    causes: list[CauseId] = Field(default_factory=list)
    children: list[TreeNode] = Field(default_factory=list)
