"""Closed loops that have more requests than a Run can have are refused before they are simulated."""

import time

import pytest

from models.store import load_spec
from sim import endless
from sim.simulate import simulate
from tests.paths import EXAMPLES
from traces.errors import InputError


@pytest.mark.parametrize("example", ["minio.yaml", "ceph/hdd-quincy.yaml"])
def test_a_closed_loop_of_a_billion_seconds_is_refused_at_once(example: str) -> None:
    spec = load_spec(EXAMPLES / example, ["workload.duration=1000000000s"])
    begun_s = time.thread_time()
    with pytest.raises(InputError, match=r"1e\+09 s has at least .* requests, more than the .*; shorten"):
        simulate(spec)
    assert time.thread_time() - begun_s < 20


def test_the_least_number_of_requests_is_not_above_what_a_run_has(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load_spec(EXAMPLES / "minio.yaml", ["workload.duration=2s"])
    served = len(simulate(spec))
    monkeypatch.setattr(endless, "MAX_REQUESTS", served)
    assert len(simulate(spec)) == served
    monkeypatch.setattr(endless, "MAX_REQUESTS", 10)
    with pytest.raises(InputError, match="8 clients and 2 s has at least"):
        simulate(spec)


def test_a_machine_without_memory_has_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endless, "_memory_bytes", lambda: 1000)
    with pytest.raises(InputError, match="more than the 10 that a Run can have on this machine"):
        simulate(load_spec(EXAMPLES / "minio.yaml", ["workload.duration=2s"]))
