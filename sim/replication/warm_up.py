"""Warm-up removal by MSER-5: how much of the beginning of a run to exclude from its statistics.

A run begins with an empty store (a measured one, with cold caches), so its initial behaviour is not that of the steady
state. MSER removes the number of leading samples for which the confidence interval of the mean of the others is
narrowest: with fewer, the transient widens it; with more, the smaller number of samples does. MSER-5 uses means of
batches of 5 (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6),
1997; Franklin and White, "Stationarity tests and MSER-5: exploring the intuition behind mean-squared-error-reduction in
detecting and correcting initialization bias", Winter Simulation Conference 2008).

It applies to runs that represent the steady state. A replayed day, whose beginning is part of the workload, has no
warm-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from traces.operations import OPS
from traces.run import Run
from traces.statistics.summary import Floats, latencies, ops_of

BATCH = 5
_FEWEST_BATCHES = 10  # with fewer, the last ones may agree by chance, and all others would count as warm-up


def warm_up(samples: Floats) -> int:
    """Return the number of leading samples that MSER-5 removes; 0 if there are fewer than 50 samples.

    As in White's paper, only the first half is searched: if the interval is narrowest in the second half, the run is
    too short to reach steady state. A result of half the samples hints at that.

    Args:
        samples: in order of time, shape (n,), finite.

    Returns:
        a multiple of 5, at most n / 2.
    """
    batches = len(samples) // BATCH
    if batches < _FEWEST_BATCHES:
        return 0
    means = samples[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    means -= np.median(means)  # sums of squares of a large offset would cancel badly
    candidates = batches // 2 + 1
    left = np.arange(batches, batches - candidates, -1)
    total = np.cumsum(means[::-1])[::-1][:candidates]
    squares = np.cumsum(means[::-1] ** 2)[::-1][:candidates]
    return BATCH * int(np.argmin(np.maximum(squares - total**2 / left, 0) / left**2))


def settling_times(runs: Sequence[Run]) -> dict[str, float]:
    """Return the warm-up time of each operation: the median of the times found by MSER-5 over the runs.

    MSER-5 uses the latencies of the operation's successful requests in order of arrival. Each operation has its own
    time, because a phase of reads settles after the phase of writes before it. A run truncated by its own samples loses
    busy periods of its first half that are not transient, and so part of its tail (p99 of M/M/1 at 80 %, 4000
    requests: 7 % too low); the median of several runs is less affected by chance.

    Returns:
        seconds from the operation's first arrival, by operation; an operation that never succeeded is absent.
    """
    cuts: dict[str, list[float]] = {}
    for run in runs:
        for name in ops_of(run):
            done_s = np.sort(_since_first_s(run, name)[(run.op == OPS.index(name)) & ~run.failed])
            if len(done_s):
                cuts.setdefault(name, []).append(float(done_s[warm_up(latencies(run, name))]))
    return {name: float(np.median(times)) for name, times in cuts.items()}


def settled(run: Run, settling_s: Mapping[str, float]) -> Run:
    """Return the Run without the requests, failed ones included, that arrived during the warm-up of their operation.

    Station figures remain those of the whole run. ``settled(run, settling_times([run]))`` truncates a single run by
    its own samples.

    Returns:
        a Run whose ``info["warm_up"]`` has what was removed: ``{"GET": {"requests", "settling_s"}, …}``.
    """
    keep, left_out = np.ones(len(run), bool), {}
    for name in ops_of(run):
        if name in settling_s:
            early = (run.op == OPS.index(name)) & (_since_first_s(run, name) < settling_s[name])
            keep &= ~early
            left_out[name] = {"requests": int(early.sum()), "settling_s": settling_s[name]}
    return replace(run, requests=run.requests.filter(keep), info=run.info | {"warm_up": left_out})


def _since_first_s(run: Run, op: str) -> Floats:
    """Return the arrival time of each request, relative to the operation's first."""
    arrival_s = run.column("arrival_s")
    since_s: Floats = arrival_s - arrival_s[run.op == OPS.index(op)].min()
    return since_s
