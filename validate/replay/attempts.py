"""A request's attempts on a real store: the simulator's client policies, live.

The rules are the simulated machine's: a failed attempt is retried after a pause; a second one starts when the answer is
late; the first good answer ends the request. What an attempt may take at most is the client library's own timeout.
The attempt that lost is taken back by closing its connection, where policy and client library allow that; else it
runs to its end and its answer is dropped.

A request that may be hedged runs beside its worker (``launchers.py``), so that the worker is free again when the second
answer wins. That costs two changes of thread for each request, hedged or not.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple

from models.network.retry_policy import HEDGE_SAMPLES, NO_POLICY, Policy
from sim.engine.latency_histogram import LatencyBins
from sim.engine.outcome import JITTER_STREAM
from traces.random_streams import mixed
from validate.replay.launchers import InThreads, Issue, IssueAsync, Launcher, OnLoop
from validate.s3.account import Response

_ASK_AGAIN = (408, 429)  # of the 4xx, those that do not say that the request itself is wrong


class Outcome(NamedTuple):
    """What became of a request: the answer that counted, the attempts begun, and which of them it was (0: none)."""

    response: Response
    attempts: int
    winner: int

    @staticmethod
    def of(response: Response, attempts: int, number: int) -> Outcome:
        """The outcome where the answer to attempt `number` (from 0) ends the request."""
        return Outcome(response, attempts, 0 if response.error else number + 1)

    def since(self, zero_s: float) -> Outcome:
        """The same with the answer's time stamp counted from `zero_s`."""
        return self._replace(response=self.response._replace(first_byte_s=self.response.first_byte_s - zero_s))


def retryable(response: Response) -> bool:
    """Whether a further attempt could go better: no answer, a broken one, or the server's fault."""
    return response.error is not None and (not 400 <= response.status < 500 or response.status in _ASK_AGAIN)


class _Book:
    """What the requests of one operation have spent of their policy's budgets, and the latencies seen so far."""

    def __init__(self, policy: Policy):
        self.policy = policy
        self._lock = threading.Lock()
        self._begun = self._retried = self._hedged = 0
        self._seen = LatencyBins(policy.hedge_quantile)

    def begin(self) -> float:
        """One request more; after how many seconds its second attempt is due."""
        with self._lock:
            self._begun += 1
            if not self.policy.hedge_quantile:
                return self.policy.hedge_after_s
            return self._seen.quantile_s() if self._seen.total >= HEDGE_SAMPLES else math.inf

    def won(self, latency_s: float) -> None:
        if self.policy.hedge_quantile:
            with self._lock:
                self._seen.add(latency_s)

    def may_retry(self, retries: int) -> bool:
        with self._lock:
            if retries >= self.policy.retries or self._retried + 1 > self.policy.retry_budget * self._begun:
                return False
            self._retried += 1
            return True

    def may_hedge(self) -> bool:
        with self._lock:
            if self._hedged + 1 > self.policy.hedge_budget * self._begun:
                return False
            self._hedged += 1
            return True


class Attempts:
    """Does requests by their operation's policy; for use by several workers at once.

    Args:
        policies: by operation; one not named has none.
        ops: the operation of each row.
        workers: how many there are. As many losers may still be under way; beyond that nothing is hedged.
        stopped: when set, nothing is retried any more.
        seed: of the pauses' jitter.
        cancellable: what does the attempts that can be taken back; None: all run to their end.
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
        self._books = {op: _Book(policies.get(op, NO_POLICY)) for op in set(ops)}
        self._ops = ops
        self.issue, self.stopped, self.seed = issue, stopped, seed
        self.launcher: Launcher = OnLoop(cancellable) if cancellable else InThreads(issue, max(1, 2 * workers))
        self.spare = threading.Semaphore(workers)

    def __call__(self, row: int) -> Outcome:
        book = self._books[self._ops[row]]
        if book.policy.attempts == 1:
            return Outcome.of(self.issue(row, 0), 1, 0)
        return _Request(self, book, row).outcome()

    def close(self) -> None:
        """Wait for the attempts that lost."""
        self.launcher.close()


class _Request:
    """One request under way."""

    def __init__(self, attempts: Attempts, book: _Book, row: int):
        self._attempts, self._book, self._row = attempts, book, row
        self._lock = threading.Lock()
        self._answers: SimpleQueue[tuple[int, Response | Exception]] = SimpleQueue()
        self._begun = self._under_way = 0
        self._holds_spare = False
        self._take_back: list[Callable[[], object]] = []

    def outcome(self) -> Outcome:
        """Begin, hedge and retry until an answer ends the request; take back what is still under way."""
        try:
            return self._outcome()
        finally:
            for take_back in self._take_back:
                take_back()

    def _outcome(self) -> Outcome:
        begun_s = time.perf_counter()
        second_s, retry_s, retries = begun_s + self._book.begin(), math.inf, 0
        self._begin()
        while True:
            responded = self._answer_by(min(second_s, retry_s))
            if responded is None and second_s <= retry_s:
                second_s = math.inf
                self._hedge()
            elif responded is None:
                retry_s = math.inf
                self._begin()
            else:
                number, response = responded
                if response.error is None:
                    self._book.won(time.perf_counter() - begun_s)
                if not retryable(response):
                    return Outcome.of(response, self._begun, number)
                if self._nothing_under_way() and retry_s == math.inf:
                    if self._attempts.stopped.is_set() or not self._book.may_retry(retries):
                        return Outcome.of(response, self._begun, number)
                    retry_s = time.perf_counter() + self._pause_s(retries)
                    retries += 1

    def _answer_by(self, time_s: float) -> tuple[int, Response] | None:
        """The next answer, or None when there is none by then."""
        left_s = time_s - time.perf_counter()
        try:
            number, response = self._answers.get(timeout=None if left_s == math.inf else max(0.0, left_s))
        except Empty:
            return None
        if isinstance(response, Exception):
            raise response
        return number, response

    def _begin(self, with_spare: bool = False) -> None:
        number = self._begun
        self._begun += 1
        with self._lock:
            self._under_way += 1
            self._holds_spare |= with_spare
        attempts, over = self._attempts, partial(self._over, number)
        if self._book.policy.second:
            self._take_back.append(attempts.launcher.launch(self._row, number, over))
        else:
            over(attempts.issue(self._row, number))

    def _over(self, number: int, response: Response | Exception) -> None:
        with self._lock:
            self._under_way -= 1
            self._answers.put((number, response))
            gives_back = self._holds_spare and not self._under_way
            self._holds_spare &= not gives_back
        if gives_back:
            self._attempts.spare.release()

    def _hedge(self) -> None:
        spare = self._attempts.spare
        if not spare.acquire(blocking=False):
            return
        if self._book.may_hedge():
            self._begin(with_spare=True)
        else:
            spare.release()

    def _nothing_under_way(self) -> bool:
        with self._lock:
            return not self._under_way and self._answers.empty()

    def _pause_s(self, retries: int) -> float:
        policy = self._book.policy
        fraction = (mixed(self._attempts.seed, JITTER_STREAM + retries, self._row) >> 11) * 2.0**-53
        return min(policy.backoff_s * 2.0**retries, policy.backoff_max_s) * (1.0 - policy.jitter * fraction)
