from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from models.network.retry_policy import HEDGE_SAMPLES, Policy
from validate.replay.attempts import Attempts, RequestOutcome, retryable
from validate.s3.account import Response

GOOD = Response(200, 10)
BUSY = Response(503, error="SlowDown: Please reduce your request rate.")
GONE = Response(404, error="NoSuchKey: The specified key does not exist.")


class Store:
    """Responds to attempt n of any row with the n-th of `answers` (the last for all further ones) after its time."""

    def __init__(self, *answers: tuple[float, Response]):
        self.answers = answers
        self.begun: list[tuple[int, int, float]] = []

    def __call__(self, row: int, attempt: int) -> Response:
        self.begun.append((row, attempt, time.perf_counter()))
        takes_s, response = self.answers[min(attempt, len(self.answers) - 1)]
        time.sleep(takes_s)
        return response


@pytest.fixture
def attempts() -> Callable[..., Attempts]:
    made: list[Attempts] = []

    def make(policy: Policy, store: Callable[[int, int], Response], rows: int = 1000, workers: int = 4) -> Attempts:
        made.append(Attempts({"GET": policy}, ["GET"] * rows, store, workers, threading.Event()))
        return made[-1]

    yield make
    for one in made:
        one.close()


Make = Callable[..., Attempts]


def timed(attempts: Attempts, row: int = 0) -> tuple[RequestOutcome, float]:
    begun_s = time.perf_counter()
    return attempts(row), time.perf_counter() - begun_s


def test_without_a_policy_there_is_one_attempt(attempts: Make) -> None:
    store = Store((0, GONE))
    assert attempts(Policy(), store)(3) == RequestOutcome(GONE, 1, 0)
    assert [begun[:2] for begun in store.begun] == [(3, 0)]
    assert attempts(Policy(), Store((0, GOOD)))(0) == RequestOutcome(GOOD, 1, 1)


def test_a_late_answer_is_overtaken_by_the_second_attempt(attempts: Make) -> None:
    store = Store((0.5, GOOD), (0.02, GOOD._replace(status=206)))
    (response, begun, winner), took_s = timed(attempts(Policy(hedge_after_s=0.1), store))
    assert (response.status, begun, winner) == (206, 2, 2)
    assert 0.12 <= took_s < 0.4, "the worker does not wait for the loser"


def test_the_first_attempt_can_win_against_the_second(attempts: Make) -> None:
    outcome, took_s = timed(attempts(Policy(hedge_after_s=0.05), Store((0.15, GOOD), (0.5, GOOD))))
    assert outcome == RequestOutcome(GOOD, 2, 1) and took_s < 0.4


def test_an_answer_in_time_is_not_hedged(attempts: Make) -> None:
    outcome, _ = timed(attempts(Policy(hedge_after_s=0.2), Store((0.01, GOOD))))
    assert outcome == RequestOutcome(GOOD, 1, 1)


def test_hedges_keep_to_their_budget(attempts: Make) -> None:
    hedged = attempts(Policy(hedge_after_s=0.005, hedge_budget=0.125, hedge_budget_cap=2), Store((0.06, GOOD)))
    counts = [hedged(row).attempts for row in range(20)]
    assert [row + 1 for row, count in enumerate(counts) if count == 2] == [1, 2, 9, 17]


def test_a_quantile_is_known_only_after_some_answers(attempts: Make) -> None:
    slow = threading.Event()

    def store(row: int, attempt: int) -> Response:
        time.sleep(0.3 if slow.is_set() and not attempt else 0.001)
        return GOOD

    hedged = attempts(Policy(hedge_quantile=0.95), store)
    for row in range(HEDGE_SAMPLES - 1):
        assert hedged(row).attempts == 1
    slow.set()
    assert hedged(HEDGE_SAMPLES - 1).attempts == 1, "one latency is missing"
    outcome, took_s = timed(hedged, HEDGE_SAMPLES)
    assert outcome == RequestOutcome(GOOD, 2, 2) and took_s < 0.25


def test_as_many_losers_as_workers_may_be_under_way(attempts: Make) -> None:
    store = Store((0.3, GOOD), (0.001, GOOD))
    hedged = attempts(Policy(hedge_after_s=0.02), store, workers=2)
    assert [hedged(row).attempts for row in range(3)] == [2, 2, 1]
    assert hedged(3).attempts == 2, "the losers have come back"


def test_the_loser_is_taken_back_where_it_can_be() -> None:
    ended: list[tuple[int, int]] = []

    async def issue(row: int, attempt: int) -> Response:
        try:
            await asyncio.sleep(0.02 if attempt else 5)
        except asyncio.CancelledError:
            ended.append((row, attempt))
            raise
        return GOOD

    hedged = Attempts(
        {"GET": Policy(hedge_after_s=0.05)}, ["GET"] * 9, Store((0, BUSY)), 1, threading.Event(), 0, issue
    )
    begun_s = time.perf_counter()
    assert [hedged(row) for row in range(3)] == [RequestOutcome(GOOD, 2, 2)] * 3, (
        "the one spare is given back each time"
    )
    hedged.close()
    assert time.perf_counter() - begun_s < 3, "no loser is waited for"
    assert ended == [(0, 0), (1, 0), (2, 0)]


def test_a_bug_in_an_attempt_that_can_be_taken_back_reaches_the_worker() -> None:
    async def broken(row: int, attempt: int) -> Response:
        raise ZeroDivisionError

    hedged = Attempts({"GET": Policy(hedge_after_s=1)}, ["GET"], Store((0, GOOD)), 1, threading.Event(), 0, broken)
    with pytest.raises(ZeroDivisionError):
        hedged(0)
    hedged.close()


def test_a_failure_is_retried_after_pauses_that_double(attempts: Make) -> None:
    store = Store((0, BUSY), (0, BUSY), (0, GOOD))
    outcome = attempts(Policy(retries=3, backoff_s=0.04), store)(0)
    assert outcome == RequestOutcome(GOOD, 3, 3)
    first, second, third = (at_s for _, _, at_s in store.begun)
    assert 0.04 <= second - first < 0.08 <= third - second


def test_the_longest_pause_and_its_jitter(attempts: Make) -> None:
    def pauses(jitter: float) -> list[float]:
        store = Store((0, BUSY))
        attempts(Policy(retries=6, backoff_s=0.01, backoff_max_s=0.02, jitter=jitter), store)(0)
        times = [at_s for _, _, at_s in store.begun]
        return [b - a for a, b in pairwise(times)]

    assert all(pause >= 0.02 for pause in pauses(0)[1:])
    assert sum(pauses(1)) < 0.11 <= sum(pauses(0)), "a random part of each pause is left out"


def test_retries_end(attempts: Make) -> None:
    assert attempts(Policy(retries=2), Store((0, BUSY)))(0) == RequestOutcome(BUSY, 3, 0)


def test_retries_keep_to_their_budget(attempts: Make) -> None:
    retried = attempts(Policy(retries=1, retry_budget=0.25, retry_budget_cap=1), Store((0, BUSY)))
    assert [retried(row).attempts for row in range(9)] == [2, 1, 1, 1, 2, 1, 1, 1, 2]
    refused = attempts(Policy(retries=1, retry_budget=0), Store((0, BUSY)))
    assert refused(0).attempts == 1


def test_what_is_wrong_with_the_request_is_not_retried(attempts: Make) -> None:
    assert attempts(Policy(retries=2), Store((0, GONE)))(0) == RequestOutcome(GONE, 1, 0)
    broken = Response(200, error="the connection was reset")
    assert [retryable(a) for a in (GOOD, GONE, BUSY, broken, Response(0, error="refused"))] == [
        False, False, True, True, True,
    ]  # fmt: skip


def test_nothing_is_retried_after_an_interrupt(attempts: Make) -> None:
    stopped = threading.Event()
    retried = Attempts({"GET": Policy(retries=5)}, ["GET"], Store((0, BUSY)), 1, stopped)
    stopped.set()
    assert retried(0) == RequestOutcome(BUSY, 1, 0)


def test_a_failed_first_attempt_waits_for_the_hedge(attempts: Make) -> None:
    store = Store((0.1, BUSY), (0.15, GOOD))
    assert attempts(Policy(hedge_after_s=0.05, retries=1), store)(0) == RequestOutcome(GOOD, 2, 2)
    both_fail = Store((0.1, BUSY), (0.1, BUSY), (0.01, GOOD))
    assert attempts(Policy(hedge_after_s=0.05, retries=1), both_fail)(0) == RequestOutcome(GOOD, 3, 3)


def test_operations_have_policies_of_their_own() -> None:
    attempts = Attempts({"GET": Policy(retries=1)}, ["GET", "PUT"], Store((0, BUSY)), 1, threading.Event())
    assert [attempts(row).attempts for row in (0, 1)] == [2, 1]


def test_a_bug_in_an_attempt_reaches_the_worker(attempts: Make) -> None:
    def broken(row: int, attempt: int) -> Response:
        raise ZeroDivisionError

    for policy in (Policy(), Policy(retries=1), Policy(hedge_after_s=1)):
        with pytest.raises(ZeroDivisionError):
            attempts(policy, broken)(0)
