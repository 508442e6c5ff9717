"""The capacity of a store that faults and background work change: of each stretch, and confirmed by long runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cli.tables.forecast.verdict import bounds_line, verdict_line
from models.devices.hdd_scheduling import busy_s
from models.store import Spec, compile_spec, load_spec, spec_of
from sim.analysis.bounds import bounds_of
from sim.json_form import to_json
from sim.saturation.capacity import Capacity, capacity_of
from sim.saturation.network_stretches import WHOLE, stretches_of
from sim.saturation.stable_rate import at_times
from sim.simulate import simulate
from sim.verdict.stretches import slump_of
from sim.verdict.verdict import LoadVerdict, verdict_on_run
from tests.paths import EXAMPLES
from tests.profiles import NIGHTLY
from tests.sim.analysis.test_saturation import HDD, changed, saturates_at
from tests.sim.analysis.test_verdict import queue
from tests.sim.analysis.test_verdict_states import SIX
from traces.spec.spec_file import override
from traces.workload.generate import generate

SLOW = "faults=[{kind: slow_drive, drive: 0, speed: 0.25, at: 10s, until: 20s}]"
SCRUB = "background.loads=[{name: scrub, rate: 300/s, demand: 1ms}]"
SCRUB_FOR_A_TIME = "background.loads=[{name: scrub, rate: 300/s, demand: 1ms, at: 10s, until: 20s}]"
DEAD_HOST = "faults=[{kind: host_down, host: 0, at: 0s}]"


def judged(spec: Spec) -> tuple[LoadVerdict, Capacity]:
    trace = generate(spec.workload, 0)
    capacity = capacity_of(spec, trace)
    found = verdict_on_run(simulate(spec, trace, seed=0), capacity)
    assert found is not None
    assert LoadVerdict.from_json(to_json(found)) == found
    return found, capacity


def growth(spec: Spec) -> float:
    """By how many more requests wait at the end than after half of the time, as a fraction of those of this half."""
    trace = generate(spec.workload, 1)
    end_s = np.sort(simulate(spec, trace, seed=1).column("end_s"))
    half_s, last_s = trace.arrival_s[-1] / 2, trace.arrival_s[-1]
    waiting = [
        np.searchsorted(trace.arrival_s, t, "right") - np.searchsorted(end_s, t, "right") for t in (half_s, last_s)
    ]
    return float(waiting[1] - waiting[0]) / (len(trace) / 2)


def test_a_slow_drive_is_slow_in_its_stretch_only() -> None:
    verdict, capacity = judged(queue(0.22, 1, 6600, SLOW))
    assert [each.from_s for each in capacity.limits] == [0.0, 10.0, 20.0]
    assert [each.ops for each in capacity.limits] == pytest.approx([1000, 250, 1000], rel=0.06)
    assert capacity.capacity_ops == pytest.approx(250, rel=0.06)
    assert capacity.mean_ops == pytest.approx(750, rel=0.03)
    first = verdict.saturates_first
    assert first is not None and (first.from_s, first.until_s) == (10.0, 20.0)
    assert first.headroom == pytest.approx(250 / 220, rel=0.1)
    assert verdict.status == "near saturation"
    assert "op/s from 10.0 s to 20.0 s (1." in verdict_line(verdict)


def test_all_stretches_with_the_same_capacity_are_stated() -> None:
    """Before and after a fault that lasts for less than a tenth of the run, which has no capacity of its own."""
    verdict, capacity = judged(queue(0.22, 1, 6600, SLOW.replace("until: 20s", "until: 11s")))
    assert [(each.from_s, each.again[0][0]) for each in capacity.limits] == [(0.0, 11.0), (11.0, 0.0)]
    assert "op/s from 0 s to 10.0 s and from 11.0 s to " in verdict_line(verdict)


def test_a_fault_that_changes_no_capacity_leaves_that_of_the_whole_run() -> None:
    verdict, capacity = judged(queue(0.22, 1, 6600, SLOW.replace("speed: 0.25", "speed: 0.999")))
    assert [(each.from_s, each.until_s) for each in capacity.limits] == [WHOLE]
    assert verdict.saturates_first is not None and verdict.saturates_first.from_s is None


def test_hard_disks_have_the_queue_of_requests_that_begin_late() -> None:
    """Trials in the stretch after a fault do: their rate counts from their first request, not from 0."""
    spec = spec_of({**HDD, "workload": {**HDD["workload"], "duration": None, "operations": 2000, "rate": 60.0}}, "hdd")
    trace = generate(spec.workload, 0)
    late = at_times(trace, np.arange(len(trace)), trace.arrival_s + 100.0)
    at_rest = at_times(trace, np.arange(len(trace)), 100.0 * trace.arrival_s)
    early, later = (busy_s(*compile_spec(spec, each)) for each in (trace, late))
    assert later == pytest.approx(early, rel=1e-3) and early < 0.9 * busy_s(*compile_spec(spec, at_rest))


def test_requests_that_pile_up_for_a_time_are_no_overload_of_the_run() -> None:
    verdict, capacity = judged(queue(0.4, 1, 12_000, SLOW))
    assert capacity.mean_ops is not None and capacity.mean_ops > 400
    assert not verdict.overloaded
    assert verdict.status == "degraded"
    first = verdict.saturates_first
    assert first is not None and first.headroom < 1 and first.from_s == 10.0


def test_background_work_takes_its_part_of_the_capacity() -> None:
    assert saturates_at(queue(0.2, 1, 500, SCRUB)) == pytest.approx(700)
    # Requests before it: a queue of them leaves it no turn. By weights, it gets at most its part.
    assert saturates_at(queue(0.2, 1, 500, SCRUB, "background.scheduling=priority")) == pytest.approx(1000)
    weighted = SCRUB.replace("300/s", "700/s"), "background.scheduling=weighted"
    assert saturates_at(queue(0.2, 1, 500, *weighted)) == pytest.approx(500)
    verdict, _ = judged(queue(0.2, 1, 6000, SCRUB))
    assert verdict.saturates_first is not None and verdict.saturates_first.capacity_ops == pytest.approx(700)


@pytest.mark.parametrize("changes", [(SCRUB,), (SCRUB, "background.scheduling=weighted")])
def test_a_rate_10_percent_below_what_background_work_leaves_is_served(changes: tuple[str, ...]) -> None:
    most_ops = saturates_at(queue(0.2, 1, 500, *changes))
    below, above = (growth(queue(factor * most_ops / 1000, 1, 40_000, *changes)) for factor in (0.9, 1.1))
    assert below < 0.02
    assert above > 0.05


def test_background_work_for_a_time_counts_in_that_time() -> None:
    verdict, capacity = judged(queue(0.2, 1, 6000, SCRUB_FOR_A_TIME))
    assert [each.from_s for each in capacity.limits] == [0.0, 10.0, 20.0]
    assert [each.ops for each in capacity.limits] == pytest.approx([1000, 700, 1000])
    assert verdict.saturates_first is not None and verdict.saturates_first.until_s == 20.0


def test_a_store_that_does_not_change_has_one_stretch() -> None:
    spec = queue(0.2, 1, 500)
    assert stretches_of(*compile_spec(spec, generate(spec.workload, 0))) == [WHOLE]
    later = queue(0.2, 1, 500, SLOW)  # ends after 2.5 s
    assert stretches_of(*compile_spec(later, generate(later.workload, 0))) == [WHOLE]
    assert capacity_of(later, generate(later.workload, 0)) == capacity_of(spec, generate(spec.workload, 0))


@pytest.mark.parametrize(
    ("balance", "limit_ops"), [("round_robin", 9_820), ("proxy", 8_180)] if NIGHTLY else [("round_robin", 9_820)]
)
def test_a_dead_host_counts_by_what_its_requests_need(balance: str, limit_ops: float) -> None:
    """Clients that go on using it lose a sixth of their requests, which need nothing; a proxy gives them to others."""
    spec = spec_of(override(SIX, [DEAD_HOST, f"balance={balance}"]), "six")
    most_ops = saturates_at(changed(spec, rate=2000.0, operations=2000))
    assert most_ops == pytest.approx(limit_ops, rel=0.03)
    assert growth(changed(spec, rate=0.9 * most_ops, operations=15_000)) < 0.02
    assert growth(changed(spec, rate=1.1 * most_ops, operations=15_000)) > 0.05
    loaded = changed(spec, rate=0.85 * most_ops, operations=2000)
    result = bounds_of(loaded, generate(loaded.workload, 0))
    assert result.max_throughput_ops == pytest.approx(most_ops, rel=0.03)
    assert bounds_line(result, has_faults=True).startswith("near saturation")
    assert "host 0" not in str(result.bottleneck)


def test_clients_of_a_closed_loop_get_less_while_a_drive_is_slow() -> None:
    slow = "faults=[{kind: slow_drive, drive: 0, speed: 0.1, at: 10s, until: 13s}]"
    verdict, _ = judged(queue(0.2, 1, 27_000, slow, "workload.clients=4"))
    assert verdict.status == "degraded"
    slump = verdict.slump
    assert slump is not None
    assert (slump.start_s, slump.end_s) == pytest.approx((10, 13), abs=0.3)
    assert slump.served_ops == pytest.approx(100, rel=0.25)
    assert "op/s from " in verdict_line(verdict) and "; only " in verdict_line(verdict)


def test_the_capacity_of_a_closed_loop_is_that_of_the_stretch_nearest_to_it() -> None:
    slow = "faults=[{kind: slow_drive, drive: 0, speed: 0.1, at: 10s}]"
    verdict, capacity = judged(queue(0.2, 1, 11_000, slow, "workload.clients=4"))
    assert [each.until_s for each in capacity.limits] == [10.0, math.inf]
    assert [each.ops for each in capacity.limits] == pytest.approx([1000, 100], rel=0.06)
    assert verdict.saturates_first is not None and verdict.saturates_first.headroom < 1.06


def test_a_stretch_with_few_requests_has_a_limit_that_was_not_tried() -> None:
    short = SLOW.replace("10s", "10ms").replace("20s", "20ms")
    verdict, capacity = judged(queue(0.2, 1, 6, short))
    assert {each.bound for each in capacity.limits} == {"at", "at most"}  # before the fault demands tell it
    assert verdict.saturates_first is not None
    found = replace(verdict, saturates_first=replace(verdict.saturates_first, bound="at most"))
    assert " saturates first, at most at 1,000 op/s" in verdict_line(found)


def test_no_bound_of_clients_is_printed_above_the_rate_at_saturation() -> None:
    spec = load_spec(EXAMPLES / "ceph/osd-down.yaml")
    found = bounds_of(spec, generate(spec.workload, 0))
    assert found.max_throughput_ops is not None and found.throughput_ops.high is not None
    assert found.throughput_ops.high > 1.5 * found.max_throughput_ops, "demands leave out what tokens are held for"
    assert bounds_line(found, has_faults=True).endswith(", which 6 clients may reach.")


def test_the_pool_without_idle_tokens_saturates_first() -> None:
    """Commits of many members keep their server busy below saturation."""
    spec = changed(load_spec(EXAMPLES / "ceph/redhat-210-filestore.yaml"), rate=100.0, operations=2000)
    capacity = capacity_of(spec, generate(spec.workload, 0))
    assert capacity.least is not None and capacity.least.role == "index shard"
    assert capacity.capacity_ops == pytest.approx(1250, rel=0.05)
    assert growth(changed(spec, rate=0.9 * 1250.0, operations=10_000)) < 0.02
    assert growth(changed(spec, rate=1.1 * 1250.0, operations=10_000)) > 0.1


def test_a_slump_is_where_far_fewer_responses_come() -> None:
    end_s = np.concatenate([np.arange(0, 40, 0.01), np.arange(40, 50, 0.1), np.arange(50, 100, 0.01)])
    found = slump_of(end_s, 4)
    assert found is not None
    assert (found.start_s, found.end_s) == pytest.approx((40, 50), abs=1)
    assert found.served_ops == pytest.approx(10, abs=6)  # parts at its ends have others
    assert slump_of(np.arange(0, 100, 0.01), 4) is None
    assert slump_of(end_s[:500], 4) is None  # too few to tell
    assert slump_of(np.random.default_rng(1).uniform(0, 100, 10_000), 4) is None


def test_the_first_responses_of_many_clients_are_no_slump():
    """All begin at the same time, so nothing ends until nearly all requests of the first round are served."""
    rounds = np.concatenate([np.linspace(0.9, 1.0, 1000), np.arange(1.0, 20.0, 0.001)])
    assert slump_of(rounds, 1000) is None
    found = slump_of(rounds, 4)
    assert found is not None and found.start_s == pytest.approx(0.1, abs=0.05)
