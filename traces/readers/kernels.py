"""The loops over bytes: where a line's fields are, and what numbers and times they hold.

Compiled once and kept. Each works on a block's bytes and gives arrays; none raises.
"""

from __future__ import annotations

import numpy as np
from numba import njit

compiled = njit(cache=True, nogil=True)

SPACE, QUOTE, OPEN, CLOSE, NEWLINE, RETURN = 32, 34, 91, 93, 10, 13
TAB, COMMA, ZERO, QUESTION, BACKSLASH, OPEN_BRACE, CLOSE_BRACE = 9, 44, 48, 63, 92, 123, 125


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
def days(year, month, day):  # type: ignore[no-untyped-def]
    """Days from 1970-01-01 to a date of the Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


@compiled
def midnight(year, month, day):  # type: ignore[no-untyped-def]
    """Seconds from 1970 to the beginning of a date; -1: there is no such."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    last = 30 if month in (4, 6, 9, 11) else (28 + leap if month == 2 else 31)
    return days(year, month, day) * 86400 if 1970 <= year < 2262 and 1 <= month <= 12 and 1 <= day <= last else -1


@compiled
def clock_time(data, at, stop):  # type: ignore[no-untyped-def]
    """ns from midnight of ``10:44:01`` or ``10:44:01.606``; -1: there is no such."""
    hours, minutes = digits(data, at, at + 2), digits(data, at + 3, at + 5)
    whole, part = digits(data, at + 6, at + 8), 0
    good = 0 <= hours < 24 and 0 <= minutes < 60 and 0 <= whole <= 60
    if not good or data[at + 2] != 58 or data[at + 5] != 58:
        return -1
    if stop > at + 8:
        if data[at + 8] != 46 or stop == at + 9:
            return -1
        part = fraction(data, at + 9, stop, 9)
    return (hours * 3600 + minutes * 60 + whole) * 1_000_000_000 + part if part >= 0 else -1


@compiled
def zone(data, at, stop):  # type: ignore[no-untyped-def]
    """Seconds east of UTC of ``Z``, ``+0100`` or ``+01:00``; a day where it is none of them."""
    if stop == at + 1 and (data[at] == 90 or data[at] == 122):
        return 0
    length = stop - at
    if (length != 5 and length != 6) or (data[at] != 43 and data[at] != 45) or (length == 6 and data[at + 3] != 58):
        return 86400
    hours, minutes = digits(data, at + 1, at + 3), digits(data, stop - 2, stop)
    if hours < 0 or hours > 15 or minutes < 0 or minutes > 59:
        return 86400
    east = hours * 3600 + minutes * 60
    return east if data[at] == 43 else -east


@compiled
def month_of(data, at):  # type: ignore[no-untyped-def]
    """The month of ``Jan`` … ``Dec``; 0 where it is none of them."""
    names = "JanFebMarAprMayJunJulAugSepOctNovDec"
    for month in range(12):
        same = True
        for i in range(3):
            same = same and data[at + i] == ord(names[3 * month + i])
        if same:
            return month + 1
    return 0


@compiled
def same(data, one, other, width):  # type: ignore[no-untyped-def]
    """Whether the same bytes are in two places."""
    for i in range(width):
        if data[one + i] != data[other + i]:
            return False
    return True


@compiled
def clf_times(data, start, end, values):  # type: ignore[no-untyped-def]
    """ns since 1970 UTC of ``21/Nov/2026:10:44:01.606 +0000``, with a fraction or without; -1: no such."""
    date, begin_s = -1, -1
    for i in range(len(start)):
        at, cut = start[i], end[i]
        values[i] = -1
        if cut - at < 26:
            continue
        if date < 0 or not same(data, date, at, 11):
            date = at
            begin_s = midnight(digits(data, at + 7, at + 11), month_of(data, at + 3), digits(data, at, at + 2))
            if data[at + 2] != 47 or data[at + 6] != 47:
                begin_s = -1
        space = at + 20
        while space < cut and data[space] != SPACE:
            space += 1
        local = clock_time(data, at + 12, space)
        east = zone(data, space + 1, cut)
        if begin_s >= 0 and local >= 0 and east < 86400 and data[at + 11] == 58:
            values[i] = local + (begin_s - east) * 1_000_000_000


@compiled
def iso_times(data, start, end, values, unzoned):  # type: ignore[no-untyped-def]
    """ns since 1970 UTC of ``2026-11-21T10:44:01.606Z``: RFC 3339, or with a space, other separators of the date, a
    fraction or none; one without a zone is taken for UTC, and `unzoned` says so; -1: no such."""
    date, begin_s = -1, -1
    for i in range(len(start)):
        at, cut = start[i], end[i]
        values[i], unzoned[i] = -1, False
        if cut - at < 19:
            continue
        if date < 0 or not same(data, date, at, 10):
            date = at
            begin_s = midnight(digits(data, at, at + 4), digits(data, at + 5, at + 7), digits(data, at + 8, at + 10))
            if data[at + 4] != data[at + 7] or 48 <= data[at + 4] <= 57:
                begin_s = -1
        stop = at + 19
        if stop < cut and data[stop] == 46:
            stop += 1
            while stop < cut and 48 <= data[stop] <= 57:
                stop += 1
        local = clock_time(data, at + 11, stop)
        east = zone(data, stop, cut) if stop < cut else 0
        if begin_s >= 0 and local >= 0 and east < 86400:
            values[i], unzoned[i] = local + (begin_s - east) * 1_000_000_000, stop == cut


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
def seek(data, start, end, mark, last, found):  # type: ignore[no-untyped-def]
    """Where in each field the bytes `mark` first (or last) are; -1: nowhere."""
    width, first = len(mark), mark[0]
    for i in range(len(start)):
        found[i] = -1
        at, stop, way = start[i], end[i] - width + 1, 1
        if last:
            at, stop, way = end[i] - width, start[i] - 1, -1
        while (stop - at) * way > 0:
            if data[at] == first and alike(data, at, mark, 0):
                found[i] = at
                break
            at += way


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
