"""The rows of a Trace as requests on a `DataPath`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from typing import Any

from validate.replay.buckets import Payload
from validate.replay.plan import ReplayPlan, requests_of
from validate.s3.body_check import Content, ExpectedBody, part_of

Call = Callable[[Any], Any]
"""Issues a request on a `DataPath` and returns the response, or on a `CancellablePath` and returns the coroutine."""


def caller(plan: ReplayPlan, buckets: Mapping[str, str], payload: Payload) -> Callable[[int], Call]:
    """Return a function that returns the call of a row."""
    trace, options, written = plan.trace, plan.options, plan.written
    rows = list(requests_of(trace))
    start = trace.table.column("range_start_bytes").fill_null(0).to_pylist()
    count = trace.table.column("range_bytes").to_pylist()

    def call(row: int) -> Call:
        op, of_trace, key, size = rows[row]
        bucket, sizes = buckets[of_trace], written[of_trace].get(key, ())
        if op == "GET":
            span = None if count[row] is None else (start[row], start[row] + count[row])
            contents = [payload.parts(key, each) for each in sizes] if options.verifies(row) else []
            return methodcaller("get", bucket, key, span, _expected(sizes, contents, span))
        if op == "PUT":
            return methodcaller("put", bucket, key, payload.parts(key, size))
        if op == "HEAD":
            return methodcaller("head", bucket, key, sizes)
        return methodcaller(op.lower(), bucket, key)

    return call


def _expected(sizes: Sequence[int], contents: Sequence[Content], span: tuple[int, int] | None) -> ExpectedBody | None:
    """Return the bodies that a GET of an object, or of its bytes from `span[0]` to `span[1]`, may return."""
    if not sizes:
        return None
    if span is None:
        return ExpectedBody(tuple(sizes), tuple(contents))
    begin, count = span[0], span[1] - span[0]
    lengths = tuple(min(max(size - begin, 0), count) for size in sizes)
    return ExpectedBody(lengths, tuple(part_of(content, begin, count) for content in contents))
