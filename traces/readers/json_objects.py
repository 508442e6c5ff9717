"""JSON objects in a file, however they are laid out: one a line, several a line, over many lines, in an array."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from traces.readers import source as sources
from traces.readers.source import LONGEST_LINE_BYTES, Lines, Source

_FEW_BYTES = 1 << 14
_REST = rb'[^"{}\[\]\n]*+'
_STRING = rb'"[^"\\\n]*+"|"[^"\\\n]*+(?:\\[^\n]?[^"\\\n]*+)*+"?'  # ends with its line, closed or not
_NEWLINE = rb"\n(?![ \t\r]*\{)"  # where no object begins
_MARK = rb"\n?[ \t\r]*\{|[\[\]}]"


@dataclass(frozen=True)
class JsonObjects(Lines):
    """JSON objects, one a line.

    Attributes:
        begins: number of the line in the file at which each begins, shape (objects,); None: they are lines of the file.
    """

    begins: NDArray[np.int64] | None = None

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the line in the file at which each begins, shape (objects,)."""
        return super().numbers if self.begins is None else self.begins

    def halves(self) -> tuple[Lines, Lines]:
        """Split the objects into two parts of about the same size."""
        head, tail = super().halves()
        begins = self.numbers[: head.count], self.numbers[head.count :]
        one, other = (
            JsonObjects(self.path, int(numbers[0]), half.data, self.zone, begins=numbers)
            for half, numbers in zip((head, tail), begins, strict=True)
        )
        return one, other


class _Marks:
    """The regular expressions that find the bounds of objects."""

    def __init__(self, arrays: tuple[str, ...], behind: tuple[str, ...]) -> None:
        self._arrays = [f'"{name}"'.encode() for name in arrays]
        array = rb"(?:%s)[ \t]*:\s*\[" % b"|".join(self._arrays)
        self._plain = re.compile(rb"%s(?:(?:%s|%s)%s)*+(?P<mark>%s)" % (_REST, _STRING, _NEWLINE, _REST, _MARK))
        self._wrapped = re.compile(
            rb"%s(?:(?:(?!%s)(?:%s)|%s)%s)*+(?P<mark>%s|%s)" % (_REST, array, _STRING, _NEWLINE, _REST, _MARK, array)
        )
        names = rb'"(?:%s)"[ \t]*:[ \t]*(?=\{)' % ("|".join(behind).encode() or rb"(?!)")
        self.between = re.compile(rb"[\s,\[\]%s]*+(?P<behind>%s)?" % (b"}" if arrays else b"", names))

    def wrap(self, data: bytes) -> bool:
        """Return whether the data may have an array that is wanted in place of an object."""
        return any(name in data for name in self._arrays)

    def inside(self, data: bytes) -> re.Pattern[bytes]:
        """Return the expression that finds the next bracket in an object, or such an array."""
        return self._wrapped if self.wrap(data) else self._plain


def objects(source: Source, arrays: tuple[str, ...] = (), behind: tuple[str, ...] = ()) -> Iterator[Lines]:
    """Yield the objects of a file in blocks; what is damaged, or no object, as if it were one.

    Args:
        source: the file.
        arrays: members of an object, or of an object in it, that are arrays of objects wanted in its place. All else
            in it is passed over.
        behind: members that may follow such an array, and are objects themselves.

    Raises:
        InputError: the file cannot be read.
    """
    marks = _Marks(arrays, behind)
    held, first, column = b"", 1, 0
    for chunk in _chunks(source):
        if not held and not column:
            block = _one_a_line(JsonObjects(source.name, first, chunk, source.zone), marks)
            if block is not None:
                yield block
                first += block.count
                continue
        data = held + chunk
        bounds, rest, column = _bounds(data, column, marks)
        if bounds:
            yield _packed(source, data, bounds, first)
        first += data.count(b"\n", 0, rest)
        held = data[rest:]
        if len(held) > LONGEST_LINE_BYTES:
            yield _whole(source, held, first)
            first += held.count(b"\n")
            held, column = b"", len(held) - held.rfind(b"\n") - 1
    if held.strip():
        yield _whole(source, held, first)


def _chunks(source: Source) -> Iterator[bytes]:
    """Yield the content in chunks, which end with a line unless one is longer than a chunk."""
    held, size = [], 0
    for piece in source.pieces():
        held.append(piece)
        size += len(piece)
        if size >= sources.BLOCK_BYTES:
            cut = piece.rfind(b"\n") + 1 or len(piece)
            yield b"".join([*held[:-1], piece[:cut]])
            held, size = [piece[cut:]], len(piece) - cut
    if size:
        yield b"".join(held)


def _one_a_line(lines: JsonObjects, marks: _Marks) -> JsonObjects | None:
    """Return lines that are one object each, without commas and brackets of an array; None if not all are."""
    data, ends = lines.data, lines.ends
    text, head = np.frombuffer(data, np.uint8), data[:_FEW_BYTES]
    if data[-1:] != b"\n" or marks.wrap(head) or _several_a_line(head, marks) or _has_pair(text, b"}{"):
        return None
    firsts = np.append(0, ends[:-1])
    lasts = ends - 2
    lasts -= text[lasts] == ord("\r")  # of a blank line: the one before it, or the last byte of all
    lasts = np.maximum(lasts, firsts - 1)
    before, after = _either(text[firsts], b"[,"), _either(text[lasts], b",]") & (lasts >= firsts)
    if before.any() or after.any():
        text = text.copy()
        text[firsts[before]] = text[lasts[after]] = ord(" ")
        firsts, lasts = firsts + before, lasts - after
        lines = JsonObjects(lines.path, lines.first, text.tobytes(), lines.zone)
    alike = (text[firsts] == ord("{")) & (text[lasts] == ord("}")) | (lasts < firsts)
    return lines if alike.all() else None


def _has_pair(text: NDArray[np.uint8], pair: bytes) -> bool:
    """Return whether two bytes follow each other somewhere."""
    wanted = np.frombuffer(pair, np.uint16)
    pairs = (text[first : len(text) - (len(text) - first) % 2].view(np.uint16) for first in (0, 1))
    return any(bool((side == wanted).any()) for side in pairs)


def _either(text: NDArray[np.uint8], marks: bytes) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (text == marks[0]) | (text == marks[1])
    return found


def _several_a_line(head: bytes, marks: _Marks) -> bool:
    """Return whether a line among the first ones begins an object after another one."""
    starts = [start for start, _ in _bounds(head, 0, marks)[0]]
    return any(b"\n" not in head[start:after] for start, after in pairwise(starts))


def _bounds(data: bytes, column: int, marks: _Marks) -> tuple[list[tuple[int, int]], int, int]:
    """Find the objects in a text, whatever separates them: lines, commas, an array, nothing.

    A line that begins with an opening brace no further to the right than the object before it ends that one, closed or
    not. What stands between objects and is neither blank, comma nor bracket counts as one, to its line's end.

    Args:
        data: the text.
        column: where in its line the text begins.
        marks: the regular expressions.

    Returns:
        bounds: start and end of each object.
        rest: where the last one starts that is not closed; the end of the data if there is none.
        column: where in its line that is.
    """
    found: list[tuple[int, int]] = []
    inside = marks.inside(data)
    at, begin, seen = 0, -column, 0
    while True:
        gap = marks.between.match(data, at)
        start = gap.start("behind") if gap["behind"] else gap.end()  # type: ignore[index, union-attr]
        newline = data.rfind(b"\n", seen, start)
        begin, seen = begin if newline < 0 else newline + 1, start
        if start == len(data):
            return found, start, start - begin
        at = gap.end()  # type: ignore[union-attr]
        if data[at] != ord("{"):
            at = data.find(b"\n", at)
            if at < 0:
                return found, start, start - begin
            found.append((start, at))
            continue
        at, depth = at + 1, 1
        while depth:
            token = inside.match(data, at)
            if token is None:
                return found, start, start - begin
            at, mark = token.end(), token["mark"]
            if mark[0] == ord("\n") and len(mark) - 2 <= start - begin:
                at, depth = token.start("mark") + 1, 0
            elif mark in (b"}", b"]"):
                depth -= 1
            elif mark[0] == ord('"') and depth <= 2:
                break
            else:
                depth += 1
        if not depth and start == gap.end():  # type: ignore[union-attr]
            found.append((start, at))


def _packed(source: Source, data: bytes, bounds: list[tuple[int, int]], first: int) -> JsonObjects:
    """Return objects of a text that begins at line `first`, one a line."""
    line, last, begins = first, 0, []
    for start, _ in bounds:
        line, last = line + data.count(b"\n", last, start), start
        begins.append(line)
    packed = b"\n".join([data[start:end].replace(b"\n", b" ") for start, end in bounds]) + b"\n"
    return JsonObjects(source.name, begins[0], packed, source.zone, begins=np.array(begins, np.int64))


def _whole(source: Source, data: bytes, first: int) -> JsonObjects:
    """Return what was never closed as one object."""
    return _packed(source, data, [(0, len(data))], first)
