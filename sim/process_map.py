"""A `map` over processes."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
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
    # Spawned, not forked: the compiled engine and Arrow have threads, which a fork does not survive.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initialise, arguments) as pool:
        try:
            yield pool.map
        except BrokenProcessPool as error:
            raise InputError("a worker was killed; if memory ran out, ask for fewer workers or requests") from error
