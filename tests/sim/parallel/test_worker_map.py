"""Threads or processes: whichever suit, and the same results."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

from models.network.discipline import Discipline
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine.compiled import engine
from sim.engine.outcome import CHUNK, Program
from sim.parallel.worker_map import WorkerMap
from tests.networks import one_station, poisson
from traces.errors import InputError
from traces.workload.distributions import Exponential

STATION = Station("s", "server", Discipline.FIFO)
DEMAND = ServiceDemand(constant=0.8, distribution=Exponential())


def mean_s(seed: int, requests: int = 200_000) -> float:
    """The mean response of M/M/1: nearly all of it is the kernel's work, as the demands are drawn once."""
    program = Program.of(one_station(STATION, DEMAND), poisson(requests, 1.0, seed), seed)
    sheets = {first: program.draw(first, CHUNK) for first in range(0, requests + 1, CHUNK)}
    kept = Program(program.network, lambda first, count: sheets[first], seed)
    total = 0.0
    for _ in range(20):
        outcome = engine.run(kept)
        total += float((outcome.end_s - outcome.start_s).mean())
    return total


def process_of(item: int) -> int:
    sum(range(10**6))
    return os.getpid()


def killed(item: int) -> int:
    if item == 3:
        signal.raise_signal(signal.SIGKILL)
    return process_of(item)


def refused(item: int) -> int:
    if item == 3:
        raise InputError("3 is not allowed")
    return item


def test_simulations_that_the_kernel_bounds_run_as_threads_and_give_the_same():
    with WorkerMap(2) as mapping:
        found = list(mapping(mean_s, range(5)))
        assert mapping.kind == "threads"
    assert found == [mean_s(seed) for seed in range(5)]


@pytest.fixture
def quick_start(monkeypatch):
    """Processes that are taken to start at once."""
    monkeypatch.setattr("sim.parallel.worker_map.START_S", 0.0)


def test_work_of_python_goes_to_processes(quick_start):
    with WorkerMap(2) as mapping:
        first, *others = mapping(process_of, range(4))
        assert mapping.kind == "processes"
        assert list(mapping(refused, [1, 2])) == [1, 2]
    assert first == os.getpid()
    assert os.getpid() not in others


def test_a_killed_process_ends_the_map(quick_start):
    with pytest.raises(InputError, match="a worker was killed"), WorkerMap(2) as mapping:
        list(mapping(killed, range(10)))


def test_processes_start_once_they_gain(monkeypatch):
    def processes(alone_s: float, items: object) -> list[bool]:
        monkeypatch.setattr("sim.parallel.worker_map.START_S", alone_s)
        with WorkerMap(2) as mapping:
            return [process != os.getpid() for process in mapping(process_of, items)]

    assert processes(1e9, range(4)) == [False] * 4
    assert processes(0.0, range(4)) == [False, True, True, True]
    assert processes(0.0, iter(range(3))) == [False, True, True]
    # What was done may come again: as much work as half of that is saved by two workers.
    few = processes(0.05, iter(range(40)))
    assert not few[0] and few[-1] and few == sorted(few)


class Shared:
    """Work whose first item in a process takes far longer than others, such as compiling a spec."""

    made = False

    def process_of(self, item: int) -> int:
        time.sleep(0.002 if Shared.made else 0.2)
        Shared.made = True
        return os.getpid()


def test_what_items_share_is_made_again_by_processes(monkeypatch):
    monkeypatch.setattr(Shared, "made", False)
    monkeypatch.setattr("sim.parallel.worker_map.START_S", 0.1)
    with WorkerMap(2) as mapping:
        # 19 items of 0.2 s would be worth processes; 19 of 2 ms are not.
        assert set(mapping(Shared().process_of, range(20))) == {os.getpid()}
        assert mapping.kind == "processes"


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_ends_the_map(workers, quick_start):
    found = []
    with pytest.raises(InputError, match="3 is not allowed"), WorkerMap(workers) as mapping:
        found.extend(mapping(refused, range(10)))
    assert found == [0, 1, 2]


def test_no_items_start_no_workers():
    with WorkerMap(2) as mapping:
        assert list(mapping(abs, [])) == []
        assert list(mapping.completed(abs, [])) == []
        assert mapping.kind is None


def test_ctrl_c_ends_threads_soon():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), WorkerMap(2) as mapping:
            next(iter(mapping(mean_s, [1])))
            assert mapping.kind == "threads"
            threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
            begun_s = time.monotonic()
            list(mapping(partial(mean_s, requests=20_000_000), range(2)))
        assert time.monotonic() - begun_s < 60
        assert not engine.cancelled.is_set()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_run_of_another_thread_is_cancelled_and_one_of_this_is_not():
    program = Program.of(one_station(STATION, DEMAND), poisson(10, 1.0, 1), 1)
    raised = []

    def run() -> None:
        try:
            engine.run(program)
        except engine.CancelledError as error:
            raised.append(error)

    engine.cancelled.set()
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert len(raised) == 1
        assert np.isfinite(engine.run(program).end_s).all()
    finally:
        engine.cancelled.clear()
