"""Where the copies go: one file, standard output, a folder or an archive. Nothing that exists is written over unasked."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol

from assistant.errors import UserError

ARCHIVES = (".tar.gz", ".tgz", ".zip")


class Sink(Protocol):
    def write(self, name: str, blocks: Iterator[str]) -> None: ...
    def finish(self) -> None: ...
    def abandon(self) -> None: ...


def check_free(path: str, force: bool) -> None:
    """UserError where something stands at the path that may not be written over."""
    if not os.path.lexists(path):
        parent = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(parent):
            raise UserError(f"{path}: the folder {parent} does not exist", "Make it first, or name another place.")
        return
    if os.path.isdir(path) and not os.listdir(path):
        return
    if not force:
        raise UserError(f"{path} exists", "Name another place, or give --force to write over it.")


class ToStream:
    """One text to a stream that is not ours to close."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, name: str, blocks: Iterator[str]) -> None:
        for block in blocks:
            self._stream.write(block.encode("utf-8", "replace"))

    def finish(self) -> None:
        self._stream.flush()

    def abandon(self) -> None:
        pass


class ToFile:
    """One text to a file, which appears when it is whole."""

    def __init__(self, path: str) -> None:
        self._path = path
        folder = os.path.dirname(os.path.abspath(path))
        number, self._partial = tempfile.mkstemp(prefix=".ncclinic-", dir=folder)
        self._file = os.fdopen(number, "wb")
        _usual_mode(self._partial)

    def write(self, name: str, blocks: Iterator[str]) -> None:
        for block in blocks:
            self._file.write(block.encode("utf-8", "replace"))

    def finish(self) -> None:
        self._file.close()
        os.replace(self._partial, self._path)

    def abandon(self) -> None:
        self._file.close()
        Path(self._partial).unlink(missing_ok=True)


class ToFolder:
    """A folder, which appears when all is written; files in an existing one are replaced."""

    def __init__(self, path: str) -> None:
        self._path = path
        parent = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
        self._partial = tempfile.mkdtemp(prefix=".ncclinic-", dir=parent)

    def write(self, name: str, blocks: Iterator[str]) -> None:
        target = Path(self._partial, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("w", encoding="utf-8", errors="replace", newline="") as out:
            for block in blocks:
                out.write(block)

    def finish(self) -> None:
        if not os.path.isdir(self._path):
            os.chmod(self._partial, 0o777 & ~_umask())
            os.replace(self._partial, self._path)
            return
        for folder, _, files in os.walk(self._partial):
            here = os.path.normpath(os.path.join(self._path, os.path.relpath(folder, self._partial)))
            os.makedirs(here, exist_ok=True)
            for file in files:
                os.replace(os.path.join(folder, file), os.path.join(here, file))
        self.abandon()

    def abandon(self) -> None:
        shutil.rmtree(self._partial, ignore_errors=True)


class ToArchive:
    """A .tar.gz or .zip, always the same bytes for the same texts."""

    def __init__(self, path: str) -> None:
        self._whole = ToFile(path)
        raw = self._whole._file
        self._zip = zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) if path.endswith(".zip") else None
        self._gzip: Any = None
        self._tar: tarfile.TarFile | None = None
        if self._zip is None:
            import gzip

            self._gzip = gzip.GzipFile("", "wb", mtime=0, fileobj=raw)
            self._tar = tarfile.TarFile(fileobj=self._gzip, mode="w")

    def write(self, name: str, blocks: Iterator[str]) -> None:
        with tempfile.SpooledTemporaryFile(max_size=16 << 20) as copy:
            for block in blocks:
                copy.write(block.encode("utf-8", "replace"))
            size = copy.tell()
            copy.seek(0)
            if self._zip is not None:
                with self._zip.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                    shutil.copyfileobj(copy, member, 1 << 20)
            elif self._tar is not None:
                info = tarfile.TarInfo(name)
                info.size = size
                self._tar.addfile(info, copy)

    def finish(self) -> None:
        for part in (self._zip, self._tar, self._gzip):
            if part is not None:
                part.close()
        self._whole.finish()

    def abandon(self) -> None:
        self._whole.abandon()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _usual_mode(path: str) -> None:
    os.chmod(path, 0o666 & ~_umask())


def standard_output(stream: Any) -> IO[bytes]:
    raw: IO[bytes] = getattr(stream, "buffer", stream)
    return raw
