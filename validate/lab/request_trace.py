"""What a store says of its requests, recorded while a replay runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from traces.errors import InputError
from validate.lab.registry import STORES, kind_of
from validate.lab.store import RequestTrace
from validate.s3.account import Target


@contextmanager
def recording(target: Target, wanted: bool) -> Iterator[RequestTrace | None]:
    """The store's trace of its requests, recorded meanwhile; None where it is not wanted.

    Raises:
        InputError: the store refuses, or does not tell of its requests.
    """
    if not wanted:
        yield None
        return
    trace = _begun(target)
    try:
        yield trace
    finally:
        trace.end()


def _begun(target: Target) -> RequestTrace:
    """The trace of the target's kind of store; if that is not known, of the first kind that has one for it.

    Raises:
        InputError: none has; it says why the first kind has none.
    """
    kinds = STORES.values() if target.store is None else (kind_of(target.store),)
    refusals: list[InputError] = []
    for kind in kinds:
        if kind.request_trace is not None:
            try:
                return kind.request_trace(target)
            except InputError as error:
                refusals.append(error)
    raise refusals[0] if refusals else InputError("the store does not tell of its requests")
