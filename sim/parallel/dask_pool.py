"""A map over the workers of a dask.distributed cluster: for sweeps beyond one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sim.parallel.result_cache import code
from traces.errors import InputError

_CONNECT_S = 10


def completed_on(
    scheduler: str, function: Callable[[Any], Any], items: Sequence[Any], keys: Sequence[str]
) -> Iterator[tuple[int, Any]]:
    """Yield the index of each item and its result, in order of completion.

    If a worker dies, the scheduler gives its unfinished and untransferred items to another one.

    Args:
        scheduler: its address, for example ``tcp://10.0.0.1:8786``.
        function: a deterministic function of a module that the workers can import.
        items: its arguments.
        keys: names of the items, by content, for the scheduler.

    Raises:
        InputError: dask.distributed is not installed, the scheduler does not respond, the source code of a worker
            differs, or the same item has killed several workers.
    """
    try:
        from distributed import Client, KilledWorker, as_completed
    except ImportError as error:
        raise InputError("a cluster needs dask.distributed; install it with pip install 'tailcast[dask]'") from error
    try:
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"scheduler {scheduler}: does not respond; start one with 'dask scheduler'") from error
    with client:
        futures = {
            client.submit(_same_source, code(), function, item, key=f"tailcast-{key}", pure=False): i
            for i, (item, key) in enumerate(zip(items, keys, strict=True))
        }
        try:
            for future in as_completed(futures, loop=client.loop):
                yield futures[future], future.result()
        except KilledWorker as error:
            raise InputError(f"scheduler {scheduler}: a point killed several workers: {error}") from error
        finally:
            client.cancel(list(futures))


def _same_source(wanted: str, function: Callable[[Any], Any], item: Any) -> Any:
    if code() != wanted:
        raise InputError("a worker of the cluster has another version of tailcast; install the same everywhere")
    return function(item)
