"""The loops over a column's fields, for formats that Arrow parses: built of `traces.readers.kernels`.

Each has a column's bytes and the bounds of its fields, shape (rows,), and fills arrays.
"""

from __future__ import annotations

import numpy as np

from traces.readers.compiling import compiled, copy, find
from traces.readers.escape_kernels import resolve
from traces.readers.kernels import NO_BYTE, digits, word
from traces.readers.time_kernels import iso_time


@compiled
def integers(data, start, end, values):  # type: ignore[no-untyped-def]
    """The whole numbers, none of them negative, of the fields; -1 where a field holds none."""
    for i in range(len(start)):
        values[i] = digits(data, start[i], end[i])


@compiled
def one_of(data, start, end, known, found):  # type: ignore[no-untyped-def]
    """Which of the `words` each field is; -1: none of them."""
    for i in range(len(start)):
        found[i] = word(data, start[i], end[i], known)


@compiled
def marks(data, start, end, mark, found):  # type: ignore[no-untyped-def]
    """Where in each field a byte first is; its end: nowhere."""
    for i in range(len(start)):
        found[i] = find(data, start[i], end[i], mark)


@compiled
def offsets_of(start, end, offsets):  # type: ignore[no-untyped-def]
    """Fills what bounds fields that stand one after the other, those that are missing without a byte; their bytes."""
    offsets[0] = to = 0
    for i in range(len(start)):
        to += max(end[i] - start[i], 0)
        offsets[i + 1] = to
    return to


@compiled
def pack(data, start, offsets, into):  # type: ignore[no-untyped-def]
    """Copies fields one after the other; `offsets` bound them in `into`."""
    for i in range(len(start)):
        copy(data, start[i], start[i] + offsets[i + 1] - offsets[i], into, offsets[i])


@compiled
def unescape(data, start, end, offsets, into):  # type: ignore[no-untyped-def]
    """Copies fields one after the other with percent escapes resolved; `offsets` is filled and bounds them."""
    to = 0
    for i in range(len(start)):
        to = resolve(data, start[i], end[i], NO_BYTE, into, to)
        offsets[i + 1] = to


@compiled
def iso_times(data, start, end, values):  # type: ignore[no-untyped-def]
    """The times of the fields, as `iso_time` gives them; those without a zone are UTC."""
    for i in range(len(start)):
        values[i] = iso_time(data, start[i], end[i])[0]


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
