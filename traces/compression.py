"""Decompress streams of gzip, zstd, xz and bzip2, which are recognised by their first bytes, in bounded pieces."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import zstandard

_GZIP_WINDOW = 31  # zlib: the largest window, and a gzip header
_ZSTD_WINDOW_BYTES = 1 << 31  # of `zstd --long=31`, the largest
_MOST_BYTES = 1 << 20  # of a piece of the content, where a decompressor takes a limit
_FEW_BYTES = 1 << 10  # of packed data at a time, where it takes none


class _Limited:
    """A decompressor that gives pieces of limited size (bz2, xz), with the interface of the others."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine

    def decompress(self, piece: bytes) -> Iterator[bytes]:
        """Yield the content of the next packed data."""
        yield self._machine.decompress(piece, _MOST_BYTES)
        while not self._machine.eof and not self._machine.needs_input:
            yield self._machine.decompress(b"", _MOST_BYTES)

    @property
    def eof(self) -> bool:
        return bool(self._machine.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._machine.unused_data)


class _Gzip:
    """A decompressor of gzip that gives pieces of limited size."""

    def __init__(self) -> None:
        self._machine = zlib.decompressobj(_GZIP_WINDOW)

    def decompress(self, piece: bytes) -> Iterator[bytes]:
        """Yield the content of the next packed data."""
        while piece and not self._machine.eof:
            yield self._machine.decompress(piece, _MOST_BYTES)
            piece = self._machine.unconsumed_tail

    @property
    def eof(self) -> bool:
        return bool(self._machine.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._machine.unused_data)


class _Zstd:
    """A decompressor of zstd, which is given little packed data at a time: it takes no limit."""

    def __init__(self) -> None:
        self._machine = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
        self._unused = b""

    def decompress(self, piece: bytes) -> Iterator[bytes]:
        """Yield the content of the next packed data."""
        for begin in range(0, len(piece), _FEW_BYTES):
            yield self._machine.decompress(piece[begin : begin + _FEW_BYTES])
            if self._machine.eof:
                self._unused = self._machine.unused_data + piece[begin + _FEW_BYTES :]
                return

    @property
    def eof(self) -> bool:
        return bool(self._machine.eof)

    @property
    def unused_data(self) -> bytes:
        return self._unused


_KINDS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": _Gzip,
    b"\x28\xb5\x2f\xfd": _Zstd,
    b"\xfd7zXZ\0": lambda: _Limited(lzma.LZMADecompressor()),
    b"BZh": lambda: _Limited(bz2.BZ2Decompressor()),
}

_DAMAGED = (zlib.error, zstandard.ZstdError, lzma.LZMAError, EOFError, OSError, ValueError)


class TruncatedError(Exception):
    """Compressed data end early or are damaged; what came before has been given."""


def decompressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of a stream, as it is if it is not compressed. Concatenated archives are one content.

    Raises:
        TruncatedError: the stream ends within an archive, or the archive is damaged.
    """
    piece = next(pieces, b"")
    start = next((kind for magic, kind in _KINDS.items() if piece.startswith(magic)), None)
    if start is None:
        yield piece
        yield from pieces
        return
    machine = start()
    while piece or (piece := next(pieces, b"")):
        if machine.eof:
            piece = piece.lstrip(b"\0")  # padding between and behind archives
            if not piece:
                continue
            machine = start()
        yield from _contents(machine, piece)
        piece = machine.unused_data if machine.eof else b""
    if not machine.eof:
        raise TruncatedError("the archive ends early")


def _contents(machine: Any, piece: bytes) -> Iterator[bytes]:
    contents = machine.decompress(piece)
    while True:
        try:
            content = next(contents, None)
        except _DAMAGED as error:
            raise TruncatedError(f"the archive is damaged: {str(error).splitlines()[0]}") from error
        if content is None:
            return
        yield content
