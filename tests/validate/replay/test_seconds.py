"""Counts of a replay by the second, which are handed over while it runs."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest

from tests.conftest import StubStore
from tests.small_traces import reads, trace_of
from traces.operations import OPS
from traces.trace import Pacing
from validate.replay.attempts import RequestOutcome
from validate.replay.issue import Due, Record
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.replay.seconds import Second, SecondCounts, Seen, Watching, bin_of, quantile_s
from validate.s3.account import Response, Target

Stub = Callable[..., StubStore]


def ended(row: int, at_s: float, start_s: float, end_s: float, error: str | None = None) -> Record:
    return Record(Due(row, row, 0, at_s), start_s, end_s, RequestOutcome(Response(200, error=error), 1, 1))


def test_quantiles_of_bins_are_within_a_percent() -> None:
    times_s = np.random.default_rng(1).lognormal(-5, 1.5, 20_000)
    second = Second()
    op = OPS.index("GET")
    counts = SecondCounts([op] * len(times_s))
    counts.add([ended(row, 0.0, 0.0, time_s) for row, time_s in enumerate(times_s.tolist())])
    for each in counts.take().values():
        second.add(each)
    for fraction in (0.01, 0.5, 0.9, 0.99):
        exact = float(np.quantile(times_s, fraction, method="inverted_cdf"))
        assert quantile_s(second.latency["GET"], fraction) == pytest.approx(exact, rel=0.0101)
    assert math.isnan(quantile_s({}, 0.5)) and bin_of(0.0) == bin_of(1e-9)


def test_requests_count_in_the_second_of_their_end_by_operation() -> None:
    get, put = OPS.index("GET"), OPS.index("PUT")
    counts = SecondCounts([get, put, get, get])
    counts.add([ended(0, 0.5, 0.51, 0.9), ended(1, 0.5, 0.5, 1.2)])
    counts.add([ended(2, 0.8, 1.0, 1.4, error="status 503"), ended(3, 0.9, 0.9, 0.95)])
    seconds = counts.take()
    assert sorted(seconds) == [0, 1] and counts.take() == {}
    assert seconds[0].latency.keys() == {"GET"} and seconds[0].served == 2
    assert seconds[1].latency.keys() == {"PUT"} and seconds[1].failed == {"GET": 1}
    assert seconds[1].errors == {"status 503": 1} and seconds[1].lag.total() == 2
    assert quantile_s(seconds[1].lag, 1.0) == pytest.approx(0.2, rel=0.01)


def test_reasons_are_few_and_short() -> None:
    second = Second()
    for number in range(1000):
        second.failed_for(f"{number}: {'x' * 1000}")
    assert len(second.errors) == 9 and second.errors.total() == 1000
    assert max(map(len, second.errors)) == 120 and second.errors["other errors"] == 992


def test_all_due_requests_are_handed_over_once() -> None:
    trace, seen = reads(35, rate=10), list[Seen]()
    watching = Watching(seen.append, trace, speed=2.0)
    for now_s in (0.1, 0.9, 1.05, 1.1, 2.3, 2.4):
        watching.poll(now_s)
    assert [each.now_s for each in seen] == [1.05, 2.3]
    watching.add({0: Second(due=0), 1: Second()})
    watching.poll(2.6, ended=True)
    due = Second()
    for each in seen:
        for second in each.seconds.values():
            due.add(second)
    assert due.due == 35 and set(seen[0].seconds) == {0}
    assert seen[0].seconds[0].due == int((trace.arrival_s / 2 < 1).sum())


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_handed_over_adds_up_to_the_run(stub: Stub, processes: int) -> None:
    seen = list[Seen]()
    keys = [f"flaky{i}" if i % 10 == 0 else f"k{i}" for i in range(250)]
    trace = trace_of(["GET"] * 250, keys, arrival_s=np.arange(250) / 100)
    run = replay(trace, Target(stub(latency=0.02).url), Options(processes=processes), watch=seen.append)
    whole = Second()
    for each in seen:
        for second in each.seconds.values():
            whole.add(second)
    assert len(seen) >= 3
    assert whole.due == len(run) == 250 and whole.failed.total() == int(run.failed.sum()) == 25
    assert whole.errors.total() == 25 and whole.lag.total() == 250
    exact = float(np.quantile(run.latency_s[~run.failed], 0.9, method="inverted_cdf"))
    assert quantile_s(whole.latency["GET"], 0.9) == pytest.approx(exact, rel=0.0101)
    end_s = run.column("end_s")[~run.failed]
    for number in range(3):
        found = sum(each.seconds[number].served for each in seen if number in each.seconds)
        assert found == int(((end_s >= number) & (end_s < number + 1)).sum())


def test_a_closed_loop_has_no_due_requests(stub: Stub) -> None:
    seen = list[Seen]()
    trace = trace_of(["GET"] * 3, ["a", "b", "c"], Pacing("closed", 2, duration_s=0.6, repeat=True))
    run = replay(trace, Target(stub(latency=0.02).url), watch=seen.append)
    assert sum(second.due for each in seen for second in each.seconds.values()) == 0
    assert sum(second.served for each in seen for second in each.seconds.values()) == len(run)


def test_an_interrupted_replay_hands_over_what_it_issued(stub: Stub) -> None:
    seen, timers = list[Seen](), []

    def interrupt(stage: str, done: float, total: float) -> None:
        if stage == "replay" and done >= 40 and not timers:
            timers.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    run = replay(reads(300, rate=100), Target(stub(latency=0.01).url), progress=interrupt, watch=seen.append)
    assert run.info["aborted"]
    assert sum(second.served for each in seen for second in each.seconds.values()) == len(run)
