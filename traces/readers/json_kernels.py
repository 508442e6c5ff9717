"""The loops that find JSON objects: as `traces.readers.kernels`."""

from __future__ import annotations

from traces.readers.compiling import compiled
from traces.readers.kernels import (
    BACKSLASH,
    CLOSE,
    CLOSE_BRACE,
    COMMA,
    NEWLINE,
    OPEN,
    OPEN_BRACE,
    QUOTE,
    RETURN,
    SPACE,
    TAB,
)


@compiled
def json_objects(data, column, starts, ends, lines):  # type: ignore[no-untyped-def]
    """The bounds of the JSON objects in a text, whatever separates them: lines, commas, an array, nothing.

    A line that begins with an opening brace no further to the right than the object before it ends that one, closed or
    not. What stands between objects and is neither blank, comma nor bracket is given as if it were one, to its
    line's end.

    Args:
        data: bytes.
        column: where in its line the first byte stands.
        starts, ends: filled: bounds of each object.
        lines: filled: how many lines before each object's first.

    Returns:
        count: how many were found; after them stand the start and line of one that is not closed yet, if there is one.
        column: where in its line that one begins; -1: there is none.
    """
    count, depth, line, begin, indent = 0, 0, 0, -column, 0
    opened, junk, string, blank = False, False, False, True
    i = -1
    while i + 1 < len(data):
        i += 1
        byte = data[i]
        if byte == NEWLINE:
            if junk:
                ends[count], junk = i, False
                count += 1
            string, blank, begin = False, True, i + 1
            line += 1
        elif junk:
            continue
        elif string:
            if byte == BACKSLASH and i + 1 < len(data) and data[i + 1] != NEWLINE:
                i += 1
            elif byte == QUOTE:
                string = False
        elif byte in (SPACE, TAB, RETURN):
            continue
        else:
            if opened and blank and byte == OPEN_BRACE and i - begin <= indent:
                ends[count], opened, depth = begin, False, 0
                count += 1
            blank = False
            if not opened:
                if byte in (COMMA, OPEN, CLOSE):
                    continue
                starts[count], lines[count], indent = i, line, i - begin
                opened, junk, depth = byte == OPEN_BRACE, byte != OPEN_BRACE, 1
            elif byte == QUOTE:
                string = True
            elif byte in (OPEN_BRACE, OPEN):
                depth += 1
            elif byte in (CLOSE_BRACE, CLOSE):
                depth -= 1
                if depth == 0:
                    ends[count], opened = i + 1, False
                    count += 1
    return count, indent if opened or junk else -1


@compiled
def one_a_line(data, starts, ends, into):  # type: ignore[no-untyped-def]
    """Copies fields one after the other, line breaks in them turned into blanks, each with a line break behind it."""
    to = 0
    for i in range(len(starts)):
        for at in range(starts[i], ends[i]):
            into[to] = SPACE if data[at] == NEWLINE else data[at]
            to += 1
        into[to] = NEWLINE
        to += 1
