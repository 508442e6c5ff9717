"""Detect closed loops: clients that wait for a response before they issue the next request."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.run import Run
from traces.statistics.burstiness import tick
from traces.workload.distributions import (
    Deterministic,
    Empirical,
    Exponential,
    Floats,
    Gamma,
    Hyperexponential,
    Lognormal,
    Shape,
)

_ROUNDING_S = 1e-9
_EXPECTED = 20.0  # minimum expected overlaps of clients that do not wait; with fewer, the loop is unknown; assumed
_SEEN = 0.02  # maximum fraction of those observed of clients that wait, to allow for clock errors; assumed
_SAME = 0.1  # clients come and go if on average more than this fraction of them is absent; assumed
_IDLE = 3.0  # coefficient of variation above which pauses are the idle times of a worker pool; assumed
_CRITICAL, _NEAR = 1.36, 0.02  # as in `traces.fitting.sizes`
_STEADY = 0.02  # coefficient of variation below which think times are constant; assumed
_TABLE = 33


@dataclass(frozen=True)
class Loop:
    """Clients and think times of a closed loop.

    Attributes:
        clients: number of concurrent clients.
        think_s: times between a response and the next request of the same client, seconds, ascending.
    """

    clients: int
    think_s: Floats


def find_loop(run: Run) -> Loop | None:
    """Detect a closed loop in the requests of a Run; return None if clients do not wait for responses.

    The evidence is the absence of overlaps: requests of a client never overlap, although requests at the same rate
    and at independent times would. If pauses are longer than responses and highly variable, the clients are workers
    of a pool that serves an open loop, and the pauses are its idle times.
    """
    origin = run.info.get("origin") or {}
    waited = origin.get("waiting_clients") is not None
    return loop_of_requests(run.column("client"), run.column("start_s"), run.column("end_s"), waited)


def loop_of_requests(client: NDArray[np.int32], start: Floats, end: Floats, known: bool = False) -> Loop | None:
    """Detect a closed loop in requests, as `find_loop` does.

    Args:
        client: client of each request, shape (requests,).
        start, end: of each request, seconds, shape (requests,).
        known: whether clients are known to wait, so that no number of missing overlaps is needed; only many overlaps
            contradict it.
    """
    order = np.lexsort((start, client))
    client, start, end = client[order], start[order], end[order]
    same = client[1:] == client[:-1]
    gap = (start[1:] - end[:-1])[same]
    if not len(gap):
        return None
    latency = (end - start)[:-1][same]
    first, last, count = _of_each(client, start, end)
    rate = np.repeat(count / np.maximum(last - first, 1e-9), count)[:-1][same]
    expected = float(-np.expm1(-rate * latency).sum())
    slack_s = max(tick(np.sort(end)), 1e-6)
    seen = int((gap < -slack_s).sum())
    if (expected < _EXPECTED and not known) or seen > _SEEN * max(expected, len(gap) if known else 0.0):
        return None
    pause = np.where(gap < _ROUNDING_S, 0.0, gap)
    if not known and pause.mean() > latency.mean() and pause.std() > _IDLE * pause.mean():
        return None
    at_a_time = float((last - first).sum() / (last.max() - first.min()))
    clients = len(first) if at_a_time > (1 - _SAME) * len(first) else max(round(at_a_time), 1)
    return Loop(clients, np.sort(pause))


def _of_each(client: NDArray[np.int32], start: Floats, end: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return first start, last end and number of requests of each client; rows must be sorted by client."""
    begin = np.concatenate([[0], np.flatnonzero(np.diff(client)) + 1])
    return np.minimum.reduceat(start, begin), np.maximum.reduceat(end, begin), np.diff([*begin, len(client)])


def fit_shape(ranked: Floats) -> Shape:
    """Return the simplest distribution, relative to the mean, that a Kolmogorov-Smirnov test does not reject.

    Args:
        ranked: durations, seconds, ascending, with a mean above 0.
    """
    mean = float(ranked.mean())
    cv = float(ranked.std()) / mean
    if cv < _STEADY:
        return Deterministic()
    sigma2 = float(np.log(np.maximum(ranked, mean * 1e-6)).var())
    shapes: list[Shape] = [Exponential(), Gamma(cv=_short(cv)), Lognormal(cv=_short(math.sqrt(math.expm1(sigma2))))]
    if cv > 1:
        shapes.append(Hyperexponential(cv=_short(cv)))
    u = (np.arange(len(ranked)) + 0.5) / len(ranked)
    limit = max(_CRITICAL / math.sqrt(len(ranked)), _NEAR)
    for shape in shapes:
        drawn = shape.quantile(u) * mean
        above = np.searchsorted(drawn, ranked, side="right") / len(ranked) - u
        if np.abs(above).max() < limit:
            return shape
    p = np.linspace(0, 1, _TABLE)
    values = np.quantile(ranked, p) / mean
    return Empirical(probabilities=tuple(p.tolist()), values=tuple(_short(v) for v in values.tolist()))


def _short(value: float) -> float:
    return float(f"{value:.4g}")
