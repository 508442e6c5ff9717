"""A run with a failure, divided into the requests before, during and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sim.replication.summaries import EngineWork, Replication, Replications
from sim.verdict.offered_load import OfferedLoad, load_of
from traces.errors import InputError
from traces.run import Run, StationRow
from traces.statistics.summary import QUANTILES, Floats, in_order, quantiles, subjects_of
from traces.workload.workload import Workload

WINDOWS = ("before", "during", "after")
_BINS, _FEWEST_BINS = 60, 6  # of all windows together, and at least of each
_DRAWN = ("p50", "p99")
_ROUNDING = 1e-9  # a window shorter than this fraction of the run is empty


@dataclass(frozen=True)
class Times:
    """Beginning and end of a failure, and the time when the last request is issued."""

    at_s: float
    until_s: float
    end_s: float

    @staticmethod
    def of(workload: Workload, at_s: float | None = None, for_s: float | None = None) -> Times:
        """Return the times of a failure that begins at `at_s` and lasts `for_s` (default: three equal windows).

        Raises:
            InputError: the duration of the workload is unknown, or the times are out of range.
        """
        end_s = _length_s(workload)
        if at_s is None:
            at_s = end_s / 3 if for_s is None else max(end_s - for_s, 0.0) / 2
        if not 0 < at_s < end_s:
            raise InputError(
                f"the failure begins at {at_s:g} s; it must be above 0 and below {end_s:g} s, the workload's duration"
            )
        if for_s is None:
            for_s = (end_s - at_s) / 2
        if not for_s > 0:
            raise InputError(f"the failure lasts {for_s:g} s; it must be above 0")
        return Times(at_s, at_s + for_s, end_s)

    @property
    def windows(self) -> dict[str, tuple[float, float]]:
        """Beginning and end of each window that is not empty."""
        over_s = self.end_s if self.until_s > self.end_s * (1 - _ROUNDING) else self.until_s
        edges = [0.0, self.at_s, over_s, self.end_s]
        spans = zip(WINDOWS, edges, edges[1:], strict=False)
        return {name: (start, end) for name, start, end in spans if end > start}

    @property
    def edges_s(self) -> Floats:
        """The edges of the bins of a timeline; no bin spans two windows."""
        parts = [np.zeros(1)]
        for start, end in self.windows.values():
            count = max(_FEWEST_BINS, round(_BINS * (end - start) / self.end_s))
            parts.append(np.linspace(start, end, count + 1)[1:])
        return np.concatenate(parts)


def _length_s(workload: Workload) -> float:
    if workload.operations is not None and workload.rate is None:
        raise InputError(
            "workload.operations: the duration of a closed loop with a number of operations is unknown; for a failure, "
            "set workload.duration instead (and workload.operations=null)"
        )
    lengths = [workload.duration] if workload.duration is not None else []
    if workload.operations is not None and workload.rate is not None:
        lengths.append(workload.operations / workload.rate)
    return min(lengths)


@dataclass(frozen=True)
class Counts:
    """Requests of an operation in each bin: successes by intended start and by end, failures by intended start.

    All of shape (bins,).
    """

    begun: NDArray[np.int64]
    ended: NDArray[np.int64]
    failed: NDArray[np.int64]


@dataclass(frozen=True)
class WindowedRun:
    """A run by windows.

    Attributes:
        windows: the requests that arrived in each window; throughput counts those that ended in it.
        counts: by operation.
        engine: its cost.
        load: what was offered to the whole run; None: not determined.
        stations: rows of its station table.
    """

    windows: dict[str, Replication]
    counts: dict[str, Counts]
    engine: EngineWork
    load: OfferedLoad | None
    stations: list[StationRow]


def windowed(run: Run, seed: int, times: Times) -> WindowedRun:
    """Divide the Run with this seed into windows."""
    windows, last = times.windows, list(times.windows)[-1]
    kept = {
        name: _window(run, seed, start, end, to_the_last=name == last) for name, (start, end) in windows.items()
    }  # fmt: skip
    engine = EngineWork(**run.info["engine"])
    return WindowedRun(kept, _counts(run, times.edges_s), engine, load_of(run), run.station_rows)


def _window(run: Run, seed: int, start_s: float, end_s: float, to_the_last: bool) -> Replication:
    arrival, end = run.column("arrival_s"), run.column("end_s")
    arrived = (arrival >= start_s) & (to_the_last | (arrival < end_s))
    ended = (end >= start_s) & (end < end_s) & ~run.failed
    kept = Replication.of(replace(run, requests=run.requests.filter(arrived), stations=None), seed)
    for op, figures in kept.summary["ops"].items():
        mine = ended & (run.has(op))
        figures["throughput_ops"] = float(mine.sum()) / (end_s - start_s)
        figures["throughput_bytes"] = float(run.column("transfer_bytes")[mine].sum()) / (end_s - start_s)
    return kept


def _counts(run: Run, edges_s: Floats) -> dict[str, Counts]:
    bins = len(edges_s) - 1
    begun, ended = (np.searchsorted(edges_s, run.column(name), side="right") - 1 for name in ("arrival_s", "end_s"))
    begun = np.minimum(begun, bins - 1)  # late requests belong to the last bin, as they belong to the last window

    def count(of: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(of[chosen], minlength=bins)[:bins]

    result = {}
    for op in subjects_of(run):
        mine = run.has(op)
        done = mine & ~run.failed
        result[op] = Counts(count(begun, done), count(ended, done), count(begun, mine & run.failed))
    return result


def replications(runs: Sequence[WindowedRun], window: str) -> Replications:
    """Return one window of several runs."""
    return Replications(tuple(run.windows[window] for run in runs))


@dataclass(frozen=True)
class OpTimeline:
    """Successes and failures per second (means over the runs) and quantiles of latencies in seconds, by bin."""

    throughput_ops: list[float]
    errors_ops: list[float]
    p50: list[float]
    p99: list[float]


@dataclass(frozen=True)
class FailureTimeline:
    """Figures over time of each operation, with the failure and without; a value for each bin.

    Attributes:
        start_s, end_s: edges of the bins.
    """

    start_s: list[float]
    end_s: list[float]
    failing: dict[str, OpTimeline]
    healthy: dict[str, OpTimeline]

    @staticmethod
    def of(failing: Sequence[WindowedRun], healthy: Sequence[WindowedRun], times: Times) -> FailureTimeline:
        """Return the timeline of runs with a failure, and of the same runs without it."""
        start_s, end_s = times.edges_s[:-1].tolist(), times.edges_s[1:].tolist()
        return FailureTimeline(start_s, end_s, _timeline(failing, times), _timeline(healthy, times))


def _timeline(runs: Sequence[WindowedRun], times: Times) -> dict[str, OpTimeline]:
    """Return the figures of each operation by bin, with the quantiles of the merged samples of all runs."""
    width_s = np.diff(times.edges_s) * len(runs)
    result = {}
    for op in in_order(op for run in runs for op in run.counts):
        mine = [run for run in runs if op in run.counts]
        parts: list[list[Floats]] = [[] for _ in width_s]
        for run in mine:
            samples = np.concatenate([window.latency_s.get(op, np.empty(0)) for window in run.windows.values()])
            for part, own in zip(parts, np.split(samples, np.cumsum(run.counts[op].begun)[:-1]), strict=True):
                part.append(own)
        drawn = np.array([quantiles(np.concatenate(part), [QUANTILES[name] for name in _DRAWN]) for part in parts])
        result[op] = OpTimeline(
            (np.sum([run.counts[op].ended for run in mine], axis=0) / width_s).tolist(),
            (np.sum([run.counts[op].failed for run in mine], axis=0) / width_s).tolist(),
            *drawn.T.tolist(),
        )
    return result
