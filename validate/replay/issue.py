"""Issues requests in an open or closed loop with threads; several processes may share one loop.

An open-loop request is issued at its time in the trace, independently of earlier ones. It is late if no worker is free;
its latency counts from the intended start and includes the delay (no coordinated omission).
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.context import BaseContext
from typing import Any, NamedTuple, Protocol

from traces.trace import Pacing, Trace
from validate.compare.machine import sharpen_timer
from validate.replay.attempts import RequestOutcome
from validate.replay.thread_group import POLL_S, ThreadGroup
from validate.s3.account import Response

_COARSE_S = 0.02  # a longer sleep can be stopped until this much is left
_THREAD_WAKES_S = 1e-4


class TracePart(NamedTuple):
    """The part of a loop that one process issues: every `of`-th row or client, starting with `number`."""

    number: int = 0
    of: int = 1

    def count(self, total: int) -> int:
        """Return how many of `total` rows or clients are in this part."""
        return len(range(self.number, total, self.of))


class Due(NamedTuple):
    """A request taken by a worker, to be issued `at_s` seconds after the start of the loop."""

    number: int
    row: int
    client: int
    at_s: float


class Record(NamedTuple):
    """An issued request; all times are in seconds since the start of the loop."""

    due: Due
    start_s: float
    end_s: float
    outcome: RequestOutcome


class Loop(Protocol):
    """Decides which worker issues which request, and when."""

    workers: int

    def take(self, worker: int, free_s: float) -> Due | None:
        """Return the next request for a worker that has been free since `free_s`; None if there is no more."""


class LoopClock:
    """The clock of a loop: seconds since its start, and sleep that ends when the loop is stopped.

    Attributes:
        zero_s: start of the loop by `time.perf_counter`, which is the same in all processes of a machine.
        cpu_zero_s: CPU seconds of this process before its first request.
    """

    def __init__(self) -> None:
        self.zero_s, self.cpu_zero_s = time.perf_counter(), time.process_time()
        self._begun = False
        self.stopped = threading.Event()

    def now(self) -> float:
        return time.perf_counter() - self.zero_s

    def issuing(self) -> None:
        """Note that a request is about to be issued."""
        if not self._begun:
            self._begun, self.cpu_zero_s = True, time.process_time()

    def sleep_until(self, at_s: float) -> bool:
        """Sleep until `at_s`; return False if the loop was stopped before."""
        while (left_s := at_s - self.now()) > 0:
            if left_s <= _COARSE_S:
                time.sleep(left_s)
            elif self.stopped.wait(left_s - _COARSE_S):
                return False
        return not self.stopped.is_set()


def beginning(workers: int) -> float:
    """Return the start time of a loop (by `time.perf_counter`) at which all its threads are awake."""
    return time.perf_counter() + POLL_S + workers * _THREAD_WAKES_S


class _LeaderLock:
    """The lock of the leader in the leader/followers pattern; the follower that came last becomes leader first."""

    def __init__(self) -> None:
        self._lock, self._held = threading.Lock(), False
        self._waiting: list[threading.Lock] = []

    def __enter__(self) -> None:
        with self._lock:
            if not self._held:
                self._held = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.pop().release()
            else:
                self._held = False


class OpenLoop:
    """An open loop: rows in order, each at its arrival time; one idle worker (the leader) sleeps until the next is due.

    The next leader is the worker that became idle last, so that only as many workers are used as the load needs. A PUT
    of 4 KiB took 0.77 ms of the client's CPU when 256 threads were used in turn, and 0.52 ms with 8 threads (measured).
    """

    def __init__(self, trace: Trace, clock: LoopClock, speed: float, max_in_flight: int, part: TracePart = TracePart()):  # noqa: B008
        self._at_s = (trace.arrival_s[: trace.issued] / speed).tolist()
        self._client = trace.table.column("client").fill_null(-1).to_pylist()
        self._clock, self._part, self._leader, self._next = clock, part, _LeaderLock(), part.number
        self.workers = min(part.count(max_in_flight), part.count(len(self._at_s)))

    def take(self, worker: int, free_s: float) -> Due | None:
        with self._leader:
            row = self._next
            if row >= len(self._at_s) or not self._clock.sleep_until(self._at_s[row]):
                return None
            self._next += self._part.of
            return Due(row, row, self._client[row], self._at_s[row])


class _Place(ctypes.Structure):
    _fields_ = (
        ("next", ctypes.c_longlong),
        ("outstanding", ctypes.c_longlong),
        ("lap", ctypes.c_longlong),
        ("phase", ctypes.c_longlong),
        ("phase_began_s", ctypes.c_double),
    )


class LoopState:
    """The state of a closed loop, shared by its clients: the next row, the requests outstanding, the phase.

    Args:
        context: the multiprocessing context, if the clients are in several processes.
    """

    def __init__(self, trace: Trace, context: BaseContext | None = None):
        self.changed: Any = threading.Condition() if context is None else context.Condition()
        self.place: Any = _Place() if context is None else context.RawValue(_Place)
        self.place.phase = int(trace.phase[0])


class ClosedLoop:
    """A closed loop: clients take the rows in order, each when its last request has finished and after its think time.

    If the next row is in a later phase, the client waits until no request is outstanding; then the phase begins, and
    the waiting clients start staggered again. If rows repeat, the phases of each round follow those of the last one.
    """

    def __init__(self, trace: Trace, clock: LoopClock, state: LoopState, part: TracePart = TracePart()):  # noqa: B008
        self.pacing: Pacing = trace.pacing
        self.workers = part.count(trace.pacing.clients)
        self._clock, self._part, self._changed, self._place = clock, part, state.changed, state.place
        self._holds = [False] * self.workers
        self._think_s, self._phase_of = trace.think_s.tolist(), trace.phase.tolist()

    def take(self, worker: int, free_s: float) -> Due | None:
        client = self._part.number + worker * self._part.of
        free_s = max(free_s, client * self.pacing.stagger_s)
        if not self._clock.sleep_until(free_s):
            return None
        limit_s = self.pacing.duration_s
        with self._changed:
            # Only here, not when the request finished: otherwise, the phase could begin without this client.
            self._place.outstanding -= self._holds[worker]
            self._holds[worker] = False
            if not self._place.outstanding:
                self._changed.notify_all()
            while limit_s is None or free_s < limit_s:
                lap, row = divmod(self._place.next, len(self._phase_of))
                if lap and not self.pacing.repeat:
                    return None
                phase = (lap if self._phase_of[-1] else 0, self._phase_of[row])
                if phase == self._phase():
                    due = Due(self._place.next, row, client, free_s + self._think_s[row])
                    if limit_s is not None and due.at_s >= limit_s:
                        return None
                    self._place.next += 1
                    self._place.outstanding += 1
                    self._holds[worker] = True
                    return due
                free_s = self._await(phase) + client * self.pacing.stagger_s
                self._changed.release()
                try:
                    if not self._clock.sleep_until(free_s):
                        return None
                finally:
                    self._changed.acquire()
        return None

    def _phase(self) -> tuple[int, int]:
        return self._place.lap, self._place.phase

    def _await(self, phase: tuple[int, int]) -> float:
        """Wait for a phase, or begin it if nothing is outstanding; return its start."""
        while self._phase() < phase and not self._clock.stopped.is_set():
            if self._place.outstanding == 0:
                self._place.lap, self._place.phase = phase
                self._place.phase_began_s = self._clock.now()
                self._changed.notify_all()
            else:
                self._changed.wait(POLL_S)
        return float(self._place.phase_began_s)


def drive(
    loop: Loop,
    clock: LoopClock,
    issue: Callable[[int], RequestOutcome],
    progress: Callable[[int, float], None],
    zero_s: Callable[[], float] | None = None,
    limit_s: float = math.inf,
    ended: Callable[[Sequence[Record]], None] | None = None,
) -> tuple[list[Record], bool]:
    """Run a loop to its end in its own threads; after an interrupt (Ctrl-C), only requests in progress are completed.

    Args:
        issue: issues the request of a row.
        progress: called regularly with the number of requests done and the seconds since the start of the loop.
        zero_s: returns the start time (by `time.perf_counter`); called when all threads exist.
        limit_s: a request that takes longer is given up: its thread is left behind, and another one takes its place.
        ended: called before `progress`, and at the end, with the requests that have ended since the last time.

    Returns:
        The requests in the order in which they were taken, and whether the loop was interrupted.
    """
    records: list[Record] = []
    handed_over = 0
    in_progress: dict[int, tuple[int, Due, float]] = {}  # worker, request and start, by its number
    begin = threading.Event()

    def issue_all(worker: int, free_s: float) -> None:
        sharpen_timer()
        begin.wait()
        while (due := loop.take(worker, free_s)) is not None:
            if not clock.sleep_until(due.at_s):
                return
            clock.issuing()
            start_s = clock.now()
            in_progress[due.number] = worker, due, start_s
            outcome = issue(due.row)
            free_s = clock.now()
            if in_progress.pop(due.number, None) is None:
                return  # it was given up
            records.append(Record(due, start_s, free_s, outcome.since(clock.zero_s)))

    def hand_over() -> None:
        nonlocal handed_over
        if ended is not None:
            new = records[handed_over:]
            handed_over += len(new)
            ended(new)

    def poll() -> None:
        for number, (worker, due, start_s) in list(in_progress.items()) if limit_s < math.inf else ():
            now_s = clock.now()
            if now_s - start_s >= limit_s and in_progress.pop(number, None) is not None:
                response = Response(0, error=f"timed out after {limit_s:g} s")
                records.append(Record(due, start_s, now_s, RequestOutcome(response, 1, 0)))
                thread_group.replace(worker, partial(issue_all, worker, now_s))
        hand_over()
        progress(len(records), clock.now())

    thread_group = ThreadGroup([partial(issue_all, worker, 0.0) for worker in range(loop.workers)], clock.stopped.set)
    clock.zero_s = zero_s() if zero_s else beginning(loop.workers)
    begin.set()
    interrupted = thread_group.wait(poll)
    hand_over()
    return sorted(records, key=lambda record: record.due.number), interrupted
