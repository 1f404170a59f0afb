"""From the paths that a user names to documents: files, folders, archives, standard input.

    sources = read_inputs(["logs/", "bundle.tar.gz", "-"], sys.stdin.buffer)
    for source in sources:
        for document in source.documents():
            ...
    require_text(sources)      # UserError where there was nothing to read

Reading happens while the documents are taken, so that memory stays flat. What is wrong with one input among others is
said in its notes.
"""

from __future__ import annotations

import errno
import glob
import io
import os
import re
import stat
from collections.abc import Sequence
from typing import IO, Any

from assistant.errors import UserError
from assistant.facts import Input
from assistant.intake.chunks import Chunker
from assistant.intake.document import Document
from assistant.intake.opened import open_path
from assistant.intake.source import Source, reason
from assistant.safe_text import safe_line

FILES = 20_000
STDIN = "standard input"
_SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules", "site-packages", "__MACOSX", "venv"))
_NO_LOGS = re.compile(
    r"\.(?:pt|pth|ckpt|safetensors|bin|np[yz]|h5|hdf5|parquet|arrow|onnx|pb|engine|so|[oa]|pyc|whl|jar|png|jpe?g|gif|webp|mp4|pdf|docx|pptx|xlsx|idx"
    r"|distcp|tfrecord|sif|sqsh|img|iso|deb|rpm|nsys-rep|qdrep|ncu-rep|sqlite|exe|dll|woff2?|ttf)$",
    re.IGNORECASE,
)


def read_inputs(paths: Sequence[str | os.PathLike[str]], stdin: Any = None) -> list[Source]:
    """What these paths name, ready to be read. Raises UserError where none of them can be."""
    sources: list[Source] = []
    for path in paths:
        name = os.fspath(path)
        if name == "-":
            if not any(s.path == STDIN for s in sources):
                sources.append(Source(STDIN, lambda: _standard_input(stdin)))
            continue
        sources += _sources_of(name)
    bad = [s for s in sources if s.error is not None]
    if sources and len(bad) == len(sources):
        raise _unusable(bad)
    return sources


def read_text(name: str, text: str) -> tuple[list[Document], Input]:
    """A text that was pasted or sent, made ready in the same way as a file: cleaned, redacted, JSON lines unpacked."""
    record = Input(name, 0, 0, "text")
    chunker = Chunker(record)
    documents = list(chunker.feed(text.encode("utf-8", "replace")))
    return [*documents, *chunker.finish()], record


def require_text(sources: Sequence[Source]) -> None:
    """Raises UserError where all has been read and no text was in it."""
    if not sources or any(source.lines for source in sources):
        return
    bad = [s for s in sources if s.error is not None]
    if bad:
        raise _unusable(bad)
    records = [record for source in sources for record in source.inputs]
    first = sources[0].path
    if records and all(record.kind == "binary" for record in records):
        what, _, hint = records[0].notes[-1].partition(": left out.")
        if len(records) > 1:
            what, hint = "only binary files", ""
        raise UserError(
            f"{safe_line(first)}: {what}", hint.strip() or "Hand over text: the job's log, or the output of a command."
        )
    if not records:
        notes = "; ".join(sources[0].notes)
        raise UserError(
            f"{safe_line(first)}: nothing to read in it{f' ({notes})' if notes else ''}",
            "Hand over the job's log files.",
        )
    raise UserError(
        f"{safe_line(first)}: empty",
        "Nothing was written to it. Look where the launcher sends the output of the ranks, or give the text with `-` from standard input.",
    )


def _unusable(bad: Sequence[Source]) -> UserError:
    text = "\n".join(f"{safe_line(s.path)}: {s.error}" for s in bad[:5])
    if len(bad) > 5:
        text += f"\n... and {len(bad) - 5} more"
    why = bad[0].error or ""
    hint = "Check the path, or give the text with `-` from standard input."
    if "permission" in why:
        hint = "Read it as a user who may, or copy it to where you can."
    elif "folder" in why:
        hint = "Name the folder in which the logs of the job are (slurm-*.out, rank*.log, *.err), or single files."
    return UserError(text, hint)


def _standard_input(stdin: Any) -> IO[bytes]:
    if stdin is None:
        return io.BytesIO()
    raw = getattr(stdin, "buffer", stdin)
    first = raw.read(0)
    if isinstance(first, str):
        return io.BytesIO(raw.read().encode("utf-8", "surrogatepass"))
    return _Unclosed(raw)  # type: ignore[return-value]


class _Unclosed:
    """Standard input, which is not ours to close."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def read(self, size: int = -1) -> bytes:
        return bytes(self._raw.read(size) or b"")

    def close(self) -> None:
        pass


def _sources_of(name: str) -> list[Source]:
    try:
        found_at = os.stat(name)
    except ValueError:
        return [Source(name, error="not a path")]
    except OSError as error:
        if error.errno == errno.ENOENT and any(c in name for c in "*?["):
            found = sorted(glob.glob(name, recursive=True))
            if found:
                return [s for path in found for s in _sources_of(path)]
        return [Source(name, error=reason(error), notes=[reason(error)])]
    mode = found_at.st_mode
    if stat.S_ISDIR(mode):
        return _folder(name)
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or name.startswith("/dev/fd/")):
        return [Source(name, error="a device or socket, not a file", notes=["a device or socket, not a file"])]
    if not os.access(name, os.R_OK):
        return [Source(name, error="no permission to read it", notes=["no permission to read it"])]
    if stat.S_ISFIFO(mode):
        from assistant.intake.pipe import open_pipe

        return [Source(name, lambda: open_pipe(name))]
    return [Source(name, lambda: open_path(name), size=found_at.st_size)]


def _folder(name: str) -> list[Source]:
    """The files of a folder and its folders, in the order of their names."""
    files: list[str] = []
    skipped: dict[str, int] = {}
    root = os.path.realpath(name)
    for folder, folders, names in os.walk(name, onerror=lambda _: _count(skipped, "folders without permission")):
        good = [f for f in folders if not f.startswith(".") and f not in _SKIPPED_FOLDERS]
        if len(good) < len(folders):
            _count(skipped, "hidden or library folders", len(folders) - len(good))
        folders[:] = sorted(good)
        for file in sorted(names):
            why = _left_out(os.path.join(folder, file), file, root)
            if why:
                _count(skipped, why)
            elif len(files) >= FILES:
                _count(skipped, f"files beyond the first {FILES}")
            else:
                files.append(os.path.join(folder, file))
    notes = [f"left out: {count} {why}" for why, count in sorted(skipped.items())]
    if not files:
        why = "a folder without logs" + (f" ({'; '.join(notes)})" if notes else " (it is empty)")
        return [Source(name, error=why, notes=[why])]
    files.sort()
    sources = [s for file in files for s in _sources_of(file)]
    sources[0].notes[:0] = [f"{safe_line(name)}: {note}" for note in notes]
    return sources


def _count(counts: dict[str, int], why: str, more: int = 1) -> None:
    counts[why] = counts.get(why, 0) + more


def _left_out(path: str, file: str, root: str) -> str | None:
    if file.startswith("."):
        return "hidden files"
    if _NO_LOGS.search(file):
        return "binary files"
    try:
        if os.path.islink(path):
            target = os.path.realpath(path)
            if os.path.commonpath((root, target)) != root:
                return "links that lead out of the folder"
        found = os.stat(path)
    except (OSError, ValueError):
        return "broken links"
    if not stat.S_ISREG(found.st_mode):
        return "devices, pipes and sockets"
    if found.st_size == 0:
        return "empty files"
    return None
