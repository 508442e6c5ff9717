"""Signals that end a command: all are treated as Ctrl-C, and none leaves processes behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; the signal of `kill`, `docker stop` and systemd; that of a terminal or an ssh session that was closed."""


@contextlib.contextmanager
def stops_interrupt() -> Iterator[None]:
    """Treat all `STOPS` as Ctrl-C, except for those that this process was started to ignore, as by nohup."""
    if threading.current_thread() is not threading.main_thread():  # signals are handled in the main thread only
        yield
        return
    default = [number for number in STOPS if signal.getsignal(number) == signal.SIG_DFL]
    for number in default:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in default:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def deferred_stops() -> Iterator[None]:
    """Defer `STOPS` to the end of the context; processes started meanwhile block them until `unblock_stops`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Another thread may receive the signal in spite of this thread's mask, and Python handles it here: hence handlers.
    received: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in STOPS
        if signal.getsignal(number) not in (signal.SIG_IGN, signal.SIG_DFL, None)
    }
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


def unblock_stops() -> None:
    """Receive `STOPS` again in a process that was started in `deferred_stops`."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def end_with_parent() -> None:
    """End this process of multiprocessing as soon as its parent process has ended, even if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
