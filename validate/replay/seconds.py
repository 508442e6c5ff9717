"""Counts of a replay's requests by the second, for who watches it: cheap to make while the load is issued.

Counts are increments, so those of several client processes, and those of a second that come late, add up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from traces.operations import OPS
from traces.trace import Trace
from validate.replay.issue import Record

BINS_PER_E = 50
"""Bins of times per factor of e: a bin is 2 % wide, so that quantiles are within 1 %."""

_LEAST_S = 1e-6
_LONGEST_REASON, _MOST_REASONS, _OTHER = 120, 8, "other errors"


def bin_of(time_s: float) -> int:
    """Return the bin of a time in s; those below 1 µs are in the first one."""
    return math.floor(math.log(max(time_s, _LEAST_S)) * BINS_PER_E)


def quantile_s(bins: Mapping[int, int], fraction: float) -> float:
    """Return a quantile of times in s, at the middle of its bin; NaN: there are none."""
    wanted = fraction * sum(bins.values())
    for each in sorted(bins):
        wanted -= bins[each]
        if wanted <= 0:
            return math.exp((each + 0.5) / BINS_PER_E)
    return math.nan


@dataclass
class Second:
    """Counts of one second, or increments of them.

    Attributes:
        due: requests that an open loop intends to start in it.
        latency: successful requests that ended in it, by operation and bin of their latency since the intended start.
        failed: failed requests that ended in it, by operation.
        lag: requests that ended in it, by bin of how much later than intended they started.
        errors: failed requests by reason.
    """

    due: int = 0
    latency: dict[str, Counter[int]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    lag: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, other: Second) -> None:
        """Add the counts of another one."""
        self.due += other.due
        for op, bins in other.latency.items():
            self.latency.setdefault(op, Counter()).update(bins)
        self.failed.update(other.failed)
        self.lag.update(other.lag)
        for reason, count in other.errors.items():
            self.failed_for(reason, count)

    def failed_for(self, reason: str, count: int = 1) -> None:
        """Count failed requests of a reason; reasons are cut, and only the first few are kept apart."""
        reason = reason[:_LONGEST_REASON]
        self.errors[reason if reason in self.errors or len(self.errors) < _MOST_REASONS else _OTHER] += count

    @property
    def served(self) -> int:
        """The number of successful requests."""
        return sum(bins.total() for bins in self.latency.values())


Seconds = dict[int, Second]
"""Seconds by their number since the start of the loop."""


class SecondCounts:
    """Counts by the second of the requests that one process has issued.

    Args:
        op: operation of each row of the trace.
    """

    def __init__(self, op: Sequence[int]):
        self._op, self._open = op, Seconds()

    def add(self, records: Sequence[Record]) -> None:
        """Count requests that have ended."""
        for due, start_s, end_s, outcome in records:
            second = self._open.get(int(end_s))
            if second is None:
                second = self._open[int(end_s)] = Second()
            op = OPS[self._op[due.row]]
            second.lag[bin_of(start_s - due.at_s)] += 1
            if outcome.response.error is not None:
                second.failed[op] += 1
                second.failed_for(outcome.response.error)
                continue
            bins = second.latency.get(op)
            if bins is None:
                bins = second.latency[op] = Counter()
            bins[bin_of(end_s - due.at_s)] += 1

    def take(self) -> Seconds:
        """Return what was counted since the last time."""
        taken, self._open = self._open, {}
        return taken


class Seen(NamedTuple):
    """What is seen of a replay now.

    Attributes:
        now_s: time since the start of the loop.
        seconds: increments since the last time.
    """

    now_s: float
    seconds: Seconds


Watch = Callable[[Seen], None]
"""Called about once a second by the thread that waits for the load; it has to return at once."""


class Watching:
    """Hands over to a `Watch`, once a second, what all processes have counted.

    Args:
        trace: what is replayed, and at which speed.

    Attributes:
        counts: of the requests that this process issues.
    """

    def __init__(self, watch: Watch, trace: Trace, speed: float):
        self.counts = SecondCounts(trace.op.tolist())
        self._watch, self._new, self._next_s, self._due_to = watch, Seconds(), 1.0, 0
        open_loop = trace.pacing.loop == "open"
        self._due_s = np.sort(trace.arrival_s[: trace.issued]) / speed if open_loop else np.empty(0)

    def add(self, seconds: Seconds) -> None:
        """Add what a process has counted."""
        for number, second in seconds.items():
            if number in self._new:
                self._new[number].add(second)
            else:
                self._new[number] = second

    def poll(self, now_s: float, ended: bool = False) -> None:
        """Hand over if it is time for it, or if the loop has ended."""
        self.add(self.counts.take())
        if now_s < self._next_s and not ended:
            return
        self._next_s = math.floor(now_s) + 1.0
        last = math.ceil(now_s) if ended else math.floor(now_s)
        edges = np.searchsorted(self._due_s, np.arange(self._due_to, last + 1))
        for number, due in enumerate(np.diff(edges).tolist(), self._due_to):
            self.add({number: Second(due=due)})
        self._due_to = max(self._due_to, last)
        taken, self._new = self._new, Seconds()
        self._watch(Seen(now_s, taken))
