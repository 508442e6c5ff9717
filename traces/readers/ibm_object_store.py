"""IBM object store traces of SNIA's IOTTA repository (set 36305).

Layout: the traces' description at iotta.snia.org/traces/key-value, "time type object [size [begin end]]", one line a
request, separated by blanks; the time is in milliseconds from the beginning of the recording, `begin` and `end` are the
first and last byte that is read (``0 -1`` of an empty object). All requests of a file are for one bucket. A range over
the whole object is taken for a GET without one. Whether a request went well is not logged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from traces.readers.blocks import by_block
from traces.readers.columns import NO_OBJECT, operations
from traces.readers.formats import Format, Head
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines
from traces.readers.spans import Fields, Ints, Spans
from traces.tables import GET

_TIME, _TYPE, _OBJECT, _SIZE, _BEGIN, _END = range(6)
_NEEDED, _FIELDS = 3, 6

_OPERATIONS = {f"REST.{op}.OBJECT": op for op in ("GET", "PUT", "HEAD", "DELETE")}

_LINE = re.compile(r"\d+ REST\.[A-Z_]+\.[A-Z_]+ [0-9A-Fa-f]+(?: \d+(?: \d+ -?\d+)?)? ?$")


def _parse(lines: Lines) -> Iterator[Parsed]:
    fields = Fields.of(lines, _FIELDS)
    rows = Rows(fields.line)
    rows.refuse(fields.count < _NEEDED, f"has too few fields; {_NEEDED} are needed")
    time_ms = fields[_TIME].integers()
    rows.refuse((time_ms < 0) | (time_ms > np.iinfo(np.int64).max // 10**6), "time cannot be read")
    op = operations(fields[_TYPE], _OPERATIONS)
    known = fields[_TYPE].begins_with("REST.")
    rows.refuse(~known, "type of request cannot be read")
    rows.leave_out(op < 0, NO_OBJECT)
    size = _number(rows, fields[_SIZE], "size")
    begin, end = _number(rows, fields[_BEGIN], "first byte"), fields[_END].integers()
    empty = fields[_END].is_text("-1") & (begin == 0)
    end[empty] = -1
    ranged = fields[_BEGIN].end > fields[_BEGIN].start
    rows.refuse(ranged & ~empty & (end < begin), "range cannot be read")
    whole = (begin == 0) & ((size < 0) | (end == size - 1))
    part = (op == GET) & ranged & ~whole
    yield rows.parsed(
        time_ns=time_ms * 10**6,
        op=op,
        key=fields[_OBJECT].texts(),
        size_bytes=pa.array(size, mask=size < 0),
        range_start_bytes=pa.array(begin, mask=~part),
        range_bytes=pa.array(end - begin + 1, mask=~part),
    )


def _number(rows: Rows, spans: Spans, what: str) -> Ints:
    """The field's numbers, -1 where it is missing or empty; a row where it is something else is refused."""
    values = spans.integers()
    rows.refuse((values < 0) & (spans.end > spans.start), f"{what} cannot be read")
    return values


def _recognises(head: Head) -> bool:
    lines = head.lines
    return bool(lines) and sum(_LINE.match(line) is not None for line in lines) * 2 > len(lines)


FORMAT = Format("ibm-object-store", "IBM object store traces (SNIA IOTTA)", False, _recognises, by_block(_parse))
