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

_AHEAD = 256
"""Items that are handed to the workers ahead of their results."""


@contextlib.contextmanager
def process_map(
    workers: int, initialise: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[Callable[..., Iterator[Any]]]:
    """A `map` that keeps the order, over so many processes; with one worker, in this one.

    `initialise` is called with `arguments` once in each process before all else.

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
    """The results of items that are done in any order, in the order of their indices."""
    early: dict[int, Callable[[], Any]] = {}
    following = 0
    for i, result in results:
        early[i] = result
        while following in early:
            yield early.pop(following)()
            following += 1


def finished(pool: Executor, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Future[Any]]]:
    """The index and the future of each item, whichever is done first; `_AHEAD` of them are submitted ahead."""
    # Not the pool's own map, nor `as_completed`: Ctrl-C while they hold a lock leaves it locked, and the pool waits for
    # ever. This queue's `get` can be interrupted.
    done: SimpleQueue[tuple[int, Future[Any]]] = SimpleQueue()
    waiting = enumerate(items)

    def hand_in(index: int, future: Future[Any]) -> None:
        done.put((index, future))

    def submit(count: int) -> int:
        with _uninterrupted():
            batch = list(islice(waiting, count))
            for index, item in batch:
                pool.submit(work, item).add_done_callback(partial(hand_in, index))
        return len(batch)

    running = submit(_AHEAD)
    while running:
        found = done.get()
        running += submit(1) - 1
        yield found


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until its end; that of the processes started meanwhile until they are in `_begin`."""
    if threading.current_thread() is not threading.main_thread():  # where no signal comes
        yield
        return
    # Other threads may take the signal, whatever this one's mask, and Python then handles it here: so a handler, too.
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def process_pool(
    workers: int, initialise: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """Processes whose work is to be wrapped in `interruptible`."""
    # Spawned, not forked: the compiled engine and Arrow have threads, which a fork does not survive.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (initialise, arguments)) as pool:
        try:
            yield pool
        except BrokenProcessPool as error:
            raise InputError("a worker was killed; if memory ran out, ask for fewer workers or requests") from error
        finally:
            pool.shutdown(cancel_futures=True)


# Of each worker: whether Ctrl-C came while it was not at work.
_interrupted = False


def _begin(initialise: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, _end_later)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if initialise is not None:
        _work(lambda given: initialise(*given), arguments)


def _end_later(number: int, frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True


def interruptible(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of an item as the processes of a `process_pool` do it."""
    return partial(_work, function)


def _work(function: Callable[[Any], Any], item: Any) -> Any:
    # Ctrl-C ends a worker without a word: the process that started it says what there is to say. But not while it
    # takes an item or sends a result, the rest of which that process would wait for.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        if _interrupted:
            signal.raise_signal(signal.SIGINT)
        return function(item)
    finally:
        signal.signal(signal.SIGINT, _end_later)
