"""The bytes of files on a mount: a function of path and position, whoever writes them, and in whatever order."""

from __future__ import annotations

import zlib

import numpy as np

_PERIOD_BYTES = 4_194_301
"""Length after which bytes repeat: a prime number, so that a block or page at a wrong place shows."""


class FileContents:
    """Pseudo-random (incompressible) bytes. An overwrite with the same bytes as before leaves the same file."""

    def __init__(self) -> None:
        once = np.random.Generator(np.random.Philox(0)).bytes(_PERIOD_BYTES)
        self._buffer = memoryview(once)

    def parts(self, key: str, size_bytes: int) -> list[memoryview]:
        """Return the bytes of a whole file in pieces, without copying."""
        return self.between(key, 0, size_bytes)

    def between(self, key: str, begin: int, end: int) -> list[memoryview]:
        """Return the bytes of a file from `begin` to `end` (excluded) in pieces, without copying."""
        found, at = [], begin
        while at < end:
            first = (zlib.crc32(key.encode()) + at) % _PERIOD_BYTES
            found.append(self._buffer[first : first + min(_PERIOD_BYTES - first, end - at)])
            at += len(found[-1])
        return found
