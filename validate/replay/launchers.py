"""Where the attempts of a request run that may have two of them under way: in threads, or on an event loop.

What is on the event loop can be taken back: its connection is closed, and what the store does then is the store's.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

from validate.s3.account import Response

Issue = Callable[[int, int], Response]
"""Does an attempt of a row's request: the row, and the attempt's number from 0."""

IssueAsync = Callable[[int, int], Coroutine[Any, Any, Response]]
"""The same as a coroutine; cancelling it closes the connection."""

Done = Callable[[Response | Exception], None]
"""Told once, in any thread, what became of an attempt."""

CANCELLED = Response(0, error="cancelled: another attempt was faster")


class Launcher(Protocol):
    """Begins attempts beside the caller's thread."""

    def launch(self, row: int, attempt: int, done: Done) -> Callable[[], object]:
        """Begin an attempt; what takes it back, where that can be done, else does nothing."""

    def close(self) -> None:
        """Wait for what is under way."""


class InThreads:
    """So many threads at most; what was begun runs to its end."""

    def __init__(self, issue: Issue, threads: int):
        self._issue, self._threads = issue, ThreadPoolExecutor(threads, "attempt")

    def launch(self, row: int, attempt: int, done: Done) -> Callable[[], object]:
        self._threads.submit(self._issue, row, attempt).add_done_callback(partial(_tell, done))
        return lambda: None

    def close(self) -> None:
        self._threads.shutdown()


class OnLoop:
    """An event loop in a thread of its own; `CANCELLED` is the answer to what was taken back."""

    def __init__(self, issue: IssueAsync):
        self._issue, self._loop = issue, asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="attempts", daemon=True)
        self._thread.start()

    def launch(self, row: int, attempt: int, done: Done) -> Callable[[], object]:
        future = asyncio.run_coroutine_threadsafe(self._issue(row, attempt), self._loop)
        future.add_done_callback(partial(_tell, done))
        return future.cancel

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(_all_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _all_others() -> None:
    """Wait for all tasks of this loop but this one."""
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)


def _tell(done: Done, future: Future[Response]) -> None:
    try:
        done(future.result())
    except CancelledError:
        done(CANCELLED)
    except Exception as error:
        done(error)
