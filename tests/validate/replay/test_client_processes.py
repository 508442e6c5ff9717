from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.context import SpawnProcess

import numpy as np
import pytest

from tests.conftest import StubStore
from tests.small_traces import reads, trace_of
from traces.errors import InputError
from traces.interrupts import handled_stops, raised_stops
from traces.trace import Pacing
from validate.replay.attempts import RequestOutcome
from validate.replay.issue import ClosedLoop, LoopClock, LoopState, OpenLoop, TracePart, drive
from validate.replay.plan import Options, plan_of
from validate.replay.replay import replay
from validate.s3.account import Response, Target

Stub = Callable[..., StubStore]


def test_an_open_loop_is_dealt_out_whole() -> None:
    trace = reads(11, rate=10)
    loops = [OpenLoop(trace, LoopClock(), 2.0, 5, TracePart(i, 3)) for i in range(3)]
    assert [loop.workers for loop in loops] == [2, 2, 1]
    taken = []
    for loop in loops:
        while (due := loop.take(0, 0.0)) is not None:
            taken.append(due)
    assert sorted(due.row for due in taken) == list(range(11))
    assert all(due.at_s == trace.arrival_s[due.row] / 2 for due in taken)


def test_a_light_open_loop_is_done_by_few_of_many_workers() -> None:
    clock, trace = LoopClock(), reads(60, rate=300)
    threads: list[int] = []

    def issue(row: int) -> RequestOutcome:
        threads.append(threading.get_ident())
        time.sleep(1e-3)
        return RequestOutcome.of(Response(200), 1, 0)

    records, interrupted = drive(OpenLoop(trace, clock, 1.0, 40), clock, issue, lambda done, seconds: None)
    assert [record.due.row for record in records] == list(range(60)) and not interrupted
    assert all(record.start_s >= record.due.at_s for record in records)
    assert len(set(threads)) < 20


def test_shares_of_a_closed_loop_take_turns() -> None:
    trace = trace_of(["GET"] * 6, list("abcdef"), Pacing("closed", 5))
    state, clock = LoopState(trace, multiprocessing.get_context("spawn")), LoopClock()
    loops = [ClosedLoop(trace, clock, state, TracePart(i, 2)) for i in range(2)]
    assert [loop.workers for loop in loops] == [3, 2]
    order = [loops[i].take(worker, 0.0) for i, worker in ((1, 1), (0, 0), (0, 2), (1, 0), (0, 1))]
    assert [(due.row, due.client) for due in order if due] == [(0, 3), (1, 0), (2, 4), (3, 1), (4, 2)]


@pytest.mark.alone
def test_an_open_loop_of_several_processes_keeps_its_schedule(stub: Stub) -> None:
    store, trace = stub(latency=0.05), reads(240, rate=120)
    run = replay(trace, Target(store.url), Options(processes=3, max_in_flight=64))
    assert not run.failed.any() and run.info["processes"] == 3
    assert np.array_equal(run.column("arrival_s"), trace.arrival_s)
    assert run.requests.column("key").to_pylist() == trace.table.column("key").to_pylist()
    assert run.latency_s.min() >= 0.05 - 1e-4 and np.median(run.latency_s) <= 0.065
    assert run.info["schedule"]["achieved_ops"] == pytest.approx(120, rel=0.05)
    assert run.info["schedule"]["in_flight_max"] >= 5
    assert run.info["cpu"]["client_s"] > 0.02
    assert store.buckets == []


@pytest.mark.alone
def test_phases_and_clients_hold_over_processes(stub: Stub) -> None:
    keys = [f"k{i}" for i in range(30)]
    pacing = Pacing("closed", clients=5, stagger_s=0.03)
    trace = trace_of(["PUT"] * 30 + ["GET"] * 30, keys * 2, pacing, phase=[0] * 30 + [1] * 30, think_s=0.01)
    run = replay(trace, Target(stub(latency=0.03).url), Options(processes=2))
    assert len(run) == 60 and not run.failed.any() and run.info["preload_objects"] == 0
    assert run.requests.column("key").to_pylist() == keys * 2
    client, arrival_s, end_s = (run.column(name) for name in ("client", "arrival_s", "end_s"))
    assert arrival_s[30:].min() >= end_s[:30].max()
    for phase in (slice(0, 30), slice(30, 60)):
        first_s = [arrival_s[phase][client[phase] == c].min() for c in range(5)]
        assert np.diff(first_s) == pytest.approx([0.03] * 4)
    for c in range(5):
        mine = np.flatnonzero(client[:30] == c)
        assert np.allclose(arrival_s[mine][1:] - end_s[mine][:-1], 0.01, atol=1e-9)


@pytest.mark.alone
def test_a_repeated_closed_loop_ends_in_time_over_processes(stub: Stub) -> None:
    trace = trace_of(["GET"] * 3, ["a", "b", "c"], Pacing("closed", 2, duration_s=0.6, repeat=True))
    run = replay(trace, Target(stub(latency=0.02).url), Options(processes=2))
    assert 20 <= len(run) <= 60 and run.column("arrival_s").max() < 0.6
    assert run.requests.column("key").to_pylist() == (["a", "b", "c"] * 20)[: len(run)]


def test_each_process_needs_something_to_do() -> None:
    closed = trace_of(["GET"], ["a"], Pacing("closed", 2))
    for trace, options in ((closed, Options(processes=3)), (reads(1, 1), Options(processes=3, max_in_flight=2))):
        with pytest.raises(InputError, match="processes is 3, but there are at most 2"):
            plan_of(trace, options)
    with pytest.raises(InputError, match="processes is 0"):
        Options(processes=0)


def test_a_killed_client_process_is_one_clear_line(stub: Stub) -> None:
    store = stub(latency=0.01)

    def kill(stage: str, done: float, total: float) -> None:
        if stage == "replay" and done >= 20:
            for child in multiprocessing.active_children():
                child.kill()

    with pytest.raises(InputError, match="a client process was killed"):
        replay(reads(500, rate=100), Target(store.url), Options(processes=2), kill)
    assert store.buckets == [] and multiprocessing.active_children() == []


def test_a_stop_while_client_processes_start_leaves_none(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    store, begin = stub(latency=0.01), SpawnProcess.start

    def stopped(process: SpawnProcess) -> None:
        begin(process)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(SpawnProcess, "start", stopped)
    with handled_stops(), raised_stops(), pytest.raises(KeyboardInterrupt):
        replay(reads(500, rate=100), Target(store.url), Options(processes=2))
    assert store.buckets == [] and multiprocessing.active_children() == []


@pytest.mark.parametrize("processes", [1, 2])
def test_an_interrupt_waits_for_what_is_under_way(stub: Stub, processes: int) -> None:
    store, timers = stub(latency=0.3), []

    def interrupt(stage: str, done: float, total: float) -> None:
        if stage == "replay" and done >= 40 and not timers:
            timers.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    run = replay(reads(200, rate=100), Target(store.url), Options(processes=processes), interrupt)
    assert run.info["aborted"] and 60 <= len(run) < 190 and not run.failed.any()
    assert sorted(run.requests.column("key").to_pylist()) == store.told("read"), "the Run has the requests of the store"
    issued = {int(key[1:]) for key in run.requests.column("key").to_pylist()}
    owed = {row for first, end in run.info["unissued"] for row in range(first, end)}
    assert issued | owed == set(range(200)) and not issued & owed
    assert store.buckets == []
