"""Reads .zst: frames that follow each other, frames to be skipped, and a bound for the window that a header may ask for.

The structure is walked here (RFC 8878: a header, then blocks of at most 128 KiB), and the decoder is given a few blocks at
a time. So memory stays flat whatever the ratio is, and a file that is cut off is told from one that ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assistant.intake.packed import READ, NotRead, TooMuch

MARK = b"\x28\xb5\x2f\xfd"
#: The largest window that is read: that of `zstd --long`. A larger one would have to be kept in memory.
WINDOW = 1 << 27
_FEED = 64 << 10
_BLOCK = 128 << 10
#: Steps that yield nothing, one after the other.
_IDLE = 1_000_000


def is_skipped(head: bytes) -> bool:
    """Whether a frame begins here that holds no data (pzstd writes one before each part)."""
    return head[1:4] == b"\x2a\x4d\x18" and head[:1] >= b"\x50" and head[:1] <= b"\x5f"


def _new_decoder() -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        limit = {zstd.DecompressionParameter.window_log_max: WINDOW.bit_length() - 1}
        return zstd.ZstdDecompressor(options=limit)
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise TooMuch(
            "reading .zst needs the module zstandard (pip install zstandard); or unpack it with zstd -d"
        ) from None
    return zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj()


class Zstd:
    """The bytes of a .zst stream. Raises EOFError where it is cut off."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._ahead = bytearray()
        self._found = b""
        self._pieces = self._frames()

    def read(self, size: int = READ) -> bytes:
        while not self._found:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._found = piece
        found, self._found = self._found[:size], self._found[size:]
        return found

    def _take(self, size: int) -> bytes:
        while len(self._ahead) < size:
            more = self._raw.read(_FEED)
            if not more:
                raise EOFError
            self._ahead += more
        found = bytes(self._ahead[:size])
        del self._ahead[:size]
        return found

    def _frames(self) -> Iterator[bytes]:
        """What each frame holds, in pieces; what stands after the last frame is left out."""
        idle = 0
        while True:
            try:
                mark = self._take(4)
            except EOFError:
                return
            idle += 1
            if is_skipped(mark):
                self._skip(int.from_bytes(self._take(4), "little"))
            elif mark == MARK:
                for piece in self._frame():
                    idle = 0 if piece else idle + 1
                    yield piece
            else:
                return
            if idle > _IDLE:
                raise NotRead("its frames are empty")

    def _skip(self, size: int) -> None:
        while size > 0:
            step = min(size, _FEED)
            self._take(step)
            size -= step

    def _frame(self) -> Iterator[bytes]:
        header, checked = self._header()
        decoder = _new_decoder()
        parts = [MARK, header]
        bound = idle = 0
        last = cut = False
        while not last and not cut:
            try:
                last, size, whole, block = self._block()
            except EOFError:  # the blocks before the cut are good
                cut = True
                break
            parts.append(block)
            bound += whole
            idle = 0 if size else idle + 1
            if idle > _IDLE:
                raise NotRead("its blocks are empty")
            if bound >= READ or len(parts) > 4096:
                yield decoder.decompress(b"".join(parts))
                parts, bound = [], 0
        if parts:
            yield decoder.decompress(b"".join(parts))
        if cut:
            raise EOFError
        if checked:
            yield decoder.decompress(self._take(4))
        if not decoder.eof:
            raise EOFError

    def _block(self) -> tuple[bool, int, int, bytes]:
        """(whether it is the last one, its size, how much it unpacks to at most, its bytes) of the next block."""
        head = self._take(3)
        number = int.from_bytes(head, "little")
        kind, size = number >> 1 & 3, number >> 3
        if kind == 3 or size > _BLOCK:
            raise NotRead("damaged (a block of an unknown kind)")
        return bool(number & 1), size, _BLOCK if kind == 2 else size, head + self._take(1 if kind == 1 else size)

    def _header(self) -> tuple[bytes, bool]:
        """The header of a frame after its mark, and whether a checksum stands at its end."""
        flags = self._take(1)
        size_flag, single, dictionary = flags[0] >> 6, bool(flags[0] & 0x20), flags[0] & 3
        window = b"" if single else self._take(1)
        name = self._take((0, 1, 2, 4)[dictionary])
        content = self._take((int(single), 2, 4, 8)[size_flag])
        if any(name):
            raise NotRead("it was packed with a dictionary; unpack it with zstd -d -D DICTIONARY")
        if single:
            needed = int.from_bytes(content, "little")
        else:
            base = 1 << (10 + (window[0] >> 3))
            needed = base + base // 8 * (window[0] & 7)
        if needed > WINDOW:
            raise NotRead(f"it takes {needed >> 20} MiB of memory to unpack; use zstd -d --long=31")
        return flags + window + name + content, bool(flags[0] & 4)
