"""A block's records while a kernel writes them, one line after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from traces.readers.compiling import WIDTH, compiled, find, inlined
from traces.readers.escape_kernels import resolve
from traces.readers.kernels import DASH, NO_BYTE, PERCENT, words
from traces.readers.memory import Room
from traces.readers.records import FIRST_ERROR, LAST_STATUS, error_of
from traces.readers.sections import Block

TEXTS = ("bucket", "key", "client", "error")

NUMBERS = ("time_ns", "latency_ns", "first_byte_ns", "size_bytes", "transfer_bytes",
           "range_start_bytes", "range_bytes", "status")  # fmt: skip

_ERRORS = ["error", *(str(error_of(status)) for status in range(FIRST_ERROR, LAST_STATUS + 1))]
_LITERALS, _ENDS, _ = words(_ERRORS)

ROW = np.dtype([
    *((name, np.int64) for name in NUMBERS),
    *((f"{name}_{bound}", np.int32) for name in TEXTS for bound in ("from", "to")),
    ("line", np.int32),
    ("op", np.int8),
    ("local", np.int8),
    ("verdict", np.int8),
], align=True)  # fmt: skip
"""A record as kernels write it: numbers (below 0: not known), and the bounds of texts in the block's bytes, where a
text that is not there ends before it begins. `op` is the index in `traces.tables.OPS`; `local` says which time is not
UTC but local (`BEGIN`, `END` or neither); `line` and `verdict` are those of a line without a record."""

BEGIN, END = 1, 2
"""Which time of a row is local: its time, or that and its latency."""


class Draft(NamedTuple):
    """What kernels work on.

    Attributes:
        data: texts of errors, the block's bytes, which kernels may change where they stand, and as many again, and
            `WIDTH`, for new texts: those of a line as far behind it as all before the room has bytes.
        begin, end: bounds of the block's bytes.
        rows: `ROW`, one for each line: those with a record first, those without from the end.
        fields: for bounds of a line's fields.
    """

    data: NDArray[np.uint8]
    begin: int
    end: int
    rows: NDArray[np.void]
    fields: NDArray[np.int64]


_ROOM = Room(ROW)


def drafted(block: Block, fields: int) -> Draft:
    """A draft of a block, in memory of this thread: good until the next.

    Args:
        block: of lines.
        fields: for how many fields of a line there is to be place.

    Raises:
        InputError: the block cannot be read.
    """
    begin, end = block.put(_ROOM, len(_LITERALS))
    data = _ROOM.text(2 * end + WIDTH, end)
    data[: len(_LITERALS)] = _LITERALS
    return Draft(data, begin, end, _ROOM.rows(block.count), np.empty(2 * fields, np.int64))


@inlined
def begun(row):  # type: ignore[no-untyped-def]
    """The row, begun: nothing is known of the record."""
    row.time_ns = row.latency_ns = row.first_byte_ns = row.size_bytes = row.transfer_bytes = -1
    row.range_start_bytes = row.range_bytes = row.status = -1
    row.bucket_from = row.key_from = row.client_from = row.error_from = 0
    row.bucket_to = row.key_to = row.client_to = row.error_to = -1
    row.local = 0
    return row


@inlined
def error(status):  # type: ignore[no-untyped-def]
    """The bounds of an error's text: of an HTTP status, none below 400; of 0 ``error``."""
    if 0 < status < FIRST_ERROR or status < 0:
        return 0, -1
    which = status - FIRST_ERROR + 1 if status else 0
    return _ENDS[which], _ENDS[which + 1]


@compiled
def rejected(rows, gone, line, verdict):  # type: ignore[no-untyped-def]
    """Note a line without a record.

    Args:
        rows: of the draft.
        gone: how many such lines came before it.
        line: counted from 0 in the block.
        verdict: above 0: why it is refused; below: why it is left out, both counted from 1.

    Returns:
        How many such lines there are.
    """
    row = rows[len(rows) - 1 - gone]
    row.line, row.verdict = line, verdict
    return gone + 1


@compiled
def unless_dash(data, at, stop):  # type: ignore[no-untyped-def]
    """The bounds of a text; of none if it is ``-``."""
    return (at, at - 1) if stop == at + 1 and data[at] == DASH else (at, stop)


@compiled
def resolved(data, at, stop):  # type: ignore[no-untyped-def]
    """The bounds of a text once its percent escapes are resolved, where it stands."""
    escape = find(data, at, stop, PERCENT)
    return at, stop if escape == stop else resolve(data, escape, stop, NO_BYTE, data, escape)
