"""The band over draws of values that are not known, and the effect of each range."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import yaml

from models.basis.uncertainty import Uncertain, uncertain
from models.spec.origins import origins_of
from models.store import spec_of
from sim.experiments.discrepancy import DISCREPANCY
from sim.experiments.sweep import Settings
from sim.experiments.uncertainty import assumed_effects, uncertainty_band
from tests.cli.commands.test_simulate import tailcast
from tests.specs import minio
from traces.errors import InputError

RANGES = {
    "network.latency": {"low": "1ms", "high": "4ms", "source": "s"},
    "hosts.cpu.GET.constant": {"low": "0.3ms", "high": "0.4ms", "source": "s"},
    "hosts.cores.count": {"values": [1, 2], "source": "s"},
}


def data(*assignments: str, ranges: dict[str, Any] = RANGES) -> dict[str, Any]:
    return minio("workload.operations=300", "network.latency=2ms", *assignments) | {"assumed": ranges}


def of(mapping: dict[str, Any]) -> Uncertain:
    spec = spec_of(mapping, "spec")
    return uncertain(spec, mapping, "spec", origins_of(spec, mapping, "spec"))


def test_the_band_contains_what_the_ranges_span():
    result = uncertainty_band(of(data()), Settings(seed=1, replications=10), 0.8)
    mean, rate = result.ops["GET"]["mean"], result.ops["GET"]["throughput_ops"]
    # One client: the mean is twice the latency of the network, drawn from 1 to 4 ms, and about 0.7 ms.
    assert 2e-3 < mean.low < 4e-3 < mean.high < 9.5e-3 and mean.low < mean.median < mean.high
    assert mean.value == pytest.approx(4.7e-3, rel=0.1)
    assert rate.low < rate.value < rate.high
    assert (result.draws, result.impossible, len(result.unknowns)) == (10, 0, 3)
    wide = uncertainty_band(of(data()), Settings(seed=1, replications=10), 0.95).ops["GET"]["mean"]
    assert wide.low < mean.low and wide.high > mean.high
    again = uncertainty_band(of(data()), Settings(seed=1, replications=10), 0.8)
    assert again.ops["GET"]["mean"] == mean


def test_the_band_reaches_the_forecast():
    ranges = {"network.latency": {"values": ["4ms", "5ms"], "source": "s"}}  # all draws are slower than as assumed
    result = uncertainty_band(of(data(ranges=ranges)), Settings(seed=1, replications=4), 0.8)
    mean, rate = result.ops["GET"]["mean"], result.ops["GET"]["throughput_ops"]
    assert mean.is_extended and mean.low == mean.value < mean.median < mean.high
    assert rate.is_extended and rate.low < rate.median < rate.value == rate.high


def test_draws_that_do_not_fit_together_are_counted():
    ranges = {"drives.count": {"values": [4, 1], "source": "s"}}  # one drive has no parity of two
    mapping = data("drives.count=4", "erasure.parity=2", ranges=ranges)
    result = uncertainty_band(
        of(mapping | {"assumed": {"drives.count": {"values": [4, 8], "source": "s"}}}), Settings(replications=2), 0.8
    )
    assert (result.draws, result.impossible) == (2, 0)
    with pytest.raises(InputError, match="parity"):
        of(mapping)  # a value that never fits is refused at once
    with pytest.raises(InputError, match="between 0 and 1"):
        uncertainty_band(of(data()), Settings(replications=6), 80)


def test_each_range_by_itself_the_strongest_first():
    result = assumed_effects(of(data()), Settings(seed=2, replications=2))
    assert result.effects[0].unknown.path == "network.latency"
    by_path = {effect.unknown.path: effect.ops["GET"] for effect in result.effects}
    low, high = by_path["network.latency"]["throughput_ops"]
    assert low > 1.5 and high < 0.65
    low, high = by_path["hosts.cpu.GET.constant"]["throughput_ops"]
    assert 0.95 < high < 1 < low < 1.05
    least, greatest = by_path["hosts.cores.count"]["p99"]
    assert least <= greatest


def test_no_effects_of_nothing_unknown():
    with pytest.raises(InputError, match="no value is assumed"):
        assumed_effects(of(data(ranges={})), Settings())


def test_a_band_of_known_values_is_that_of_the_models_deviation():
    ops = uncertainty_band(of(data("workload.operations=2000", ranges={})), Settings(replications=100), 0.8).ops["GET"]
    spreads = {"mean": DISCREPANCY.mean, "p50": DISCREPANCY.of_quantile(0.5), "p90": DISCREPANCY.of_quantile(0.9)}
    for name, deviation in spreads.items():
        assert np.log(ops[name].high / ops[name].value) == pytest.approx(1.2816 * deviation, rel=0.2)
    # Latencies hardly differ here, and p99 is at least p90, which deviates by more.
    assert ops["p99"].high >= ops["p90"].high and ops["p99"].low >= ops["p90"].low


def test_commands(tmp_path, capsys):
    spec = tmp_path / "store.yaml"
    spec.write_text(yaml.safe_dump(data()))
    code, out, _ = tailcast(capsys, "simulate", str(spec), "--uncertainty", "80%", "--replications", "4", "--json")
    result = json.loads(out)
    assert (
        code == 0
        and result["level"] == 0.8
        and result["ops"]["GET"]["p99"]["low"] < result["ops"]["GET"]["p99"]["high"]
    )
    code, out, _ = tailcast(capsys, "simulate", str(spec), "--uncertainty", "80%", "--replications", "4")
    assert code == 0 and "network.latency" in out and "80% band" in out
    kept = tmp_path / "kept"
    command = ("sensitivity", str(spec), "--assumed", "--replications", "1", "--out", str(kept))
    page = tmp_path / "page.html"
    code, out, _ = tailcast(capsys, *command, "--report", str(page))
    assert code == 0 and "network.latency" in out and "Sources of the ranges" in out
    assert re.search(r"network\.latency matters most: over its range .* changes by up to", page.read_text())
    code, out, _ = tailcast(capsys, *command, "--json")
    assert code == 0 and json.loads(out) == json.loads((kept / "assumed.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["sensitivity", "SPEC", "--assumed", "--target", "GET.p99"], "--target"),
        (["sensitivity", "SPEC", "--target", "GET.p99"], "--vary"),
        (["simulate", "SPEC", "--uncertainty", "80"], "80"),
        (["simulate", "SPEC", "--uncertainty", "80%", "--slo", "GET.p99<1s"], "--slo"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, capsys, arguments, named):
    spec = tmp_path / "store.yaml"
    spec.write_text(yaml.safe_dump(data()))
    code, _, err = tailcast(capsys, *(str(spec) if a == "SPEC" else a for a in arguments))
    assert code == 2 and named in err


def test_a_band_of_short_runs_says_so():
    found = uncertainty_band(of(data("workload.clients=20")), Settings(replications=4), 0.5).unsettled
    assert "clients" in {each.cause for each in found}
