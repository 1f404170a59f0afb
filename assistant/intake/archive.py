"""Compressed files and archives, read as streams and with bounds: what is inside was packed by somebody else.

Nothing is written to disk under a name from an archive, so that no path in it can lead anywhere. Links and devices are left
out. Sizes, counts, depth and the ratio of unpacked to packed bytes are bounded; what was left out is said.
"""

from __future__ import annotations

import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any

from assistant.intake import zstd
from assistant.intake.packed import MEMBERS, READ, Budget, Counted, NotRead, TooMuch, damage, suspicious
from assistant.intake.unpack import open_bzip2, open_gzip, open_xz
from assistant.safe_text import safe_line

#: A zip inside an archive must be copied to be read.
NESTED_ZIP = 4 << 30
LONG_HEADER = 256 << 10
#: Bytes of a zip's directory, which is held in memory.
DIRECTORY = 64 << 20
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
        self._budget.spend(len(found))
        why = suspicious(self._count, self._packed.count)
        if why:
            raise NotRead(why)
        return found


_PACKERS: tuple[tuple[bytes, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", open_gzip),
    (b"BZh", open_bzip2),
    (b"\xfd7zXZ\x00", open_xz),
    (zstd.MARK, zstd.Zstd),
)

Part = tuple[str, Any]
"""(name, stream of its bytes)"""


def is_packed(head: bytes) -> bool:
    """Whether these are the first bytes of an archive or a compressed file."""
    return _opener(head) is not None or _is_zip(head) or _is_tar(head)


def _opener(head: bytes) -> Callable[[Any], Any] | None:
    """What unpacks a stream that begins like this."""
    if zstd.is_skipped(head):
        return zstd.Zstd if zstd.MARK in head else None
    return next((opener for mark, opener in _PACKERS if _packs(mark, head)), None)


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
    if budget.source is None:
        budget.source = stream
    head = stream.peek()
    opener = _opener(head)
    if opener is not None:
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


def _inside(name: str, stream: Counted, budget: Budget, depth: int) -> Iterator[Part]:
    """The parts of a member. Damage of an archive inside ends that one and no other."""
    try:
        yield from parts_of(name, stream, budget, depth)
    except (TooMuch, GeneratorExit):
        raise
    except Exception as error:  # a hostile archive can make its reader fail in any way
        budget.broken(name, damage(error))


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
    """Refuses headers that claim a very long name, which would be read into memory; a damaged one does not end the archive
    in silence."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Any:
        try:
            return super().fromtarfile(archive)
        except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError) as error:  # type: ignore[attr-defined]
            if isinstance(error, tarfile.TruncatedHeaderError):  # type: ignore[attr-defined]
                raise EOFError from None
            raise NotRead(f"damaged ({error})") from None

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
        archive.pax_headers = {}
        budget.entry()
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
        yield from _inside(shown, Counted(unpacked), budget, depth + 1)


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
    if budget.source is None:
        budget.source = Counted(None)
        budget.source.count = file.seek(0, 2)
    _check_directory(file)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            budget.entry()
            if info.is_dir():
                continue
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                budget.skip("links and devices")
                continue
            shown = _member_name(name, _zip_name(info), budget)
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
                yield from _inside(shown, Counted(_Bounded(content, packed, budget)), budget, depth + 1)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name of a member; most programs write UTF-8 without the flag that says so."""
    if info.flag_bits & 0x800 or info.filename.isascii():
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except ValueError:
        return info.filename


def _check_directory(file: IO[bytes]) -> None:
    """Raises TooMuch where the directory at the end of a zip is larger than is held in memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - (66 << 10)))
    tail = file.read(66 << 10)
    at = tail.rfind(b"PK\x05\x06")
    length = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if length == 0xFFFFFFFF:
        at = tail.rfind(b"PK\x06\x06")
        length = int.from_bytes(tail[at + 40 : at + 48], "little") if at >= 0 else 0
    if length > DIRECTORY:
        raise TooMuch(f"more than {MEMBERS} files")
    file.seek(0)
