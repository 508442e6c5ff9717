"""A trace at another rate that is as bursty as it was.

Arrivals are seen as a Poisson process whose rate changes with time: a profile of the day, bursts. At k times the rate
that function is k times as high, at every time. Its variance over the square of the mean then stays, which is (IDC -
1) / mean count at each window length (`traces.statistics.burstiness`); of a Poisson process the IDC stays 1.

Below 1 that is exact: each request stays with probability k (the thinning of a Cox process is the Cox process of the
thinned rate: Daley and Vere-Jones, "An Introduction to the Theory of Point Processes", 2003, section 6.2). Above 1,
`clone` adds copies at times near the request's own; `compress` runs the trace k times as fast, which keeps the IDC at
equal mean counts, and makes bursts and days shorter.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.errors import InputError
from traces.random_streams import stream_id, uniforms
from traces.statistics.burstiness import Floats, dispersion
from traces.tables import label
from traces.trace import Trace
from traces.transform.edit import at_times

How = Literal["clone", "compress"]

_TOLD, _CLEAR = 2.0, 5.0  # IDC from which the rate's changes outweigh the chance of a Poisson process, and by far


def scale(trace: Trace, rate: float, how: How = "clone", seed: int = 0) -> Trace:
    """The trace with its rate multiplied.

    ``clone`` keeps the time scale. Copies of a request are due within half a window on either side of it; the window
    is the shortest whose counts vary by far more than chance makes them (IDC >= 5, or the most there is). So copies
    follow each change of the rate that can be told from chance, and none that cannot: of a Poisson process they come
    anywhere. Copy j of a key is the key ``…~j``, an object of its own, as with as many more users: a copy of the same
    key just behind it would be found in every cache.

    Args:
        trace: an open loop.
        rate: the factor, above 0.
        how: for factors above 1; ``compress`` also below.
        seed: of what stays and of where copies come.

    Raises:
        InputError: the factor is out of range, the trace is a closed loop, or nothing stays.
    """
    if not 0 < rate < math.inf:
        raise InputError(f"rate is {rate:g}; a factor above 0 is needed")
    if trace.pacing.loop != "open":
        raise InputError("a closed loop has no rate of its own: the store's answers set it; give it other clients")
    if how == "compress":
        return _compressed(trace, rate)
    rows = trace.table.slice(0, trace.issued)
    copies = np.floor(rate + 1 - uniforms(seed, stream_id("scale/copies"), 0, rows.num_rows)).astype(np.int64)
    if not copies.sum():
        raise InputError(f"none of {rows.num_rows:,} requests stays at a rate of {rate:g}")
    row = np.repeat(np.arange(rows.num_rows), copies)
    number = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    at = trace.arrival_s[row]
    moved = number > 0
    if moved.any():
        at[moved] = _near(trace, at[moved], seed)
    order = np.argsort(at, kind="stable")
    table = at_times(rows.take(pa.array(row[order])), at[order])
    key = table.schema.get_field_index("key")
    table = table.set_column(key, table.schema.field(key), _copied(table.column("key").combine_chunks(), number[order]))
    return Trace.of(table, trace.pacing, "trace", trace.origin)


def _compressed(trace: Trace, rate: float) -> Trace:
    limit = trace.pacing.duration_s
    pacing = replace(trace.pacing, duration_s=None if limit is None else limit / rate)
    return Trace.of(at_times(trace.table, trace.arrival_s / rate), pacing, "trace", trace.origin)


def _near(trace: Trace, at: Floats, seed: int) -> Floats:
    """Times within half a window of those given, and within the trace's own time: what leaves it is reflected."""
    arrival = trace.arrival_s[: trace.issued]
    limit = trace.pacing.duration_s
    begin, end = (0.0, limit) if limit is not None else (float(arrival[0]), float(arrival[-1]))
    if end <= begin:
        return at
    window = _telling_window(arrival)
    draws = uniforms(seed, stream_id("scale/places"), 0, len(at))
    if window is None or window >= end - begin:
        return begin + draws * (end - begin)
    moved = at + (draws - 0.5) * window
    moved = np.where(moved < begin, 2 * begin - moved, moved)
    moved = np.where(moved > end, 2 * end - moved, moved)
    inside: Floats = np.clip(moved, begin, np.nextafter(end, begin))
    return inside


def _telling_window(arrival_s: Floats) -> float | None:
    """The shortest window whose counts tell a change of the rate from chance; None: no window does."""
    counts = dispersion(arrival_s)
    most = float(counts.idc.max(initial=0.0))
    if most < _TOLD:
        return None
    return float(counts.window_s[np.argmax(counts.idc >= min(_CLEAR, most))])


def _copied(key: pa.DictionaryArray, number: NDArray[np.int64]) -> pa.DictionaryArray:
    """The keys, those of copies under names of their own."""
    names = key.dictionary.to_pylist()
    pair = number * len(names) + key.indices.to_numpy()
    distinct, index = np.unique(pair, return_inverse=True)
    given = [(names[p % len(names)], p // len(names)) for p in distinct.tolist()]
    return label(index, [f"{name}~{copy}" if copy else name for name, copy in given])
