"""Searches with a failure in force, and what would help the requests that fail."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cli.parse.failure import parse_failure
from cli.parse.goal import parse_goal, parse_target
from cli.parse.slo import parse_slo
from cli.tables.experiments.failures import opening
from cli.tables.experiments.find import limit_found, limit_opening
from models.store import load_spec, spec_of, store_of
from sim.experiments.failures import FailureExperiment, failures
from sim.experiments.find.find_best import find_best
from sim.experiments.find.find_limit import FoundLimit, LimitTrial, find_limit
from sim.experiments.sweep import Settings
from sim.experiments.variants import Variants
from sim.saturation.capacity import capacity_of
from sim.simulate import simulate
from tests.paths import EXAMPLES
from tests.sim.experiments.test_fault_times import FEW, SIX
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.workload.generate import generate

pytestmark = pytest.mark.usefixtures("few_requests_of_module")

_SMALL = [
    "workload.rate=100/s",
    "workload.duration=2s",
    "hosts.nic=1Gbit/s",
    "network.payload_fraction=100%",
    "hosts.racks=3",
]  # so the links saturate first
_PROXY = ["balance=proxy", "proxy.cpu=0s"]


@cache
def limit(failure: str | None, *assignments: str, goal: str = "max rate in 150..400") -> FoundLimit:
    data: dict[str, Any] = override(SIX, [*_SMALL, *assignments])
    variants = Variants(data, "six", Settings(replications=2))
    if failure is not None:
        variants = replace(variants, failure=parse_failure(failure))
    return find_limit(variants, parse_goal(goal), [parse_slo("GET.p99<200ms")], tolerance=0.08)


def test_less_is_possible_at_n_minus_1():
    healthy, failed = limit(None, *_PROXY), limit("rack", *_PROXY)
    assert healthy.failure is None and healthy.healthy_ops is None
    assert failed.failure is not None and failed.failure.event == {"kind": "rack_down", "rack": 0, "at": 0.0}
    assert 0.6 * healthy.value < failed.value < 0.98 * healthy.value
    spec = spec_of(override(SIX, [*_SMALL, *_PROXY]), "six")
    assert failed.healthy_ops == capacity_of(spec, generate(spec.workload, 0)).capacity_ops
    said = limit_found(failed)
    assert said.startswith("At N-1, while rack 0 is down: ") and "Without the failure, the store saturates at" in said
    assert not failed.errors and not failed.remedies


def test_a_dead_host_is_no_capacity():
    failed = limit("rack", *_PROXY)
    decisive = failed.decisive
    assert isinstance(decisive, LimitTrial) and decisive.load is not None
    first = decisive.load.saturates_first
    assert first is not None and "host 0" not in first.station and "host 1" not in first.station
    assert first.headroom < 1.2  # which is what the search finds


def test_clients_that_go_on_using_a_dead_host_meet_no_objective_and_are_told_what_helps():
    found = limit("host")
    assert found.outcome == "no value meets" and found.errors == pytest.approx(1 / 6, abs=0.03)
    changes = {name: remedy.errors for remedy in found.remedies for name in remedy.set}
    assert changes == {"balance": 0.0, "client.retry.retries": pytest.approx(0.0, abs=0.03)}
    assert "it would help to set balance=proxy (none would fail)" in limit_opening(found)[0]


def test_a_rate_is_not_searched_where_requests_fail_at_any():
    """Below are rates at which no GET arrives in a run, or a single one, which fails."""
    found = limit("host", goal="max rate")
    assert [trial.value for trial in found.trials] == [12.5, 100] and found.outcome == "no value meets"
    assert found.errors == pytest.approx(1 / 6, abs=0.03) and found.remedies
    said = limit_opening(found)[1]
    assert said.startswith("No value that was tried meets the objectives")
    assert "100/s violates it (GET.p99<200ms: –), and so does 12.5/s." in said


def test_a_rate_is_not_searched_where_no_request_waits():
    """A round trip of two seconds is more than the objective at any rate."""
    variants = Variants(override(SIX, [*_SMALL, "network.latency=1s"]), "six", Settings(replications=2))
    found = find_limit(variants, parse_goal("max rate"), [parse_slo("GET.p99<200ms")])
    assert [trial.value for trial in found.trials] == [12.5, 100] and found.outcome == "no value meets"
    assert "violates it (GET.p99<200ms: 2.0" in limit_found(found) and "and so does 12.5/s" in limit_found(found)


def test_a_rate_at_which_nothing_arrives_does_not_end_a_search():
    variants = Variants(override(SIX, [*_SMALL, "workload.rate=300/s"]), "six", Settings(replications=2))
    found = find_limit(variants, parse_goal("max rate"), [parse_slo("GET.p99<1ms")])
    assert found.outcome == "no value meets" and isinstance(found.decisive, LimitTrial)
    assert not isinstance(found.trials[0], LimitTrial) and "no GET requests" in found.trials[0].infeasible
    assert "search lower" in limit_found(found)


def test_remedies_are_as_they_were_simulated():
    data = override(SIX, [*_SMALL, "workload.duration=6s"])
    result = failures(FailureExperiment(data, "six", [parse_failure("host")], settings=Settings(replications=2)))
    (row,) = result.failures
    assert row.errors == pytest.approx(1 / 6, abs=0.03)
    for remedy in row.remedies:
        changed = override(data, [f"{path}={value}" for path, value in remedy.set.items()])
        run = simulate(spec_of(changed | {"faults": [row.event]}, "six"), seed=0)
        assert run.failed.mean() <= 0.5 * row.errors
    first = opening(result)[0]
    assert first.startswith("While host 0 is down, 1") and "balance=proxy" in first
    assert "client.retry.retries=2" in first


def test_a_failure_that_makes_no_request_fail_needs_no_remedy():
    data = override(SIX, [*_SMALL, "workload.duration=6s"])
    result = failures(FailureExperiment(data, "six", [parse_failure("drive")], settings=Settings(replications=2)))
    assert result.failures[0].remedies == [] and opening(result)[0].startswith("Without a failure")


def test_the_best_value_is_sought_with_the_failure():
    data = override(SIX, ["hosts.cores.count=1", "workload.rate=100/s", "workload.duration=2s"])
    variants = Variants(data, "six", Settings(replications=2), failure=parse_failure("slow-drive=10"))
    found = find_best(variants, parse_goal("best hosts.cores.count in 1..4"), parse_target("PUT.p99"))
    assert found.failure is not None and found.failure.event["speed"] == 0.1 and found.value >= 2


def test_every_failure_of_every_store_can_be_in_force():
    for name in FEW:
        spec = load_spec(EXAMPLES / name, ["workload.operations=60"])
        for kind, fault in store_of(spec).faults.items():
            try:
                event = parse_failure(kind).lasting(spec)
                data = spec.model_dump(mode="json", exclude_unset=True)
                run = simulate(spec_of({**data, "faults": [event]}, name), seed=0)
            except InputError:  # the store cannot have it
                continue
            assert event["at"] == 0.0 and "until" not in event
            assert all(event[field] == value for field, value in fault.settled.items())
            assert len(run)


def test_clients_of_a_closed_loop_do_not_spin():
    data = override(SIX, ["workload.clients=1000", "workload.duration=1000s"])
    variants = Variants(data, "six", failure=parse_failure("host"))
    with pytest.raises(InputError, match="failure host: clients of a closed loop issue the next request at once"):
        find_limit(variants, parse_goal("max workload.clients in 1..9"), [parse_slo("GET.p99<1s")])
