"""What reads times: as `traces.readers.kernels`."""

from __future__ import annotations

import numpy as np

from traces.readers.compiling import compiled, find, inlined
from traces.readers.kernels import (
    COLON,
    DASH,
    PLUS,
    POINT,
    SLASH,
    SPACE,
    ZERO,
    fraction,
    looks_like,
    pair,
    pairs,
    text,
    two_digits,
    word,
    words,
)

_COLONS, _SEPARATORS = np.uint64(0xFF << 16 | 0xFF << 40), np.uint64(0xFF << 32 | 0xFF << 56)
"""Where ``10:44:01`` and ``2026-11-`` have no digits."""

_FIRST_YEAR, _LAST_YEAR = 1970, 2262
_MONTH_DAYS = (
    np.arange(f"{_FIRST_YEAR}-01", f"{_LAST_YEAR}-02", dtype="datetime64[M]").astype("datetime64[D]").view(np.int64)
)
"""Days from 1970 to the first of each month."""

_DATED = text("00/???/0000/00/00/00")
_MONTHS = words(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"))


@inlined
def midnight(year, month, day):  # type: ignore[no-untyped-def]
    """Seconds from 1970 to the beginning of a date of the Gregorian calendar; -1: there is no such."""
    if year < _FIRST_YEAR or year >= _LAST_YEAR or month < 1 or month > 12:
        return -1
    which = np.uint64((year - _FIRST_YEAR) * 12 + month - 1)
    first, following = _MONTH_DAYS[which], _MONTH_DAYS[which + np.uint64(1)]
    return (first + day - 1) * 86400 if 1 <= day <= following - first else -1


@inlined
def clock_time(data, at, stop):  # type: ignore[no-untyped-def]
    """ns from midnight of ``10:44:01`` or ``10:44:01.606``; -1: there is no such."""
    if stop < at + 8 or data[at + 2] != COLON or data[at + 5] != COLON:
        return -1
    shown, part = pairs(data, at, _COLONS), 0
    hours, minutes, whole = pair(shown, 0), pair(shown, 3), pair(shown, 6)
    if hours > 23 or minutes > 59 or whole > 60:
        return -1
    if stop > at + 8:
        if data[at + 8] != POINT or stop == at + 9:
            return -1
        part = fraction(data, at + 9, stop, 9)
    return (hours * 3600 + minutes * 60 + whole) * 1_000_000_000 + part if part >= 0 else -1


@inlined
def zone(data, at, stop):  # type: ignore[no-untyped-def]
    """Seconds east of UTC of ``Z``, ``+0100`` or ``+01:00``; a day where it is none of them."""
    if stop == at + 1 and (data[at] == 90 or data[at] == 122):
        return 0
    length = stop - at
    if (
        (length != 5 and length != 6)
        or (data[at] != PLUS and data[at] != DASH)
        or (length == 6 and data[at + 3] != COLON)
    ):
        return 86400
    hours, minutes = two_digits(data, at + 1), two_digits(data, stop - 2)
    if hours < 0 or hours > 15 or minutes < 0 or minutes > 59:
        return 86400
    east = hours * 3600 + minutes * 60
    return east if data[at] == PLUS else -east


@inlined
def _year(data, at):  # type: ignore[no-untyped-def]
    """The number of four digits; below 0: one of the bytes is none."""
    return two_digits(data, at) * 100 + two_digits(data, at + 2)


@compiled
def month_of(data, at):  # type: ignore[no-untyped-def]
    """The month of ``Jan`` … ``Dec``; 0 where it is none of them."""
    return word(data, at, at + 3, _MONTHS) + 1


@compiled
def clf_time(data, at, stop):  # type: ignore[no-untyped-def]
    """ns since 1970 UTC of ``21/Nov/2026:10:44:01.606 +0000``, with a fraction or without; -1: no such."""
    if stop - at < 26 or data[at + 2] != SLASH or data[at + 6] != SLASH or data[at + 11] != COLON:
        return -1
    begin_s = midnight(_year(data, at + 7), month_of(data, at + 3), two_digits(data, at))
    space = find(data, at + 20, stop, SPACE)
    local, east = clock_time(data, at + 12, space), zone(data, space + 1, stop)
    return local + (begin_s - east) * 1_000_000_000 if begin_s >= 0 and local >= 0 and east < 86400 else -1


@compiled
def iso_time(data, at, stop):  # type: ignore[no-untyped-def]
    """A time such as ``2026-11-21T10:44:01.606Z``: RFC 3339, or with a space, other separators of the date, a fraction
    or none.

    Returns:
        ns: since 1970 UTC; -1: no such.
        local: whether it names no zone; it is then taken for UTC.
    """
    if stop - at < 19 or data[at + 4] != data[at + 7] or ZERO <= data[at + 4] <= ZERO + 9:
        return -1, False
    shown = pairs(data, at, _SEPARATORS)
    begin_s = midnight(pair(shown, 0) * 100 + pair(shown, 2), pair(shown, 5), two_digits(data, at + 8))
    cut = stop
    if data[stop - 1] > ZERO + 9:
        cut = stop - 1
    else:
        for sign in (stop - 5, stop - 6):
            if sign >= at + 19 and (data[sign] == PLUS or data[sign] == DASH):
                cut = sign
    local, east = clock_time(data, at + 11, cut), (zone(data, cut, stop) if cut < stop else 0)
    if begin_s < 0 or local < 0 or east >= 86400:
        return -1, False
    return local + (begin_s - east) * 1_000_000_000, cut == stop


@compiled
def dated(data, at, stop):  # type: ignore[no-untyped-def]
    """ns since 1970 UTC of ``21/Nov/2026/10/31/20``; -1: no such."""
    if stop - at != 20 or not looks_like(data, at, stop, _DATED):
        return -1
    begin_s = midnight(_year(data, at + 7), month_of(data, at + 3), two_digits(data, at))
    hours, minutes, whole = two_digits(data, at + 12), two_digits(data, at + 15), two_digits(data, at + 18)
    if begin_s < 0 or hours > 23 or minutes > 59 or whole > 59:
        return -1
    return (begin_s + hours * 3600 + minutes * 60 + whole) * 1_000_000_000
