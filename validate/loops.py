"""Issuing requests by the clock, open or closed loop, by threads.

An open-loop request is issued when the trace says, whatever became of the earlier ones; when no worker is free it is
late, and as its latency counts from the intended start the delay shows (no coordinated omission).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from traces.trace import Pacing, Trace
from validate.machine import sharpen_timer
from validate.s3 import Answer

_COARSE_S = 0.02  # a longer sleep listens to the stop signal until this much is left
_POLL_S = 0.1
_THREAD_WAKES_S = 1e-4


class Due(NamedTuple):
    """A request that a worker took to issue at `at_s`, seconds since the loop began."""

    number: int
    row: int
    client: int
    at_s: float


class Record(NamedTuple):
    """A request that was issued; times, also the answer's, in seconds since the loop began."""

    due: Due
    start_s: float
    end_s: float
    answer: Answer


class Loop(Protocol):
    """Decides who issues what when."""

    workers: int

    def take(self, worker: int, free_s: float) -> Due | None:
        """The next request for a worker that is free since `free_s`; None when there is no more for it."""

    def done(self) -> None:
        """A request that was taken is over."""


class Clock:
    """Seconds since a loop began, and sleeping until a time of it unless it is stopped."""

    def __init__(self) -> None:
        self.zero_s = time.perf_counter()
        self.stopped = threading.Event()

    def now(self) -> float:
        return time.perf_counter() - self.zero_s

    def sleep_until(self, at_s: float) -> bool:
        """Whether `at_s` has come; False when the loop was stopped before."""
        while (left_s := at_s - self.now()) > 0:
            if left_s <= _COARSE_S:
                time.sleep(left_s)
            elif self.stopped.wait(left_s - _COARSE_S):
                return False
        return not self.stopped.is_set()


class OpenLoop:
    """Rows in order, each at its arrival time; an idle worker takes the next row and sleeps until it is due."""

    def __init__(self, trace: Trace, speed: float, max_in_flight: int):
        self._at_s = (trace.arrival_s[: trace.issued] / speed).tolist()
        self._client = trace.table.column("client").fill_null(-1).to_pylist()
        self._lock, self._next = threading.Lock(), 0
        self.workers = min(max_in_flight, len(self._at_s))

    def take(self, worker: int, free_s: float) -> Due | None:
        with self._lock:
            row = self._next
            self._next += 1
        return Due(row, row, self._client[row], self._at_s[row]) if row < len(self._at_s) else None

    def done(self) -> None:
        """Nothing waits for a request to be over."""


class ClosedLoop:
    """Clients that take the rows in order, each as soon as it is done with its last and has paused.

    A client that finds the next row in a later phase waits until no request is outstanding; then the phase begins and
    the waiting clients start staggered again. Where rows repeat, each round's phases after the last's.
    """

    def __init__(self, trace: Trace, clock: Clock):
        self.pacing: Pacing = trace.pacing
        self.workers = trace.pacing.clients
        self._clock = clock
        self._think_s, self._phase_of = trace.think_s.tolist(), trace.phase.tolist()
        self._turn = threading.Condition()
        self._next = self._outstanding = 0
        self._phase = (0, self._phase_of[0])
        self._phase_began_s = 0.0

    def take(self, worker: int, free_s: float) -> Due | None:
        free_s = max(free_s, worker * self.pacing.stagger_s)
        if not self._clock.sleep_until(free_s):
            return None
        limit_s = self.pacing.duration_s
        with self._turn:
            while limit_s is None or free_s < limit_s:
                lap, row = divmod(self._next, len(self._phase_of))
                if lap and not self.pacing.repeat:
                    return None
                phase = (lap if self._phase_of[-1] else 0, self._phase_of[row])
                if phase == self._phase:
                    due = Due(self._next, row, worker, free_s + self._think_s[row])
                    if limit_s is not None and due.at_s >= limit_s:
                        return None
                    self._next += 1
                    self._outstanding += 1
                    return due
                free_s = self._await(phase) + worker * self.pacing.stagger_s
                self._turn.release()
                try:
                    if not self._clock.sleep_until(free_s):
                        return None
                finally:
                    self._turn.acquire()
        return None

    def _await(self, phase: tuple[int, int]) -> float:
        """Wait for a phase to begin, or begin it when nothing is outstanding; when it began."""
        while self._phase < phase and not self._clock.stopped.is_set():
            if self._outstanding == 0:
                self._phase, self._phase_began_s = phase, self._clock.now()
                self._turn.notify_all()
            else:
                self._turn.wait(_POLL_S)
        return self._phase_began_s

    def done(self) -> None:
        with self._turn:
            self._outstanding -= 1
            if self._outstanding == 0:
                self._turn.notify_all()


def drive(
    loop: Loop, clock: Clock, issue: Callable[[int], Answer], progress: Callable[[int, float], None]
) -> tuple[list[Record], bool]:
    """Run a loop to its end in threads of its own; an interrupt (Ctrl-C) stops issuing and waits for what is under way.

    Args:
        issue: does the request of a row.
        progress: called now and then with the requests done and the seconds since the loop began.

    Returns:
        The requests in the order they were taken, and whether the loop was interrupted.
    """
    records: list[Record] = []
    failures: list[Exception] = []
    begin = threading.Event()

    def work(worker: int) -> None:
        try:
            issue_all(worker)
        except Exception as error:
            failures.append(error)
            clock.stopped.set()

    def issue_all(worker: int) -> None:
        sharpen_timer()
        begin.wait()
        free_s = 0.0
        while (due := loop.take(worker, free_s)) is not None:
            if not clock.sleep_until(due.at_s):
                return
            start_s = clock.now()
            answer = issue(due.row)
            free_s = clock.now()
            answer = answer._replace(first_byte_s=answer.first_byte_s - clock.zero_s)
            records.append(Record(due, start_s, free_s, answer))
            loop.done()

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(loop.workers)]
    for thread in threads:
        thread.start()
    clock.zero_s = time.perf_counter() + _POLL_S + loop.workers * _THREAD_WAKES_S
    begin.set()
    interrupted = False
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(_POLL_S)
                progress(len(records), clock.now())
    except KeyboardInterrupt:
        interrupted = True
        clock.stopped.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return sorted(records, key=lambda record: record.due.number), interrupted
