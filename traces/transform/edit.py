"""Edit traces: cut a time window, sample the keys, merge several traces."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.errors import InputError
from traces.origin import Origin
from traces.tables import with_column
from traces.trace import Pacing, Trace, refuse_mixed

Align = Literal["start", "clock"]


def cut(trace: Trace, from_s: float, to_s: float = math.inf) -> Trace:
    """Return the requests of a time window; the start of the window becomes time 0 of the new trace.

    Args:
        trace: an open loop.
        from_s: start of the window, seconds since the start of the trace.
        to_s: end of the window, exclusive.

    Raises:
        InputError: the trace is a closed loop, whose requests have no arrival times, or the window is empty.
    """
    _require_open(trace, "cut")
    if not from_s < to_s:
        raise InputError(f"the window ends at {to_s:g} s, which is not after its start at {from_s:g} s")
    first, last = np.searchsorted(trace.arrival_s[: trace.issued], [from_s, to_s])
    if first == last:
        ends = f"from {trace.arrival_s[0]:g} to {trace.arrival_s[-1]:g} s" if len(trace) else "at all"
        raise InputError(f"no request is due from {from_s:g} to {to_s:g} s; there are requests {ends}")
    limit = trace.pacing.duration_s
    ends_s = min(to_s, math.inf if limit is None else limit)
    table = at_times(trace.table.slice(first, last - first), trace.arrival_s[first:last] - from_s)
    pacing = replace(trace.pacing, duration_s=ends_s - from_s if math.isfinite(ends_s) else None)
    return Trace.of(table, pacing, "trace", _later(trace.origin, from_s))


def sample_keys(trace: Trace, fraction: float) -> Trace:
    """Return the requests of a fraction of the objects, chosen by the hash of bucket and key.

    The whole history of an object is either kept or dropped, so that popularity keeps its shape, and reuse distances
    shrink by the fraction (spatially hashed sampling: Waldspurger et al., "Efficient MRC construction with SHARDS",
    FAST 2015). LISTs are sampled by prefix, RENAMEs and COPYs by their first key. The same objects are chosen in every
    trace.

    Args:
        trace: any trace.
        share: fraction of the objects, above 0 and at most 1.

    Raises:
        InputError: the fraction is out of range, or no object is chosen.
    """
    if not 0 < fraction <= 1:
        raise InputError(f"keys is {fraction:g}; a fraction above 0 and at most 1 is needed")
    bucket, key = (trace.table.column(name).combine_chunks() for name in ("bucket", "key"))
    pair = bucket.indices.to_numpy().astype(np.int64) << 32 | key.indices.to_numpy()
    distinct, index = np.unique(pair, return_inverse=True)
    buckets, keys = bucket.dictionary.to_pylist(), key.dictionary.to_pylist()
    kept = np.array([_hashed(buckets[p >> 32], keys[p & 0xFFFFFFFF]) < fraction for p in distinct.tolist()], bool)
    if not kept.any():
        raise InputError(f"none of {len(distinct):,} objects is in a sample of {fraction:g}; give a larger fraction")
    return Trace.of(trace.table.filter(pa.array(kept[index])), trace.pacing, "trace", trace.origin)


def _hashed(bucket: str, key: str) -> float:
    """Hash an object to a number from 0 to 1, the same on every machine."""
    digest = hashlib.blake2b(f"{bucket}/{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def merge(traces: Sequence[Trace], align: Align = "start") -> Trace:
    """Merge the requests of several traces in order of time.

    Buckets and keys of the same name are the same objects. Clients and open files of different traces are different.

    Args:
        traces: one or more open loops.
        align: ``start``: all traces start at time 0; ``clock``: by the calendar times of their starts.

    Raises:
        InputError: a trace is a closed loop, or has no calendar time although `align` is ``clock``.
    """
    for trace in traces:
        _require_open(trace, "merged")
    offsets_s = [0.0] * len(traces) if align == "start" else _offsets(traces)
    tables, following = [], {"client": 0, "handle": 0}
    for trace, offset_s in zip(traces, offsets_s, strict=True):
        table = at_times(trace.table.slice(0, trace.issued), trace.arrival_s[: trace.issued] + offset_s)
        for name in [name for name in following if name in table.column_names]:
            number = table.column(name).combine_chunks()
            table = with_column(table, name, pa.compute.add(number, pa.scalar(following[name], number.type)))
            known = number.drop_null().to_numpy()
            following[name] += int(known.max()) + 1 if len(known) else 0
        tables.append(table)
    merged = pa.concat_tables(tables, promote_options="default").unify_dictionaries()
    order = np.argsort(merged.column("arrival_s").to_numpy(), kind="stable")
    limits = [t.pacing.duration_s for t in traces]
    known_limits = [limit + offset for limit, offset in zip(limits, offsets_s, strict=True) if limit is not None]
    duration = max(known_limits) if len(known_limits) == len(limits) else None
    pacing = Pacing("open", duration_s=duration)
    return Trace.of(merged.take(pa.array(order)).combine_chunks(), pacing, "merged", _common(traces, align))


def _offsets(traces: Sequence[Trace]) -> list[float]:
    """Return the start of each trace, seconds after the earliest start."""
    began = []
    for i, trace in enumerate(traces):
        if trace.origin is None or trace.origin.started_at is None:
            raise InputError(f"trace {i + 1} has no calendar time; align their starts")
        began.append(datetime.fromisoformat(trace.origin.started_at))
    return [(at - min(began)).total_seconds() for at in began]


def _common(traces: Sequence[Trace], align: Align) -> Origin | None:
    """Return the origin of the merged trace; None unless all traces have one."""
    origins = [trace.origin for trace in traces if trace.origin is not None]
    if len(origins) < len(traces):
        return None
    ticks = [origin.latency_clock_s for origin in origins if origin.latency_clock_s is not None]
    started = [origin.started_at for origin in origins if origin.started_at is not None]
    return Origin(
        formats=tuple(dict.fromkeys(name for origin in origins for name in origin.formats)),
        files=tuple(name for origin in origins for name in origin.files),
        started_at=min(started, key=datetime.fromisoformat) if align == "clock" else None,
        clock_s=max(origin.clock_s for origin in origins),
        latency_clock_s=max(ticks) if ticks else None,
        zone=origins[0].zone,
        anonymised=all(origin.anonymised for origin in origins),
        spread=any(origin.spread for origin in origins),
    )


def _later(origin: Origin | None, by_s: float) -> Origin | None:
    if origin is None or origin.started_at is None:
        return origin
    began = datetime.fromisoformat(origin.started_at) + timedelta(seconds=by_s)
    return replace(origin, started_at=began.isoformat())


def at_times(table: pa.Table, arrival_s: NDArray[np.float64]) -> pa.Table:
    """Return the rows with new arrival times."""
    return with_column(table, "arrival_s", pa.array(arrival_s))


def _require_open(trace: Trace, what: str) -> None:
    refuse_mixed(trace, "this transformation")
    if trace.pacing.loop != "open":
        raise InputError(f"a closed loop cannot be {what}: its requests have an order but no arrival times")
