from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from tests.conftest import StubStore
from tests.small_traces import reads
from validate.replay import pinning
from validate.replay.pinning import Pinning, cores_here, pinned, pinning_of
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.s3.account import Target

two_cores = pytest.mark.skipif(len(cores_here()) < 2, reason="needs two cores")


def test_the_store_keeps_most_cores() -> None:
    assert pinning_of(range(8), 2) == Pinning([6, 7], [0, 1, 2, 3, 4, 5])
    assert pinning_of(range(4), 2) == Pinning([2, 3], [0, 1])
    assert pinning_of([1, 3, 5], 1) == Pinning([5], [1, 3])
    assert pinning_of(range(4), 3) is None
    assert pinning_of(range(2), 1) is None
    assert pinning_of([], 1) is None


@pytest.mark.clock
@two_cores
def test_all_threads_of_a_process_are_bound_and_set_free_again() -> None:
    begin, end = threading.Event(), threading.Event()
    seen: list[set[int]] = []

    def work() -> None:
        begin.wait()
        seen.append(os.sched_getaffinity(0))
        end.wait()

    thread = threading.Thread(target=work)
    thread.start()
    before, core = os.sched_getaffinity(0), cores_here()[-1]
    with pinned([os.getpid()], [core]):
        assert os.sched_getaffinity(0) == {core}
        begin.set()
        while not seen:
            pass
    assert seen == [{core}]
    assert os.sched_getaffinity(0) == os.sched_getaffinity(thread.native_id or 0) == before
    end.set()
    thread.join()


def test_a_process_that_ends_meanwhile_is_no_matter() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        with pinned([child.pid], cores_here()[:1]):
            child.communicate(b"\n")
        assert child.returncode == 0


@pytest.mark.alone
@two_cores
def test_a_replay_keeps_client_and_store_apart(stub: Callable[..., StubStore], monkeypatch: pytest.MonkeyPatch) -> None:
    store = stub(latency=0.01)
    target = Target(store.url, server_pids=(store.process.pid,))
    seen: set[tuple[int, ...]] = set()

    def look(stage: str, done: float, total: float) -> None:
        if stage == "replay":
            seen.add(tuple(sorted(os.sched_getaffinity(store.process.pid))))

    refused = replay(reads(20, 100), target, Options(pin=True), look)
    if len(cores_here()) == 2:
        assert "too few" in refused.info["pinning"]["refused"]
        assert seen == {tuple(cores_here())}
    monkeypatch.setattr(pinning, "LEAST_SERVER_CORES", 1)
    seen.clear()
    run = replay(reads(20, 100), target, Options(pin=True), look)
    pinned_to = run.info["pinning"]
    assert pinned_to["client"] == cores_here()[-1:] and seen == {tuple(pinned_to["server"])}
    assert not run.failed.any() and sorted(os.sched_getaffinity(store.process.pid)) == cores_here()
    unknown = replay(reads(5, 100), Target(store.url), Options(pin=True))
    assert "process is unknown" in unknown.info["pinning"]["refused"]
