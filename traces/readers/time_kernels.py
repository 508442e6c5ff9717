"""The loops that read times: as `traces.readers.kernels`."""

from __future__ import annotations

from traces.readers.kernels import SPACE, compiled, digits, fraction


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
    at = 0
    while at < width and data[one + at] == data[other + at]:
        at += 1
    return at == width


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
