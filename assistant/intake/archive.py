"""Compressed files and archives, read as streams and with bounds: what is inside was packed by somebody else.

Nothing is written to disk under a name from an archive, so that no path in it can lead anywhere. Links and devices are left
out. Sizes, counts, depth and the ratio of unpacked to packed bytes are bounded; what was left out is said.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any

from assistant.intake.packed import MEMBERS, READ, Budget, Counted, TooMuch
from assistant.safe_text import safe_line

#: Unpacked bytes that are never suspicious, and the ratio above which larger ones are.
FREE = 256 << 20
RATIO = 500
#: A zip inside an archive must be copied to be read.
NESTED_ZIP = 4 << 30
LONG_HEADER = 1 << 20
DEPTH = 4


class _Bounded:
    """Unpacked bytes, as long as they are in proportion to the packed ones."""

    def __init__(self, unpacked: Any, packed: Counted, budget: Budget) -> None:
        self._unpacked = unpacked
        self._packed = packed
        self._budget = budget
        self._count = 0

    def read(self, size: int = READ) -> bytes:
        found: bytes = self._unpacked.read(min(size, READ) if size and size > 0 else READ)
        self._count += len(found)
        self._budget.total -= len(found)
        check_ratio(self._count, self._packed.count)
        if self._budget.total < 0:
            raise TooMuch("it unpacks to more than this tool reads")
        return found


def check_ratio(unpacked: int, packed: int) -> None:
    if unpacked > FREE and unpacked > RATIO * max(packed, 1):
        raise TooMuch(f"it unpacks to more than {RATIO} times its size, as an archive bomb does")


def _open_zstd(stream: Any) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return zstd.open(stream, "rb")
    except ImportError:
        pass
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise TooMuch(
            "reading .zst needs the module zstandard (pip install zstandard); or unpack it with zstd -d"
        ) from None
    return zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(stream, read_across_frames=True)


_PACKERS: tuple[tuple[bytes, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", lambda s: gzip.GzipFile(fileobj=s, mode="rb")),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"\x28\xb5\x2f\xfd", _open_zstd),
)

Part = tuple[str, Any]
"""(name, stream of its bytes)"""


def is_packed(head: bytes) -> bool:
    """Whether these are the first bytes of an archive or a compressed file."""
    return any(_packs(mark, head) for mark, _ in _PACKERS) or _is_zip(head) or _is_tar(head)


def _packs(mark: bytes, head: bytes) -> bool:
    return head.startswith(mark) and (mark != b"BZh" or head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"))


def _is_zip(head: bytes) -> bool:
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def _is_tar(head: bytes) -> bool:
    if len(head) < 512:
        return False
    if head[257:262] == b"ustar":
        return True
    try:
        return head[0] != 0 and tarfile.TarInfo.frombuf(head[:512], "utf-8", "surrogateescape").chksum > 0
    except (tarfile.HeaderError, ValueError):
        return False


def parts_of(name: str, raw: Any, budget: Budget, depth: int = 0) -> Iterator[Part]:
    """All plain files in what `raw` holds; itself, where it is neither compressed nor an archive.

    Each stream must be read before the next one is asked for. Damage ends the part with a note."""
    stream = raw if isinstance(raw, Counted) else Counted(raw)
    head = stream.peek()
    for mark, opener in _PACKERS:
        if _packs(mark, head):
            if depth >= DEPTH:
                budget.skip(f"packed more than {DEPTH} deep")
                return
            inner = _Bounded(opener(stream), stream, budget)
            yield from parts_of(name, Counted(inner), budget, depth + 1)
            return
    if _is_tar(head) or _is_zip(head):
        if depth >= DEPTH:
            budget.skip(f"archives more than {DEPTH} deep")
        elif _is_zip(head):
            yield from _zip(name, stream, budget, depth)
        else:
            yield from _tar(name, stream, budget, depth)
        return
    yield name, stream


def _member_name(archive: str, member: str, budget: Budget) -> str | None:
    """The name to show for a member; None where it is left out by its name."""
    steps = [s for s in safe_line(member).replace("\\", "/").split("/") if s not in ("", ".")]
    if ".." in steps or member.startswith(("/", "\\")) or member[1:2] == ":":
        budget.skip("names that point outside the archive")
        return None
    if not steps or any(s.startswith(".") or s == "__MACOSX" for s in steps):
        budget.skip("hidden files")
        return None
    budget.members -= 1
    if budget.members < 0:
        raise TooMuch(f"more than {MEMBERS} files")
    return f"{archive}/{'/'.join(steps)}"[:1024]


class _CarefulInfo(tarfile.TarInfo):
    """Refuses headers that claim a name of many megabytes, which would be read into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if self.size > LONG_HEADER and self.type in (
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            tarfile.SOLARIS_XHDTYPE,
            b"L",
            b"K",
        ):
            raise tarfile.ReadError("header too long")
        return super()._proc_member(archive)  # type: ignore[misc]


def _tar(name: str, stream: Counted, budget: Budget, depth: int) -> Iterator[Part]:
    archive = tarfile.open(fileobj=stream, mode="r|", tarinfo=_CarefulInfo)  # type: ignore[call-overload]  # noqa: SIM115
    for member in archive:
        archive.members = []
        if member.isdir():
            continue
        if not member.isreg():
            budget.skip("links and devices")
            continue
        shown = _member_name(name, member.name, budget)
        if shown is None or member.size == 0:
            continue
        content = archive.extractfile(member)
        if content is None:
            continue
        unpacked = _Bounded(content, _Sized(stream, member), budget)
        yield from parts_of(shown, Counted(unpacked), budget, depth + 1)


class _Sized(Counted):
    """The packed size of a member: what is stored of it (less than its size where it has holes)."""

    def __init__(self, stream: Counted, member: tarfile.TarInfo) -> None:
        super().__init__(None)
        sparse = getattr(member, "sparse", None)
        self.count = sum(size for _, size in sparse) if sparse else member.size


def _zip(name: str, stream: Counted, budget: Budget, depth: int) -> Iterator[Part]:
    with tempfile.SpooledTemporaryFile(max_size=16 << 20) as copy:
        while block := stream.read(READ):
            copy.write(block)
            if copy.tell() > NESTED_ZIP:
                raise TooMuch("the zip is too large to be read from a stream; unpack it first")
        copy.seek(0)
        yield from zip_members(name, copy, budget, depth)


def zip_members(name: str, file: IO[bytes], budget: Budget, depth: int = 0) -> Iterator[Part]:
    """Members of a zip file that can be searched."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                budget.skip("links and devices")
                continue
            shown = _member_name(name, info.filename, budget)
            if shown is None or info.file_size == 0:
                continue
            if info.flag_bits & 1:
                budget.skip("encrypted files")
                continue
            packed = Counted(None)
            packed.count = info.compress_size
            try:
                content = archive.open(info)
            except (NotImplementedError, zipfile.BadZipFile, RuntimeError, OSError, ValueError):
                budget.skip("files that can't be unpacked")
                continue
            with content:
                yield from parts_of(shown, Counted(_Bounded(content, packed, budget)), budget, depth + 1)
