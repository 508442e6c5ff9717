"""A group of threads; the calling thread waits for them and handles Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from traces.interrupts import raise_stops_again

POLL_S = 0.1


class ThreadGroup:
    """Threads, one for each of `works`. When one fails, or on Ctrl-C, `stop` is called to end the others.

    It does not use `Thread.join`, which may mistake a running thread for ended when interrupted (python/cpython#90882).
    """

    def __init__(self, works: Sequence[Callable[[], None]], stop: Callable[[], None]):
        self._count, self._stop = len(works), stop
        self._failures: list[Exception] = []
        self._ended: set[int] = set()
        self._works = dict(enumerate(works))
        self._notifications: SimpleQueue[None] = SimpleQueue()
        for number, work in enumerate(works):
            threading.Thread(target=self._do, args=(number, work), daemon=True).start()

    def replace(self, number: int, work: Callable[[], None]) -> None:
        """Put another thread in the place of one that hangs, whose end no longer matters."""
        self._works[number] = work
        threading.Thread(target=self._do, args=(number, work), daemon=True).start()

    def _do(self, number: int, work: Callable[[], None]) -> None:
        failure = None
        try:
            work()
        except Exception as error:
            failure = error
        finally:
            if self._works[number] is work:
                self._end(number, failure)

    def _end(self, number: int, failure: Exception | None) -> None:
        if failure is not None:
            self._failures.append(failure)
            self._stop()
        self._ended.add(number)
        self._notifications.put(None)

    def wait(self, poll: Callable[[], None]) -> bool:
        """Wait for all threads, calling `poll` regularly, and return whether there was an interrupt.

        Raises:
            Exception: the exception of a thread that failed.
            KeyboardInterrupt: there was a second interrupt.
        """
        interrupted = False
        while len(self._ended) < self._count:
            try:
                self._await_notification()
                poll()
            except KeyboardInterrupt:
                self._stop()
                if interrupted:
                    raise
                interrupted = True
                raise_stops_again()
        if self._failures:
            raise self._failures[0]
        return interrupted

    def _await_notification(self) -> None:
        try:
            self._notifications.get(timeout=POLL_S)
            while True:  # drain: others may have ended at the same time
                self._notifications.get_nowait()
        except Empty:
            pass
