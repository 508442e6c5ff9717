from __future__ import annotations

import numpy as np
import pytest

from models.spec import load_spec
from sim.simulate import simulate
from tests.small_traces import trace_of
from tests.test_spec import EXAMPLE
from traces.errors import InputError
from traces.run import Run
from traces.trace import Pacing


def short(*assignments: str):
    return load_spec(EXAMPLE, ["workload.duration=null", "workload.operations=500", *assignments])


def test_engines_give_the_same_run():
    for assignments in ([], ["workload.rate=300/s"], ["drives.count=4"]):
        runs = [simulate(short(*assignments), seed=3, engine=engine) for engine in ("simpy", "compiled")]
        assert runs[0].requests.equals(runs[1].requests)
        assert runs[0].stations.equals(runs[1].stations)


def test_seed_makes_the_run():
    a, b, c = (simulate(short(), seed=seed) for seed in (1, 1, 2))
    assert a.requests.equals(b.requests)
    assert not a.requests.equals(c.requests)


def test_open_loop_counts_from_the_arrival():
    run = simulate(short("workload.rate=100/s"))
    assert run.column("arrival_s").tolist() == run.column("start_s").tolist()
    assert len(run) == 500


def test_open_loop_ends_with_its_duration():
    run = simulate(short("workload.rate=100/s", "workload.operations=null", "workload.duration=2s"))
    assert run.column("arrival_s").max() < 2
    assert len(run) == pytest.approx(200, abs=60)


def test_closed_loop_with_a_duration_goes_on_until_it_is_over():
    run = simulate(short("workload.operations=null", "workload.duration=1s", "workload.clients=2"))
    assert 0.9 < run.column("start_s").max() < 1
    assert set(run.column("client")) == {0, 1}


def test_a_trace_takes_the_place_of_the_workload():
    trace = trace_of(["PUT", "GET", "GET"], ["a", "a", "b"], Pacing("closed", clients=1), size_bytes=10)
    run = simulate(short(), trace)
    assert run.requests.column("key").to_pylist() == ["a", "a", "b"]
    assert run.column("transfer_bytes").tolist() == [10, 10, 10]
    assert np.isnan(run.column("first_byte_s")[0])


def test_requests_that_take_no_time_and_never_end_are_refused():
    spec = short(
        "host.cpu={}", "client.cpu={}", "workload.operations=null", "workload.duration=1s", "workload.mix={GET: 1}"
    )
    with pytest.raises(InputError, match="GET takes no time"):
        simulate(spec)


def test_what_is_written_is_read_back(tmp_path):
    run = simulate(short())
    run.write(tmp_path / "run")
    again = Run.read(tmp_path / "run")
    assert again.requests.equals(run.requests)
    assert again.stations.equals(run.stations)
    assert again.info == run.info
    assert again.info["spec"]["workload"]["operations"] == 500


def test_run_can_be_simulated_again_from_what_it_says(tmp_path):
    from models.spec import spec_of

    run = simulate(short(), seed=5)
    assert simulate(spec_of(run.info["spec"], "run"), seed=run.info["seed"]).requests.equals(run.requests)
