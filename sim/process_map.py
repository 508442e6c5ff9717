"""A `map` over processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from traces.errors import InputError


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
    with _process_pool(workers, initialise, arguments) as pool:
        # Not the pool's own map: interrupted, that cancels what the pool then trips over as its workers have ended too.
        yield lambda function, items: _results(_submitted(pool, function, items))


def completed(function: Callable[[Any], Any], items: Sequence[Any], workers: int = 1) -> Iterator[tuple[int, Any]]:
    """The index of each item and what the function makes of it, over so many processes: whichever is done first.

    Raises:
        InputError: a worker was killed.
    """
    workers = min(workers, len(items))
    if workers <= 1:
        yield from enumerate(map(function, items))
        return
    with _process_pool(workers) as pool:
        futures = {future: i for i, future in enumerate(_submitted(pool, function, items))}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _submitted(pool: ProcessPoolExecutor, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Future[Any]]:
    # Processes start here. Until they are in `_begin`, Ctrl-C waits, lest their imports end in tracebacks.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return [pool.submit(function, item) for item in items]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _results(futures: Sequence[Future[Any]]) -> Iterator[Any]:
    for future in futures:
        yield future.result()


@contextlib.contextmanager
def _process_pool(
    workers: int, initialise: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    # Spawned, not forked: the compiled engine and Arrow have threads, which a fork does not survive.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (initialise, arguments)) as pool:
        try:
            yield pool
        except BrokenProcessPool as error:
            raise InputError("a worker was killed; if memory ran out, ask for fewer workers or requests") from error
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(initialise: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    # Ctrl-C ends a worker without a word: the process that started it says what there is to say.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if initialise is not None:
        initialise(*arguments)
