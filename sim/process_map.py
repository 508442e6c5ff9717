"""A `map` over processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
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
        yield pool.map


def completed(function: Callable[[Any], Any], items: Sequence[Any], workers: int = 1) -> Iterator[tuple[int, Any]]:
    """The index of each item and what the function makes of it, over so many processes: whichever is done first.

    Raises:
        InputError: a worker was killed.
    """
    workers = min(workers, len(items))
    if workers <= 1:
        yield from enumerate(map(function, items))
        return
    with _process_pool(workers, end_with_the_terminal) as pool:
        futures = {pool.submit(function, item): i for i, item in enumerate(items)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def end_with_the_terminal() -> None:
    """Let Ctrl-C end a worker without a word: this process says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def _process_pool(
    workers: int, initialise: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    # Spawned, not forked: the compiled engine and Arrow have threads, which a fork does not survive.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initialise, arguments) as pool:
        try:
            yield pool
        except BrokenProcessPool as error:
            raise InputError("a worker was killed; if memory ran out, ask for fewer workers or requests") from error
