"""Pasted blocks of log lines: what of a message is prose, and what is machine output that counts as an attachment."""

from __future__ import annotations

from assistant.conversation.session import Attached
from assistant.understand.text import regex

_MACHINE = regex(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|[\w.-]+:\d+:\d+ \[\d+\]|\[(?:rank|default|\d)[\w, ]*\]\s*:|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|CRITICAL)\b|\d+:\s?\w|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|Traceback|File \"|\w+(?:Error|Exception)\b:|#!|#SBATCH|#\s+(?:nThread|out-of-place|\S+\s+\S+\s+\S+)|\[ +\d+\.\d{6}\]|\|[ =+-]|\+[-=]{3,}|GPU\d|CA '|\s+port \d:|hca_id:|Settings for|NVRM|nccl|NCCL |export [A-Z]|\$ |>>> |\{\"|kind: |apiVersion: |---$)"
    r"|\bNCCL (?:INFO|WARN)\b|\b(?:ProcessGroupNCCL|TCPStore|torch\.distributed|torchrun|srun|mpirun|slurmstepd|elastic)\b.*[:\[]|\S+\.(?:py|cc|cpp|cu|h):\d+|(?:[\w.-]+\s*[:=]\s*[\w./%-]+\s+){3}|^\s*\S+\s+(?:-?[\d.]+\s+){4}"
)
_SENTENCE = regex(r"^[\"'(]?[A-Za-z][^\t|=<>{}\[\]]*[.!?]?$")

SAID = 20_000
"""Characters of a message that are read as sentences; what follows is read as a text that was handed over."""

_LONGEST = 2000
"""Characters of a line that tell whether a program printed it."""

FEWEST = 2
"""So many lines of machine output together are a pasted block."""


def looks_like_output(line: str) -> bool:
    """Whether a line was printed by a program rather than typed by a person."""
    return bool(line.strip()) and _MACHINE.search(line, 0, _LONGEST) is not None


def split_pasted(text: str, already: int = 0) -> tuple[str, list[Attached]]:
    """The prose of a message, and as attachments ("pasted text 1") its block of machine output and what is too long for prose."""
    prose, pasted = _split(text, already)
    if len(prose) <= SAID:
        return prose, pasted
    ends = (prose.rfind(end, SAID // 2, SAID) + 1 for end in ("\n", ". ", " "))
    cut = next((end for end in ends if end), SAID)
    note = f"the message after its first {cut} characters"
    rest = Attached(f"pasted text {already + len(pasted) + 1}", prose[cut:], notes=(note,))
    return prose[:cut].strip(), [*pasted, rest]


def _split(text: str, already: int) -> tuple[str, list[Attached]]:
    """One block reaches from the first to the last line of machine output; lines between them belong to it."""
    lines = text.split("\n")
    marked = [i for i, line in enumerate(lines) if looks_like_output(line)]
    if len(lines) < FEWEST or len(marked) < FEWEST:
        if len(lines) == 1 and len(text) > 30 and _one_line_of_log(text):
            return "", [Attached(f"pasted text {already + 1}", text)]
        return text.strip(), []
    first, last = marked[0], marked[-1]
    while last + 1 < len(lines) and lines[last + 1].strip() and not _SENTENCE.search(lines[last + 1]):
        last += 1
    while first > 0 and lines[first - 1].strip() and not _SENTENCE.search(lines[first - 1]):
        first -= 1
    prose = "\n".join(lines[:first] + lines[last + 1 :]).strip()
    return prose, [Attached(f"pasted text {already + 1}", "\n".join(lines[first : last + 1]))]


def _one_line_of_log(text: str) -> bool:
    """A single line that is nothing but machine output, as when one log line is pasted alone."""
    return (
        regex(r"^\s*(?:[\w.-]+:\d+:\d+ \[\d+\]|\[rank\d+\]|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[ *\d+\.\d{6}\])").search(
            text
        )
        is not None
        and "?" not in text[-3:]
    )
