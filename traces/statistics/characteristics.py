"""Trace characteristics: burstiness at each time scale, object popularity, reuse distances, closed-loop workers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from traces.fitting.workload import loop_of
from traces.operations import OPS, ops_that, rows_that
from traces.run import Run
from traces.statistics.burstiness import Floats, bursts, dispersion
from traces.statistics.describe import describe
from traces.statistics.hit_ratio import hit_ratios
from traces.statistics.popularity import fit_zipf, objects_of
from traces.statistics.reuse_distance import Indices, middle, reuse_distances
from traces.trace import Trace

_REUSE = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99}


def characteristics(trace: Trace, run: Run | None = None, window_s: Floats | None = None) -> dict[str, Any]:
    """Compute the characteristics of a trace that take seconds rather than milliseconds, ready for JSON.

    Args:
        trace: the requests.
        run: the Run of the trace; if imported from a log, it may reveal closed-loop workers.
        window_s: window lengths for ``dispersion``, seconds (default: `traces.statistics.burstiness.lengths`).

    Returns:
        ``dispersion``: of an open loop, for each window length ``window_s``, the arrivals per window (``mean``) and
        the index of dispersion (``idc``, see `traces.statistics.burstiness`); else empty.
        ``bursts``: of an open loop, peak-to-mean ratio and index of dispersion of the counts in windows of 1 s to
        1000 s (`traces.statistics.burstiness.Bursts`); else empty.
        ``popularity``: for each operation, the Zipf law fitted to the objects it names (`popularity.fit_zipf`):
        ``count`` of objects, ``exponent``, and ``one_hit``, the fraction of requests for one-hit objects beyond the
        Zipf law.
        ``reuse``: ``fraction``, the fraction of requests that name an object again, and quantiles of their reuse
        distance (`traces.statistics.reuse_distance`); None if all requests are LISTs.
        ``lru_hits``: hit ratios of LRU caches of several fractions of the footprint
        (`traces.statistics.hit_ratio.HitRatios`); empty if all requests are LISTs.
        ``workers``: of a closed loop, ``clients``, and ``mean``, ``p50``, ``p90`` of ``think_s``; else None.
    """
    objects = objects_of(trace)
    loop = loop_of(trace, run)
    is_open = loop is None and trace.pacing.loop == "open" and len(trace) > 1
    return {
        "dispersion": _dispersion(trace.arrival_s, window_s) if is_open else [],
        "bursts": [asdict(each) for each in bursts(trace.arrival_s)] if is_open else [],
        "popularity": _popularity(trace),
        "reuse": _reuse(objects) if len(objects) else None,
        "lru_hits": _lru_hits(trace, objects),
        "workers": None
        if loop is None or not len(trace)
        else {"clients": loop.clients, "think_s": _pauses(loop.think_s)},
    }


def figures(trace: Trace, run: Run | None = None, window_s: Floats | None = None) -> dict[str, Any]:
    """Return all figures of a trace: those of `traces.statistics.describe.describe` and of `characteristics`."""
    return {**describe(trace), **characteristics(trace, run, window_s)}


def _dispersion(arrival_s: Floats, window_s: Floats | None) -> list[dict[str, float]]:
    span_s = arrival_s[-1] - arrival_s[0]
    counts = dispersion(arrival_s, None if window_s is None else window_s[window_s < span_s / 2])
    rows = zip(counts.window_s.tolist(), counts.mean.tolist(), counts.idc.tolist(), strict=True)
    return [{"window_s": length, "mean": mean, "idc": idc} for length, mean, idc in rows]


def _popularity(trace: Trace) -> dict[str, Any]:
    rows = {op: trace.op == OPS.index(op) for op in ops_that("names_object")}
    hits = {op: np.unique(objects_of(trace, own), return_counts=True)[1] for op, own in rows.items() if own.any()}
    fits = {op: fit_zipf(of_objects) for op, of_objects in hits.items()}
    return {op: {"count": zipf.count, "exponent": zipf.exponent, "one_hit": zipf.one_hit} for op, zipf in fits.items()}


def _reuse(objects: Indices) -> dict[str, Any]:
    analysed = middle(objects)
    distances = reuse_distances(analysed)
    reused = len(distances) / len(analysed)
    at = np.quantile(distances, list(_REUSE.values())).tolist() if len(distances) else [None] * len(_REUSE)
    return {"fraction": reused, **dict(zip(_REUSE, at, strict=True))}


def _lru_hits(trace: Trace, objects: Indices) -> list[dict[str, float]]:
    if not len(objects):
        return []
    sizes = trace.size_bytes[rows_that(trace.op, "names_object")]
    largest = np.zeros(int(objects.max()) + 1, np.int64)  # logs often lack the sizes for some operations
    np.maximum.at(largest, objects, sizes)
    taken = middle(objects)
    return [asdict(each) for each in hit_ratios(taken, largest[taken])]


def _pauses(think_s: Floats) -> dict[str, float]:
    p50, p90 = np.quantile(think_s, [0.5, 0.9]).tolist()
    return {"mean": float(think_s.mean()), "p50": p50, "p90": p90}
