"""Threads that work side by side while this one waits for them and listens to Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

POLL_S = 0.1


class ThreadGroup:
    """Threads, each doing one of `works`. When one fails, or Ctrl-C comes, `stop` asks the others to end.

    It does not rely on `Thread.join`, which may take a running thread for ended when an interrupt comes in it
    (python/cpython#90882).
    """

    def __init__(self, works: Sequence[Callable[[], None]], stop: Callable[[], None]):
        self._count, self._stop = len(works), stop
        self._failures: list[Exception] = []
        self._ended: list[int] = []
        self._bell: SimpleQueue[None] = SimpleQueue()
        for number, work in enumerate(works):
            threading.Thread(target=self._do, args=(number, work), daemon=True).start()

    def _do(self, number: int, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._failures.append(error)
            self._stop()
        finally:
            self._ended.append(number)
            self._bell.put(None)

    def wait(self, poll: Callable[[], None]) -> bool:
        """Wait for all, calling `poll` now and then. Whether there was an interrupt; a second one is not waited out.

        Raises:
            Exception: what one of them failed with.
        """
        interrupted = False
        while len(self._ended) < self._count:
            try:
                self._await_bell()
                poll()
            except KeyboardInterrupt:
                self._stop()
                if interrupted:
                    raise
                interrupted = True
        if self._failures:
            raise self._failures[0]
        return interrupted

    def _await_bell(self) -> None:
        try:
            self._bell.get(timeout=POLL_S)
            while True:  # those that ended at the same time
                self._bell.get_nowait()
        except Empty:
            pass
