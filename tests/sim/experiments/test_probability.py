"""The probability that objectives are met, over draws of the values that are not known."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml

from cli.tables.forecast.probability import probability_grids, probability_lines
from models.basis.described import DescribedSpec
from sim.analysis.main_assumptions import main_unknowns
from sim.experiments.failure_kinds import Failure
from sim.experiments.failures import FailureExperiment, failures
from sim.experiments.find.find_limit import LimitTrial, find_limit
from sim.experiments.find.goal import Goal
from sim.experiments.probability import Draws, MetProbability, _band, score_interval
from sim.experiments.sweep import PointTask, Settings, sweep
from sim.experiments.variants import Variants
from sim.experiments.variation import Variation
from sim.experiments.whatif import SimulatedPoint, WhatIfExperiment, whatif
from sim.replication.slo import Slo
from tests.cli.commands.test_simulate import tailcast
from tests.specs import minio
from traces.errors import InputError

pytestmark = pytest.mark.usefixtures("few_requests_of_module")

RANGES = {"network.latency": {"low": "1ms", "high": "4ms", "source": "s"}}
"""Most of the response time of one client: twice the latency, and about 0.7 ms."""


def data(*assignments: str, ranges: dict[str, Any] = RANGES) -> dict[str, Any]:
    return minio("workload.operations=200", "network.latency=2ms", *assignments) | {"assumed": ranges}


def draws(level: float = 0.8, count: int = 20, **changes: Any) -> Draws:
    return Draws(DescribedSpec.of(data(**changes)), level, count)


def slo(limit_s: float) -> Slo:
    return Slo(f"GET.mean<{limit_s * 1e3:g}ms", "GET", "mean", limit_s)


def met(limit_s: float, of: Draws | None = None) -> MetProbability:
    of = of or draws()
    jobs = [
        PointTask(spec, of.settings(k, Settings()))
        for k, spec in enumerate(of.specs(of.described.whole, (), 0))
        if spec
    ]
    return of.probability(sweep(jobs), [slo(limit_s)], 0)


def test_the_probability_is_the_fraction_of_the_ranges_that_meets_the_objective():
    # A mean of 2 x 2 ms + 0.7 ms is that of the assumed value, which is the median of the draws.
    assert met(4.7e-3).value == pytest.approx(0.5, abs=0.06)
    assert met(2e-3).value == 0 and met(2e-3).verdict == "fail"
    sure = met(10e-3)
    assert sure.value == 1 and sure.verdict == "pass" and sure.low == pytest.approx(0.84, abs=0.005)
    unsure = met(6.3e-3)
    assert unsure.verdict == "unsure" and unsure.low < 0.8 < unsure.high
    band = unsure.objectives[slo(6.3e-3).text]
    assert 2.7e-3 < band.low < band.median < band.high < 8.8e-3 and band.median == pytest.approx(4.7e-3, rel=0.1)
    assert band.met == unsure.value


def test_a_probability_can_be_read_again():
    found = met(4.7e-3)
    assert MetProbability.from_json(json.loads(json.dumps({**vars(found), "objectives": {
        text: vars(each) for text, each in found.objectives.items()
    }}))) == found  # fmt: skip


def test_the_interval_of_a_fraction():
    # Wilson's interval of 2 of 10, by his formula.
    low, high = score_interval(0.2, 10)
    assert (low, high) == pytest.approx((0.0567, 0.5098), abs=1e-4)
    assert score_interval(0.0, 20)[0] == 0 and score_interval(1.0, 20)[1] == pytest.approx(1.0)


def test_what_has_no_probability_is_refused():
    with pytest.raises(InputError, match="at least 2 draws"):
        draws(count=1).check([slo(1e-3)])
    with pytest.raises(InputError, match="between 0 and 1"):
        draws(level=80.0).check([slo(1e-3)])
    with pytest.raises(InputError, match="objective"):
        draws().check([])
    draws(ranges={}).check([slo(1e-3)])  # the model's deviation alone


def test_a_limit_is_met_with_the_required_probability():
    mapping = data("workload.clients=1")
    variants = Variants(mapping, settings=Settings(replications=2), draws=Draws(DescribedSpec.of(mapping), 0.8, 10))
    goal = Goal("max", "network.bandwidth")
    with pytest.raises(InputError):
        find_limit(variants, goal, [])
    # Of a varied path, no values are drawn. A mean of twice 2.65 ms and 0.7 ms is the limit, less the deviation of the
    # model that eight of ten draws have at most: 8 %.
    result = find_limit(variants, Goal("max", "network.latency", "1ms", "5ms"), [slo(6e-3)])
    assert result.value == pytest.approx(2.45e-3, rel=0.05)
    # The greatest CPU time with which eight of ten latencies still meet it is less than that of the assumed one.
    goal = Goal("max", "hosts.cpu.GET.constant", "0.1ms", "20ms")
    plain = find_limit(Variants(mapping, settings=Settings(replications=2)), goal, [slo(8e-3)])
    result = find_limit(variants, goal, [slo(8e-3)])
    assert plain.value is not None and result.value is not None and result.value < 0.8 * plain.value
    assert result.level == 0.8 and [unknown.path for unknown in result.unknowns] == ["network.latency"]
    at_limit = result.decisive
    assert isinstance(at_limit, LimitTrial) and at_limit.met is not None and at_limit.met.value >= 0.8
    beyond = next(trial for trial in result.simulated if trial.value == result.beyond)
    assert beyond.met is not None and beyond.met.value < 0.8
    assert all(trial.sure == (trial.met is not None and trial.met.verdict != "unsure") for trial in result.simulated)


def test_each_point_of_a_what_if_has_a_probability():
    mapping = data()
    experiment = WhatIfExperiment(
        mapping, "spec", [Variation("hosts.cpu.GET.constant", ("0.1ms", "3ms"))], [slo(6e-3)],
        settings=Settings(replications=2), draws=Draws(DescribedSpec.of(mapping), 0.8, 10),
    )  # fmt: skip
    result = whatif(experiment)
    fast, slow = result.points
    assert isinstance(fast, SimulatedPoint) and isinstance(slow, SimulatedPoint)
    assert fast.met is not None and slow.met is not None and fast.met.value > slow.met.value
    assert [unknown.path for unknown in result.unknowns] == ["network.latency"]
    plain = whatif(WhatIfExperiment(mapping, "spec", experiment.variations, [slo(6e-3)], settings=Settings(0, 2)))
    assert isinstance(plain.points[0], SimulatedPoint)
    assert plain.points[0].met is None and plain.points[0].ops == fast.ops  # of the assumed values


def test_each_window_of_a_failure_has_a_probability():
    mapping = data("workload={clients: 4, duration: 3s, object_size: 4KiB}", "drives.count=4", "client.timeout=30s")
    experiment = FailureExperiment(
        mapping, "spec", [Failure("slow-drive:0=10", "slow-drive", "0", 10.0)], slos=[slo(7e-3)],
        settings=Settings(replications=2), draws=Draws(DescribedSpec.of(mapping), 0.8, 6),
    )  # fmt: skip
    result = failures(experiment)
    windows = {name: window.met for name, window in result.failures[0].windows.items()}
    assert windows.keys() == {"before", "during", "after"}
    drawn = {name: met for name, met in windows.items() if met is not None}
    assert drawn == windows and all(each.draws == 6 and 0 <= each.value <= 1 for each in drawn.values())
    assert drawn["during"].value <= drawn["before"].value
    assert [each.path for each in result.unknowns] == ["network.latency"]


def test_the_values_that_matter_most_are_named_first():
    ranges = {**RANGES, "hosts.cpu.GET.constant": {"low": "0.34ms", "high": "0.36ms", "source": "s"}}
    found = main_unknowns(DescribedSpec.of(data("hosts.cpu.GET.constant=0.35ms", ranges=ranges)).uncertain)
    assert [unknown.path for unknown in found][:1] == ["network.latency"]
    assert main_unknowns(DescribedSpec.of(data(ranges={})).uncertain) == []


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(data("workload={rate: 50, duration: 4s, object_size: 4KiB}", "drives.count=4")))
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [
        (["find", "max workload.rate in 20..200", "--slo", "GET.mean<7ms"], ["probability", "all met"]),
        (["whatif", "--vary", "drives.count=4,8", "--slo", "GET.mean<7ms"], ["all met"]),
        (["failures", "drive", "--slo", "GET.mean<7ms"], ["all met"]),
    ],
)
def test_commands_print_the_probability_and_what_they_rest_on(capsys, spec, arguments, columns):
    command, *rest = arguments
    options = ["--replications", "4", "--workers", "1"]
    code, out, err = tailcast(capsys, command, spec, *rest, "--uncertainty", "80%", *options)
    assert code == 0 and all(column in out for column in columns)
    assert "values that are not known" in out and "network.latency" in out and "1.00 ms … 4.00 ms" in out
    assert "certainty" not in out
    code, _, err = tailcast(capsys, command, spec, *[each for each in rest if each != "--slo" and "<" not in each],
                            "--uncertainty", "80%", *options)  # fmt: skip
    assert code == 2 and "--slo" in err


def test_bands_with_infinite_values_have_values_as_their_ends():
    assert _band([3.0, math.inf, 1.0, 2.0, math.inf], 0.5) == (2.0, 3.0, math.inf)
    assert _band([3.0, math.nan, 1.0, 2.0], 0.5) == (1.25, 2.0, 2.75)
    assert all(map(math.isnan, _band([math.nan], 0.5)))


def test_too_few_requests_of_a_draw_leave_the_probability_in_doubt():
    of = draws(count=4)
    tail = Slo("GET.p99<1s", "GET", "p99", 1.0)
    jobs = [
        PointTask(spec, of.settings(k, Settings()))
        for k, spec in enumerate(of.specs(of.described.whole, (), 0))
        if spec
    ]
    found = of.probability(sweep(jobs), [tail], 0)
    assert found.value == 1 and found.few == [tail.text] and found.verdict == "unsure"
    (grid,) = probability_grids(["spec"], [(["six"], found)], [tail], ())
    assert "(few)" in grid.rows[0][1] and "not enough requests" in probability_lines([found], "points")[0]
