"""What a Trace is like in its grain: bursts at each time scale, popularity, reuse, workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from traces.fitting.workload import loop_of
from traces.run import Run
from traces.statistics.burstiness import Floats, dispersion
from traces.statistics.describe import describe
from traces.statistics.popularity import fit_zipf, objects_of
from traces.statistics.reuse_distance import MOST, reuse_distances
from traces.tables import OPS
from traces.trace import Trace

_REUSE = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def texture(trace: Trace, run: Run | None = None, window_s: Floats | None = None) -> dict[str, Any]:
    """The figures of a trace that take a moment to reckon, ready for JSON; None where a figure has no meaning.

    Args:
        trace: what was asked.
        run: what happened then; of one read from a log, it may show workers.
        window_s: lengths of the windows for ``dispersion``; those that suit unless given.

    Returns:
        ``dispersion``: of an open loop, for each window length ``window_s``, arrivals a window (``mean``) and the
        index of dispersion (``idc``, see `traces.statistics.burstiness`).
        ``popularity``: of the objects that each operation names, the Zipf law that fits
        (`popularity.fit_zipf`): ``count`` of objects, ``exponent``, and ``one_hit``, the share of requests
        apart from it.
        ``reuse``: ``share`` of the requests that name an object again, and quantiles of their reuse distance
        (`traces.statistics.reuse_distance`).
        ``workers``: where each waits for its answer: ``clients``, and ``mean``, ``p50``, ``p90`` of ``think_s``.
    """
    objects = objects_of(trace)
    loop = loop_of(trace, run)
    is_open = loop is None and trace.pacing.loop == "open" and len(trace) > 1
    return {
        "dispersion": _dispersion(trace.arrival_s, window_s) if is_open else [],
        "popularity": _popularity(trace),
        "reuse": _reuse(objects) if len(objects) else None,
        "workers": None
        if loop is None or not len(trace)
        else {"clients": loop.clients, "think_s": _pauses(loop.think_s)},
    }


def figures(trace: Trace, run: Run | None = None, window_s: Floats | None = None) -> dict[str, Any]:
    """All figures of a trace: those of `traces.statistics.describe.describe` and of `texture`."""
    return {**describe(trace), **texture(trace, run, window_s)}


def _dispersion(arrival_s: Floats, window_s: Floats | None) -> list[dict[str, float]]:
    span_s = arrival_s[-1] - arrival_s[0]
    counts = dispersion(arrival_s, None if window_s is None else window_s[window_s < span_s / 2])
    rows = zip(counts.window_s.tolist(), counts.mean.tolist(), counts.idc.tolist(), strict=True)
    return [{"window_s": length, "mean": mean, "idc": idc} for length, mean, idc in rows]


def _popularity(trace: Trace) -> dict[str, Any]:
    rows = {op: trace.op == i for i, op in enumerate(OPS) if op != "LIST" and (trace.op == i).any()}
    laws = {op: fit_zipf(np.unique(objects_of(trace, own), return_counts=True)[1]) for op, own in rows.items()}
    return {op: {"count": law.count, "exponent": law.exponent, "one_hit": law.one_hit} for op, law in laws.items()}


def _reuse(objects: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, Any]:
    first = max((len(objects) - MOST) // 2, 0)
    distances = reuse_distances(objects[first : first + MOST])
    share = len(distances) / min(len(objects), MOST)
    at = np.quantile(distances, list(_REUSE.values())).tolist() if len(distances) else [None] * len(_REUSE)
    return {"share": share, **dict(zip(_REUSE, at, strict=True))}


def _pauses(think_s: Floats) -> dict[str, float]:
    p50, p90 = np.quantile(think_s, [0.5, 0.9]).tolist()
    return {"mean": float(think_s.mean()), "p50": p50, "p90": p90}
