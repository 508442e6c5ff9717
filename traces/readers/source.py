"""Read log files as decompressed blocks of complete lines, in bounded memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.errors import InputError
from traces.readers.kernels import newlines
from traces.readers.memory import Room
from traces.suggestions import no_such_file

BLOCK_BYTES = 4 << 20
"""Size of a block,"""

BLOCK_LINES = 1 << 15
"""which is smaller if it has more than about this number of lines."""

LONGEST_LINE_BYTES = 32 << 20
"""Maximum length of a line; longer ones are split into pieces, which are unreadable."""

HEAD_BYTES = 1 << 16
"""Size of the start of a file that is used to detect its format."""

_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_STEP = 1 << 18
_CACHED_BYTES = 1 << 18


@dataclass(frozen=True)
class Lines:
    """Complete lines of a log.

    Attributes:
        path: the file.
        first: number of the first line, counted from 1.
        data: the lines with their newlines, which the last line of the file may lack.
        zone: see `Source.zone`.
        unreadable: always empty.
    """

    path: Path
    first: int
    data: bytes
    zone: str = "UTC"
    unreadable: ClassVar[tuple[tuple[int, str], ...]] = ()

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Position of the newline of each line, shape (lines,); of a last line without one, the end of the data."""
        text = np.frombuffer(self.data, np.uint8)
        steps = range(0, len(text), _CACHED_BYTES)
        ends = [np.flatnonzero(text[at : at + _CACHED_BYTES] == ord("\n")) + at for at in steps]
        if self.data and not self.data.endswith(b"\n"):
            ends.append(np.array([len(text)]))
        return np.concatenate(ends) if ends else np.empty(0, np.int64)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Start of each line, shape (lines,)."""
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1] + 1])[: self.count]

    @cached_property
    def count(self) -> int:
        """Number of lines."""
        unended = bool(self.data) and not self.data.endswith(b"\n")
        return int(newlines(np.frombuffer(self.data, np.uint8))) + unended

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Line numbers of the lines that are not blank."""
        text = np.frombuffer(self.data, np.uint8)
        length = self.ends - self.starts
        blank = (length == 0) | ((length == 1) & (text[np.minimum(self.starts, len(text) - 1)] == ord("\r")))
        return self.first + np.flatnonzero(~blank)

    def put(self, room: Room, at: int) -> tuple[int, int]:
        """Copy the lines into the text of a room after its first `at` bytes; return their bounds there."""
        end = at + len(self.data)
        room.text(end)[at:] = np.frombuffer(self.data, np.uint8)
        return at, end

    def lines(self) -> Lines:
        """Return these lines."""
        return self

    def halves(self) -> tuple[Lines, Lines]:
        """Split the lines into two parts of about the same size."""
        cut = self.data.find(b"\n", len(self.data) // 2) + 1
        if cut in (0, len(self.data)):
            cut = self.data.rfind(b"\n", 0, len(self.data) - 1) + 1
        head = Lines(self.path, self.first, self.data[:cut], self.zone)
        return head, Lines(self.path, self.first + head.count, self.data[cut:], self.zone)


class Source:
    """A file, decompressed if it is gzip or zstd (detected from its first bytes).

    Attributes:
        path: the file.
        zone: time zone of times without one: ``UTC``, ``Europe/Berlin`` or ``+02:00``.
        truncated: after reading, why the file is truncated; None if it is complete.
        position_bytes: number of (compressed) bytes read so far.
    """

    def __init__(self, path: Path, zone: str = "UTC") -> None:
        self.path = path
        self.zone = zone
        self.truncated: str | None = None
        self.position_bytes = 0
        self._raw: Any = None
        self._plain: int | None = None

    def head(self) -> bytes:
        """Return the first `HEAD_BYTES` of the content.

        Raises:
            InputError: the file cannot be read.
        """
        held = b""
        for piece in self.pieces():
            held += piece
            if len(held) >= HEAD_BYTES:
                break
        self.truncated = None
        return held[:HEAD_BYTES]

    def pieces(self) -> Iterator[bytes]:
        """Yield the content in pieces; of a truncated file, the part that exists.

        Raises:
            InputError: the file cannot be read.
        """
        self.truncated = None
        given = 0
        try:
            with self._opened() as stream:
                try:
                    while piece := stream.read(_STEP):
                        given += len(piece)
                        self.position_bytes = self._raw.tell()
                        yield piece
                    return
                except OSError as error:
                    self.truncated = str(error).splitlines()[0]
            yield self._rest(given)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def _rest(self, given: int) -> bytes:
        """Return the content of a truncated archive after the first `given` bytes: its last, incomplete step."""
        rest = bytearray()
        with self._opened() as stream:
            while given:
                given -= len(stream.read(min(given, _STEP)))
            try:
                while byte := stream.read(1):
                    rest += byte
            except OSError:
                pass
        return bytes(rest)

    def _opened(self) -> Any:
        if not self.path.exists():
            raise InputError(no_such_file(self.path))
        self._raw = self.path.open("rb", buffering=0)
        packed = _packing(self.path)
        return pa.input_stream(self._raw, compression=packed) if packed else self._raw

    def open_plain(self) -> int | None:
        """Open the file until `close` and return its descriptor; None if it is compressed or not seekable.

        Raises:
            InputError: the file cannot be read.
        """
        self.truncated = None
        try:
            if _packing(self.path):
                return None
            self._plain = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        state = os.fstat(self._plain)
        return self._plain if stat.S_ISREG(state.st_mode) and state.st_size else None

    def close(self) -> None:
        """Close the descriptor of `open_plain`."""
        if self._plain is not None:
            os.close(self._plain)
            self._plain = None

    def lines(self, begin: int = 1, block_bytes: int | None = None) -> Iterator[Lines]:
        """Yield the content in blocks of complete lines, each of about `BLOCK_BYTES` or `BLOCK_LINES`.

        Args:
            begin: number of the first line to yield.
            block_bytes: block size (default: `BLOCK_BYTES`).

        Raises:
            InputError: the file cannot be read.
        """
        for lines in self._blocks(block_bytes or BLOCK_BYTES):
            if above := max(0, min(begin - lines.first, lines.count)):
                data = b"".join(lines.data.split(b"\n", above)[above:])
                lines = Lines(lines.path, lines.first + above, data, lines.zone)
            yield lines

    def _blocks(self, block_bytes: int) -> Iterator[Lines]:
        first, held, size, enough = 1, [], 0, 0
        for piece in self.pieces():
            enough = enough or min(block_bytes, BLOCK_LINES * len(piece) // (piece.count(b"\n") + 1))
            held.append(piece)
            size += len(piece)
            if size < enough or (b"\n" not in piece and size < LONGEST_LINE_BYTES):
                continue
            cut = piece.rfind(b"\n") + 1 or len(piece)
            block = Lines(self.path, first, b"".join([*held[:-1], memoryview(piece)[:cut]]), self.zone)
            yield block
            first += block.count
            held, size = [piece[cut:]], len(piece) - cut
        if size:
            yield Lines(self.path, first, b"".join(held), self.zone)


def _packing(path: Path) -> str | None:
    """Return the compression of a file; None if it is not compressed."""
    with path.open("rb") as file:
        magic = file.read(4)
    return next((name for mark, name in _PACKED.items() if magic.startswith(mark)), None)
