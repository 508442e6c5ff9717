"""The loops that find JSON objects: as `traces.readers.kernels`."""

from __future__ import annotations

from traces.readers.compiling import compiled
from traces.readers.kernels import (
    BACKSLASH,
    CLOSE,
    CLOSE_BRACE,
    COLON,
    COMMA,
    NEWLINE,
    OPEN,
    OPEN_BRACE,
    QUOTE,
    RETURN,
    SPACE,
    TAB,
    begins,
)


@compiled
def json_objects(data, column, array, behind, starts, ends, lines):  # type: ignore[no-untyped-def]
    """The bounds of the JSON objects in a text, whatever separates them: lines, commas, an array, nothing.

    A line that begins with an opening brace no further to the right than the object before it ends that one, closed or
    not. What stands between objects and is neither blank, comma nor bracket is given as if it were one, to its
    line's end.

    Args:
        data: bytes.
        column: where in its line the first byte stands.
        array: name, in quotation marks, of the member of an object that is an array of those that are wanted in its
            place; empty: there is none.
        behind: name of the member that may follow it.
        starts, ends: filled: bounds of each object.
        lines: filled: how many lines before each object's first.

    Returns:
        count: how many were found; after them stand the start and line of one that is not closed yet, if there is one.
        column: where in its line that one begins; -1: there is none.
    """
    count, depth, line, begin, indent = 0, 0, 0, -column, 0
    opened, junk, string, blank, aside = False, False, False, True, False
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
                if byte in (COMMA, OPEN, CLOSE) or (byte == CLOSE_BRACE and len(array)):
                    continue
                starts[count], lines[count], indent = i, line, i - begin
                aside = len(behind) > 0 and begins(data, i, len(data), behind)
                opened = aside or byte == OPEN_BRACE
                junk, depth = not opened, 0 if aside else 1
                if aside:
                    i += len(behind) - 1
            elif byte == QUOTE:
                held = _within(data, i, array) if depth == 1 and not aside else -1
                string = held < 0
                if held >= 0:
                    i, opened = held, False
            elif byte in (OPEN_BRACE, OPEN):
                depth += 1
            elif byte in (CLOSE_BRACE, CLOSE):
                depth -= 1
                if depth == 0:
                    ends[count], opened = i + 1, False
                    count += not aside
    return count, indent if opened or junk else -1


@compiled
def _within(data, at, name):  # type: ignore[no-untyped-def]
    """Where the array opens that is the member of that name, if it begins here; -1: it does not."""
    if len(name) == 0 or not begins(data, at, len(data), name):
        return -1
    at += len(name)
    for mark in (COLON, OPEN):
        while at < len(data) and data[at] == SPACE:
            at += 1
        if at == len(data) or data[at] != mark:
            return -1
        at += 1
    return at - 1


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
