"""Runs the attempts of requests that may have two of them in progress: in threads, or on an event loop.

Attempts on the event loop can be cancelled by closing the connection; how the store reacts is up to the store. A GET of
4 KiB took 0.15 ms more CPU of the client in a thread of its own, and 0.4 ms more on the event loop (measured).
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
"""Issues an attempt of a row's request; arguments: the row, and the number of the attempt from 0."""

IssueAsync = Callable[[int, int], Coroutine[Any, Any, Response]]
"""The same as a coroutine; cancelling it closes the connection."""

Done = Callable[[Response | Exception], None]
"""Called once, in any thread, with the response to an attempt or the exception that it raised."""

CANCELLED = Response(0, error="cancelled: another attempt was faster")


class Launcher(Protocol):
    """Starts attempts outside the caller's thread."""

    def launch(self, row: int, attempt: int, done: Done) -> Callable[[], object]:
        """Start an attempt and return a function that cancels it, or does nothing if that is impossible."""

    def close(self) -> None:
        """Wait for the attempts in progress."""


class InThreads:
    """Up to `threads` threads; a started attempt runs to its end."""

    def __init__(self, issue: Issue, threads: int):
        self._issue, self._threads = issue, ThreadPoolExecutor(threads, "attempt")

    def launch(self, row: int, attempt: int, done: Done) -> Callable[[], object]:
        self._threads.submit(self._issue, row, attempt).add_done_callback(partial(_report, done))
        return lambda: None

    def close(self) -> None:
        self._threads.shutdown()


class OnLoop:
    """An event loop in its own thread; the response to a cancelled attempt is `CANCELLED`."""

    def __init__(self, issue: IssueAsync):
        self._issue, self._loop = issue, asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="attempts", daemon=True)
        self._thread.start()

    def launch(self, row: int, attempt: int, done: Done) -> Callable[[], object]:
        future = asyncio.run_coroutine_threadsafe(self._issue(row, attempt), self._loop)
        future.add_done_callback(partial(_report, done))
        return future.cancel

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(_all_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _all_others() -> None:
    """Wait for all other tasks of this loop."""
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)


def _report(done: Done, future: Future[Response]) -> None:
    try:
        done(future.result())
    except CancelledError:
        done(CANCELLED)
    except Exception as error:
        done(error)
