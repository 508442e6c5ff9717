"""A `map` of simulations over threads or processes, whichever are faster.

The kernel releases Python's lock, so simulations that spend their time in it run concurrently in threads of one
process: these start at once and share tables that are made once (placement groups). If Python's part of the work
dominates, threads would wait for each other, and processes are used as soon as they gain more than their start costs.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

from sim.engine.compiled.engine import cancelled, kernel_s
from sim.parallel.process_pool import finished, in_order, interruptible, process_pool

WorkerKind = Literal["threads", "processes"]

START_S = 1.0
"""Time after which a process has imported what simulations need."""
_LONG = 4
"""Times `START_S`, from which a first item alone decides: compiling a spec takes less."""


class WorkerMap:
    """Maps functions over items with several workers. The first items run in this thread and determine their kind.

    Further items run in this thread, too, until processes are worth their start: they save more time on the items that
    are left, or as much work as was done already, than they take to start. That is `START_S`, and what the first item
    took longer than others, as each process makes anew what later items share. Results do not depend on it. Workers
    end with the context.

    Attributes:
        kind: of the workers; None: no item has been run.
    """

    def __init__(self, workers: int):
        self.workers = workers
        self.kind: WorkerKind | None = None
        self._alone_s: list[float] = []  # that items took in this thread
        self._pool: Executor | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in the order of the items.

        Raises:
            InputError: a worker was killed, or the function raised it.
        """
        if self.workers == 1:
            return map(function, items)
        return in_order(self._finished(function, items))

    def completed(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the index of each item and its result, in order of completion.

        Raises:
            InputError: as for a call.
        """
        if min(self.workers, len(items)) <= 1:
            yield from enumerate(map(function, items))
            return
        for index, result in self._finished(function, items):
            yield index, result()

    def _finished(
        self, function: Callable[[Any], Any], items: Iterable[Any]
    ) -> Iterator[tuple[int, Callable[[], Any]]]:
        left, done = iter(items), 0
        count = len(items) if isinstance(items, Sized) else 0
        while self._pool is None:
            item = next(left, _END)
            if item is _END:
                return
            done += 1
            yield done - 1, partial(_same, self._alone(function, item, count - done))
        work = interruptible(function) if self.kind == "processes" else function
        for index, future in finished(self._pool, work, left):
            yield done + index, future.result

    def _alone(self, function: Callable[[Any], Any], item: Any, left: int) -> Any:
        """Return the result of an item, and start workers if they gain; `left`: number of items after it."""
        begun_s, cpu_s, kernel_begun_s = time.monotonic(), time.thread_time(), kernel_s()
        result = function(item)
        took_s = time.monotonic() - begun_s
        fraction = (kernel_s() - kernel_begun_s) / max(time.thread_time() - cpu_s, 1e-9)
        # Outside the kernel, threads run one at a time: with a smaller fraction they would wait for each other.
        self.kind = "threads" if fraction >= 1 - 1 / self.workers else "processes"
        self._alone_s.append(took_s)
        if self.kind == "threads" or self._gains(left):
            pool = _thread_pool if self.kind == "threads" else process_pool
            self._pool = self._stack.enter_context(pool(self.workers))
        return result

    def _gains(self, left: int) -> bool:
        """Return whether processes gain; `left`: number of items known to come."""
        first_s, usual_s = self._alone_s[0], min(self._alone_s)
        if len(self._alone_s) == 1 and first_s < _LONG * START_S:
            return False  # others may take far less
        more_s = max(sum(self._alone_s) - (first_s - usual_s), left * usual_s)
        return more_s * (1 - 1 / self.workers) > START_S + first_s - usual_s


_END = object()


def _same(result: Any) -> Any:
    return result


@contextlib.contextmanager
def _thread_pool(workers: int) -> Iterator[Executor]:
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool
    except BaseException:
        cancelled.set()  # Ctrl-C reaches the main thread only
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        cancelled.clear()
