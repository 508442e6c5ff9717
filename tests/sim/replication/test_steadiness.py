"""Whether runs have settled: starts, slow queues, bursts and cycles are found, and settled runs are not warned of."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from models.store import load_spec
from sim.replication.lengthening import Longer, settling
from sim.replication.replicate import Precision, replicate
from sim.replication.run_parts import PARTS, RunParts, parts_of
from sim.replication.steadiness import independent_parts, needed, unsettled
from sim.replication.summaries import Replications
from sim.simulate import simulate
from tests.models.test_store import EXAMPLE
from tests.paths import EXAMPLES

RANDOM = np.random.default_rng(1)
EACH = 200.0
"""Requests of a part."""


def runs(count: int, factor: np.ndarray | float = 1.0, bursts: float = 0.0, seed: int = 0) -> list[dict[str, RunParts]]:
    """Runs whose mean response time of a part is 1 s times `factor`, ± 10 %; `bursts` of 50 slow requests a part."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        mean_s = random.gamma(100, 0.01, PARTS) * factor
        beyond = 50.0 * random.poisson(bursts, PARTS) if bursts else random.poisson(0.01 * EACH, PARTS).astype(float)
        found.append({"GET": RunParts(60.0, np.full(PARTS, EACH), mean_s * EACH, beyond, np.full(PARTS, EACH))})
    return found


def causes(parts: list[dict[str, RunParts]], cycles_s: dict[str, float] | None = None) -> set[str]:
    return {each.cause for each in unsettled(parts, closed=False, cycles_s=cycles_s or {})}


@pytest.mark.parametrize("count", [1, 2, 5, 10])
def test_few_settled_runs_are_warned_of(count):
    warned = [causes(runs(count, seed=seed)) for seed in range(200)]
    assert sum(map(bool, warned)) <= 0.05 * len(warned)


@pytest.mark.parametrize("count", [1, 2, 5, 10])
@pytest.mark.parametrize(("length", "factor"), [(1, 0.3), (8, 0.6), (32, 0.8)])
def test_a_start_is_found(count, length, factor):
    start = np.where(np.arange(PARTS) < length, factor, 1.0)
    found = [causes(runs(count, start, seed=seed)) & {"start", "correlation"} for seed in range(40)]
    assert sum(map(bool, found)) >= 38


def test_the_ratio_of_a_start_is_that_of_the_first_parts():
    start = np.where(np.arange(PARTS) < 4, 0.5, 1.0)
    ratios = [each.ratio for each in unsettled(runs(10, start), closed=False, cycles_s={}) if each.cause == "start"]
    assert ratios == [pytest.approx(0.5, rel=0.1)]


def test_parts_are_independent_as_theory_says():
    """An autoregressive process with ρ has (1 - ρ) / (1 + ρ) as many independent parts."""
    for rho in (0.0, 0.5, 0.8):
        noise = RANDOM.normal(size=(200, PARTS + 100))
        values = noise.copy()
        for part in range(1, noise.shape[1]):
            values[:, part] = rho * values[:, part - 1] + noise[:, part]
        assert independent_parts(values[:, 100:]) == pytest.approx(PARTS * (1 - rho) / (1 + rho), rel=0.15)


def test_bursts_of_slow_requests_are_few_independent_ones():
    found = unsettled(runs(1, bursts=0.15, seed=3), closed=False, cycles_s={})
    assert [each.cause for each in found] == ["tail"]
    assert found[0].independent == pytest.approx(0.15 * PARTS, rel=0.6)
    assert not causes(runs(10, bursts=1.0))


def test_requests_of_the_same_latency_have_a_sure_tail():
    (alike,) = runs(1)
    alike = {op: replace(parts, beyond=np.zeros(PARTS)) for op, parts in alike.items()}
    assert not unsettled([alike], closed=False, cycles_s={})


def test_a_run_of_few_cycles_is_warned_of():
    assert causes(runs(2), {"scrub": 21.0}) == {"cycle"}
    assert not causes(runs(2), {"scrub": 19.0})
    (found,) = unsettled(runs(2), closed=False, cycles_s={"scrub": 40.0, "flush": 1.0})
    assert (found.work, found.period_s, found.longer) == ("scrub", 40.0, pytest.approx(2.0))


def test_clients_of_few_requests_are_warned_of():
    (found,) = unsettled(runs(5), closed=True, cycles_s={}, each_client=100.0)
    assert (found.cause, found.longer) == ("clients", 3.0)
    assert not unsettled(runs(5), closed=True, cycles_s={}, each_client=301.0)
    assert not unsettled(runs(1), closed=True, cycles_s={}, each_client=101.0)


@pytest.mark.parametrize(
    ("value", "longer", "expected"), [(5000, 15.19, 76_000), (5000, 4.0, 20_000), (2.5, 1.01, 2.6), (0.3, 2.01, 0.61)]
)
def test_the_length_needed_has_two_digits_and_is_rounded_up(value, longer, expected):
    assert needed({"operations": value}, longer)["operations"] == pytest.approx(expected)


def test_parts_count_all_successful_requests():
    run = simulate(load_spec(EXAMPLE, ["workload.duration=2s"]), seed=1)
    parts = parts_of(run)
    for op, found in parts.items():
        mine = run.has(op) & ~run.failed
        assert found.count.sum() == mine.sum()
        assert found.response_s.sum() == pytest.approx(run.latency_s[mine].sum())
        assert found.beyond.sum() == pytest.approx(0.01 * mine.sum(), abs=1)
        last_s = run.column("arrival_s")[mine].max()
        assert found.ended.sum() == pytest.approx((run.column("end_s")[mine] <= last_s).sum(), abs=1)


def test_the_published_hard_disks_have_not_settled_after_5000_requests():
    spec = load_spec(EXAMPLES / "ceph" / "redhat-112-hdd.yaml", ["workload.operations=5000"])
    found = replicate(partial(simulate, spec), replications=1).unsettled
    assert {each.cause for each in found} >= {"start", "correlation"}
    assert 5000 * max(each.longer for each in found) > 50_000


def test_what_changes_by_design_is_not_compared():
    for change in (
        ["faults=[{kind: slow_drive, drive: 0, speed: 0.1, at: 1s}]"],
        ["workload={rate: 100/s, duration: 2s, object_size: 4KiB, arrivals: {kind: diurnal, period: 2s}}"],
        ["background.loads=[{name: scrub, rate: 10/s, demand: 1ms, at: 1s}]"],
    ):
        run = simulate(load_spec(EXAMPLE, ["workload.duration=2s", *change]), seed=1)
        assert run.info["course"]["changes"]
        assert not replicate(lambda *, seed, run=run: run, replications=2).unsettled


def test_cycles_are_those_of_the_run():
    gaps = "background.loads=[{name: scrub, rate: 2/s, demand: 1ms, arrivals: even}]"
    run = simulate(load_spec(EXAMPLE, ["workload.duration=8s", gaps]), seed=1)
    cycles_s = run.info["course"]["cycles_s"]
    assert cycles_s["scrub"] == 0.5
    assert 0.5 < cycles_s["garbage collection"] < 4  # 210 MB of some 100 kB at some 1,500 a second


def example(factor: int) -> partial:
    return partial(simulate, load_spec(EXAMPLE, [f"workload.duration={0.2 * factor}s"]))


def test_runs_are_lengthened_until_they_have_settled():
    said: list[int] = []
    done = replicate(example(1), seed=3, replications=3, longer=Longer(example, said.append))
    assert not done.unsettled and done.longer == said[-1] > 1
    assert said == sorted(said)
    longer = replicate(example(done.longer), seed=3, replications=3)
    assert done.figures["GET"]["p99"].value == longer.figures["GET"]["p99"].value
    precise = replicate(example(1), seed=3, replications=3, precision=Precision(0.5), longer=Longer(example))
    assert not precise.unsettled


def test_lengthening_ends_at_its_limits():
    lengths: list[int] = []

    def never(simulation: int, *, try_length: bool) -> Replications:
        lengths.append(simulation)
        run = simulate(load_spec(EXAMPLE, ["workload.duration=0.1s"]), seed=1)
        return replicate(lambda *, seed: run, replications=1)

    done = settling(never, Longer(lambda factor: factor))
    assert done.unsettled and done.longer == lengths[-1] <= 256
    assert lengths == sorted(lengths)


def test_an_open_loop_of_few_response_times_is_warned_of():
    parts = runs(5, factor=10.0)  # 60 s with responses of 10 s
    (found,) = unsettled(parts, closed=False, cycles_s={})
    assert (found.cause, found.op) == ("responses", "GET")
    assert found.independent == pytest.approx(6.0, rel=0.05)
    assert found.longer == pytest.approx(20 / 6, rel=0.05)
    assert not unsettled(parts, closed=True, cycles_s={})
    assert not causes(runs(5, factor=5.0))


def test_a_run_that_ends_while_its_first_requests_are_served_is_warned_of():
    """Requests in flight grow in the first response times, which is no overload."""
    hosts = ["workload={rate: 2000/s, duration: 0.25s, object_size: 4KiB, mix: {GET: 1}}", "network.latency=100ms"]
    found = replicate(partial(simulate, load_spec(EXAMPLE, hosts)), replications=1)
    assert found.runs[0].load.grows
    assert [each.cause for each in found.unsettled] == ["responses"]
