"""Warm-up removal by MSER-5: how much of a run's beginning to leave out of its statistics.

A run begins with an empty store (or, measured, with cold caches), and what it does at first is not what it does in the
long run. MSER leaves out as many leading samples as make the confidence interval of the mean of the others narrowest:
too few, and the transient widens it; too many, and it widens since there are fewer samples. MSER-5 does so with means
of batches of 5 (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6),
1997; Franklin and White, "Stationarity tests and MSER-5: exploring the intuition behind mean-squared-error-reduction in
detecting and correcting initialization bias", Winter Simulation Conference 2008).

It is for a run that stands for the long run. A replayed day, whose beginning is part of what is asked, has no warm-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from traces.run import Run
from traces.statistics.summary import Floats, latencies, ops_of
from traces.tables import OPS

BATCH = 5
_FEWEST_BATCHES = 10  # of fewer, the last few can agree by chance, and all before them would be called warm-up


def warm_up(samples: Floats) -> int:
    """How many of the first samples MSER-5 leaves out; 0 where there are fewer than 50.

    The search is restricted to the first half, as White does: a narrowest interval behind it means that the run is too
    short to have settled, and a result of half the samples hints at that.

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
    """How long each operation takes to settle: the median over the runs of where MSER-5 cuts each.

    MSER-5 looks at the latencies of the operation's successful requests in order of arrival; each operation has its
    own time, since a phase of reads settles after the phase of writes before it. One run cut where its own samples say
    loses busy spells of its first half that are no transient, and so part of its tail (p99 of M/M/1 at 80 %, 4000
    requests: 7 % short); the median of several runs does not follow the chance of one.

    Returns:
        seconds from the operation's first arrival on, by operation; one that never succeeded is absent.
    """
    cuts: dict[str, list[float]] = {}
    for run in runs:
        for name in ops_of(run):
            done_s = np.sort(_since_first_s(run, name)[(run.op == OPS.index(name)) & ~run.failed])
            if len(done_s):
                cuts.setdefault(name, []).append(float(done_s[warm_up(latencies(run, name))]))
    return {name: float(np.median(times)) for name, times in cuts.items()}


def settled(run: Run, settling_s: Mapping[str, float]) -> Run:
    """The Run without the requests that arrived before their operation had settled, failed ones among them.

    The stations' figures stay those of the whole run. ``settled(run, settling_times([run]))`` is a single run cut by
    its own samples.

    Returns:
        a Run whose ``info["warm_up"]`` says what was left out: ``{"GET": {"requests", "settling_s"}, …}``.
    """
    keep, left_out = np.ones(len(run), bool), {}
    for name in ops_of(run):
        if name in settling_s:
            early = (run.op == OPS.index(name)) & (_since_first_s(run, name) < settling_s[name])
            keep &= ~early
            left_out[name] = {"requests": int(early.sum()), "settling_s": settling_s[name]}
    return replace(run, requests=run.requests.filter(keep), info=run.info | {"warm_up": left_out})


def _since_first_s(run: Run, op: str) -> Floats:
    """Arrival of each request, counted from the operation's first."""
    arrival_s = run.column("arrival_s")
    since_s: Floats = arrival_s - arrival_s[run.op == OPS.index(op)].min()
    return since_s
