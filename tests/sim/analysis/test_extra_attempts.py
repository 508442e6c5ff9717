"""What retries and hedges cost: the figures and the sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cli.tables.forecast.extra_attempts import extra_attempts_line
from models.shared.client_policy import ClientPolicies
from models.store import load_spec
from sim.saturation.capacity import capacity_of
from sim.simulate import simulate
from sim.verdict.extra_attempts import extra_attempts
from sim.verdict.verdict import LoadVerdict, Saturation, verdict_on_run

FIRST = Saturation("host 0 out", "host out", 0.66, 1000.0, "demands", 1.6)
LOAD = LoadVerdict("healthy", "open", None, 625.0, 625.0, 0.0, FIRST, [])


def of(load: LoadVerdict | None = LOAD, per_request: float = 0.02, **client):
    return extra_attempts(per_request, {"GET": 300, "backup.GET": 400, "PUT": 300}, ClientPolicies(**client), load)


def test_without_retries_and_hedges_there_is_no_cost():
    assert of() is None
    assert of(timeout="1s") is None


def test_the_budgets_of_all_operations_count():
    assert of(hedge={"after": "p95"}).allowed == pytest.approx(0.07)
    assert of(hedge={"after": "p95", "budget": None}).allowed == pytest.approx(0.7), "one hedge per GET"
    both = of(hedge={"after": "p95"}, retry={"retries": 2, "budget": 0.2}, timeout="1s")
    assert (both.allowed, both.retries, both.hedges) == (pytest.approx(0.27), True, True)
    assert of(retry={"retries": 2}).allowed == pytest.approx(2)


def test_it_is_said_in_a_line():
    hedge = {"after": "p95"}
    line = "hedges add 0.02 attempts per request, of 0.07 that budgets allow in the long run"
    assert extra_attempts_line(of(hedge=hedge)) == f"{line}; host 0 out is 66.0% busy with them."
    assert extra_attempts_line(of(hedge=hedge), "it is calm") == f"{line}; it is calm."
    for load in (None, replace(LOAD, saturates_first=None)):
        assert extra_attempts_line(of(load, hedge=hedge)) == f"{line}."
    assert of(replace(LOAD, status="overloaded", overloaded=True), hedge=hedge) is None


SIX = """
store: minio
workload: {rate: 1000/s, duration: 10s, object_size: 1MiB, mix: {GET: 1}}
network: {latency: 50us}
hosts: {count: 6, cores: 32, nic: 25Gbit/s, preset: epyc-2-cores}
drives: {count: 8, preset: nvme}
erasure: {parity: 4}
"""


def test_the_extra_load_is_that_of_the_extra_attempts(tmp_path):
    """GETs whose second attempts run to their end: a fraction more attempts is that fraction more work."""
    file = tmp_path / "six.yaml"
    file.write_text(SIX)
    spec = load_spec(file, ["client.hedge={after: 0.1us, budget: 0.08, cancel: false}"])
    run = simulate(spec, seed=1)
    verdict = verdict_on_run(run, capacity_of(spec, run.trace, generated=True))
    extra = extra_attempts(float(run.column("attempts").mean()) - 1, {"GET": len(run)}, spec.client, verdict)
    assert extra.per_request == pytest.approx(0.08, rel=0.02)
    measured = max(s["utilization"] for s in run.stations.to_pylist() if s["servers"] is not None)
    plain = simulate(load_spec(file, []), seed=1)
    alone = max(s["utilization"] for s in plain.stations.to_pylist() if s["servers"] is not None)
    assert measured / alone == pytest.approx(1.08, rel=0.01)
    assert extra.utilization == pytest.approx(measured, rel=0.02)
