from __future__ import annotations

import builtins
import json
import math

import numpy as np
import pytest

import sim.experiments.sensitivity
from cli.main import main
from cli.parse.goal import parse_target
from cli.parse.vary import parse_range
from sim.experiments.find.goal import OpLatency
from sim.experiments.measures import Measures
from sim.experiments.sensitivity import NumberRange, sensitivity
from sim.experiments.sweep import Settings
from sim.experiments.variants import Variants
from sim.replication.summaries import Interval
from tests.models.test_store import EXAMPLE
from tests.specs import minio
from traces.errors import InputError

P99 = OpLatency("GET", "p99")

pytest.importorskip("SALib")

FULL = "drives.commit={constant: 0.4ms}"
RANGES = [
    NumberRange("hosts.cpu.GET.constant", "0.2ms", "0.8ms"), NumberRange("network.latency", "0.01ms", "0.04ms"),
    NumberRange("hosts.cores.count", "2", "5"),
]  # fmt: skip


def variants(*assignments: str, **settings) -> Variants:
    data = minio("workload.rate=300/s", "workload.operations=800", "client.placement=own", FULL, *assignments)
    return Variants(data, "small", Settings(replications=2, **settings))


def law(monkeypatch, latency) -> None:
    """Put a formula in the place of the simulations."""

    def swept(jobs, **how):
        return [_Formula(latency(job.spec)) for job in jobs]

    monkeypatch.setattr(sim.experiments.sensitivity, "sweep", swept)


class _Formula(Measures):
    def __init__(self, latency_s: float):
        object.__setattr__(self, "latency_s", latency_s)

    def interval(self, op, name, confidence=0.95):
        return Interval(self.latency_s, math.nan, math.nan)


def test_a_product_of_powers_has_its_exponents_as_elasticities(monkeypatch):
    # Whole numbers too: their steps are rounded.
    law(monkeypatch, lambda s: s.hosts.cpu["GET"].constant ** 0.7 * s.network.latency**0.2 / s.hosts.cores.count**0.5)
    ranges = [*RANGES[:2], NumberRange("hosts.cores.count", "1", "4")]
    result = sensitivity(variants(), ranges, P99, trajectories=5)
    found = {row.path: row for row in result.parameters}
    assert list(found) == ["hosts.cpu.GET.constant", "hosts.cores.count", "network.latency"]
    for path, exponent in (("hosts.cpu.GET.constant", 0.7), ("network.latency", 0.2), ("hosts.cores.count", -0.5)):
        assert found[path].elasticity.value == pytest.approx(exponent)
        assert found[path].elasticity.low == pytest.approx(exponent)
        assert found[path].strength.value == pytest.approx(abs(exponent))
        assert found[path].spread == pytest.approx(0, abs=1e-9)
    assert found["hosts.cores.count"].factor == pytest.approx(2)


def test_an_interaction_shows_as_spread(monkeypatch):
    law(monkeypatch, lambda s: math.exp(1e4 * s.network.latency * s.hosts.cores.count))
    found = {r.path: r for r in sensitivity(variants(), RANGES[1:] + RANGES[:1], P99).parameters}
    assert found["network.latency"].spread > 0.1 * found["network.latency"].strength.value
    assert found["hosts.cpu.GET.constant"].strength.value == 0


def test_what_is_most_of_the_latency_is_strongest():
    result = sensitivity(variants(), RANGES[:2], OpLatency("GET", "mean"), trajectories=4)
    strongest, other = result.parameters
    assert strongest.path == "hosts.cpu.GET.constant"
    # Light load, mean 0.38 ms and more of CPU: its share of the latency is its elasticity.
    assert 0.4 < strongest.elasticity.low <= strongest.elasticity.high < 1.2
    assert 0 < other.elasticity.value < 0.4
    assert result == sensitivity(variants(), RANGES[:2], OpLatency("GET", "mean"), trajectories=4), (
        "the same seed, the same answer"
    )
    assert result.simulated <= 4 * 3


def test_another_seed_draws_other_walks(monkeypatch):
    law(monkeypatch, lambda s: math.exp(1e4 * s.network.latency * s.hosts.cores.count))
    a, b = (sensitivity(variants(seed=seed), RANGES[1:], P99, trajectories=3).parameters for seed in (1, 2))
    assert not np.isclose(a[0].elasticity.value, b[0].elasticity.value, rtol=1e-6)


@pytest.mark.parametrize(
    ("ranges", "target", "message"),
    [
        (RANGES[:1], "GET.p99", "at least 2 ranges"),
        ([RANGES[2], NumberRange("hosts.cores.count", "2", "9")], "GET.p99", "one range per field"),
        ([RANGES[0], NumberRange("hosts.cores.count", "2", "3")], "GET.p99", "fewer than 4 values"),
        ([RANGES[0], NumberRange("network.latency", "0", "1ms")], "GET.p99", "ascending numbers above 0"),
        (RANGES, "PUT.p99", "has no value at"),
        (RANGES, "GET.p42", "'p42' is not a latency"),
    ],
)
def test_what_cannot_be_screened_is_said_in_a_line(ranges, target, message):
    with pytest.raises(InputError, match=message):
        sensitivity(variants("hosts.cores.count=2"), ranges, parse_target(target), trajectories=2)


def test_what_moves_nothing_is_said(monkeypatch):
    law(monkeypatch, lambda s: 1.0)
    with pytest.raises(InputError, match=r"none of hosts\.cpu\.GET\.constant, network\.latency affects it"):
        sensitivity(variants(), RANGES[:2], P99, trajectories=2)


@pytest.mark.parametrize("text", ["hosts.cores.count", "hosts.cores.count=2", "hosts.cores.count=2..", "=2..3"])
def test_a_range_is_two_values(text):
    with pytest.raises(InputError, match="write it like"):
        parse_range(text)


def test_without_salib_it_says_what_to_install(monkeypatch):
    imported = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("SALib"):
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"tailcast\[sensitivity\]"):
        sensitivity(variants(), RANGES[:2], P99)


QUICK = [
    "--set", "workload.duration=null", "--set", "workload.operations=500", "--set", "workload.rate=200/s",
    "--replications", "2", "--workers", "1",
]  # fmt: skip


def told(capsys, verb: str, *arguments: str):
    with pytest.raises(SystemExit) as ended:
        main([verb, str(EXAMPLE), *arguments, *QUICK])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_the_command_screens(capsys, tmp_path):
    ranges = ["--vary", "workload.rate=100/s..400/s", "--vary", "network.latency=0.1ms..0.4ms"]
    requested = ["sensitivity", *ranges, "--target", "GET.p99", "--trajectories", "2"]
    code, out, _ = told(capsys, *requested, "--json", "--out", str(tmp_path / "kept"))
    assert code == 0
    result = json.loads(out)
    assert {row["path"] for row in result["parameters"]} == {"workload.rate", "network.latency"}
    assert json.loads((tmp_path / "kept" / "sensitivity.json").read_text()) == result
    code, out, _ = told(capsys, *requested)
    assert code == 0
    assert "elasticity" in out and out.index(result["parameters"][0]["path"]) < out.index(
        result["parameters"][1]["path"]
    )
    assert "100/s … 400/s" in out and "100 µs … 400 µs" in out


def test_the_command_searches(capsys):
    code, out, _ = told(capsys, "find", "max rate", "--slo", "GET.p99<20ms")
    assert code == 0
    assert "is the greatest workload.rate that meets the objectives" in out, "on one line, however narrow the table"
    code, out, _ = told(capsys, "find", "min hosts.cores.count", "--slo", "GET.p99<20ms", "--json")
    assert json.loads(out)["value"] == 1
    code, out, _ = told(capsys, "find", "best hedge.after in 1ms..4ms", "--target", "GET.p99", "--extra-load", "0.2")
    assert code == 0
    assert "as in the spec" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["find", "max rate"], "add --slo"),
        (["find", "max rate", "--target", "GET.p99"], "'min' --slo"),
        (["find", "best hedge.after"], "takes --target"),
        (["find", "most rate"], "write it like"),
        (["sensitivity", "--vary", "hosts.cores.count=1..8"], "--target"),
        (["sensitivity", "--target", "GET.p99"], "--vary"),
    ],
)
def test_the_command_says_what_is_missing(capsys, arguments, message):
    code, _, err = told(capsys, *arguments)
    assert code == 2
    assert message in err
