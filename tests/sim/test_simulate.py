from __future__ import annotations

import numpy as np
import pytest

from models.store import load_spec, spec_of
from sim.run_tables import visited_stations
from sim.simulate import simulate
from tests.models.test_store import EXAMPLE
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
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
        "hosts.cpu={GET: 0}",
        "client.cpu={}",
        "network.latency=0",
        "workload.operations=null",
        "workload.duration=1s",
        "workload.mix={GET: 1}",
    )
    with pytest.raises(InputError, match="GET inline requests take no time"):
        simulate(spec)


def test_what_is_written_is_read_back(tmp_path):
    run = simulate(short())
    run.write(tmp_path / "run")
    again = Run.read(tmp_path / "run")
    assert again.requests.equals(run.requests)
    assert again.stations.equals(run.stations)
    assert {name: again.info[name] for name in run.info} == run.info  # the version of the code is added
    assert again.info["spec"]["workload"]["operations"] == 500


def test_what_stands_for_absent_parts_is_no_station_that_requests_visit():
    """A host of `homelab.yaml` has no limit of its interface, so transfers pass by a gate."""
    run = simulate(load_spec(EXAMPLES / "minio/homelab.yaml", ["workload.operations=50"]), seed=1)
    assert any(row["role"] == "nowhere" and row["visits"] for row in run.station_rows)
    assert {row["role"] for row in visited_stations(run)} >= {"host cpu", "drive"}
    assert all(row["role"] != "nowhere" and row["visits"] for row in visited_stations(run))


def test_run_can_be_simulated_again_from_what_it_says(tmp_path):
    run = simulate(short(), seed=5)
    assert simulate(spec_of(run.info["spec"], "run"), seed=run.info["seed"]).requests.equals(run.requests)


def test_a_timeout_ends_every_attempt_and_retries_follow():
    # Alone, a GET takes 4 ms at the drive: one attempt is over after 3 ms, the next begins 5 ms later, then 10.
    spec = short(
        "client.cpu={}", "hosts.cpu={GET: 0}", "network.latency=0", "drives.read=4ms", "workload.mix={GET: 1}",
        "workload.clients=1", "workload.operations=3", "client.timeout=3ms",
        "client.retry={retries: 2, backoff: 5ms, jitter: 0}",
    )  # fmt: skip
    run = simulate(spec, engine="simpy")
    assert run.column("attempts").tolist() == [3, 3, 3]
    assert run.column("winner").tolist() == [0, 0, 0]
    assert run.requests.column("error").to_pylist() == ["timed out"] * 3
    assert run.latency_s == pytest.approx(3 * 0.003 + 0.005 + 0.010)
    patient = simulate(
        spec_of(run.info["spec"] | {"client": {"placement": "storage_hosts"}}, "patient"), engine="simpy"
    )
    assert patient.latency_s == pytest.approx(0.004)
    assert not patient.failed.any()


def test_hedges_cut_the_tail_within_their_share():
    slow = "drives.read={constant: 1ms, distribution: {kind: slow_mode, probability: 0.05, factor: 100}}"
    alone = (slow, "workload.mix={GET: 1}", "workload.clients=1", "workload.operations=2000", "drives.queue_depth=8")
    plain = simulate(short(*alone), seed=1, engine="simpy")
    hedged = simulate(short(*alone, "client.hedge={after: p90, budget: 0.2}"), seed=1, engine="simpy")
    assert np.quantile(hedged.latency_s, 0.97) < 0.5 * np.quantile(plain.latency_s, 0.97)
    assert set(hedged.column("winner")) == {1, 2}
    assert 1.02 < hedged.column("attempts").mean() <= 1.2
    none = simulate(short(*alone, "client.hedge={after: p90, budget: 0}"), seed=1, engine="simpy")
    assert none.latency_s.tolist() == plain.latency_s.tolist()
