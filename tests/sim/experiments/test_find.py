from __future__ import annotations

import math
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sim.saturation.capacity
from cli.figures.find import limit_figures
from cli.parse.goal import parse_goal, parse_target
from cli.parse.slo import parse_slo
from cli.tables.experiments.find import limit_found
from models.spec.field_paths import resolved
from models.store import compile_spec, spec_of
from sim.analysis.bounds import bounds
from sim.experiments.find.find_best import Best, find_best
from sim.experiments.find.find_limit import find_limit
from sim.experiments.find.goal import OpLatency
from sim.experiments.find.line_search import Scale, bisect, bracket, least, probes, reversals
from sim.experiments.measures import Measures, OpMeasures
from sim.experiments.sweep import Settings
from sim.experiments.variants import Variants, value_at
from sim.replication.replicate import replicate
from sim.replication.summaries import FIGURES, EngineWork
from tests.specs import minio
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.workload.generate import generate

P99 = OpLatency("GET", "p99")

WHOLE, REAL = Scale(True), Scale(False, 0.01)
OPEN_LOOP = ("workload.rate=200/s", "workload.operations=1500")


def variants(*assignments: str, replications: int = 3, **how) -> Variants:
    return Variants(minio(*OPEN_LOOP, *assignments), "small", Settings(seed=3, replications=replications), **how)


def found(variants: Variants, goal: str, *slos: str, **how):
    return find_limit(variants, parse_goal(goal), [parse_slo(slo) for slo in slos], **how)


@given(st.integers(0, 10**5), st.integers(0, 1000))
def test_whole_numbers_are_bisected_to_neighbours(limit, start):
    inside, outside = bracket(lambda v: v <= limit, WHOLE, start, upward=True)
    assert bisect(lambda v: v <= limit, WHOLE, inside, outside) == (limit, limit + 1)


@given(st.integers(1, 10**5), st.integers(0, 1000))
def test_the_least_whole_number(limit, start):
    inside, outside = bracket(lambda v: v >= limit, WHOLE, start, upward=False)
    assert bisect(lambda v: v >= limit, WHOLE, inside, outside) == (limit, limit - 1)


@given(st.floats(1e-3, 1e3), st.floats(1e-2, 1e2), st.booleans())
def test_other_numbers_are_found_to_the_tolerance(limit, start, upward):
    def holds(value: float) -> bool:
        return value <= limit if upward else value >= limit

    inside, outside = bisect(holds, REAL, *bracket(holds, REAL, start, upward))
    assert holds(inside)
    assert not holds(outside)
    assert abs(inside - outside) <= 0.01 * max(inside, outside)


def test_a_bracket_that_is_not_there_has_one_end():
    assert bracket(lambda v: True, WHOLE, 3, upward=False) == (0, None)
    assert bracket(lambda v: False, WHOLE, 3, upward=True) == (None, 0)
    assert bracket(lambda v: True, REAL, 1.0, upward=True) == (pytest.approx(2.0**20, rel=1e-3), None)


def test_probes_find_a_second_limit():
    tried: dict[float, bool] = {}

    def holds(value: float) -> bool:
        tried[value] = value <= 40 or 60 <= value <= 80
        return tried[value]

    inside, outside = bisect(holds, WHOLE, 1, 100)
    assert (inside, outside) == (40, 41) or (inside, outside) == (80, 81)
    for value in probes(WHOLE, list(tried), inside, outside):
        holds(value)
    assert set(probes(WHOLE, list(tried), inside, outside)) <= set(tried)
    assert reversals({1: True, 40: True, 41: False, 70: True, 100: False}, upward=True) == [(41, 70)]
    assert reversals({1: True, 40: False, 41: True}, upward=False) == [(40, 1)]
    assert not reversals({1: True, 40: True, 41: False}, upward=True)
    assert bool(reversals(tried, upward=True)) == any(
        tried[v] for v in tried if v > min(w for w in tried if not tried[w])
    )


@given(st.floats(1.2, 90.0))
def test_least_finds_the_valley(at):
    value = least(lambda v: abs(math.log(v / at)), Scale(False, 0.02), 1.0, 100.0)
    assert value == pytest.approx(at, rel=0.02)
    assert least(lambda v: abs(v - at), WHOLE, 1, 100) in (math.floor(at), math.ceil(at))


def test_least_takes_the_lower_of_two_valleys():
    cost = {v: min(abs(math.log(v / 3)), abs(math.log(v / 50)) - 0.5) for v in range(1, 101)}
    assert least(cost.__getitem__, WHOLE, 1, 100) == 50


@pytest.mark.parametrize(
    ("objective", "goal", "grid"),
    [
        ("GET.p99<3ms", "max workload.rate in 100/s..3400/s", range(100, 3401, 100)),
        ("GET.p99<2ms", "min hosts.cores.count in 1..8", range(1, 9)),
    ],
)
def test_the_limit_is_that_of_a_grid(objective, goal, grid):
    base = variants("workload.rate=1200/s")
    result = found(base, goal, objective)
    slo = parse_slo(objective)

    def meets(value: float) -> bool:
        run = replicate(lambda seed: _run(base, result.path, value, seed), seed=3, replications=3)
        found = slo.evaluate(Measures.of(run))
        return found.value < slo.limit

    results = {value: meets(value) for value in grid}
    kept, broken = [v for v in grid if results[v]], [v for v in grid if not results[v]]
    assert kept
    assert broken
    if goal.startswith("max"):
        # Near the limit, p99 also varies by chance, so some values below it are broken.
        assert max(kept) <= result.value * 1.05
        assert result.value < min(broken) * 1.05
        assert result.beyond <= result.value * 1.0102
    else:
        assert result.value == min(kept) == max(broken) + 1
    assert result.monotonic


def _run(base: Variants, path: str, value: float, seed: int):
    from sim.simulate import simulate

    return simulate(base.spec([f"{path}={value}"]), seed=seed)


def test_the_evidence_is_every_value_tried():
    told: list[int] = []
    result = found(variants("workload.rate=null"), "max rate", "GET.p99<3ms", "GET.errors<1%", progress=told.append)
    assert told == list(range(1, len(result.trials) + 1))
    values = [trial.value for trial in result.trials]
    assert values == sorted(set(values))
    assert {result.value, result.beyond} <= set(values)
    for trial in result.trials:
        judged = trial.slo["GET.p99<3ms"]
        assert trial.meets == (judged.value < 3e-3)
        assert trial.sure == (judged.verdict == ("pass" if trial.meets else "fail"))
        assert trial.ops["GET"].latency_s["p99"].value == judged.value
    sure = result.sure
    assert sure.meets is None or sure.meets <= result.value
    assert sure.violates is None or sure.violates >= result.beyond
    assert value_at(variants().spec([result.set]), "workload.rate") == result.value
    assert result.unit == "1/s"


@pytest.mark.nightly("processes are those of sweeps, whose test runs many times a day")
def test_the_number_of_workers_changes_nothing():
    assert found(variants(workers=2), "max rate", "GET.p99<3ms") == found(variants(), "max rate", "GET.p99<3ms")


def test_a_value_that_the_spec_refuses_ends_the_search():
    result = found(variants(), "min hosts.cores.count", "GET.p99<1s")
    assert (result.value, result.beyond) == (1, 0)
    assert "greater than or equal to 1" in result.trials[0].infeasible
    within = found(variants(), "min hosts.cores.count in 1..4", "GET.p99<1s")
    assert (within.value, within.beyond) == (1, None)


def test_the_capacity_of_a_trial_is_calculated_once(monkeypatch):
    calculated = []

    def at_saturation(spec, trace):
        calculated.append(spec)
        return original(spec, trace)

    original = sim.saturation.capacity.at_saturation
    monkeypatch.setattr(sim.saturation.capacity, "at_saturation", at_saturation)
    trials = found(variants(), "max workload.rate in 50..2000", "GET.p99<8ms").trials
    assert 1 < len(calculated) <= len(trials)


def test_no_rate_is_kept_that_the_bottleneck_cannot_serve():
    # 100 requests are over before a queue has grown: their latencies alone would allow any rate.
    base = variants("workload.operations=100", "workload.rate=null")
    result = found(base, "max rate", "GET.p99<1s")
    spec = base.spec(["workload.rate=1/s"])
    most_ops = bounds(*compile_spec(spec, generate(spec.workload, 3))).max_throughput_ops
    assert 0.98 * most_ops <= result.value < most_ops <= result.beyond
    assert "can serve in the long run" in result.trials[-1].infeasible


@pytest.mark.parametrize(
    ("goal", "slo", "message"),
    [
        ("max rate", "LIST.p99<1s", "the workload has no LIST"),
        ("max client.hedge.after", "GET.p99<1s", "add bounds"),
        ("max store", "GET.p99<1s", "a number is needed"),
        ("max workload.rat", "GET.p99<1s", "no field 'rat' there; did you mean rate?"),
        ("max rate in 20..10", "GET.p99<1s", "ascending"),
        ("max rate in 10..20ms", "GET.p99<1s", "unknown unit"),
        ("most rate", "GET.p99<1s", "write it like"),
        ("max rate in 10", "GET.p99<1s", "write it like"),
    ],
)
def test_what_cannot_be_found_is_said_in_a_line(goal, slo, message):
    with pytest.raises(InputError, match=message):
        found(variants(), goal, slo)


@pytest.mark.parametrize(
    ("goal", "slo", "outcome", "value", "beyond"),
    [
        ("max rate in 10..20", "GET.p99<1s", "every value meets", 20, None),
        ("min hosts.cores.count in 2..4", "GET.p99<1s", "every value meets", 2, None),
        ("max rate in 10..20", "GET.p99<1us", "no value meets", None, 10),
        ("min hosts.cores.count in 1..4", "GET.p99<1us", "no value meets", None, 4),
    ],
)
def test_a_limit_outside_the_range_is_an_answer(goal, slo, outcome, value, beyond):
    result = found(variants(), goal, slo)
    assert (result.outcome, result.value, result.beyond) == (outcome, value, beyond)
    assert result.decisive.value == (beyond if value is None else value)
    assert ("search" in limit_found(result)) and (result.set is None) == (value is None)
    assert limit_figures(result)


def test_an_objective_is_needed():
    with pytest.raises(InputError, match="needs an objective"):
        found(variants(), "max rate")


SLOW_READS = (
    "hosts.cpu.GET.distribution={kind: slow_mode, probability: 0.02, factor: 40}", "hosts.cores.count=16",
    "client.hedge.budget=null",
)  # fmt: skip


def test_the_best_hedge_is_better_and_keeps_within_the_extra_load():
    base = variants(*SLOW_READS, "workload.operations=4000")
    result = find_best(base, parse_goal("best hedge.after"), P99, most_extra_load=0.05)
    assert result.improves
    assert result.best.extra_load <= 0.05
    assert result.best.target.value < 0.5 * result.base.target.value
    assert result.base.extra_load == 0
    allowed = [trial for trial in result.trials if trial.extra_load <= 0.05]
    assert len(allowed) < len(result.trials), "the limit was not in the way"
    assert result.in_search.target.value == min(trial.target.value for trial in allowed)
    # Of nearly equal responses, p99 is the delay and the response after it; how many are hedged is random.
    assert result.best.extra_load != result.in_search.extra_load, "the report has the search's random numbers"
    gain = result.best.target.value - result.base.target.value
    assert result.difference.value == pytest.approx(gain)


@dataclass(frozen=True)
class Noisy(Variants):
    """Variants whose GET p99 is normal about 1 s; those with a value below `faster_below_s` have a lower mean."""

    faster_below_s: float = 0.0
    gain_s: float = 0.0

    def spec(self, assignments=()):
        return _noisy_spec(tuple(assignments))

    @contextmanager
    def simulations(self, cache=None):
        def simulation(assignments):
            value = float(assignments[0].partition("=")[2]) if assignments else math.inf
            stream = [self.settings.seed, zlib.crc32(repr(list(assignments)).encode())]
            mean_s = 1 - (self.gain_s if value < self.faster_below_s else 0)
            each = np.random.default_rng(stream).normal(mean_s, 0.1, self.settings.replications)
            latency = OpMeasures(100_000, 0, 0, 0.0, each, 0 * each, dict.fromkeys(FIGURES, each.mean(keepdims=True)),
                                 dict.fromkeys(FIGURES, each))  # fmt: skip
            return Measures((len(each),), {"GET": latency}, {}, {}, EngineWork("none", 0.0, 0), 1.0)

        yield simulation


@cache
def _noisy_spec(assignments):
    return spec_of(override(minio(*OPEN_LOOP), assignments), "noisy")


def searched(seed: int, **effect) -> Best:
    noisy = Noisy({}, "noisy", Settings(seed, replications=5), **effect)
    return find_best(noisy, parse_goal("best hedge.after in 1ms..100ms"), P99)


SEARCHES = 200


def test_a_search_among_values_without_effect_claims_one_as_rarely_as_the_level_says():
    results = [searched(seed) for seed in range(SEARCHES)]
    assert min(len(result.trials) for result in results) >= 10
    claims = sum(result.improves for result in results)
    covered = sum(result.best.target.low <= 1 <= result.best.target.high for result in results)
    # A 95 % interval is on one side of the true value in 2.5 % of the experiments.
    assert stats.binomtest(claims, SEARCHES, 0.025, alternative="greater").pvalue > 1e-3
    assert stats.binomtest(covered, SEARCHES, 0.95, alternative="less").pvalue > 1e-3
    # The search's own estimates would not do: their intervals are below the true value far too often.
    in_search = sum(result.in_search.target.high < 1 for result in results)
    assert stats.binomtest(in_search, SEARCHES, 0.025, alternative="greater").pvalue < 1e-9
    bias_s = np.mean([result.best.target.value - 1 for result in results])
    assert abs(bias_s) < 4 * 0.1 / math.sqrt(5 * SEARCHES)


def test_a_search_finds_a_true_effect():
    results = [searched(seed, faster_below_s=0.01, gain_s=0.4) for seed in range(40)]
    assert all(result.value < 0.01 for result in results)
    assert sum(result.improves for result in results) >= 38
    assert np.mean([result.difference.value for result in results]) == pytest.approx(-0.4, abs=0.04)


def test_fresh_replications_do_not_depend_on_the_search():
    fresh = {(found := searched(seed)).fresh_seed: found.seed for seed in range(5)}
    assert len(fresh) == 5 and not set(fresh) & set(fresh.values())


def test_no_hedge_is_allowed_where_none_adds_so_little():
    with pytest.raises(InputError, match=r"adds more than 0\.00% load"):
        find_best(
            variants(*SLOW_READS),
            parse_goal("best hedge.after in 0.5ms..1ms"),
            P99,
            most_extra_load=0.0,
        )


def test_extra_load_counts_attempts():
    base = variants("client.hedge.budget=null", "hosts.cores.count=16")
    with base.simulations() as simulations:
        assert simulations([]).extra_load == 0
        assert simulations(["client.hedge.after=0"]).extra_load == pytest.approx(1)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("GET", "write it like GET.p99"),
        ("GET.max", "'max' is not a latency; allowed are mean"),
        ("GET.p999", "did you mean p99.9?"),
        ("GTE.p99", "did you mean GET?"),
    ],
)
def test_a_target_is_a_latency(target, said):
    with pytest.raises(InputError, match="--target") as error:
        parse_target(target)
    assert said in str(error.value)
    assert parse_target("GET.p99.9") == parse_target("get.P99.9") == OpLatency("GET", "p99_9")
    assert str(OpLatency("GET", "p99_9")) == "GET.p99.9"


@pytest.mark.parametrize(
    ("path", "unit"),
    [("workload.rate", "1/s"), ("client.hedge.after", "s"), ("inline_limit", "B"), ("network.bandwidth", "B/s"),
     ("hosts.cores.count", ""), ("workload.mix.GET", "")],
)  # fmt: skip
def test_units_of_fields(path, unit):
    assert resolved(type(spec_of(minio(), "small")), path) == path
    assert variants().unit(path) == unit
