"""Staged estimates on Runs whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.spec.spec_values import value_at, with_values
from models.store import compile_spec, spec_of
from sim.simulate import simulate
from tests.specs import minio
from traces.workload.generate import generate
from validate.calibration.initial_estimates import slow_mode, staged_estimates
from validate.calibration.parameters import matters, parameters_of
from validate.compare.measured import Measured
from validate.replay.cpu_usage import modelled_cpu_s

SPEC = spec_of(minio("workload.operations=3000"), "spec")
TRUTH = {
    "client.cpu.GET.constant": 0.0004,
    "client.cpu.PUT.constant": 0.0006,
    "client.cpu.PUT.per_byte": 1e-10,
    "hosts.cpu.GET.constant": 0.0009,
    "hosts.cpu.GET.per_byte": 2e-9,
    "hosts.cpu.GET.distribution.cv": 0.8,
    "hosts.cpu.PUT.constant": 0.001,
    "hosts.cpu.PUT.per_byte": 1e-8,
    "drives.commit.constant": 0.003,
    "drives.commit.distribution.factor": 40.0,
    "drives.commit.distribution.probability": 0.03,
}


def measured(clients: int, mix: str, size: str, with_cpu: bool = True, seed: int = 5) -> Measured:
    requested = [f"workload.clients={clients}", f"workload.mix={mix}", f"workload.object_size={size}"]
    spec = with_values(spec_of(minio("workload.operations=3000", *requested), "spec"), TRUTH)
    trace = generate(spec.workload, seed=1)
    run = simulate(spec, trace, seed=seed)
    if with_cpu:
        cpu_s = modelled_cpu_s(spec, *compile_spec(spec, trace))
        run = replace(run, info=run.info | {"cpu": {f"{k}_per_op_s": s for k, s in cpu_s.items()}})
    return Measured(f"{clients} {mix} {size}", run)


def estimates(*runs: Measured):
    parameters = parameters_of(SPEC)
    matter = np.any([matters(SPEC, parameters, m.trace) for m in runs], axis=0)
    return staged_estimates(SPEC, [p for p, keep in zip(parameters, matter, strict=True) if keep], runs)


LIGHT = [measured(1, f"{{{op}: 1}}", size) for op in ("GET", "PUT") for size in ("4KiB", "1MiB")]


def test_cpu_per_operation_and_byte_come_from_what_was_recorded():
    found = estimates(*LIGHT).values
    for path in TRUTH:
        if ".cpu." in path and "distribution" not in path:
            assert found[path] == pytest.approx(TRUTH[path], rel=0.12), path


def test_commit_time_is_what_is_left_of_a_put():
    assert estimates(*LIGHT).values["drives.commit.constant"] == pytest.approx(0.003, rel=0.15)


def test_the_tail_gives_the_slow_mode():
    found = estimates(*LIGHT).values
    # 1 MiB PUTs have two commits, so they show it twice as often.
    assert 0.015 < found["drives.commit.distribution.probability"] < 0.09
    assert 20 < found["drives.commit.distribution.factor"] < 80
    assert 0.4 < found["hosts.cpu.GET.distribution.cv"] < 1.2


def test_a_mix_splits_into_its_operations():
    found = estimates(*(measured(1, mix, "4KiB") for mix in ("{GET: 80, PUT: 20}", "{GET: 20, PUT: 80}"))).values
    assert found["hosts.cpu.GET.constant"] == pytest.approx(0.0009, rel=0.1)
    assert found["hosts.cpu.PUT.constant"] == pytest.approx(0.001, rel=0.1)


def test_server_side_data_are_optional():
    found = estimates(*(measured(1, "{GET: 1}", size, with_cpu=False) for size in ("4KiB", "1MiB"))).values
    whole = found["client.cpu.GET.constant"] + found["hosts.cpu.GET.constant"]
    assert whole == pytest.approx(0.0013, rel=0.1)


def test_heavy_runs_without_cpu_leave_the_spec_s_values():
    found = estimates(measured(8, "{GET: 1}", "4KiB", with_cpu=False)).values
    assert all(found[path] == pytest.approx(value_at(SPEC, path)) for path in found)


def test_batching_and_the_size_break_are_noted():
    said = " | ".join(estimates(*LIGHT, measured(4, "{PUT: 1}", "4KiB")).notes)
    assert "PUT of 4,096 B: the throughput of 4 clients" in said
    assert "PUT of 1,048,576 B takes" in said and "one of 4,096 B" in said
    assert "131,072 B is between" in said


@given(fraction=st.floats(0.01, 0.1), factor=st.floats(15, 60), seed=st.integers(0, 1000))
def test_slow_modes_are_found_in_samples(fraction, factor, seed):
    rng = np.random.default_rng(seed)
    slow = rng.random(20_000) < fraction
    samples = rng.lognormal(0, 0.2, 20_000) + np.where(slow, rng.exponential(factor, 20_000), 0)
    found = slow_mode(samples)
    assert found[0] == pytest.approx(fraction, rel=0.3)
    assert found[1] == pytest.approx(factor, rel=0.3)


@given(cv=st.floats(0.05, 1.0), seed=st.integers(0, 1000))
def test_a_lognormal_has_hardly_a_slow_mode(cv, seed):
    samples = np.random.default_rng(seed).lognormal(0, np.sqrt(np.log1p(cv**2)), 5000)
    assert slow_mode(samples)[0] < 0.1  # a few samples beyond the fence can be extrapolated to several percent
