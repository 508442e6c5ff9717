"""One client of a replay, in this process or another: it connects, and issues its part of the requests."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any

from traces.errors import InputError
from traces.random_streams import mixed, stream_id
from validate.mount.access import Access, data_path_to
from validate.replay.attempts import Attempts
from validate.replay.buckets import Payload
from validate.replay.issue import ClosedLoop, Loop, LoopClock, LoopState, OpenLoop, Record, TracePart, drive
from validate.replay.plan import ReplayPlan, requests_of
from validate.s3.account import Target
from validate.s3.body_check import Content, ExpectedBody, part_of

_SWITCH_INTERVAL_S = 5e-4
ABSENT_KEY = "tailcast-check"
"""The key of an object that does not exist; a store that responds says so."""

_VERIFY_STREAM = stream_id("verify")


@dataclass(frozen=True)
class ReplayTask:
    """The input of the clients of a replay, in any process.

    Attributes:
        buckets: the created bucket for each bucket of the trace.
    """

    plan: ReplayPlan
    target: Target
    buckets: dict[str, str]


class Client:
    """Connections to all nodes of a store, which issue rows of a trace there.

    Raises:
        InputError: the store is unreachable or refuses.
    """

    def __init__(self, job: ReplayTask, access: Access, part: TracePart = TracePart()):  # noqa: B008
        options = job.plan.options
        self.job, self.part = job, part
        multipart = options.multipart
        self.payload = Payload(job.plan.longest_piece_bytes, multipart)
        pool = part.count(job.plan.workers) * (2 if options.hedges else 1)
        pool *= multipart.parallel if job.plan.in_parts else 1
        names = list(job.buckets.values())
        self.paths = [
            data_path_to(access, job.plan, url, names, pool) for url in job.target.node_urls or (access.endpoint_url,)
        ]
        for path, url in zip(self.paths, job.target.node_urls or (access.endpoint_url,), strict=True):
            # One request on each node warms up the client and shows refusals early.
            response = path.head(names[0], ABSENT_KEY)
            if response.status != 404:
                said = response.error or f"status {response.status} for an object that does not exist"
                raise InputError(f"{url}: {said}")

    def loop(self, clock: LoopClock, state: LoopState | None) -> Loop:
        """Return the loop of this client's part; a closed loop shares its `state` with other processes."""
        trace, options = self.job.plan.trace, self.job.plan.options
        if trace.pacing.loop == "open":
            return OpenLoop(trace, clock, options.speed, options.max_in_flight, self.part)
        return ClosedLoop(trace, clock, state or LoopState(trace), self.part)

    def run(
        self,
        clock: LoopClock,
        progress: Callable[[int, float], None],
        state: LoopState | None = None,
        zero_s: Callable[[], float] | None = None,
    ) -> tuple[list[Record], bool]:
        """Issue the requests of this client's part; arguments and result are those of `drive`."""
        plan = self.job.plan
        loop = self.loop(clock, state)
        call = caller(plan, self.job.buckets, self.payload)
        attempts = Attempts(
            plan.options.policy_of(),
            plan.trace.table.column("op").to_pylist(),
            partial(_issue, self.paths, call),
            loop.workers,
            clock.stopped,
            plan.options.seed,
            partial(_issue, [path.cancellable for path in self.paths], call) if plan.cancels else None,
        )
        try:
            with _quiet_interpreter():
                return drive(loop, clock, attempts, progress, zero_s)
        finally:
            attempts.close()


@contextmanager
def _quiet_interpreter() -> Iterator[None]:
    """Avoid long pauses of the interpreter: freeze existing objects for the collector, switch threads sooner."""
    interval_s = sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval_s)
        gc.unfreeze()


Call = Callable[[Any], Any]
"""Issues a request on a `DataPath` and returns the response, or on a `CancellablePath` and returns the coroutine."""


def _issue(paths: Sequence[Any], call: Callable[[int], Call], row: int, attempt: int) -> Any:
    """Issue an attempt of a row's request: rows go to the nodes in turn, a further attempt to the next node."""
    return call(row)(paths[(row + attempt) % len(paths)])


def caller(plan: ReplayPlan, buckets: dict[str, str], payload: Payload) -> Callable[[int], Call]:
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
            verified = (mixed(options.seed, _VERIFY_STREAM, row) >> 11) * 2.0**-53 < options.verify
            contents = [payload.parts(key, each) for each in sizes] if verified else []
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
