"""What is known of a replay so far, by the second, and in windows for figures."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from traces.trace import Trace
from validate.replay.seconds import Second, Seconds, Seen

RECENT_S = 10
"""Length in s of the window that stands for now."""

_LATEST_S = 0.5  # a second is complete this long after its end: by then, all processes have handed over
_WIDTHS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)
_MOST_POINTS, _LEAST_POINTS, _ENOUGH = 120, 6, 100  # of a figure; and requests of a window that has a p99


@dataclass(frozen=True)
class Subject:
    """What is replayed, and where.

    Attributes:
        title: names the trace.
        target: endpoint or mount.
        open_loop: whether requests are due at times of their own.
        length_s: how long it intends to take; None: it ends with its requests.
        requests: their number; of a loop that repeats, those of a round.
    """

    title: str
    target: str
    open_loop: bool
    length_s: float | None
    requests: int

    @staticmethod
    def of(trace: Trace, speed: float, title: str, target: str) -> Subject:
        """Describe a trace that is replayed at a speed."""
        pacing, issued = trace.pacing, trace.issued
        open_loop = pacing.loop == "open"
        length_s = float(trace.arrival_s[:issued].max(initial=0)) / speed if open_loop else pacing.duration_s
        return Subject(title, target, open_loop, length_s, issued)


class Window(NamedTuple):
    """Counts of several seconds.

    Attributes:
        begin_s, span_s: since the start of the loop, and length.
        counts: their sum.
    """

    begin_s: float
    span_s: float
    counts: Second


class History:
    """The seconds of a replay until now.

    Attributes:
        now_s: time since the start of the loop.
        whole: counts of all seconds.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.now_s, self.whole = 0.0, Second()
        self._seconds = Seconds()

    def add(self, seen: Seen) -> None:
        """Add increments."""
        self.now_s = max(self.now_s, seen.now_s)
        for number, second in seen.seconds.items():
            self._seconds.setdefault(number, Second()).add(second)
            self.whole.add(second)

    def recent(self) -> Window | None:
        """Return the last complete seconds, at most `RECENT_S`; None: there are none yet."""
        end = self._complete()
        begin = max(0, end - RECENT_S)
        return None if end == begin else self._window(begin, end)

    def latest(self, most: int) -> list[Window]:
        """Return the last complete seconds, each as a window."""
        end = self._complete()
        return [self._window(number, number + 1) for number in range(max(0, end - most), end)]

    def windows(self) -> list[Window]:
        """Return windows of the same length, with enough requests for a p99 if the replay has been long enough."""
        end = self._complete()
        counts = [count for count in served(self.whole).values() if count]
        for width in _WIDTHS_S:
            points = end / width
            enough = not counts or min(counts) / max(points, 1) >= _ENOUGH or points < 2 * _LEAST_POINTS
            if points <= _MOST_POINTS and enough:
                break
        return [self._window(begin, begin + width) for begin in range(0, end - width + 1, width)]

    def _complete(self) -> int:
        return max(0, math.floor(self.now_s - _LATEST_S))

    def _window(self, begin: int, end: int) -> Window:
        found = [second for number in range(begin, end) if (second := self._seconds.get(number)) is not None]
        return Window(begin, end - begin, total(found))


def total(seconds: Sequence[Second]) -> Second:
    """Return the sum of counts."""

    def add(into: Second, other: Second) -> Second:
        into.add(other)
        return into

    return reduce(add, seconds, Second())


def served(counts: Second) -> dict[str, int]:
    """Return the number of successful requests of each operation."""
    return {op: bins.total() for op, bins in counts.latency.items()}


def line_of(seen: Seen) -> str:
    """Return what was seen as a line of JSON."""
    return json.dumps({"now_s": seen.now_s, "seconds": {number: vars(each) for number, each in seen.seconds.items()}})


def seen_of(fields: Any) -> Seen:
    """Return what a line of JSON has, the inverse of `line_of`."""
    return Seen(fields["now_s"], {int(number): _second(each) for number, each in fields["seconds"].items()})


def _second(fields: Any) -> Second:
    latency = {op: _bins(bins) for op, bins in fields["latency"].items()}
    return Second(fields["due"], latency, Counter(fields["failed"]), _bins(fields["lag"]), Counter(fields["errors"]))


def _bins(counts: dict[str, int]) -> Counter[int]:
    return Counter({int(number): count for number, count in counts.items()})
