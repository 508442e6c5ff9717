"""The loops over bytes: where a line's fields are, and what numbers and times they hold.

Compiled once and kept. Each works on a block's bytes and gives arrays; none raises.
"""

from __future__ import annotations

import numpy as np
from numba import njit

compiled = njit(cache=True, nogil=True)

SPACE, QUOTE, OPEN, CLOSE, NEWLINE, RETURN = 32, 34, 91, 93, 10, 13
TAB, PERCENT, COMMA, ZERO, QUESTION, BACKSLASH, OPEN_BRACE, CLOSE_BRACE = 9, 37, 44, 48, 63, 92, 123, 125


@compiled
def split(data, begin, end, delimiter, quoted, bracketed, starts, ends, counts):  # type: ignore[no-untyped-def]
    """The bounds of each line's fields.

    Args:
        data: bytes.
        begin, end: of each line, shape (lines,).
        delimiter: between fields.
        quoted, bracketed: whether a field that begins with a quotation mark (a bracket) goes on to the mark (bracket)
            that a delimiter or the line's end follows; its bounds are within.
        starts, ends: filled, shape (most fields, lines); a line's further fields are passed over.
        counts: filled, shape (lines,): how many fields were found; -1 where a mark or bracket is not closed.
    """
    most = starts.shape[0]
    for i in range(len(begin)):
        at, stop, found = begin[i], end[i], 0
        while found < most:
            first = data[at] if at < stop else 0
            closing = 0
            if quoted and first == QUOTE:
                closing = QUOTE
            elif bracketed and first == OPEN:
                closing = CLOSE
            if closing:
                cut = at + 1
                while cut < stop and not (data[cut] == closing and (cut + 1 == stop or data[cut + 1] == delimiter)):
                    cut += 1
                if cut >= stop:
                    found = -1
                    break
                starts[found, i], ends[found, i] = at + 1, cut
                cut += 1
            else:
                cut = at
                while cut < stop and data[cut] != delimiter:
                    cut += 1
                starts[found, i], ends[found, i] = at, cut
            found += 1
            if cut >= stop:
                break
            at = cut + 1
        counts[i] = found


@compiled
def split_last(data, begin, end, delimiter, starts, ends, counts):  # type: ignore[no-untyped-def]
    """The bounds of each line's last fields; the first of them is all that is left, whatever delimiters it holds.

    Args:
        data: bytes.
        begin, end: of each line, shape (lines,).
        delimiter: between fields.
        starts, ends: filled, shape (fields, lines).
        counts: filled, shape (lines,): how many fields were found.
    """
    most = starts.shape[0]
    for i in range(len(begin)):
        stop, at, found = end[i], end[i], 1
        while found < most and at > begin[i]:
            at -= 1
            if data[at] == delimiter:
                starts[most - found, i], ends[most - found, i] = at + 1, stop
                stop = at
                found += 1
        starts[0, i], ends[0, i] = begin[i], stop
        counts[i] = found


@compiled
def digits(data, at, stop):  # type: ignore[no-untyped-def]
    """The whole number between two bounds; -1 where there is none, or it is 2^63 or more."""
    if stop <= at or stop - at > 19:
        return -1
    value = 0
    for i in range(at, stop):
        digit = data[i] - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value if value >= 0 else -1  # what is too large has wrapped


@compiled
def integers(data, start, end, values):  # type: ignore[no-untyped-def]
    """The whole numbers, none of them negative, of the fields; -1 where a field holds none."""
    for i in range(len(start)):
        values[i] = digits(data, start[i], end[i])


@compiled
def fraction(data, at, stop, places):  # type: ignore[no-untyped-def]
    """The digits after a decimal point as a whole number of 10^-places; -1 where there is something else."""
    value = 0
    for i in range(at, stop):
        digit = data[i] - 48
        if digit < 0 or digit > 9:
            return -1
        if i - at < places:
            value = value * 10 + digit
    for _ in range(places - (stop - at)):
        value *= 10
    return value


@compiled
def decimals(data, start, end, places, values):  # type: ignore[no-untyped-def]
    """Decimal numbers, none of them negative, as whole numbers of 10^-places; -1 where a field holds none."""
    scale = 1
    for _ in range(places):
        scale *= 10
    largest = (2**63 - 1) // scale
    for i in range(len(start)):
        point = start[i]
        while point < end[i] and data[point] != 46:
            point += 1
        whole = digits(data, start[i], point)
        part = fraction(data, point + 1, end[i], places)
        values[i] = whole * scale + part if 0 <= whole < largest and part >= 0 else -1


@compiled
def one_of(data, start, end, texts, bounds, found):  # type: ignore[no-untyped-def]
    """Which text each field is; `bounds` divide `texts`; -1: none of them."""
    for i in range(len(start)):
        found[i] = -1
        for j in range(len(bounds) - 1):
            if end[i] - start[i] == bounds[j + 1] - bounds[j]:
                at = 0
                while at < end[i] - start[i] and data[start[i] + at] == texts[bounds[j] + at]:
                    at += 1
                if at == end[i] - start[i]:
                    found[i] = j
                    break


@compiled
def gather(data, start, offsets, into):  # type: ignore[no-untyped-def]
    """Copies fields one after the other; `offsets` bound them in `into`."""
    for i in range(len(start)):
        at = start[i] - offsets[i]
        for j in range(offsets[i], offsets[i + 1]):
            into[j] = data[at + j]


@compiled
def hexadecimal(byte):  # type: ignore[no-untyped-def]
    """The value of a hexadecimal digit; -1 where it is none."""
    if 48 <= byte <= 57:
        return byte - 48
    low = byte | 32
    return low - 87 if 97 <= low <= 102 else -1


@compiled
def unescape(data, start, end, offsets, into):  # type: ignore[no-untyped-def]
    """Copies fields one after the other with percent escapes resolved; `offsets` is filled and bounds them."""
    to = 0
    for i in range(len(start)):
        at = start[i]
        while at < end[i]:
            byte = data[at]
            if byte == PERCENT and at + 2 < end[i]:
                high, low = hexadecimal(data[at + 1]), hexadecimal(data[at + 2])
                if high >= 0 and low >= 0:
                    byte = high * 16 + low
                    at += 2
            into[to] = byte
            to += 1
            at += 1
        offsets[i + 1] = to


@compiled
def seek(data, start, end, mark, last, found):  # type: ignore[no-untyped-def]
    """Where in each field the bytes `mark` first (or last) are; -1: nowhere."""
    width, first = len(mark), mark[0]
    for i in range(len(start)):
        found[i] = -1
        if last:
            at = end[i] - width
            while at >= start[i] and (data[at] != first or not alike(data, at, mark, 0)):
                at -= 1
            if at >= start[i]:
                found[i] = at
        else:
            at, stop = start[i], end[i] - width + 1
            while at < stop and (data[at] != first or not alike(data, at, mark, 0)):
                at += 1
            if at < stop:
                found[i] = at


@compiled
def alike(data, at, pattern, any_digit):  # type: ignore[no-untyped-def]
    """Whether the bytes from `at` on are those of the pattern; with `any_digit`, ``0`` in it is any digit, ``?`` any
    byte."""
    for j in range(len(pattern)):
        byte, mark = data[at + j], pattern[j]
        if any_digit and mark == QUESTION:
            continue
        if any_digit and mark == ZERO:
            if byte < ZERO or byte > ZERO + 9:
                return False
        elif byte != mark:
            return False
    return True


@compiled
def begin_alike(data, start, end, pattern, any_digit, found):  # type: ignore[no-untyped-def]
    """Which fields begin with the pattern, as `alike` compares it."""
    for i in range(len(start)):
        found[i] = end[i] - start[i] >= len(pattern) and alike(data, start[i], pattern, any_digit)


@compiled
def pair(kind, kinds, finished, start_of):  # type: ignore[no-untyped-def]
    """The start of each finish: of those of its kind that came before it and wait for one, the first.

    Args:
        kind: of each event, below `kinds`.
        kinds: how many there are.
        finished: whether it is a finish.
        start_of: filled where there is one: index of the start.
    """
    head, tail = np.full(kinds, -1, np.int64), np.full(kinds, -1, np.int64)
    following = np.full(len(kind), -1, np.int64)
    for i in range(len(kind)):
        k = kind[i]
        if finished[i]:
            if head[k] >= 0:
                start_of[i] = head[k]
                head[k] = following[head[k]]
        else:
            if head[k] >= 0:
                following[tail[k]] = i
            else:
                head[k] = i
            tail[k] = i
