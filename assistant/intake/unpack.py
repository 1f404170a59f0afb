"""Compressed streams, unpacked piece by piece: no piece is larger than was asked for, and no header can claim more memory than is bounded here.

The readers of the standard library do not bound the window that an xz or zstd header may ask for. A stream may consist of
several that follow each other (`cat a.gz b.gz`, pigz, pzstd, pixz). What stands after the last of them is left out.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Protocol

from assistant.intake.packed import READ, NotRead

#: Bytes that are handed to a decoder at once.
FEED = 64 << 10
#: Memory that an xz stream may ask for; `xz -9` needs 65 MiB.
XZ_MEMORY = 192 << 20


class Decoder(Protocol):
    """One compressed stream, from its first byte to its last."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """zlib's decoder with the interface of the others."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max(max_length, 0))


class Unpacked:
    """The bytes of compressed streams that follow each other. Raises EOFError where one is cut off."""

    def __init__(self, raw: Any, mark: bytes, new: Callable[[], Decoder]) -> None:
        self._raw = raw
        self._mark = mark
        self._new = new
        self._decoder = new()
        self._ended = False

    def read(self, size: int = READ) -> bytes:
        while not self._ended:
            decoder = self._decoder
            if decoder.eof:
                self._next(decoder.unused_data)
                continue
            data = b""
            if decoder.needs_input:
                data = self._raw.read(FEED)
            try:
                found = decoder.decompress(data, size)
            except lzma.LZMAError as error:
                if "emory" in str(error):
                    raise NotRead(f"it takes more than {XZ_MEMORY >> 20} MiB of memory to unpack; use xz -d") from None
                raise
            if found:
                return found
            if not data and not decoder.eof and decoder.needs_input:
                raise EOFError
        return b""

    def _next(self, rest: bytes) -> None:
        """The stream after the one that has ended; zeros may stand between them."""
        rest = rest.lstrip(b"\x00")
        while len(rest) < len(self._mark) and (more := self._raw.read(FEED)):
            rest = (rest + more).lstrip(b"\x00")
        if not rest.startswith(self._mark):
            self._ended = True
            return
        self._decoder = _Given(self._new(), rest)


class _Given:
    """A decoder with its first bytes, which were read with the end of the stream before it."""

    def __init__(self, decoder: Decoder, data: bytes) -> None:
        self._decoder = decoder
        self._data = data

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def needs_input(self) -> bool:
        return not self._data and self._decoder.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        data, self._data = self._data + data, b""
        return self._decoder.decompress(data, max_length)


def open_gzip(raw: Any) -> Unpacked:
    return Unpacked(raw, b"\x1f\x8b", _Gzip)


def open_bzip2(raw: Any) -> Unpacked:
    return Unpacked(raw, b"BZh", bz2.BZ2Decompressor)


def open_xz(raw: Any) -> Unpacked:
    return Unpacked(raw, b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY))
