"""The figures of stores on given hardware, and their ranking."""

from __future__ import annotations

import contextlib
import json
import math

import pytest

from cli.tables.experiments.choose import ranking_lines
from sim.choose.candidates import Candidate, Wanted, candidate_of
from sim.choose.choose import (
    NO_CHANGE,
    Drawn,
    Ranking,
    Row,
    _decisive,
    _different,
    choose,
    figures_by_name,
)
from sim.choose.figures import Figures, OpFigures, Situation, deviating, faults_of_failures, figures_of, most_ops
from sim.choose.hardware import read_hardware
from sim.experiments.discrepancy import Deviation, deviations
from sim.experiments.sweep import first_trace
from sim.json_form import to_json
from sim.replication.slo import Slo
from sim.saturation.capacity import capacity_of
from tests.paths import EXAMPLES
from traces.errors import InputError

GET = Slo("GET.p99<20ms", "GET", "p99", 0.02)
TIGHT = Slo("GET.p99<3ms", "GET", "p99", 0.003)


@contextlib.contextmanager
def silent(what):
    yield lambda done: None


@pytest.fixture(scope="module")
def wanted():
    file, data = read_hardware(EXAMPLES / "choose" / "nvme.yaml")
    return Wanted(file, file.promise, data["workload"], 1500, {})


@pytest.fixture(scope="module")
def minio(wanted):
    found = candidate_of("minio", wanted)
    assert isinstance(found, Candidate)
    return found


def test_the_greatest_rate_is_below_saturation_and_falls_with_the_objective(minio):
    spec = minio.described.spec
    limit = capacity_of(spec, first_trace(spec, 0))
    loose, tight = (most_ops(spec, [slo], 0, limit) for slo in (GET, TIGHT))
    assert 0 < tight <= loose < limit.mean_ops
    assert most_ops(spec, [Slo("GET.p99<1us", "GET", "p99", 1e-6)], 0, limit) == 0


def test_failures_make_requests_slower_or_fail(minio):
    faults = faults_of_failures(minio.described)
    assert set(faults) == {"host", "drive", "slow-drive"}
    found = figures_of(minio.described.spec, faults, [GET], 0)
    assert found.healthy.meets
    assert found.healthy.cores > 0
    slow = found.failing["slow-drive"].ops["PUT"]
    assert slow.p99_s > found.healthy.ops["PUT"].p99_s
    assert {"most_ops", "GET.p99", "slow-drive.PUT.p99"} <= set(figures_by_name(found))


def test_a_single_host_serves_nothing_without_it():
    file, data = read_hardware(EXAMPLES / "choose" / "home.yaml")
    candidate = candidate_of("minio", Wanted(file, file.promise, data["workload"], 1000, {}))
    assert isinstance(candidate, Candidate)
    found = figures_of(candidate.described.spec, faults_of_failures(candidate.described), [GET], 0, quick=True)
    assert not found.failing["host"].meets
    assert found.failing["host"].ops == {}


@pytest.mark.usefixtures("few_requests")
def test_a_choice_ranks_the_best(wanted):
    tables = []
    left_out = ["swift", "silo", "rustfs", "garage", "seaweedfs"]
    found = choose(
        wanted, [GET], excluded=left_out, draws=3, seed=1, progress=silent, shown=tables.append
    )  # fmt: skip
    assert [row.candidate.store for row in tables[0].rows] == [row.candidate.store for row in found.rows]
    rates = [row.figures.most_ops for row in found.rows]
    assert rates == sorted(rates, reverse=True)
    assert {each.store for each in found.excluded} == {"bob", "openio", "versitygw"}
    assert all(row.hosts_later >= 6 for row in found.rows)
    ranking = found.ranking
    assert math.fsum(each.first for each in ranking.drawn) == pytest.approx(1)
    for row, drawn in zip(found.rows, ranking.drawn, strict=True):
        band = drawn.bands["most_ops"]
        assert band.low <= row.figures.most_ops <= band.high
        assert len(drawn.most_ops) == 3
    assert ranking.first[0] == ranking.drawn[0].first
    if ranking.decisive is not None:
        assert ranking.decisive.change > NO_CHANGE
        assert ranking.decisive.measured_by
    json.dumps(to_json(found))


@pytest.mark.parametrize(("change", "decides"), [(1.0, False), (1 + NO_CHANGE - 0.01, False), (1.5, True)])
def test_a_value_decides_only_if_it_changes_the_ratio_more_than_the_search_does(wanted, minio, change, decides):
    other = candidate_of("ceph", wanted)
    assert isinstance(other, Candidate)
    rows = [Row(each, Figures(100.0, 200.0, None, Situation({}, True), {}), 6, None) for each in (minio, other)]

    def rates(moved, tasks):
        return [
            100.0 * (change if candidate is minio and end % 2 else 1.0) for end, (candidate, *_) in enumerate(tasks)
        ]

    found = _decisive(*rows, [GET], 0, rates, silent)
    assert (found is not None) == decides
    ranking = Ranking(tuple(Drawn(name, (), {}, 0.5) for name in ("minio", "ceph")), 2, (0.5, 0.1, 0.9), found)
    assert ("No measurement of one value would decide" in ranking_lines(ranking)[-1]) != decides


def test_a_fork_with_the_same_figures_is_not_ranked_by_itself(wanted, minio):
    fork = candidate_of("silo", wanted)
    assert isinstance(fork, Candidate)
    same, other = (Figures(rate, 200.0, None, Situation({}, True), {}) for rate in (100.0, 90.0))
    rows = [Row(minio, same, 6, None), Row(fork, same, 6, None), Row(fork, other, 6, None)]
    assert _different(rows) == [rows[0], rows[2]]


def test_an_objective_needs_requests(wanted):
    with pytest.raises(InputError, match=r"objectives: LIST.p99<1s: the workload has no LIST"):
        choose(wanted, [Slo("LIST.p99<1s", "LIST", "p99", 1.0)], progress=silent)


def test_the_model_of_each_store_deviates_by_itself():
    assert deviations(20, 1, "minio") == deviations(20, 1, "minio") != deviations(20, 1, "ceph")
    situation = Situation({"GET": OpFigures(1e-3, 4e-3, 0.0)}, True)
    found = deviating(Figures(1100.0, 1200.0, "drive", situation, {"host": situation}), moved := Deviation(1.0, 0.5))
    assert found.most_ops == pytest.approx(1100 * moved.rate) and found.saturation_ops == 1200
    for each in (found.healthy, found.failing["host"]):
        assert (each.ops["GET"].p50_s, each.ops["GET"].p99_s) == pytest.approx(
            (1e-3 * moved.quantile(0.5), 4e-3 * moved.quantile(0.99))
        )
