"""The deviations of real stores from the models, in the draws of a band."""

from __future__ import annotations

import numpy as np
import pytest

from models.store import spec_of
from sim.experiments.discrepancy import DISCREPANCY, Deviation, DiscrepancyScale, deviations, with_deviations
from sim.experiments.measures import Measures
from sim.experiments.sweep import PointTask, Settings, sweep
from tests.specs import minio
from traces.statistics.summary import QUANTILES


def measures(*assignments: str, rate: float | None = None) -> Measures:
    mapping = minio("workload.operations=300", *assignments)
    if rate is not None:
        del mapping["workload"]["clients"]
        mapping["workload"]["rate"] = rate
    (found,) = sweep([PointTask(spec_of(mapping, "spec"), Settings(1, 2))])
    assert isinstance(found, Measures)
    return found


def test_deviations_have_the_estimated_spread_around_one():
    drawn = deviations(500, 3)
    scale = DISCREPANCY
    figures = [
        ([d.rate for d in drawn], scale.rate), ([d.mean for d in drawn], scale.mean),
        *(([d.quantile(q) for d in drawn], spread) for q, spread in scale.quantiles.items()),
    ]  # fmt: skip
    for values, deviation in figures:
        logarithms = np.log(values)
        assert logarithms.std() == pytest.approx(deviation, rel=0.1)
        assert abs(np.median(logarithms)) < 0.1 * deviation
    assert deviations(500, 3) == drawn != deviations(500, 4)
    assert abs(np.corrcoef([d.level for d in drawn], [d.shape for d in drawn])[0, 1]) < 0.15


def test_quantiles_between_the_known_ones_are_interpolated():
    scale = DiscrepancyScale(0.1, 0.1, 0.1, {0.0: 0.2, 0.9: 0.4, 1.0: 0.1})
    assert [scale.of_quantile(q) for q in (0.0, 0.45, 0.95)] == pytest.approx([0.2, 0.3, 0.25])


def test_latencies_deviate_together_and_quantiles_in_addition():
    before = measures("workload.clients=2")
    level, both = (Deviation(1.0, shape).applied(before, is_closed=True) for shape in (0.0, 1.0))

    def ratio(after: Measures, name: str) -> float:
        return float(np.log(after.figure("GET", name).value / before.figure("GET", name).value))

    for name in ("mean", *QUANTILES):
        assert ratio(level, name) == pytest.approx(DISCREPANCY.mean)
    assert ratio(both, "mean") == pytest.approx(DISCREPANCY.mean)
    more = ratio(both, "p50") - DISCREPANCY.mean
    assert np.hypot(more, DISCREPANCY.mean) == pytest.approx(DISCREPANCY.of_quantile(0.5))
    assert both.ops["GET"].greatest_s > level.ops["GET"].greatest_s
    assert ratio(level, "throughput_ops") == pytest.approx(-DISCREPANCY.rate)  # fewer where latencies are longer


def test_an_open_loop_keeps_its_rate():
    before = measures(rate=20.0)
    after = Deviation(1.0, 2.0).applied(before, is_closed=False)
    assert after.figure("GET", "throughput_ops").value == before.figure("GET", "throughput_ops").value


def test_no_quantile_falls_below_a_lower_one():
    after = Deviation(0.0, -3.0).applied(measures("workload.clients=2"), is_closed=True)
    found = [after.figure("GET", name).value for name in QUANTILES]
    assert found == sorted(found) and len(set(found)) > 1


def test_a_draw_keeps_its_deviation_where_others_do_not_fit_together():
    spec, point = spec_of(minio(), "spec"), measures()
    whole = with_deviations([point] * 5, 1, spec.workload)
    some = with_deviations([point, None, point, None, point], 1, spec.workload)
    means = [[each.figure("GET", "mean").value for each in of] for of in (whole, some)]
    assert means[1] == means[0][::2] and len(set(means[0])) == 5
