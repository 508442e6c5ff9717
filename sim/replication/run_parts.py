"""Consecutive parts of a run: what `sim.replication.steadiness` compares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traces.operations import OPS
from traces.run import Run
from traces.statistics.summary import QUANTILES, Floats, ops_of

PARTS = 64
"""Number of parts of equal time into which the requests of an operation are divided by their arrival."""
TAIL = "p99"
"""The quantile beyond which requests are counted."""


@dataclass(frozen=True)
class RunParts:
    """Successful requests of an operation in each part of a run; arrays have the shape (`PARTS`,).

    Attributes:
        span_s: time from the first arrival to the last.
        count: number of requests that arrive.
        response_s: sum of their response times.
        beyond: number of those beyond the run's own `TAIL` quantile.
        ended: number of requests that end in the part.
    """

    span_s: float
    count: Floats
    response_s: Floats
    beyond: Floats
    ended: Floats


def parts_of(run: Run) -> dict[str, RunParts]:
    """Return the parts of a Run by operation.

    Left out are operations with few successful requests, whose figures are marked as such, and those that all arrive at
    once.
    """
    found = {}
    for op in ops_of(run):
        mine = (run.op == OPS.index(op)) & ~run.failed
        if mine.sum() < PARTS:
            continue
        arrival_s, latency_s = run.column("arrival_s")[mine], run.latency_s[mine]
        first_s = float(arrival_s.min())
        span_s = float(arrival_s.max()) - first_s
        if span_s <= 0:
            continue
        # With the last arrival in the last part; requests that end later than it arrives are in none.
        edges_s = np.linspace(first_s, first_s + span_s, PARTS + 1)
        edges_s[-1] = max(edges_s[-1], arrival_s.max())
        ends_s = run.column("end_s")[mine]
        beyond = latency_s > np.quantile(latency_s, QUANTILES[TAIL])
        found[op] = RunParts(
            span_s,
            _sums(arrival_s, edges_s),
            _sums(arrival_s, edges_s, latency_s),
            _sums(arrival_s, edges_s, beyond.astype(np.float64)),
            _sums(ends_s, edges_s),
        )
    return found


def _sums(at_s: Floats, edges_s: Floats, weights: Floats | None = None) -> Floats:
    return np.histogram(at_s, edges_s, weights=weights)[0].astype(np.float64)
