"""Client processes: several interpreters, each of which issues a part of one trace, with a common time zero.

Each connects, receives the start time, and returns its records at the end. Time zero is a reading of
`time.perf_counter`, which on Linux is CLOCK_MONOTONIC and therefore the same in all processes. Each has budgets of
retries and hedges (caps included) and observed latencies of its own.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from traces.errors import InputError
from traces.interrupts import STOPS, deferred_stops, end_with_parent, unblock_stops
from validate.mount.access import access_to
from validate.replay.issue import LoopClock, LoopState, Record, TracePart, beginning
from validate.replay.seconds import SecondCounts, Seconds
from validate.replay.thread_group import ThreadGroup
from validate.s3.client import Client, ReplayTask

_ENDS_WITHIN_S = 5.0


class ClientProcesses:
    """Client processes; a context manager that starts and connects them, and ends them.

    Raises:
        InputError: a process cannot reach the store, is refused, or dies.
    """

    def __init__(self, job: ReplayTask, count: int):
        self._job, self._count = job, count
        self._state: LoopState | None = None
        self._clients: list[_ClientProcess] = []

    def __enter__(self) -> ClientProcesses:
        try:
            self._begin()
            for client in self._clients:
                client.receive("ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin(self) -> None:
        """Start the processes.

        Raises:
            KeyboardInterrupt: there was a stop; some have been started.
        """
        context = multiprocessing.get_context("spawn")  # forked, they would share sockets and threads with this one
        trace = self._job.plan.trace
        # Keep a reference: its semaphores vanish with it, possibly before a child process has opened them.
        self._state = LoopState(trace, context) if trace.pacing.loop == "closed" else None
        with deferred_stops():  # an interrupt reaches all processes, but only this one handles it
            for index in range(self._count):
                here, there = context.Pipe()
                arguments = (self._job, TracePart(index, self._count), self._state, there)
                process = context.Process(target=_main, args=arguments, daemon=True)
                process.start()
                there.close()
                self._clients.append(_ClientProcess(process, here))

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.end()

    @property
    def pids(self) -> list[int]:
        """The process ids."""
        return [client.pid for client in self._clients]

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the processes during the loop."""
        return sum(client.cpu_s for client in self._clients)

    def run(
        self,
        progress: Callable[[int, float], None],
        start: Callable[[], float] | None = None,
        counted: Callable[[Seconds], None] = lambda seconds: None,
    ) -> bool:
        """Run the loop to its end and return whether it was interrupted (arguments as in `drive`).

        `counted` is called before `progress`, and at the end, with what a process has counted, if the task is watched.
        """
        zero_s = start() if start else beginning(self._job.plan.workers)
        for client in self._clients:
            client.send(zero_s)
        thread_group = ThreadGroup([client.listen for client in self._clients], self._stop)

        def hand_over() -> None:
            for client in self._clients:
                while client.counted:
                    counted(client.counted.popleft())

        def poll() -> None:
            hand_over()
            progress(sum(client.requests for client in self._clients), time.perf_counter() - zero_s)

        interrupted = thread_group.wait(poll)
        hand_over()
        return interrupted

    def _stop(self) -> None:
        for client in self._clients:
            client.send("stop")

    def records(self) -> list[Record]:
        """Return the record of each request, in the order in which they were taken."""
        records: list[Record] = []
        for client in self._clients:
            client.send("hand over")
            records += client.receive("records")
        return sorted(records, key=lambda record: record.due.number)


class _ClientProcess:
    """The parent's end of the connection to a client process."""

    def __init__(self, process: multiprocessing.process.BaseProcess, link: Connection):
        self._process, self._link = process, link
        self.pid = process.pid or 0
        self.requests, self.cpu_s = 0, 0.0
        self.counted: deque[Seconds] = deque()  # filled by the thread that listens

    def listen(self) -> None:
        """Listen until the loop of the process has finished."""
        self.cpu_s = self.receive("over")

    def send(self, message: object) -> None:
        with contextlib.suppress(OSError):  # the process has ended, which `receive` reports
            self._link.send(message)

    def receive(self, awaited: str) -> Any:
        """Return the value of the next message of a kind; update the request count until then."""
        while True:
            try:
                kind, value = self._link.recv()
            except (EOFError, OSError) as error:
                self._process.join(_ENDS_WITHIN_S)
                if (self._process.exitcode or 0) < 0:
                    message = "a client process was killed; if memory ran out, use fewer processes"
                    raise InputError(message) from error
                raise RuntimeError(f"a client process ended with exit code {self._process.exitcode}") from error
            if kind == awaited:
                return value
            if kind == "requests":
                self.requests, seconds = value
                self.counted.extend([seconds] if seconds else ())
            elif kind == "refused":
                raise InputError(value)
            else:
                raise RuntimeError(f"a client process failed:\n{value}")

    def end(self) -> None:
        self._link.close()
        self._process.join(_ENDS_WITHIN_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _main(job: ReplayTask, part: TracePart, state: LoopState | None, link: Connection) -> None:
    """Run a client process."""
    end_with_parent()
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    unblock_stops()
    clock = LoopClock()
    with contextlib.suppress(EOFError, BrokenPipeError):  # the parent process has ended
        try:
            client = Client(job, access_to(job.target, job.plan.options.data_path), part)
            counts = SecondCounts(job.plan.trace.op.tolist()) if job.watched else None

            def progress(done: int, now_s: float) -> None:
                link.send(("requests", (done, counts.take() if counts else None)))
                if link.poll() and link.recv() == "stop":
                    clock.stopped.set()

            def zero_s() -> float:
                link.send(("ready", None))
                return float(link.recv())

            records, _ = client.run(clock, progress, state, zero_s, counts.add if counts else None)
            link.send(("requests", (len(records), counts.take() if counts else None)))
            link.send(("over", time.process_time() - clock.cpu_zero_s))
            while link.recv() != "hand over":
                pass
            link.send(("records", records))
        except InputError as error:
            link.send(("refused", str(error)))
        except (EOFError, BrokenPipeError):
            raise
        except Exception:
            link.send(("failed", traceback.format_exc()))
