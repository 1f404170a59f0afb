"""Two passes over an input: learn the names, then write copies without them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any

from assistant.anonymize.layout import Layout, replace_name
from assistant.anonymize.output import (
    ARCHIVES,
    Sink,
    ToArchive,
    ToFile,
    ToFolder,
    ToStream,
    check_free,
    standard_output,
)
from assistant.anonymize.pseudonyms import Pseudonyms
from assistant.anonymize.steps import replace_all
from assistant.anonymize.texts import Text, texts_of
from assistant.errors import UserError
from assistant.intake.read import STDIN, read_inputs
from assistant.intake.source import Source
from assistant.safe_text import safe_line


@dataclass
class Options:
    output: str | None = None
    map_file: str | None = None
    keep_hosts: bool = False
    force: bool = False


@dataclass
class Outcome:
    texts: int = 0
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def anonymize(
    paths: Sequence[str],
    options: Options,
    *,
    stdin: Any = None,
    stdout: Any = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Writes copies of the texts under these paths. Raises UserError where nothing can be read or written."""
    output = None if options.output == "-" else options.output
    if output is not None:
        check_free(output, options.force)
        _check_apart(paths, output)
    if options.map_file is not None:
        check_free(options.map_file, options.force)
    with tempfile.TemporaryDirectory(prefix="ncclinic-") as spool:
        sources = _readable(paths, stdin, spool, output)
        names = Pseudonyms(keep_hosts=options.keep_hosts)
        layout = Layout(paths)
        outcome = Outcome()
        progress("learning the names")
        plain = _learn(sources, names, layout)
        if not plain:
            raise UserError(
                f"{safe_line(paths[0])}: no text in it", "Hand over the job's logs, or the output of commands."
            )
        if output is None and len(plain) > 1:
            raise UserError("several texts can't go to standard output", "Name a folder or an archive with -o.")
        sink = _sink(paths, output, len(plain), stdout)
        try:
            progress("writing the copies")
            for source in sources:
                for text in texts_of(source, outcome.notes):
                    _copy(text, names, layout, sink, outcome)
            sink.finish()
        except BaseException:
            sink.abandon()
            raise
    outcome.counts = {kind: len(table) for kind, table in names.table().items()}
    if options.map_file is not None:
        _write_map(options.map_file, names)
    return outcome


def _learn(sources: Sequence[Source], names: Pseudonyms, layout: Layout) -> list[str]:
    """Reads all texts and notes what is in them. Returns the names of those that can be written."""
    found: list[str] = []
    for source in sources:
        for text in texts_of(source, []):
            if text.left_out:
                continue
            found.append(text.name)
            for step in layout.plain(text.name).split("/"):
                replace_name(step, names)
            for block in text.blocks:
                replace_all(block, names)
    names.settle()
    return found


def _copy(text: Text, names: Pseudonyms, layout: Layout, sink: Sink, outcome: Outcome) -> None:
    shown = layout.copy(text.name, names, dump=text.dump)
    if text.left_out:
        outcome.left_out.append(f"{shown}: {text.left_out}")
        return
    outcome.texts += 1
    sink.write(shown, (replace_all(block, names) for block in text.blocks))


def _readable(paths: Sequence[str], stdin: Any, spool: str, output: str | None) -> list[Source]:
    """The inputs, each of which can be read twice."""
    real = os.path.realpath(output) if output is not None else None
    kept: list[Source] = []
    for source in read_inputs(paths, stdin):
        if real is not None and source.open is not None and source.path != STDIN:
            where = os.path.realpath(source.path)
            if where == real or where.startswith(real + os.sep):
                continue
        if source.open is not None and not os.path.isfile(source.path):
            _spool(source, spool, len(kept))
        kept.append(source)
    if not kept:
        raise UserError("there is nothing to anonymize but the output itself", "Name another output.")
    return kept


def _spool(source: Source, folder: str, number: int) -> None:
    copy = os.path.join(folder, str(number))
    assert source.open is not None
    with open(copy, "wb") as out:
        file = source.open()
        while block := file.read(1 << 20):
            out.write(block)
        file.close()
    source.open = partial(_reopened, copy)


def _reopened(path: str) -> IO[bytes]:
    return open(path, "rb")


def _check_apart(paths: Sequence[str], output: str) -> None:
    target = os.path.realpath(output)
    for path in paths:
        if path != "-" and os.path.realpath(path) == target:
            raise UserError(f"{safe_line(output)} is the input itself", "Name another output with -o.")
        if path != "-" and os.path.isdir(output) and os.path.realpath(path).startswith(target + os.sep):
            raise UserError(
                f"the input {safe_line(path)} lies in the output {safe_line(output)}", "Name an output outside of it."
            )


def _sink(paths: Sequence[str], output: str | None, count: int, stdout: Any) -> Sink:
    if output is None:
        return ToStream(standard_output(stdout if stdout is not None else sys.stdout))
    if output.endswith(ARCHIVES):
        return ToArchive(output)
    one = count == 1 and len(paths) == 1 and not os.path.isdir(paths[0]) and not os.path.isdir(output)
    if one and not output.endswith("/"):
        return ToFile(output)
    if os.path.lexists(output) and not os.path.isdir(output):
        raise UserError(
            f"{safe_line(output)} is a file, and several texts are to be written", "Name a folder or an archive."
        )
    return ToFolder(output.rstrip("/") or output)


def _write_map(path: str, names: Pseudonyms) -> None:
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(number, "w", encoding="utf-8") as out:
        os.fchmod(out.fileno(), 0o600)
        json.dump(names.table(), out, indent=1, ensure_ascii=False)
        out.write("\n")
