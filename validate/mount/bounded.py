"""Calls that may hang, with a limit: the kernel waits for a file system, and a thread in it cannot be ended."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")


def within(limit_s: float, call: Callable[[], Result]) -> Result:
    """Return the result of a call in a thread of its own; one that takes longer than `limit_s` is left behind there.

    Raises:
        TimeoutError: it has not returned in time.
        Exception: that of the call.
    """
    results: SimpleQueue[tuple[Result | None, Exception | None]] = SimpleQueue()

    def perform() -> None:
        try:
            results.put((call(), None))
        except Exception as error:
            results.put((None, error))

    threading.Thread(target=perform, name="bounded", daemon=True).start()
    try:
        result, error = results.get(timeout=limit_s)
    except Empty:
        raise TimeoutError(errno.ETIMEDOUT, f"no response in {limit_s:g} s ({os.strerror(errno.ETIMEDOUT)})") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]
