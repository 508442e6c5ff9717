"""The deviations of real stores from the models, in the draws of a band."""

from __future__ import annotations

import numpy as np
import pytest

from models.store import spec_of
from sim.experiments.discrepancy import LEVEL, TAIL, Deviation, deviations, with_deviations
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
    for values, deviation in (([d.level for d in drawn], LEVEL), ([d.tail for d in drawn], TAIL)):
        logarithms = np.log(values)
        assert logarithms.std() == pytest.approx(deviation, rel=0.03)
        assert abs(np.median(logarithms)) < 0.02 * deviation
    assert deviations(500, 3) == drawn != deviations(500, 4)
    assert abs(np.corrcoef([d.level for d in drawn], [d.tail for d in drawn])[0, 1]) < 0.15


def test_latencies_deviate_together_and_tails_in_addition():
    before = measures("workload.clients=2")
    after = Deviation(1.1, 2.0).applied(before, is_closed=True)
    ratio = {name: after.figure("GET", name).value / before.figure("GET", name).value for name in ("mean", *QUANTILES)}
    assert ratio["mean"] == ratio["p50"] == pytest.approx(1.1)
    assert ratio["p90"] == pytest.approx(1.1 * 2**0.5)
    assert ratio["p99"] == ratio["p99_9"] == pytest.approx(2.2)
    assert after.ops["GET"].greatest_s == pytest.approx(2.2 * before.ops["GET"].greatest_s)
    rates = [each.figure("GET", "throughput_ops").value for each in (before, after)]
    assert rates[1] == pytest.approx(rates[0] / 1.1)  # Little's law: as many requests in flight


def test_an_open_loop_keeps_its_rate():
    before = measures(rate=20.0)
    after = Deviation(1.1, 2.0).applied(before, is_closed=False)
    assert after.figure("GET", "throughput_ops").value == before.figure("GET", "throughput_ops").value


def test_no_quantile_falls_below_a_lower_one():
    after = Deviation(1.0, 0.1).applied(measures("workload.clients=2"), is_closed=True)
    found = [after.figure("GET", name).value for name in QUANTILES]
    assert found == sorted(found) and len(set(found)) > 1


def test_a_draw_keeps_its_deviation_where_others_do_not_fit_together():
    spec, point = spec_of(minio(), "spec"), measures()
    whole = with_deviations([point] * 5, 1, spec.workload)
    some = with_deviations([point, None, point, None, point], 1, spec.workload)
    means = [[each.figure("GET", "mean").value for each in of] for of in (whole, some)]
    assert means[1] == means[0][::2] and len(set(means[0])) == 5
