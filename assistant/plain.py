"""The conversation line by line: for pipes, screen readers and terminals without more.

    $ ncclinic chat --plain
    $ printf 'two nodes are slower than one\nQ\n' | ncclinic chat --plain

A line is a message. Lines that a program printed are gathered and read as one attachment, also when they are pasted.
"""

from __future__ import annotations

import io
import os
import select
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TextIO

from assistant.conversation import Attached, Conversation, Reply
from assistant.conversation.paste import looks_like_output
from assistant.errors import UserError
from assistant.safe_text import safe

GREETING = "Tell me what is wrong, or /attach PATH of a log. /help shows what else you can say, /quit ends."
PROMPT = "> "
PASTE_PAUSE = 0.05
"""Lines that follow each other faster than this (s) on a terminal were pasted."""
LONGEST = 64 << 10
"""Characters of a line that are read; the rest of it is passed over."""
BLOCK = 4 << 20
"""Characters of lines that are gathered into one message."""
ENDLESS = 256 << 20
"""Characters without the end of the line after which the input counts as ended."""


def attached(path: str) -> list[Attached]:
    """The texts of a file, folder or archive. Raises UserError where nothing can be read."""
    from assistant.intake.read import read_inputs, require_text

    sources = read_inputs([os.path.expanduser(path)])
    out: list[Attached] = []
    for source in sources:
        texts = [Attached.of(d) for d in source.documents()]
        notes = [*source.notes, *(note for record in source.inputs for note in record.notes)]
        if texts and notes:
            texts[-1] = replace(texts[-1], notes=tuple(dict.fromkeys(notes)))
        out += texts
    require_text(sources)
    return out


class PlainChat:
    """One conversation over a pair of text streams."""

    def __init__(
        self, conversation: Conversation, source: TextIO, out: TextIO, *, width: int = 100, prompt: bool = False
    ) -> None:
        self.conversation = conversation
        self.out = out
        self.width = width
        self.prompt = prompt
        self._lines = _Lines(source)

    def run(self, first: Sequence[str] = ()) -> int:
        """Talks until the input ends or the user leaves. `first` are paths to begin with. Returns the exit status."""
        self._say(GREETING)
        for path in first:
            self._attach(path)
        for message in self._messages():
            if message.startswith("/attach"):
                self._attach(message[len("/attach") :].strip().strip("\"'"))
                continue
            if message.startswith("/") and not _is_command(message):
                self._say(f"There is no command {safe(message.split()[0])}; /help lists them.")
                continue
            reply = self.conversation.turn(message)
            self._show(reply)
            if reply.quit:
                break
        return 0

    def _messages(self) -> Iterator[str]:
        """Messages: a line each, but machine output that comes in one go is one message."""
        while True:
            if self.prompt:
                self.out.write(PROMPT)
                self.out.flush()
            line = self._lines.next()
            if line is None:
                return
            block = [line]
            size = len(line)
            while (
                size < BLOCK and self._lines.more_at_once() and (self.prompt or _continues(block, self._lines.peek()))
            ):
                following = self._lines.next()
                if following is None:
                    break
                block.append(following)
                size += len(following) + 1
            message = "\n".join(block).strip()
            if message:
                yield message

    def _attach(self, path: str) -> None:
        if not path:
            self._say("Which file? Write /attach PATH.")
            return
        try:
            texts = attached(path)
        except UserError as error:
            self._say(f"{error.message}\n{error.hint}" if error.hint else error.message)
            return
        self._show(self.conversation.attach(texts))

    def _show(self, reply: Reply) -> None:
        self._say(reply.text(self.width))

    def _say(self, text: str) -> None:
        self.out.write(safe(text).rstrip("\n") + "\n\n")
        self.out.flush()


def _is_command(message: str) -> bool:
    from assistant.conversation.intents import intent_of

    return intent_of(message) is not None


def _continues(block: list[str], following: str | None) -> bool:
    """Whether the next line of a pipe belongs to the block: machine output after machine output, tracebacks with their indented lines."""
    if following is None or not looks_like_output(block[0]):
        return False
    return looks_like_output(following) or following.startswith((" ", "\t")) or not following.strip()


class _Lines:
    """Lines of a stream with a look at the next one; on a terminal only as far as it does not wait."""

    def __init__(self, source: TextIO) -> None:
        self._source = source
        self._next: str | None = None
        self._ended = False
        self._within = False
        """The last line was cut: its rest is still to be passed over."""
        self._terminal = source.isatty()

    def next(self) -> str | None:
        if self._next is not None:
            line, self._next = self._next, None
            return line
        return self._read()

    def peek(self) -> str | None:
        if self._next is None:
            self._next = self._read()
        return self._next

    def more_at_once(self) -> bool:
        """Whether another line is there without waiting; a pipe is read on."""
        if self._next is not None:
            return True
        if self._ended or self._within:
            return False
        return _ready(self._source) if self._terminal else True

    def _read(self) -> str | None:
        if self._ended:
            return None
        if self._within and not self._pass_over():
            self._ended = True
            return None
        line = self._source.readline(LONGEST)
        if not line:
            self._ended = True
            return None
        self._within = len(line) >= LONGEST and not line.endswith("\n")
        return safe(line.rstrip("\r\n"))

    def _pass_over(self) -> bool:
        """Reads to the end of the line that was cut. False where there is none."""
        for _ in range(ENDLESS // LONGEST):
            rest = self._source.readline(LONGEST)
            if not rest:
                return False
            if rest.endswith("\n"):
                self._within = False
                return True
        return False


def _ready(source: TextIO) -> bool:
    try:
        return bool(select.select([source], [], [], PASTE_PAUSE)[0])
    except (OSError, ValueError):
        return False


def run_plain(
    paths: Sequence[str] = (),
    *,
    source: TextIO | None = None,
    out: TextIO | None = None,
    start: Callable[[], Conversation] | None = None,
) -> int:
    """The line-based conversation on standard input and output."""
    from knowledge.load import knowledge

    stdin, stdout = source or sys.stdin, out or sys.stdout
    for stream, errors in ((stdin, "replace"), (stdout, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
    terminal = stdin.isatty() and stdout.isatty()
    width = max(40, min(shutil.get_terminal_size().columns, 110)) if terminal else 100
    conversation = start() if start else Conversation(knowledge())
    return PlainChat(conversation, stdin, stdout, width=width, prompt=terminal).run(paths)
