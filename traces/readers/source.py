"""A log file as bytes: unpacked, in blocks of whole lines, in bounded memory."""

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

BLOCK_BYTES = 4 << 20
"""How much is read at a time,"""

BLOCK_LINES = 1 << 15
"""or less: about so many lines."""

LONGEST_LINE_BYTES = 32 << 20
"""A longer line is no log's: it is given in pieces, none of which will be readable."""

HEAD_BYTES = 1 << 16
"""How much of a file is looked at to tell its format."""

_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_STEP = 1 << 18
_CACHED_BYTES = 1 << 18


@dataclass(frozen=True)
class Lines:
    """Whole lines of a log.

    Attributes:
        path: the file.
        first: number of the first line, counted from 1.
        data: the lines, each but perhaps the file's last with its newline.
        zone: as `Source.zone`.
        unreadable: nothing: all lines are given.
    """

    path: Path
    first: int
    data: bytes
    zone: str = "UTC"
    unreadable: ClassVar[tuple[tuple[int, str], ...]] = ()

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where in the data each line's newline is; of a last line without one, the data's end."""
        text = np.frombuffer(self.data, np.uint8)
        steps = range(0, len(text), _CACHED_BYTES)
        ends = [np.flatnonzero(text[at : at + _CACHED_BYTES] == ord("\n")) + at for at in steps]
        if self.data and not self.data.endswith(b"\n"):
            ends.append(np.array([len(text)]))
        return np.concatenate(ends) if ends else np.empty(0, np.int64)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where in the data each line begins."""
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1] + 1])[: self.count]

    @cached_property
    def count(self) -> int:
        """How many lines there are."""
        unended = bool(self.data) and not self.data.endswith(b"\n")
        return int(newlines(np.frombuffer(self.data, np.uint8))) + unended

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the lines that are not blank."""
        text = np.frombuffer(self.data, np.uint8)
        length = self.ends - self.starts
        blank = (length == 0) | ((length == 1) & (text[np.minimum(self.starts, len(text) - 1)] == ord("\r")))
        return self.first + np.flatnonzero(~blank)

    def put(self, room: Room, at: int) -> tuple[int, int]:
        """Copy the lines into a room's text, behind its first `at` bytes; their bounds there."""
        end = at + len(self.data)
        room.text(end)[at:] = np.frombuffer(self.data, np.uint8)
        return at, end

    def lines(self) -> Lines:
        """These."""
        return self

    def halves(self) -> tuple[Lines, Lines]:
        """The lines in two parts, about as large."""
        cut = self.data.find(b"\n", len(self.data) // 2) + 1
        if cut in (0, len(self.data)):
            cut = self.data.rfind(b"\n", 0, len(self.data) - 1) + 1
        head = Lines(self.path, self.first, self.data[:cut], self.zone)
        return head, Lines(self.path, self.first + head.count, self.data[cut:], self.zone)


class Source:
    """A file, unpacked where it is gzip or zstd (told by its first bytes).

    Attributes:
        path: the file.
        zone: that of times which name none: ``UTC``, ``Europe/Berlin`` or ``+02:00``.
        truncated: what was wrong with its end, once that has been read; None: nothing.
        position_bytes: how much of the file, packed as it is, has been read.
    """

    def __init__(self, path: Path, zone: str = "UTC") -> None:
        self.path = path
        self.zone = zone
        self.truncated: str | None = None
        self.position_bytes = 0
        self._raw: Any = None
        self._plain: int | None = None

    def head(self) -> bytes:
        """The first `HEAD_BYTES`.

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
        """The content, piece by piece; of a truncated file what it holds.

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
        """What a broken archive holds after the bytes `given`: its last, incomplete step."""
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
            raise InputError(f"{self.path}: no such file")
        self._raw = self.path.open("rb", buffering=0)
        packed = _packing(self.path)
        return pa.input_stream(self._raw, compression=packed) if packed else self._raw

    def open_plain(self) -> int | None:
        """The descriptor of the file, open until `close`; None: it is packed, or can only be read from its begin on.

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
        """Close what `open_plain` has opened."""
        if self._plain is not None:
            os.close(self._plain)
            self._plain = None

    def lines(self, begin: int = 1, block_bytes: int | None = None) -> Iterator[Lines]:
        """The content in blocks of whole lines, each of about `BLOCK_BYTES` or `BLOCK_LINES`.

        Args:
            begin: number of the first line that is wanted.
            block_bytes: in place of `BLOCK_BYTES`.

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
    """How a file is packed; None: not at all."""
    with path.open("rb") as file:
        magic = file.read(4)
    return next((name for mark, name in _PACKED.items() if magic.startswith(mark)), None)
