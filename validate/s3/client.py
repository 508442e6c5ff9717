"""One client of a replay, in this process or another: it connects, and issues its part of the requests."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from traces.errors import InputError
from validate.mount.access import Access, data_path_to, payload_of, requests_to
from validate.replay.attempts import Attempts
from validate.replay.issue import ClosedLoop, Loop, LoopClock, LoopState, OpenLoop, Record, TracePart, drive
from validate.replay.plan import ReplayPlan
from validate.s3.account import Target
from validate.s3.requests import Call

_SWITCH_INTERVAL_S = 5e-4
ABSENT_KEY = "tailcast-check"
"""The key of an object that does not exist; a store that responds says so."""


@dataclass(frozen=True)
class ReplayTask:
    """The input of the clients of a replay, in any process.

    Attributes:
        buckets: the created bucket for each bucket of the trace.
        watched: whether processes hand over what they count.
    """

    plan: ReplayPlan
    target: Target
    buckets: dict[str, str]
    watched: bool = False


class Client:
    """Connections to all nodes of a store, which issue rows of a trace there.

    Raises:
        InputError: the store is unreachable or refuses.
    """

    def __init__(self, job: ReplayTask, access: Access, part: TracePart = TracePart()):  # noqa: B008
        options = job.plan.options
        self.job, self.part = job, part
        multipart = options.multipart
        pool = part.count(job.plan.workers) * (2 if options.hedges else 1)
        pool *= multipart.parallel if job.plan.in_parts else 1
        names = list(job.buckets.values())
        self.payload = payload_of(access, job.plan, names)
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
        ended: Callable[[Sequence[Record]], None] | None = None,
    ) -> tuple[list[Record], bool]:
        """Issue the requests of this client's part; arguments and result are those of `drive`."""
        plan = self.job.plan
        loop = self.loop(clock, state)
        with requests_to(plan, self.job.buckets, self.payload, clock.stopped) as call:
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
                    return drive(loop, clock, attempts, progress, zero_s, plan.given_up_after_s, ended)
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


def _issue(paths: Sequence[Any], call: Callable[[int], Call], row: int, attempt: int) -> Any:
    """Issue an attempt of a row's request: rows go to the nodes in turn, a further attempt to the next node."""
    return call(row)(paths[(row + attempt) % len(paths)])
