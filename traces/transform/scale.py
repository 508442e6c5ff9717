"""Scale the rate of a trace without changing its burstiness.

Arrivals are modelled as a Poisson process whose rate varies with time (daily profile, bursts). Scaling by k multiplies
this rate function by k. Its squared coefficient of variation is then unchanged, which equals (IDC - 1) / mean count at
each window length (`traces.statistics.burstiness`); a Poisson process keeps an IDC of 1.

For factors below 1 this is exact: each request is kept with probability k (thinning a Cox process results in the Cox
process of the thinned rate: Daley and Vere-Jones, "An Introduction to the Theory of Point Processes", 2003, section
6.2). For factors above 1, `clone` adds copies at times near the original request; `compress` runs the trace k times as
fast, which preserves the IDC at equal mean counts but shortens bursts and days.
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
from traces.tables import with_column
from traces.trace import Trace, refuse_mixed
from traces.transform.edit import at_times

How = Literal["clone", "compress"]

_VARIABLE, _CLEAR = 2.0, 5.0  # IDC above which rate changes outweigh Poisson noise, slightly and clearly


def scale(trace: Trace, rate: float, how: How = "clone", seed: int = 0) -> Trace:
    """Multiply the rate of a trace.

    ``clone`` preserves the time scale. Copies of a request arrive within half a window on either side of it; the window
    is the shortest whose counts vary clearly more than by chance (IDC >= 5, or the maximum). Copies thus follow every
    change of the rate that is distinguishable from chance; those of a Poisson process are uniform over the trace. Copy
    j of a key is the key ``…~j``, a new object, as if there were more users: a copy of the same key shortly after the
    original would hit every cache. Single operations on an open file are kept or copied, so the column `handle` is
    dropped.

    Args:
        trace: an open loop.
        rate: factor, above 0.
        how: method for factors above 1; ``compress`` also for factors below 1.
        seed: seed for the choice of requests and the times of copies.

    Raises:
        InputError: the factor is out of range, the trace is a closed loop, or no request remains.
    """
    if not 0 < rate < math.inf:
        raise InputError(f"rate is {rate:g}; a factor above 0 is needed")
    refuse_mixed(trace, "scaling")
    if trace.pacing.loop != "open":
        raise InputError("a closed loop has no rate of its own: the store determines it; change the number of clients")
    if how == "compress":
        return _compressed(trace, rate)
    rows = trace.table.slice(0, trace.issued)
    copies = np.floor(rate + 1 - uniforms(seed, stream_id("scale/copies"), 0, rows.num_rows)).astype(np.int64)
    if not copies.sum():
        raise InputError(f"none of {rows.num_rows:,} requests remains at a rate of {rate:g}")
    row = np.repeat(np.arange(rows.num_rows), copies)
    number = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    at = trace.arrival_s[row]
    moved = number > 0
    if moved.any():
        at[moved] = _near(trace, at[moved], seed)
    order = np.argsort(at, kind="stable")
    table = at_times(rows.take(pa.array(row[order])), at[order])
    for name in ("key", "target"):
        if name in table.column_names:
            table = with_column(table, name, _copied(table.column(name).combine_chunks(), number[order]))
    table = table.drop_columns([name for name in ("handle",) if name in table.column_names])
    return Trace.of(table, trace.pacing, "trace", trace.origin)


def _compressed(trace: Trace, rate: float) -> Trace:
    limit = trace.pacing.duration_s
    pacing = replace(trace.pacing, duration_s=None if limit is None else limit / rate)
    return Trace.of(at_times(trace.table, trace.arrival_s / rate), pacing, "trace", trace.origin)


def _near(trace: Trace, at: Floats, seed: int) -> Floats:
    """Draw times within half a window of those given, reflected at the start and end of the trace."""
    arrival = trace.arrival_s[: trace.issued]
    limit = trace.pacing.duration_s
    begin, end = (0.0, limit) if limit is not None else (float(arrival[0]), float(arrival[-1]))
    if end <= begin:
        return at
    window = _rate_window(arrival)
    draws = uniforms(seed, stream_id("scale/places"), 0, len(at))
    if window is None or window >= end - begin:
        return begin + draws * (end - begin)
    moved = at + (draws - 0.5) * window
    moved = np.where(moved < begin, 2 * begin - moved, moved)
    moved = np.where(moved > end, 2 * end - moved, moved)
    inside: Floats = np.clip(moved, begin, np.nextafter(end, begin))
    return inside


def _rate_window(arrival_s: Floats) -> float | None:
    """Return the shortest window whose counts show rate changes beyond chance, seconds; None if no window does."""
    counts = dispersion(arrival_s)
    most = float(counts.idc.max(initial=0.0))
    if most < _VARIABLE:
        return None
    return float(counts.window_s[np.argmax(counts.idc >= min(_CLEAR, most))])


def _copied(key: pa.DictionaryArray, number: NDArray[np.int64]) -> pa.DictionaryArray:
    """Return the keys; copies get new names. Null stays null."""
    names, known = key.dictionary.to_pylist(), key.is_valid().to_numpy(zero_copy_only=False)
    pair = number[known] * len(names) + key.indices.drop_null().to_numpy()
    distinct, place = np.unique(pair, return_inverse=True)
    given = [(names[p % len(names)], p // len(names)) for p in distinct.tolist()]
    index = np.zeros(len(key), np.int32)
    index[known] = place
    renamed = pa.array([f"{name}~{copy}" if copy else name for name, copy in given], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(index, mask=~known), renamed)
