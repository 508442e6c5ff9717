"""JSON objects in a file, however they are laid out: one a line, several a line, over many lines, in an array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from traces.readers import json_kernels, kernels
from traces.readers.kernels import RETURN
from traces.readers.source import LONGEST_LINE_BYTES, Lines, Source

_FEW_BYTES = 1 << 14


@dataclass(frozen=True)
class Objects(Lines):
    """JSON objects, brought to one a line.

    Attributes:
        begins: the number of the line in the file at which each begins, shape (objects,).
    """

    begins: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self.begins

    def halves(self) -> tuple[Lines, Lines]:
        head, tail = super().halves()
        return tuple(  # type: ignore[return-value]
            Objects(self.path, int(begins[0]), half.data, self.zone, begins)
            for half, begins in ((head, self.begins[: head.count]), (tail, self.begins[head.count :]))
        )


def objects(source: Source, array: str = "", behind: str = "") -> Iterator[Lines]:
    """The file's objects in blocks. What is damaged, or no object, is given as if it were one.

    Args:
        source: the file.
        array: name of the member of an object that is an array of objects which are wanted in its place; all else of it
            is passed over.
        behind: name of the member that may follow it.

    Raises:
        InputError: the file cannot be read.
    """
    names = [kernels.text(f'"{name}"' if name else "") for name in (array, behind)]
    held, first, column = b"", 1, 0
    for lines in source.lines():
        whole = not (array and names[0].tobytes() in lines.data)
        if not held and whole and _one_a_line_already(lines):
            yield lines
            first = lines.first + lines.count
            continue
        data = held + lines.data
        block, rest, column = _found(source, data, first, column, names)
        if block is not None:
            yield block
        first += data.count(b"\n") - rest.count(b"\n")
        if len(rest) > LONGEST_LINE_BYTES:
            yield _whole(source, rest, first)
            first += rest.count(b"\n")
            rest, column = b"", 0
        held = rest
    if held.strip():
        yield _whole(source, held, first)


def _one_a_line_already(lines: Lines) -> bool:
    """Whether each line begins and ends as an object does, none holds several, and none of the first ones an array."""
    text = np.frombuffer(lines.data, np.uint8)
    starts, ends = lines.starts, lines.ends
    lasts = ends - 1 - (text[ends - 1] == RETURN)
    alike = (starts < lasts) & (text[np.minimum(starts, len(text) - 1)] == ord("{")) & (text[lasts] == ord("}"))
    if any(mark in lines.data[:_FEW_BYTES] for mark in (b"},{", b"}, {")):
        return False
    return bool(alike.all()) and not _holds_pair(text, b"}{")


def _holds_pair(text: NDArray[np.uint8], pair: bytes) -> bool:
    """Whether two bytes stand side by side somewhere."""
    wanted = np.frombuffer(pair, np.uint16)
    pairs = (text[first : len(text) - (len(text) - first) % 2].view(np.uint16) for first in (0, 1))
    return any(bool((side == wanted).any()) for side in pairs)


def _found(
    source: Source, data: bytes, first: int, column: int, names: list[NDArray[np.uint8]]
) -> tuple[Objects | None, bytes, int]:
    """The objects in `data`, which begins at line `first`; the one that is not closed, and where in its line it is."""
    text = np.frombuffer(data, np.uint8)
    most = data.count(b"{") + data.count(b"\n") + 2
    starts, ends, lines = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    count, column = json_kernels.json_objects(text, column, *names, starts, ends, lines)
    rest = data[starts[count] :] if column >= 0 else b""
    if not count:
        return None, rest, max(column, 0)
    packed = np.empty(int((ends[:count] - starts[:count]).sum()) + count, np.uint8)
    json_kernels.one_a_line(text, starts[:count], ends[:count], packed)
    begins = first + lines[:count]
    return Objects(source.path, int(begins[0]), packed.tobytes(), source.zone, begins), rest, max(column, 0)


def _whole(source: Source, data: bytes, first: int) -> Objects:
    """What was never closed, as one object."""
    line = data.replace(b"\n", b" ").strip() + b"\n"
    return Objects(source.path, first, line, source.zone, np.array([first], np.int64))
