"""Decompress streams of gzip, zstd, xz and bzip2, which are recognised by their first bytes."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import zstandard

_GZIP_WINDOW = 31  # zlib: the largest window, and a gzip header

_KINDS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(_GZIP_WINDOW),
    b"\x28\xb5\x2f\xfd": lambda: zstandard.ZstdDecompressor().decompressobj(),
    b"\xfd7zXZ\0": lzma.LZMADecompressor,
    b"BZh": bz2.BZ2Decompressor,
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
            machine, piece = start(), piece.lstrip(b"\0")  # padding between archives
        if piece:
            try:
                content = machine.decompress(piece)
            except _DAMAGED as error:
                raise TruncatedError(f"the archive is damaged: {str(error).splitlines()[0]}") from error
            yield content
        piece = machine.unused_data if machine.eof else b""
    if not machine.eof:
        raise TruncatedError("the archive ends early")
