"""A `map` over processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from queue import SimpleQueue
from types import FrameType
from typing import Any

from traces.errors import InputError
from traces.interrupts import STOPS, deferred_stops, end_with_parent, unblock_stops
from traces.without_pandas import do_without_pandas, does_without_pandas

_AHEAD = 256
"""Number of items submitted to the workers ahead of their results."""


_ENDS_WITHIN_S = 5.0


@contextlib.contextmanager
def process_map(
    workers: int, initialise: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[Callable[..., Iterator[Any]]]:
    """Return a `map` over `workers` processes that preserves the order; with one worker, it runs in this process.

    Each process calls `initialise` with `arguments` first.

    Raises:
        InputError: a worker was killed.
    """
    if workers == 1:
        if initialise is not None:
            initialise(*arguments)
        yield map
        return
    with process_pool(workers, initialise, arguments) as pool:
        yield lambda function, items: in_order(
            (i, future.result) for i, future in finished(pool, interruptible(function), items)
        )


def in_order(results: Iterator[tuple[int, Callable[[], Any]]]) -> Iterator[Any]:
    """Yield results that arrive in any order, in the order of their indices."""
    early: dict[int, Callable[[], Any]] = {}
    following = 0
    for i, result in results:
        early[i] = result
        while following in early:
            yield early.pop(following)()
            following += 1


def finished(pool: Executor, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Future[Any]]]:
    """Yield the index and the future of each item in order of completion; `_AHEAD` items are submitted ahead."""
    # Not the pool's own map, nor `as_completed`: Ctrl-C while they hold a lock leaves it locked, and the pool waits
    # forever. This queue's `get` can be interrupted.
    done: SimpleQueue[tuple[int, Future[Any]]] = SimpleQueue()
    waiting = enumerate(items)

    def put_done(index: int, future: Future[Any]) -> None:
        done.put((index, future))

    def submit(count: int) -> int:
        with deferred_stops():
            batch = list(islice(waiting, count))
            for index, item in batch:
                pool.submit(work, item).add_done_callback(partial(put_done, index))
        return len(batch)

    running = submit(_AHEAD)
    while running:
        found = done.get()
        running += submit(1) - 1
        yield found


@contextlib.contextmanager
def process_pool(
    workers: int, initialise: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """Start processes; functions must be wrapped in `interruptible`."""
    # Spawned, not forked: the compiled engine and Arrow have threads, which do not survive a fork.
    settings = does_without_pandas(), initialise, arguments
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, settings) as pool:
        try:
            yield pool
        except BrokenProcessPool as error:
            raise InputError("a worker was killed; if memory ran out, use fewer workers or requests") from error
        except BaseException:
            _end_workers(pool)
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _end_workers(pool: ProcessPoolExecutor) -> None:
    """End the work of all processes; a signal that ends this process may have reached it alone.

    A process that still imports modules receives it only afterwards, and is killed after `_ENDS_WITHIN_S`.
    """
    processes = list((pool._processes or {}).values())
    for process in processes:
        process.terminate()

    def kill() -> None:
        for process in processes:
            with contextlib.suppress(ValueError):  # it has ended and is closed
                process.kill()

    late = threading.Timer(_ENDS_WITHIN_S, kill)
    late.daemon = True
    late.start()


# In each worker: whether Ctrl-C was received while it was idle.
_interrupted = False


def _begin(without_pandas: bool, initialise: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    end_with_parent()
    if without_pandas:
        do_without_pandas()
    for number in STOPS:
        signal.signal(number, _end_later)
    unblock_stops()
    if initialise is not None:
        _work(lambda given: initialise(*given), arguments)


def _end_later(number: int, frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True


def interruptible(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a function for the processes of a `process_pool`."""
    return partial(_work, function)


def _work(function: Callable[[Any], Any], item: Any) -> Any:
    # Ctrl-C ends a worker silently: the parent process reports the interruption. But not while the worker receives an
    # item or sends a result, because the parent would wait for the rest.
    for number in STOPS:
        signal.signal(number, signal.SIG_DFL)
    try:
        if _interrupted:
            signal.raise_signal(signal.SIGINT)
        return function(item)
    finally:
        for number in STOPS:
            signal.signal(number, _end_later)
