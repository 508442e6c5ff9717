"""Counts the results of requests as these end, so that the requests need not be kept.

Counts, errors, bytes, rates, means and extremes are exact. Quantiles are those of a sketch
(`traces/statistics/latency_sketch.py`). What the verdict and the check for steadiness need is counted in `TIMES` equal
times of the run: between half of them and all, as their length doubles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests
from sim.engine.outcome import Failure, RequestOutcomes
from sim.run_tables import TraceRows
from sim.tally.course import Course
from traces.operations import OPS
from traces.statistics.latency_sketch import BINS, LatencySketch, bins_of
from traces.statistics.spans import TimeWindow
from traces.statistics.summary import Floats
from traces.trace import Trace

TIMES = 8192
"""Number of equal times in which requests are counted."""
_LONG_TIMES = 512  # those in which latencies are counted by their sizes
_COARSE = 4  # bins of the sketch that are one there

Counted = Literal["arrived", "failed", "done", "response", "ended"]
"""Requests by arrival: all, failed, successful, and the sum of the response times of these; those by their end."""


@dataclass
class OpTally:
    """What is known of the requests of an operation.

    Attributes:
        count, errors, attempts: numbers of requests, of those that failed, and of attempts.
        moved_bytes: of successful requests.
        first_s, last_s: first arrival and last end.
        last_arrival_s: last arrival.
        first_done_s, last_done_s: first and last arrival of successful requests.
        latencies: of successful requests.
    """

    count: int = 0
    errors: int = 0
    attempts: int = 0
    moved_bytes: int = 0
    first_s: float = math.inf
    last_s: float = -math.inf
    last_arrival_s: float = -math.inf
    first_done_s: float = math.inf
    last_done_s: float = -math.inf
    latencies: LatencySketch = field(default_factory=LatencySketch)

    @property
    def window(self) -> TimeWindow:
        """First arrival, last end and number."""
        return self.first_s, self.last_s, self.count


@dataclass(frozen=True)
class _Rows:
    """Some requests that ended, a row each."""

    arrival_s: Floats
    end_s: Floats
    failed: NDArray[np.bool_]
    attempts: NDArray[np.int16]
    moved_bytes: NDArray[np.int64]

    def of(self, rows: NDArray[np.int64]) -> _Rows:
        return _Rows(*(values[rows] for values in vars(self).values()))


class Tally:
    """Takes the results of requests, and counts those that ended."""

    def __init__(self, trace: Trace, requests: Requests):
        self.trace, self._row_of = trace, TraceRows(requests)
        self.ops: dict[str, OpTally] = {}
        self._course, self._latencies = Course(TIMES), Course(_LONG_TIMES, -(-BINS // _COARSE))
        self._groups = trace.groups

    def __call__(self, chunk: RequestOutcomes) -> None:
        """Count the results of the next requests."""
        ended = np.flatnonzero(chunk.ended)
        trace_row = self._row_of(chunk.client)[ended]
        client, start_s = chunk.client[ended], chunk.start_s[ended]
        rows = _Rows(
            np.where(client < 0, self.trace.arrival_s[trace_row], start_s),
            chunk.end_s[ended],
            chunk.failure[ended] != Failure.NONE,
            chunk.attempts[ended],
            self.trace.transfer_bytes[trace_row],
        )
        self._course.add("ended", rows.end_s)
        for subject, mine in self._subjects(trace_row):
            self._count(subject, rows.of(mine))

    def _subjects(self, trace_row: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield the operations and those of each group of clients, and which of the rows are theirs."""
        op = self.trace.op[trace_row]
        found = {OPS[k]: np.flatnonzero(op == k) for k in np.flatnonzero(np.bincount(op, minlength=len(OPS))).tolist()}
        yield from found.items()
        if self._groups:
            group = self.trace.group[trace_row]
            for number, name in enumerate(self._groups):
                for one, mine in found.items():
                    theirs = mine[group[mine] == number]
                    if len(theirs):
                        yield f"{name}.{one}", theirs

    def _count(self, subject: str, rows: _Rows) -> None:
        tally = self.ops.setdefault(subject, OpTally())
        tally.count += len(rows.end_s)
        tally.attempts += int(rows.attempts.sum(dtype=np.int64))
        tally.first_s = min(tally.first_s, float(rows.arrival_s.min()))
        tally.last_s = max(tally.last_s, float(rows.end_s.max()))
        tally.last_arrival_s = max(tally.last_arrival_s, float(rows.arrival_s.max()))
        self._course.add(("arrived", subject), rows.arrival_s)
        if rows.failed.any():
            tally.errors += int(rows.failed.sum())
            self._course.add(("failed", subject), rows.arrival_s[rows.failed])
            rows = rows.of(np.flatnonzero(~rows.failed))
        if not len(rows.end_s):
            return
        latency_s = rows.end_s - rows.arrival_s
        tally.moved_bytes += int(rows.moved_bytes.sum())
        tally.first_done_s = min(tally.first_done_s, float(rows.arrival_s.min()))
        tally.last_done_s = max(tally.last_done_s, float(rows.arrival_s.max()))
        tally.latencies.add(latency_s)
        self._course.add(("response", subject), rows.arrival_s, latency_s)
        self._course.add(("ended", subject), rows.end_s)
        self._latencies.add(subject, rows.arrival_s, column=bins_of(latency_s) // _COARSE)

    def between(self, counted: Counted, subject: str, edges_s: Floats) -> Floats:
        """Return the requests of an operation that are counted between ascending times in s, shape (edges - 1,)."""
        if counted == "done":
            done: Floats = self.between("arrived", subject, edges_s) - self.between("failed", subject, edges_s)
            return done
        return self._course.between((counted, subject), edges_s)

    def ended_between(self, edges_s: Floats) -> Floats:
        """Return the requests that end between ascending times in s, shape (edges - 1,)."""
        return self._course.between("ended", edges_s)

    def edges_s(self, last_s: float) -> Floats:
        """Return the ends of the equal times up to a time in s, from 0, shape (edges,)."""
        return np.arange(math.ceil(last_s / self._course.each_s) + 1, dtype=np.float64) * self._course.each_s

    def beyond(self, subject: str, fraction: float, edges_s: Floats) -> Floats:
        """Return the slowest requests by arrival between ascending times in s, about a fraction of all."""
        sums = self._latencies.sums(subject)
        longer = np.cumsum(sums.sum(axis=0)[::-1])[::-1]
        limit = int(np.argmin(np.abs(longer - fraction * longer[0])))
        before: Floats = np.concatenate([[0.0], np.cumsum(sums[:, limit:].sum(axis=1))])
        found: Floats = np.diff(np.interp(edges_s / self._latencies.each_s, np.arange(len(before)), before))
        return found
