"""The kernel of `traces.readers.generic_csv`: as `traces.readers.line_rows` says."""

from __future__ import annotations

import numpy as np

from traces.readers.compiling import WIDTH, compiled, inlined, pointer
from traces.readers.drafts import BEGIN, END, begun, error, rejected
from traces.readers.kernels import (
    QUOTE,
    decimal,
    digits,
    is_dash,
    line_end,
    next_of,
    of,
    operation,
    word,
    words,
)
from traces.readers.records import FIRST_ERROR
from traces.readers.time_kernels import iso_time
from traces.tables import LIST

# The places of the fields, in the order of generic_csv.FIELDS.
_TIME, _END, _OP, _BUCKET, _KEY, _SIZE, _TRANSFER, _RANGE_START, _RANGE = range(9)
_LATENCY, _FIRST_BYTE, _CLIENT, _STATUS, _ERROR = range(9, 14)

# The units of the times.
_STAMP_UNIT, _LATENCY_UNIT, _FIRST_BYTE_UNIT = range(3)

_UNCLOSED, _WIDTH, _BAD_LATENCY, _BAD_STAMP, _NO_LATENCY, _NO_OP, _NO_KEY = range(1, 8)
_BAD_STATUS, _BAD_FIRST_BYTE, _BAD_SIZE, _BAD_TRANSFER, _BAD_RANGE_START, _BAD_RANGE = range(8, 14)
_NOT_OBJECT = -1

_FINE = words(("0", "ok", "none", "null", "false"))
_LARGEST_STATUS = 2**15 - 1


@inlined
def _divide(data, at, stop, delimiter, fields, width):  # type: ignore[no-untyped-def]
    """The bounds of a line's fields, in place of `split`: doubled quotes are halved where they stand, and a field that
    is empty or ``-`` without quotes ends before it begins.

    Returns:
        How many fields there are, at most one more than `width`; -1: a quotation mark is not closed.
    """
    found, window, bits = 0, at - WIDTH, np.uint64(0)
    quotes, marks = window, bits
    while at <= stop and found <= width:
        if at < stop and data[at] == QUOTE:
            end, quotes, marks = next_of(data, at + 1, stop, QUOTE, quotes, marks)
            start, at = at + 1, end + 2
            if end + 1 != stop and (end == stop or data[end + 1] != delimiter):
                end, at = _unquoted(data, end, stop, delimiter)
                if end < 0:
                    return -1
        else:
            end, window, bits = next_of(data, at, stop, delimiter, window, bits)
            start, at = at, end + 1
            if end == start or is_dash(data, start, end):
                end = start - 1
        if found < width:
            fields[2 * found], fields[2 * found + 1] = start, end
        found += 1
    return found


@compiled
def _unquoted(data, at, stop, delimiter):  # type: ignore[no-untyped-def]
    """Halves the doubled marks of a quoted field, where it stands. What is behind the closing mark belongs to it.

    Args:
        data: bytes.
        at, stop: bounds of what follows the field's second mark, that one included, in the line.
        delimiter: between fields.

    Returns:
        The field's end, -1 where the mark is not closed; where the next field begins.
    """
    to, within = at, True
    while at < stop and (within or data[at] != delimiter):
        byte = data[at]
        at += 1
        if within and byte == QUOTE:
            within = at < stop and data[at] == QUOTE
            if not within:
                continue
            at += 1
        data[to] = byte
        to += 1
    return -1 if within else to, at + 1


@inlined
def _bounds(fields, place):  # type: ignore[no-untyped-def]
    """The bounds of a field; of a column that is not there, those of one that holds nothing."""
    return of(fields, place) if place >= 0 else (0, -1)


@inlined
def _whole(data, fields, place):  # type: ignore[no-untyped-def]
    """A field's whole number; -1: it holds nothing; -2: no number."""
    start, end = _bounds(fields, place)
    value = digits(data, start, end)
    return value if value >= 0 or end < start else -2


@inlined
def _duration(data, fields, place, unit):  # type: ignore[no-untyped-def]
    """A field's duration in ns; -1: it holds nothing; -2: no number."""
    start, end = _bounds(fields, place)
    value = decimal(data, start, end, unit)
    return value if value >= 0 or end < start else -2


@inlined
def _record(data, at, stop, fields, width, delimiter, places, units, known, row):  # type: ignore[no-untyped-def]
    found = _divide(data, at, stop, delimiter, fields, width)
    if found != width:
        return _UNCLOSED if found < 0 else _WIDTH
    verdict = _set_times(data, fields, places, units, row)
    if verdict:
        return verdict
    start, end = of(fields, places[_OP])
    if end < start:
        return _NO_OP
    row.op = operation(data, start, end, known, True)
    if row.op < 0:
        return _NOT_OBJECT
    row.key_from, row.key_to = of(fields, places[_KEY])
    if row.key_to < row.key_from:
        if row.op != LIST:
            return _NO_KEY
        row.key_to = row.key_from
    row.bucket_from, row.bucket_to = _bounds(fields, places[_BUCKET])
    row.client_from, row.client_to = _bounds(fields, places[_CLIENT])
    verdict = _set_numbers(data, fields, places, units, row)
    if verdict:
        return verdict
    start, end = _bounds(fields, places[_ERROR])
    if end >= start and not is_dash(data, start, end) and word(data, start, end, _FINE, True) < 0:
        row.error_from, row.error_to = start, end
    elif row.status >= FIRST_ERROR:
        row.error_from, row.error_to = error(0)
    return 0


@inlined
def _set_times(data, fields, places, units, row):  # type: ignore[no-untyped-def]
    """Set time and latency; why they cannot be read."""
    row.latency_ns = _duration(data, fields, places[_LATENCY], units[_LATENCY_UNIT])
    if row.latency_ns < -1:
        return _BAD_LATENCY
    ends = places[_TIME] < 0
    start, end = of(fields, places[_END] if ends else places[_TIME])
    if units[_STAMP_UNIT] < 0:
        row.time_ns, local = iso_time(data, start, end)
        row.local = (END if ends else BEGIN) if local else 0
    else:
        row.time_ns = decimal(data, start, end, units[_STAMP_UNIT])
    if row.time_ns < 0:
        return _BAD_STAMP
    if ends:
        if row.latency_ns < 0:
            return _NO_LATENCY
        row.time_ns -= row.latency_ns
    return 0


@inlined
def _set_numbers(data, fields, places, units, row):  # type: ignore[no-untyped-def]
    """Set status, first byte, sizes and range; why they cannot be read."""
    row.status = _whole(data, fields, places[_STATUS])
    row.first_byte_ns = _duration(data, fields, places[_FIRST_BYTE], units[_FIRST_BYTE_UNIT])
    row.size_bytes = _whole(data, fields, places[_SIZE])
    row.transfer_bytes = _whole(data, fields, places[_TRANSFER])
    row.range_start_bytes = _whole(data, fields, places[_RANGE_START])
    row.range_bytes = _whole(data, fields, places[_RANGE])
    if row.status < -1 or row.status > _LARGEST_STATUS:
        return _BAD_STATUS
    if row.first_byte_ns < -1:
        return _BAD_FIRST_BYTE
    if row.size_bytes < -1:
        return _BAD_SIZE
    if row.transfer_bytes < -1:
        return _BAD_TRANSFER
    if row.range_start_bytes < -1:
        return _BAD_RANGE_START
    return _BAD_RANGE if row.range_bytes < -1 else 0


@inlined
def _is_blank(data, at, stop):  # type: ignore[no-untyped-def]
    """Whether there is nothing but white space."""
    while at < stop and (data[at] == 32 or 9 <= data[at] <= 13):
        at += 1
    return at == stop


@compiled
def records(text, at, size, rows, bounds, width, delimiter, columns, scales, known):  # type: ignore[no-untyped-def]
    """Writes the records.

    Args:
        text, at, size, rows, bounds: as of all kernels.
        width: how many fields each line has.
        delimiter: between fields.
        columns: the place of each field, from 0; -1: there is no such column.
        scales: decimal places that make ns of the time (-1: it is of ISO 8601), the latency and the first byte.
        known: the `operations`.
    """
    data, fields, places, units = pointer(text), pointer(bounds), pointer(columns), pointer(scales)
    line, kept, gone = 0, 0, 0
    while at < size:
        newline, stop = line_end(data, at, size)
        if not _is_blank(data, at, stop):
            row = begun(rows[kept])
            verdict = _record(data, at, stop, fields, width, delimiter, places, units, known, row)
            if verdict:
                gone = rejected(rows, gone, line, verdict)
            else:
                kept += 1
        at, line = newline + 1, line + 1
    return kept, gone
