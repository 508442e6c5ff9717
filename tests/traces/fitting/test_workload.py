from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import EXAMPLES
from tests.profiles import examples
from tests.runs import run_of
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.fitting.arrivals import fit_arrivals
from traces.fitting.closed_loop import find_loop, fit_shape
from traces.fitting.similarity import comparable_trace, compare_figures
from traces.fitting.sizes import fit_sizes, ks_distance
from traces.fitting.workload import Fitted, fit_workload
from traces.operations import OPS
from traces.random_streams import uniforms
from traces.run import Run, read_trace_or_run, trace_of_run
from traces.spec.spec_file import validated
from traces.statistics.characteristics import figures
from traces.trace import Pacing, Trace
from traces.workload.arrivals import Constant, Mmpp2, Poisson, Process, Profile, RateStep, arrival_times
from traces.workload.distributions import Gamma
from traces.workload.generate import generate
from traces.workload.sizes import HistogramSize, LognormalSize, MixtureSize
from traces.workload.workload import Workload

RECORDED = EXAMPLES / "recorded"


def fitted_process(process: Process, rate: float, duration_s: float, seed: int = 1) -> Process:
    return fit_arrivals(arrival_times(process, rate, seed, None, duration_s), duration_s)


def fitted(**fields: Any) -> tuple[Trace, Fitted]:
    trace = generate(validated(Workload, {"object_size": "4KiB", "operations": 12_000} | fields, "w"), 1)
    return trace, fit_workload(trace)


def differing(trace: Trace, found: Fitted, run: Run | None = None) -> list[str]:
    return [one.name for one in compare_figures(trace, run, comparable_trace(found, trace, 5)) if not one.agrees]


def test_poisson_and_constant_arrivals_are_found() -> None:
    assert fitted_process(Poisson(), 200, 120) == Poisson()
    assert fitted_process(Constant(), 200, 120) == Constant()


@pytest.mark.parametrize(
    ("truth", "rate", "duration_s"),
    [
        (Mmpp2(burst_factor=10, burst_fraction=0.1, burst_duration=1.0), 200, 400),
        (Mmpp2(burst_factor=10, burst_fraction=0.3, burst_duration=0.1), 300, 300),  # too short to be seen one by one
        (Mmpp2(burst_factor=3, burst_fraction=0.5, burst_duration=5.0), 100, 600),
    ],
)
def test_a_known_mmpp_is_found(truth: Mmpp2, rate: float, duration_s: float) -> None:
    found = fitted_process(truth, rate, duration_s)
    assert isinstance(found, Mmpp2)
    assert found.burst_factor == pytest.approx(truth.burst_factor, rel=0.15)
    assert found.burst_fraction == pytest.approx(truth.burst_fraction, rel=0.35)
    assert found.burst_duration == pytest.approx(truth.burst_duration, rel=0.35)


def test_bursts_that_come_together_by_chance_are_no_change_of_the_rate() -> None:
    for seed in (1, 2, 3):
        assert fitted_process(Mmpp2(), 500, 100, seed).kind == "mmpp2"


def test_a_rate_that_changes_is_a_profile_with_its_edges() -> None:
    steps = [RateStep(duration=d, level=level) for d, level in ((100, 1.0), (300, 3.0), (200, 0.5))]
    found = fitted_process(Profile(steps=tuple(steps)), 100, 600)
    assert isinstance(found, Profile)
    assert found.within == Poisson()
    assert [step.duration for step in found.steps] == pytest.approx([100, 300, 200], abs=5)
    levels = np.array([step.level for step in found.steps])
    assert levels / levels[0] == pytest.approx([1, 3, 0.5], rel=0.08)


def test_bursts_within_a_changing_rate_are_both_found() -> None:
    truth = Profile(
        steps=(RateStep(duration=300, level=1), RateStep(duration=300, level=4)),
        within=Mmpp2(burst_factor=10, burst_fraction=0.1, burst_duration=0.5),
    )
    found = fitted_process(truth, 150, 600)
    assert isinstance(found, Profile)
    assert isinstance(found.within, Mmpp2)
    assert found.steps[0].duration == pytest.approx(300, abs=15)
    assert found.within.burst_factor == pytest.approx(10, rel=0.2)


def sampled(sizes: Any, count: int = 20_000) -> np.ndarray:
    return np.rint(sizes.quantile(uniforms(2, 9, 0, count))).astype(np.int64)


def test_sizes_are_the_smallest_distribution_that_fits() -> None:
    one = LognormalSize(mean=100_000, cv=1.5)
    found = fit_sizes(sampled(one), np.arange(20_000))
    assert isinstance(found, LognormalSize)
    assert (found.mean, found.cv) == (pytest.approx(100_000, rel=0.05), pytest.approx(1.5, rel=0.05))
    few = fit_sizes(np.array([10, 10, 20, 30]), np.arange(4))
    assert isinstance(few, MixtureSize)
    assert [(c.weight, c.size.size) for c in few.components] == [(0.5, 10), (0.25, 20), (0.25, 30)]  # type: ignore[union-attr]


def test_a_size_that_many_objects_share_is_kept() -> None:
    sizes = np.concatenate([sampled(LognormalSize(mean=32_768, cv=1.5), 9500), np.full(500, 4 << 20)])
    found = fit_sizes(sizes, np.arange(10_000))
    assert isinstance(found, MixtureSize)
    assert found.components[0].model_dump(exclude={"weight"}) == {"size": {"kind": "fixed", "size": 4 << 20}}
    assert found.components[0].weight == pytest.approx(0.05, rel=0.01)
    assert isinstance(found.components[1].size, LognormalSize)


def test_sizes_of_no_law_become_a_table() -> None:
    odd = HistogramSize(edges=(1, 10, 5_000, 5_100, 900_000, 910_000), weights=(3, 0, 4, 0, 3))
    sizes = sampled(odd)
    found = fit_sizes(sizes, np.arange(len(sizes)))
    assert ks_distance(found, np.sort(sizes)) < 0.02


def test_pauses_have_the_shape_they_were_drawn_with() -> None:
    u = uniforms(3, 1, 0, 5000)
    assert fit_shape(np.sort(Gamma(cv=0.5).quantile(u))).kind == "gamma"
    assert fit_shape(np.sort(-np.log(u))).kind == "exponential"
    assert fit_shape(np.full(10, 0.2)).kind == "deterministic"
    two = np.sort(np.where(u < 0.5, 0.001, 1.0))
    shape = fit_shape(two)
    assert shape.kind == "empirical"
    assert shape.quantile(np.array([0.2, 0.8])) * two.mean() == pytest.approx([0.001, 1.0], rel=0.05)


def workers(clients: int, each: int, think_s: float) -> Run:
    """Workers that wait for their answers, as a log shows them."""
    draws = np.random.default_rng(4)
    latency, pause = draws.exponential(0.01, (clients, each)), draws.exponential(think_s, (clients, each))
    start = np.cumsum(latency + pause, axis=1) - latency
    order = np.argsort(start.ravel(), kind="stable")
    client = np.repeat(np.arange(clients, dtype=np.int32), each)[order]
    arrival_s = start.ravel()[order]
    return run_of(latency.ravel()[order], info={"origin": {}}, arrival_s=arrival_s, client=client)


@pytest.mark.parametrize("think_s", [1e-5, 0.02])
def test_workers_that_wait_are_a_closed_loop(think_s: float) -> None:
    run = workers(12, 400, think_s)
    loop = find_loop(run)
    assert loop is not None
    assert loop.clients == 12
    assert loop.think_s.mean() == pytest.approx(think_s, rel=0.1)
    trace = trace_of_run(run)
    found = fit_workload(trace, run)
    assert found.workload.clients == 12
    assert found.workload.rate is None
    assert found.workload.think_time.mean == pytest.approx(think_s, rel=0.1)
    assert differing(trace, found, run) == []


def test_clients_that_ask_whenever_they_like_are_none() -> None:
    draws = np.random.default_rng(5)
    arrival_s = np.sort(draws.uniform(0, 50, 5000))
    run = run_of(draws.exponential(0.02, 5000), arrival_s=arrival_s, client=draws.integers(0, 10, 5000, np.int32))
    assert find_loop(run) is None


def test_the_idle_workers_of_a_pool_are_no_closed_loop() -> None:
    draws = np.random.default_rng(6)
    arrival_s, latency = np.cumsum(draws.exponential(0.025, 3000)), draws.exponential(0.01, 3000)
    free_s, client = np.zeros(16), np.zeros(3000, np.int32)
    for i, (at, lasts) in enumerate(zip(arrival_s, latency, strict=True)):
        client[i] = np.argmax(free_s <= at)  # the first that is idle takes the next request of an open loop
        free_s[client[i]] = at + lasts
    assert find_loop(run_of(latency, arrival_s=arrival_s, client=client)) is None


def test_clients_of_few_requests_tell_nothing() -> None:
    arrival_s = np.arange(100) * 10.0
    assert find_loop(run_of(np.full(100, 0.01), arrival_s=arrival_s, client=np.arange(100, dtype=np.int32))) is None


WEB = {
    "rate": 100,
    "duration": 100,
    "operations": None,
    "arrivals": {"kind": "mmpp2", "burst_factor": 5, "burst_fraction": 0.2, "burst_duration": 1},
    "mix": {"GET": 80, "PUT": 12, "HEAD": 4, "DELETE": 2, "LIST": 2},
    "object_size": {"kind": "lognormal", "mean": "32KiB", "cv": 1.5},
    "keys": {"kind": "zipf", "count": 5000, "exponent": 0.9},
    "buckets": 2,
}


def test_a_whole_workload_is_found_again() -> None:
    trace, found = fitted(**WEB)
    w = found.workload
    assert w.rate == pytest.approx(len(trace) / 100, rel=1e-3)
    assert (w.arrivals.kind, w.keys.kind, w.buckets) == ("mmpp2", "zipf", 2)
    assert w.keys.exponent == pytest.approx(0.9, abs=0.05)  # type: ignore[union-attr]
    assert w.keys.count == pytest.approx(5000, rel=0.2)  # type: ignore[union-attr]
    assert w.mix["GET"] == pytest.approx(0.8, abs=0.01)
    assert w.own_objects == {}
    assert differing(trace, found) == []


def test_writes_of_new_objects_are_apart_from_what_is_read() -> None:
    own = {"PUT": {"object_size": "1MiB", "keys": {"kind": "sequential", "count": 10**6}}}
    trace, found = fitted(
        clients=4, mix={"GET": 0.7, "PUT": 0.3}, own_objects=own, ranges={"fraction": 0.4, "size": 1024}
    )
    w = found.workload
    assert w.clients == 4
    assert w.keys.kind == "uniform"
    assert w.own_objects["PUT"].object_size.quantile(np.array([0.5])).tolist() == [1 << 20]
    assert w.ranges is not None
    assert w.ranges.fraction == pytest.approx(0.4, abs=0.03)
    assert differing(trace, found) == []


def test_a_sweep_that_writes_then_reads_is_told() -> None:
    trace, found = fitted(keys="write_once_read_once", operations=300, clients=4)
    assert (found.workload.keys.kind, found.workload.operations, found.workload.clients) == (
        "write_once_read_once",
        300,
        4,
    )
    assert generate(found.workload, 1).table.to_pylist() == trace.table.to_pylist()


def test_a_recorded_run_gives_its_benchmark() -> None:
    trace, run = read_trace_or_run(RECORDED / "mix-32KiB-c16")
    found = fit_workload(trace, run)
    assert (found.workload.clients, found.workload.duration, found.workload.rate) == (16, 2.5, None)
    assert found.workload.object_size.model_dump() == {"kind": "fixed", "size": 32768}
    assert differing(trace, found, run) == []


def test_another_workload_is_told_apart() -> None:
    trace, _ = fitted(**WEB)
    _, other = fitted(**WEB | {"rate": 150, "arrivals": "poisson", "mix": {"GET": 1}})
    names = differing(trace, other)
    assert "rate (1/s)" in names
    assert any(name.startswith("dispersion") for name in names)
    assert "GET size mean (B)" not in names


def test_there_must_be_something_to_learn_from() -> None:
    with pytest.raises(InputError, match="no requests"):
        fit_workload(trace_of([], []))
    with pytest.raises(InputError, match="same time"):
        fit_workload(trace_of(["GET"] * 3, ["a", "b", "c"]))


@examples(15)
@given(
    st.lists(
        st.tuples(st.sampled_from(OPS), st.sampled_from("abc"), st.integers(0, 50), st.integers(0, 10**12)),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([Pacing(), Pacing("closed", 3), Pacing(duration_s=100.0), Pacing("closed", 1, 0.0, 5.0, True)]),
)
def test_any_trace_has_figures_and_a_workload_or_a_reason(rows: list[Any], pacing: Pacing) -> None:
    op, key, at, size = zip(*rows, strict=True)
    trace = trace_of(op, key, pacing, arrival_s=[float(x) for x in sorted(at)], size_bytes=size)
    assert json.dumps(figures(trace), allow_nan=False)
    try:
        found = fit_workload(trace)
    except InputError as error:
        assert "same time" in str(error)
        return
    assert validated(Workload, found.fields, "again") == found.workload
    if found.workload.rate is None or found.workload.rate < 1e4:
        compare_figures(trace, None, comparable_trace(found, trace, 1))


@pytest.mark.parametrize("order", ["random", "sequential"])
def test_the_order_of_ranges_is_fitted(order: str) -> None:
    fields = {
        "rate": 100, "operations": 3000, "object_size": "1MiB", "mix": {"READ": 3, "WRITE": 1},
        "keys": {"kind": "uniform", "count": 40}, "ranges": {"size": "16KiB", "order": order},
    }  # fmt: skip
    fitted = fit_workload(generate(validated(Workload, fields, "w"), 1)).workload
    assert fitted.ranges is not None
    assert fitted.ranges.order == order
    assert fitted.ranges.fraction == 1
