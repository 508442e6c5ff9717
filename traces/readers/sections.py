"""A file that is not packed in sections: whoever wants the lines of one reads them, into memory of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from traces.errors import InputError
from traces.readers.kernels import NEWLINE, find_last, whole_lines
from traces.readers.memory import Room
from traces.readers.source import LONGEST_LINE_BYTES, Lines, Source

SECTION_BYTES = 1 << 21
"""How large a section is. Memory for larger ones does not stay in a core's cache."""

_BEYOND_BYTES = 1 << 12
"""How much is read beyond a section at once, for the rest of its last line."""

SHRUNK = "has become shorter while it was read"
TOO_LONG = f"is longer than {LONGEST_LINE_BYTES >> 20} MiB"


class Section:
    """The lines that begin in a section of a file; the last one may end beyond it.

    Attributes:
        path: the file.
        zone: as `Source.zone`.
        first: number of the first line, counted from the end of the section before.
        count: how many lines there are; known, as the next, once they have been read.
        unreadable: number and reason of a last line that is too long to be given.
    """

    def __init__(self, source: Source, file: int, begin: int, end: int, first: int | None = None) -> None:
        """Lines that are to be read.

        Args:
            source: the file,
            file: and its descriptor.
            begin, end: bounds of the section, bytes.
            first: number of the line that begins there; None: the byte before says whether one does.
        """
        self.path, self.zone = source.path, source.zone
        self.first = 1 if first is None else first
        self.count = 0
        self.unreadable: tuple[tuple[int, str], ...] = ()
        self._source, self._file, self._end = source, file, end
        self._behind = first is None
        self._begin = begin - self._behind

    def put(self, room: Room, at: int) -> tuple[int, int]:
        """Read the lines into a room's text, behind its first `at` bytes.

        Returns:
            Their bounds there.

        Raises:
            InputError: the file cannot be read.
        """
        self.count, self.unreadable = 0, ()
        edge = at + self._end - self._begin
        text, stop = self._read(room, at, at, edge + _BEYOND_BYTES)
        if stop < edge:
            self._source.truncated = SHRUNK
        begin, end, newlines = whole_lines(text, at, edge, stop, self._behind)
        while end == stop == len(text) and text[end - 1] != NEWLINE and stop - edge <= LONGEST_LINE_BYTES:
            text, stop = self._read(room, at, stop, 2 * stop)
            begin, end, newlines = whole_lines(text, at, edge, stop, self._behind)
        unended = end > begin and text[end - 1] != NEWLINE
        too_long = unended and stop == len(text)
        if too_long:
            end = find_last(text, begin, edge, NEWLINE) + 1
        self.count = newlines + int(unended)
        if too_long:
            self.unreadable = ((self.first + self.count - 1, TOO_LONG),)
        return begin, end

    def lines(self) -> Lines:
        """The lines, read anew, in memory of their own."""
        room = Room(np.dtype(np.uint8))
        begin, end = self.put(room, 0)
        return Lines(self.path, self.first, room.text(end)[begin:].tobytes(), self.zone)

    def _read(self, room: Room, at: int, have: int, wanted: int) -> tuple[NDArray[np.uint8], int]:
        """Read on, as far as the file goes.

        Args:
            room: what its text has.
            at: where in it the section is,
            have: up to which byte it has been read,
            wanted: and is to be read.

        Returns:
            The text up to `wanted`, and where in it the file ends.
        """
        text = room.text(wanted, have)
        try:
            while have < wanted and (got := os.preadv(self._file, [text[have:].data], self._begin + have - at)):
                have += got
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        return text, have


Block: TypeAlias = Section | Lines


def sections(source: Source, begin: int = 1) -> Iterator[Block]:
    """A file in sections, or in blocks of lines where it is packed or is none that can be read anywhere.

    Args:
        source: the file.
        begin: number of the first line that is wanted.

    Raises:
        InputError: the file cannot be read.
    """
    file = source.open_plain()
    if file is None:
        yield from source.lines(begin, SECTION_BYTES)
        return
    first: int | None = begin
    at, largest = _position(file, begin), 0
    while (size := os.fstat(file).st_size) > at:  # it may still grow
        end = min(at + SECTION_BYTES, size)
        source.position_bytes, largest = end, max(largest, size)
        yield Section(source, file, at, end, first)
        at, first = end, None
    if size < largest:
        source.truncated = SHRUNK


def _position(file: int, line: int) -> int:
    """Where in a file a line begins."""
    with open(file, "rb", closefd=False) as stream:
        for _ in range(line - 1):
            stream.readline(LONGEST_LINE_BYTES)
        return stream.tell()
