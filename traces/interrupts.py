"""Signals that end a command: all are treated as Ctrl-C, and none leaves processes behind."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; the signal of `kill`, `docker stop` and systemd; that of a terminal or an ssh session that was closed."""


_NEVER = math.inf
_CLEAN_UP_S = 5.0


class _State:
    """How this process handles stops; only its main thread receives them.

    Attributes:
        handled: whether the handlers are installed.
        raises_from_s: from when on a stop raises KeyboardInterrupt (`time.monotonic`); until then, it is kept.
        kept: the last stop that did not raise; None if there was none.
        raised: the last stop that did.
        times_raised: how many did.
    """

    handled = False
    raises_from_s = _NEVER
    kept: int | None = None
    raised: int = signal.SIGINT
    times_raised = 0


@contextlib.contextmanager
def handled_stops(at_exit: bool = False) -> Iterator[None]:
    """Handle all `STOPS` as Ctrl-C, except for those that this process was started to ignore, as by nohup.

    A stop raises KeyboardInterrupt within `raised_stops`, and is kept elsewhere, so that it ends no handling of another
    one. Only a stop that comes some seconds after one that raised does it again: it may have been lost in a library, or
    what it began to clean up may hang.

    Args:
        at_exit: the process exits behind the context, where stops are ignored.
    """
    if not _in_main_thread() or _State.handled:
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    usual = (signal.SIG_DFL, signal.default_int_handler)
    former = {number: handler for number in STOPS if (handler := signal.getsignal(number)) in usual}
    for number in former:
        signal.signal(number, _on_stop)
    hook = sys.unraisablehook
    sys.unraisablehook = _with_stops_again(hook)
    _State.handled, _State.kept, _State.raises_from_s = True, None, _NEVER
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        yield
    finally:
        if at_exit:
            _State.raises_from_s = time.monotonic() + _CLEAN_UP_S
        else:
            _State.handled, sys.unraisablehook = False, hook
            for number, handler in former.items():
                signal.signal(number, handler)


def _on_stop(number: int, frame: FrameType | None) -> None:
    now_s = time.monotonic()
    if now_s < _State.raises_from_s:
        _State.kept = number
        return
    _State.raises_from_s, _State.raised = now_s + _CLEAN_UP_S, number
    _State.times_raised += 1
    raise KeyboardInterrupt


def _with_stops_again(hook: Callable[[sys.UnraisableHookArgs], Any]) -> Callable[[sys.UnraisableHookArgs], Any]:
    """Return a hook that sends a stop again that raised in a destructor or a callback, where Python drops it."""

    def unraisable(found: sys.UnraisableHookArgs) -> None:
        if found.exc_type is not KeyboardInterrupt:
            hook(found)
            return
        _State.raises_from_s = 0.0
        again = threading.Timer(0.01, os.kill, (os.getpid(), _State.raised))
        again.daemon = True
        again.start()

    return unraisable


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def raised_stops() -> Iterator[None]:
    """Let stops raise KeyboardInterrupt in the context, also one that was kept, and nowhere behind it.

    An exception that a library makes of one, as Pydantic does when it builds a validator, becomes KeyboardInterrupt.
    """
    if not _in_main_thread() or not _State.handled:
        yield
        return
    former, before = _State.raises_from_s, _State.times_raised
    try:
        raise_stops_again()
        yield
    except Exception:
        if _State.times_raised == before:
            raise
        raise KeyboardInterrupt from None
    finally:
        _State.raises_from_s = former


def raise_stops_again() -> None:
    """Let a stop raise at once, where another one has been handled.

    Raises:
        KeyboardInterrupt: one was kept.
    """
    if _in_main_thread() and _State.handled:
        _State.raises_from_s = 0.0
        if _State.kept is not None:
            _State.kept, _State.raises_from_s = None, time.monotonic() + _CLEAN_UP_S
            _State.times_raised += 1
            raise KeyboardInterrupt


@contextlib.contextmanager
def deferred_stops() -> Iterator[None]:
    """Defer `STOPS` to the end of the context; processes started meanwhile block them until `unblock_stops`.

    Raises:
        KeyboardInterrupt: there was one.
    """
    if not _in_main_thread():
        yield
        return
    alone = not _State.handled
    with handled_stops():
        former, _State.raises_from_s = _State.raises_from_s, _NEVER
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            if former < _NEVER:
                _State.raises_from_s = former
                if _State.kept is not None and time.monotonic() >= former:
                    raise_stops_again()
    if alone and _State.kept is not None:
        signal.raise_signal(_State.kept)


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
