"""Basic figures of a Trace: counts, sizes, arrival rate and variability, key skew."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.operations import OPS, rows_that
from traces.trace import Trace

WINDOWS = 100
"""Number of windows of equal length in which arrivals are counted for the index of dispersion."""

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def describe(trace: Trace) -> dict[str, Any]:
    """Compute the figures of a trace, ready for JSON; None stands for a figure that is not defined.

    Returns:
        ``loop``, ``clients``, ``stagger_s`` and ``duration_limit_s``: the pacing.
        ``requests``, ``transfer_bytes`` (payload), ``buckets``, ``phases``: totals.
        ``ops``: for each operation ``count`` and the ``size_bytes`` of the objects it names: ``mean``, ``min``,
        ``p50``, ``p90``, ``p99``, ``max``.
        ``arrivals``: of an open loop with at least two requests, see `_arrivals`; else None.
        ``keys``: see `_keys`. ``origin``: of an imported trace, see `traces.origin.Origin`.
    """
    pacing = trace.pacing
    present = [i for i in range(len(OPS)) if (trace.op == i).any()]
    return {
        "loop": pacing.loop,
        "clients": pacing.clients if pacing.loop == "closed" else None,
        "stagger_s": pacing.stagger_s if pacing.loop == "closed" else None,
        "duration_limit_s": pacing.duration_s,
        "requests": len(trace),
        "transfer_bytes": int(trace.transfer_bytes.sum()),
        "buckets": len(trace.table.column("bucket").unique()),
        "phases": len(np.unique(trace.phase)),
        "ops": {OPS[i]: _sizes(trace.size_bytes[trace.op == i]) for i in present},
        "arrivals": _arrivals(trace.arrival_s) if pacing.loop == "open" and len(trace) > 1 else None,
        "keys": _keys(trace),
        "origin": None if trace.origin is None else asdict(trace.origin),
    }


def _sizes(size_bytes: NDArray[np.int64]) -> dict[str, Any]:
    quantiles = np.quantile(size_bytes, list(_QUANTILES.values())).tolist()
    middle = dict(zip(_QUANTILES, quantiles, strict=True))
    least, most = int(size_bytes.min()), int(size_bytes.max())
    return {
        "count": len(size_bytes),
        "size_bytes": {"mean": float(size_bytes.mean()), "min": least, **middle, "max": most},
    }


def _arrivals(arrival_s: NDArray[np.float64]) -> dict[str, Any]:
    """Describe the arrival process.

    Returns:
        ``span_s``: first to last arrival. ``rate_ops``: 1 / mean gap. ``gap_scv``: squared coefficient of variation of
        the gaps, 1 for Poisson. ``dispersion``: variance-to-mean ratio of the counts in `WINDOWS` windows of
        ``window_s``, 1 for Poisson at every window length (index of dispersion for counts: Cox and Lewis, "The
        Statistical Analysis of Series of Events", 1966); None with fewer than two requests per window.
    """
    gaps = np.diff(arrival_s)
    span, mean = float(arrival_s[-1] - arrival_s[0]), float(gaps.mean())
    dispersion = None
    if span > 0 and len(gaps) >= 2 * WINDOWS:
        counts, _ = np.histogram(arrival_s, bins=WINDOWS, range=(arrival_s[0], arrival_s[-1]))
        dispersion = float(counts.var(ddof=1) / counts.mean())
    return {
        "span_s": span,
        "rate_ops": 1 / mean if mean > 0 else None,
        "gap_scv": float(gaps.var() / mean**2) if mean > 0 else None,
        "dispersion": dispersion,
        "window_s": span / WINDOWS,
    }


def _keys(trace: Trace) -> dict[str, Any] | None:
    """Describe how requests are distributed over objects; an object is a bucket and a key, and a LIST names none.

    Returns:
        ``distinct``: number of objects. ``top_fraction``: fraction of the requests that name the most popular object.
        ``one_hit_fraction``: fraction of the objects that are requested only once. None if all requests are LISTs.
    """
    objects = rows_that(trace.op, "names_object")
    if not objects.any():
        return None
    bucket, key = (trace.table.column(name).combine_chunks().indices.to_numpy() for name in ("bucket", "key"))
    pair = bucket.astype(np.int64) << 32 | key
    _, hits = np.unique(pair[objects], return_counts=True)
    return {
        "distinct": len(hits),
        "top_fraction": float(hits.max() / hits.sum()),
        "one_hit_fraction": float(np.mean(hits == 1)),
    }
