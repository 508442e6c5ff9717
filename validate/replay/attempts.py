"""The attempts of a request on a real store, by the client policies of the simulator.

The rules are those of the simulator: a failed attempt is retried after a pause; a second one starts when the response
is late; the first successful response ends the request. The timeout of an attempt is that of the client library. The
losing attempt is cancelled by closing its connection, if policy and client library allow it; otherwise it runs to its
end and its response is dropped.

A request that may be hedged runs outside its worker's thread (``launchers.py``), so that the worker is free when the
second response wins. That costs two thread switches per request, hedged or not.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple

from models.network.retry_policy import NO_POLICY, Policy
from sim.engine.outcome import JITTER_STREAM
from sim.engine.policy_state import PolicyState
from traces.random_streams import mixed
from validate.replay.launchers import InThreads, Issue, IssueAsync, Launcher, OnLoop
from validate.s3.account import Response

_RETRYABLE_STATUS = (408, 429)  # the 4xx codes that do not mean that the request is wrong


class RequestOutcome(NamedTuple):
    """The outcome of a request: its response, the number of attempts, and the one that succeeded (0: none)."""

    response: Response
    attempts: int
    winner: int

    @staticmethod
    def of(response: Response, attempts: int, number: int) -> RequestOutcome:
        """Return the outcome when the response to attempt `number` (from 0) ends the request."""
        return RequestOutcome(response, attempts, 0 if response.error else number + 1)

    def since(self, zero_s: float) -> RequestOutcome:
        """Return the same with the time stamp of the response relative to `zero_s`."""
        return self._replace(response=self.response._replace(first_byte_s=self.response.first_byte_s - zero_s))


def retryable(response: Response) -> bool:
    """Whether a further attempt could succeed: no response, a broken one, or a server error."""
    return response.error is not None and (not 400 <= response.status < 500 or response.status in _RETRYABLE_STATUS)


class _RetryBudget:
    """The retry and hedging budgets of one operation, and its latencies so far, as in the simulator."""

    def __init__(self, policy: Policy):
        self.policy, self._state, self._lock = policy, PolicyState(policy), threading.Lock()

    def begin(self) -> float:
        """Count a request, and return the seconds after which its second attempt is due."""
        with self._lock:
            return self._state.begin()

    def won(self, latency_s: float) -> None:
        with self._lock:
            self._state.observe(latency_s)

    def may_retry(self, retries: int) -> bool:
        with self._lock:
            return retries < self.policy.retries and self._state.retries.take()

    def may_hedge(self) -> bool:
        with self._lock:
            return self._state.hedges.take()


class Attempts:
    """Issues requests by the policy of their operation; used by several workers concurrently.

    Args:
        policies: by operation; an operation without one has no retries or hedging.
        ops: the operation of each row.
        workers: number of workers. At most as many losing attempts may be in progress; beyond that nothing is hedged.
        stopped: when set, nothing is retried any more.
        seed: seed of the jitter of pauses.
        cancellable: issues attempts that can be cancelled; None: all run to their end.
    """

    def __init__(
        self,
        policies: Mapping[str, Policy],
        ops: Sequence[str],
        issue: Issue,
        workers: int,
        stopped: threading.Event,
        seed: int = 0,
        cancellable: IssueAsync | None = None,
    ):
        self._budgets = {op: _RetryBudget(policies.get(op, NO_POLICY)) for op in set(ops)}
        self._ops = ops
        self.issue, self.stopped, self.seed = issue, stopped, seed
        self.launcher: Launcher = OnLoop(cancellable) if cancellable else InThreads(issue, max(1, 2 * workers))
        self.spare = threading.Semaphore(workers)

    def __call__(self, row: int) -> RequestOutcome:
        budget = self._budgets[self._ops[row]]
        if budget.policy.attempts == 1:
            return RequestOutcome.of(self.issue(row, 0), 1, 0)
        return _Request(self, budget, row).outcome()

    def close(self) -> None:
        """Wait for the losing attempts."""
        self.launcher.close()


class _Request:
    """A request in progress."""

    def __init__(self, attempts: Attempts, budget: _RetryBudget, row: int):
        self._attempts, self._budget, self._row = attempts, budget, row
        self._lock = threading.Lock()
        self._responses: SimpleQueue[tuple[int, Response | Exception]] = SimpleQueue()
        self._begun = self._in_progress = 0
        self._holds_spare = False
        self._cancels: list[Callable[[], object]] = []

    def outcome(self) -> RequestOutcome:
        """Start, hedge and retry until a response ends the request; cancel the attempts still in progress."""
        try:
            return self._outcome()
        finally:
            for cancel in self._cancels:
                cancel()

    def _outcome(self) -> RequestOutcome:
        begun_s = time.perf_counter()
        second_s, retry_s, retries = begun_s + self._budget.begin(), math.inf, 0
        self._begin()
        while True:
            responded = self._response_by(min(second_s, retry_s))
            if responded is None and second_s <= retry_s:
                second_s = math.inf
                self._hedge()
            elif responded is None:
                retry_s = math.inf
                self._begin()
            else:
                number, response = responded
                if response.error is None:
                    self._budget.won(time.perf_counter() - begun_s)
                if not retryable(response):
                    return RequestOutcome.of(response, self._begun, number)
                if self._none_in_progress() and retry_s == math.inf:
                    if self._attempts.stopped.is_set() or not self._budget.may_retry(retries):
                        return RequestOutcome.of(response, self._begun, number)
                    retry_s = time.perf_counter() + self._pause_s(retries)
                    retries += 1

    def _response_by(self, time_s: float) -> tuple[int, Response] | None:
        """Return the next response, or None if there is none by `time_s`."""
        left_s = time_s - time.perf_counter()
        try:
            number, response = self._responses.get(timeout=None if left_s == math.inf else max(0.0, left_s))
        except Empty:
            return None
        if isinstance(response, Exception):
            raise response
        return number, response

    def _begin(self, with_spare: bool = False) -> None:
        number = self._begun
        self._begun += 1
        with self._lock:
            self._in_progress += 1
            self._holds_spare |= with_spare
        attempts, done = self._attempts, partial(self._done, number)
        if self._budget.policy.second:
            self._cancels.append(attempts.launcher.launch(self._row, number, done))
        else:
            done(attempts.issue(self._row, number))

    def _done(self, number: int, response: Response | Exception) -> None:
        with self._lock:
            self._in_progress -= 1
            self._responses.put((number, response))
            released = self._holds_spare and not self._in_progress
            self._holds_spare &= not released
        if released:
            self._attempts.spare.release()

    def _hedge(self) -> None:
        spare = self._attempts.spare
        if not spare.acquire(blocking=False):
            return
        if self._budget.may_hedge():
            self._begin(with_spare=True)
        else:
            spare.release()

    def _none_in_progress(self) -> bool:
        with self._lock:
            return not self._in_progress and self._responses.empty()

    def _pause_s(self, retries: int) -> float:
        policy = self._budget.policy
        fraction = (mixed(self._attempts.seed, JITTER_STREAM + retries, self._row) >> 11) * 2.0**-53
        return policy.pause_s(retries) * (1.0 - policy.jitter * fraction)
