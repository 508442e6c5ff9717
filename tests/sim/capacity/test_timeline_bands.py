"""Bands of a timeline: what is not known, at each state."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml

from models.basis.described import DescribedSpec
from sim.capacity.timeline import TimelinePlan, timeline
from sim.capacity.timeline_bands import BANDED, TimelineBands, timeline_bands
from sim.replication.replicate import seed_of
from tests.sim.capacity.test_timeline import tailcast
from traces.errors import InputError

PLAN = TimelinePlan(1e5, 1e6, states=2, window_s=0.2)
CLOSED = {"clients": 4, "duration": "1s", "object_size": "64KiB", "mix": {"GET": 1, "PUT": 1}}
OPEN = {"rate": "300/s", "duration": "1s", "object_size": "64KiB", "mix": {"GET": 1, "PUT": 1}}
SMALL = {
    "store": "minio",
    "workload": CLOSED,
    "hosts": {"count": 2, "preset": "epyc-2-cores"},
    "drives": {"count": 2, "preset": "nvme", "capacity": "1TB"},
}


def banded(data: dict, level: float = 0.8, draws: int = 4) -> TimelineBands:
    read = DescribedSpec.of(data)
    return timeline_bands(read.uncertain, PLAN, timeline(read.spec, PLAN), level, draws)


def test_bands_contain_the_forecast_and_are_reproducible() -> None:
    found, states = banded(SMALL), timeline(DescribedSpec.of(SMALL).spec, PLAN).states
    assert found == banded(SMALL)
    assert (found.draws, found.impossible, len(found.states)) == (4, 0, 2)
    for state, bands in zip(states, found.states, strict=True):
        for op, figures in state["ops"].items():
            for name in BANDED:
                low, high = bands[op][name]
                value = figures[name] if name == "throughput_ops" else figures["latency_s"][name]
                assert 0 < low <= value <= high < math.inf
            assert bands[op]["p99"][0] < bands[op]["p99"][1]


def test_rates_of_an_open_loop_do_not_deviate_with_latencies() -> None:
    """Their draws differ by the arrivals of their seeds only; those of a closed loop deviate with latencies, too."""
    read = DescribedSpec.of(SMALL | {"workload": OPEN})
    drawn = [
        timeline(spec, PLAN, seed=seed_of(0, k)).states[0] for k, spec in enumerate(read.uncertain.all_drawn(4, 0))
    ]
    rates = [state["ops"]["GET"]["throughput_ops"] for state in drawn]
    low, high = banded(SMALL | {"workload": OPEN}, level=0.999).states[0]["GET"]["throughput_ops"]
    assert low == pytest.approx(min(rates), rel=0.01) and high >= 0.99 * max(rates)


@pytest.mark.parametrize(("level", "draws"), [(0.0, 4), (1.0, 4), (0.8, 1)])
def test_bands_of_impossible_levels_are_refused(level: float, draws: int) -> None:
    with pytest.raises(InputError, match="uncertainty"):
        banded(SMALL, level, draws)


def test_the_command_shows_bands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, page = tmp_path / "small.yaml", tmp_path / "page.html"
    spec.write_text(yaml.safe_dump(SMALL))
    options = [str(spec), "--objects", "1e5..1e6", "--states", "2", "--window", "0.02s", "--workers", "1"]
    banded = [*options, "--uncertainty", "80%", "--out", str(tmp_path / "out")]
    code, shown, _ = tailcast(capsys, *banded, "--report", str(page))
    assert code == 0
    assert "op/s 80%" in shown and "Bands contain 80% of 20 draws" in shown and "model: mean" in shown
    text = page.read_text()
    assert "80% band" in text and "State of the store" in text
    unknown = ["--set", "drives={count: 2, read: 1ms, write: 1ms, commit: 1ms}", "--report", str(page)]
    code, shown, _ = tailcast(capsys, *options, *unknown)
    assert "How full drives are is not known" in shown and "State of the store" not in page.read_text()
    code, shown, _ = tailcast(capsys, *banded, "--json")
    bands = json.loads(shown)["bands"]
    assert code == 0 and bands["level"] == 0.8 and len(bands["states"]) == 2
    assert set(bands["states"][0]["GET"]) == set(BANDED)
    code, _, said = tailcast(capsys, *options, "--uncertainty", "100%")
    assert code == 2 and "between 0 and 1" in said
