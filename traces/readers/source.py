"""Read log files as decompressed blocks of complete lines, in bounded memory."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from traces.compression import TruncatedError, decompressed
from traces.errors import InputError
from traces.readers.wrappers import Wrapper, unwrapped, without
from traces.spec.suggestions import no_such_file

BLOCK_BYTES = 4 << 20
"""Size of a block,"""

BLOCK_LINES = 1 << 16
"""which is smaller if it has more than about this number of lines."""

LONGEST_LINE_BYTES = 32 << 20
"""Maximum length of a line; a longer one is a row that cannot be read."""

HEAD_BYTES = 1 << 16
"""Size of the start of a file that is used to detect its format."""

TOO_LONG = f"is longer than {LONGEST_LINE_BYTES >> 20} MiB"

BLANK = " \t\r\n\v\f"
"""The characters of a blank line."""

_MARK_BYTES = 34
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_STEP = 1 << 16
_INDENTS = [ord(blank) for blank in BLANK if blank != "\n"]


@dataclass(frozen=True)
class Lines:
    """Complete lines of a log.

    Attributes:
        path: the file.
        first: number of the first line, counted from 1.
        data: the lines with their newlines, which the last line of the file may lack.
        zone: see `Source.zone`.
        unreadable: number and reason of lines that are not among the data.
    """

    path: Path
    first: int
    data: bytes
    zone: str = "UTC"
    unreadable: tuple[tuple[int, str], ...] = ()

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Position after the newline of each line, shape (lines,); of a last line without one, the end of the data."""
        ends = np.flatnonzero(np.frombuffer(self.data, np.uint8) == ord("\n")) + 1
        unended = bool(self.data) and not self.data.endswith(b"\n")
        return np.append(ends, len(self.data)) if unended else ends

    @cached_property
    def count(self) -> int:
        """Number of lines."""
        return self.data.count(b"\n") + (bool(self.data) and not self.data.endswith(b"\n"))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of each line, shape (lines,)."""
        return np.arange(self.first, self.first + self.count)

    @cached_property
    def not_utf8(self) -> int:
        """Number of lines with bytes that are not UTF-8."""
        return 0 if _is_utf8(self.data) else sum(not _is_utf8(line) for line in self.data.split(b"\n"))

    def frame(self) -> pl.DataFrame:
        """Return the lines that are not blank: their numbers (``line``) and their texts without line ends (``text``).

        Bytes that are not UTF-8 become escapes such as ``\\xff``, so different texts stay different.
        """
        data, ends = self.data, self.ends
        if self.not_utf8:
            lines = Lines(self.path, self.first, data.decode("utf-8", "backslashreplace").encode())
            data, ends = lines.data, lines.ends
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        texts = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
        text = pl.Series("text", pl.from_arrow(texts)).str.strip_suffix("\n")
        if b"\r" in data:
            text = text.str.strip_chars_end("\r")
        frame = pl.DataFrame([pl.int_range(self.first, self.first + len(ends), eager=True).alias("line"), text])
        begins = np.frombuffer(data, np.uint8)[offsets[:-1]]
        indented = np.isin(begins, _INDENTS).any()
        blank = (text.str.strip_chars(BLANK) if indented else text).str.len_bytes() == 0
        return frame.filter(~blank) if blank.any() else frame

    def halves(self) -> tuple[Lines, Lines]:
        """Split the lines into two parts of about the same size."""
        middle = self.count // 2
        cut = int(self.ends[middle - 1])
        head = Lines(self.path, self.first, self.data[:cut], self.zone)
        return head, Lines(self.path, self.first + middle, self.data[cut:], self.zone)


class Source:
    """A regular file, decompressed.

    Attributes:
        path: the file.
        name: what to call it in messages and reports (default: its path).
        zone: time zone of times without one: ``UTC``, ``Europe/Berlin`` or ``+02:00``.
        truncated: after reading, why the file is truncated; None if it is complete.
        position_bytes: number of (compressed) bytes read so far.
        wrapper: what is removed from each line, in addition to what is unmistakable; None: nothing.
    """

    def __init__(self, path: Path, zone: str = "UTC", name: Path | None = None) -> None:
        self.path = path
        self.name = name or path
        self.zone = zone
        self.truncated: str | None = None
        self.position_bytes = 0
        self.wrapper: Wrapper | None = None

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
        if held:
            self.truncated = None
        return held[:HEAD_BYTES]

    def pieces(self) -> Iterator[bytes]:
        """Yield the content in pieces, without a byte order mark; of a truncated file, the part that exists.

        Raises:
            InputError: the file cannot be read.
        """
        self.truncated = None
        try:
            lines = unwrapped(_without_mark(decompressed(self._raw())))
            yield from lines if self.wrapper is None else without(self.wrapper, lines)
        except TruncatedError as error:
            self.truncated = str(error)
        except FileNotFoundError as error:
            raise InputError(no_such_file(self.name)) from error
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read: {error.strerror or error}") from error

    def _raw(self) -> Iterator[bytes]:
        self.position_bytes = 0
        with self.path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            while piece := file.read(_STEP):
                self.position_bytes += len(piece)
                yield piece
            if self.position_bytes < size:
                raise TruncatedError("the file became shorter while it was read")

    def lines(self, begin: int = 1) -> Iterator[Lines]:
        """Yield the content in blocks of complete lines, each of about `BLOCK_BYTES` or `BLOCK_LINES`.

        Args:
            begin: number of the first line to yield.

        Raises:
            InputError: the file cannot be read.
        """
        for lines in self._blocks():
            if above := max(0, min(begin - lines.first, lines.count)):
                data = lines.data[int(lines.ends[above - 1]) :]
                lines = Lines(lines.path, lines.first + above, data, lines.zone, lines.unreadable)
            yield lines

    def _blocks(self) -> Iterator[Lines]:
        first, held, size, enough = 1, list[bytes](), 0, 0
        last = -1  # the piece with the last newline
        skipping = False  # the rest of a line that is too long
        for piece in self.pieces():
            if skipping:
                cut = piece.find(b"\n") + 1
                if not cut:
                    continue
                piece, skipping = piece[cut:], False
            enough = enough or min(BLOCK_BYTES, BLOCK_LINES * len(piece) // (piece.count(b"\n") + 1))
            held.append(piece)
            size += len(piece)
            last = len(held) - 1 if b"\n" in piece else last
            if size < enough:
                continue
            if last >= 0:
                cut = held[last].rfind(b"\n") + 1
                block = Lines(self.name, first, b"".join([*held[:last], memoryview(held[last])[:cut]]), self.zone)
                held = [held[last][cut:], *held[last + 1 :]]
                size, last = sum(map(len, held)), -1
                first += block.count
                yield block
            elif size > LONGEST_LINE_BYTES:
                yield Lines(self.name, first, b"", self.zone, ((first, TOO_LONG),))
                held, size, skipping = [], 0, True
                first += 1
        if size:
            yield Lines(self.name, first, b"".join(held), self.zone)


def _is_utf8(data: bytes) -> bool:
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
    return True


def _without_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    start, enough = b"", len(codecs.BOM_UTF8)
    for piece in pieces:
        start += piece
        enough = _MARK_BYTES if start[:2] in _UTF16 else enough
        if len(start) >= enough:
            break
    coding = next((coding for mark, coding in _UTF16.items() if start.startswith(mark) and _is_wide(start)), None)
    if coding is None:
        yield start.removeprefix(codecs.BOM_UTF8)
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(coding)("replace")
    for piece in chain([start[2:]], pieces):
        yield decoder.decode(piece).encode("utf-8", "backslashreplace")


def _is_wide(start: bytes) -> bool:
    """Whether every second byte at the start of a file is 0, as in a text of ASCII letters in UTF-16."""
    text = start[2:_MARK_BYTES]
    return bool(text) and (not any(text[0::2]) or not any(text[1::2]))
