"""The reference cases of Ceph: their data and figures, what the series say in words, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.main import _exit_code
from models.store import load_spec
from tests.profiles import others_nightly
from tests.runs import run_of
from traces.errors import InputError
from validate.reference.by_case import statements_of
from validate.reference.cases import CASES, case_named, spec_file
from validate.reference.figures import ALL, figure, figures_of_spec
from validate.reference.forecast import forecast
from validate.scoreboard.published import sample_of

NAMES = [case.name for case in CASES if case.name.startswith("ceph")]
SHORT = ("workload.operations=3000",)
STATEMENTS = [(name, i) for name in NAMES for i, one in enumerate(statements_of(name)) if one.variants]


@pytest.mark.parametrize("name", NAMES)
def test_rows_fit_their_spec(name):
    case = case_named(name)
    for row in case.rows:
        spec = load_spec(case.spec, row.assignments)
        assert spec.store == "ceph" and row.measured and row.evaluated
        assert all(value > 0 for value in row.measured.values())
        if "workload.mix" in row.settings:
            assert row.op in (*spec.workload.mix, ALL)
        alone = set(spec.workload.mix) == {row.op} and "in flight" not in row.remark
        if alone and {"throughput_ops", "latency_mean_ms"} <= row.measured.keys():  # Little's law of a closed loop
            busy = row.measured["throughput_ops"] * row.measured["latency_mean_ms"] / 1000
            assert busy == pytest.approx(spec.workload.clients, rel=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_statements_fit_their_specs(name):
    case = case_named(name)
    for statement in statements_of(name):
        for variant in statement.variants.values():
            assert load_spec(spec_file(variant.spec_name or case.spec_name), variant.assignments).store == "ceph"


def test_published_numbers_of_the_nvme_cluster():
    rows = case_named("ceph-nvme-quincy").rows
    fitted = [row for row in rows if row.used_in_fit]
    assert {row.settings["workload.object_size"] for row in fitted} == {"4KiB"}
    assert {row.op for row in fitted} == {"PUT", "GET"}
    puts = [row.measured["throughput_ops"] for row in fitted if row.op == "PUT" and row.table != "cores"]
    assert puts == [178247, 175361, 174536]
    sums = {name: sum(row.measured.get(name, 0) for row in rows) for name in ("rgw_cores", "osd_cores")}
    assert sums == {"rgw_cores": 184 + 88 + 269 + 302, "osd_cores": 152 + 55 + 475 + 102}


def closed_loop(latency_s: float, clients: int, rounds: int, begin_s: float = 0.0, **columns):
    """Clients that each wait `latency_s` for a request; the first of each takes ten times as long."""
    first = np.full(clients, begin_s)
    later = begin_s + latency_s * (10 + np.arange(rounds))[:, None] + np.linspace(0, latency_s, clients, endpoint=False)
    arrival = np.concatenate([first, later.ravel()])
    took = np.concatenate([np.full(clients, 10 * latency_s), np.full(later.size, latency_s)])
    return run_of(took, arrival_s=arrival, **columns)


@pytest.mark.parametrize("begin_s", [0.0, 100.0])
def test_steady_figures_leave_the_beginning_out(begin_s):
    run = closed_loop(0.01, 8, 100, begin_s)
    assert figure(run, "GET", "throughput_ops", steady=True) == pytest.approx(800, rel=0.02)
    assert figure(run, "GET", "latency_mean_ms", steady=True) == pytest.approx(10)
    assert figure(run, "GET", "throughput_gb_per_s", steady=True) == pytest.approx(800 * 4096 / 1e9, rel=0.02)
    assert figure(run, "GET", "throughput_ops") < 780
    assert figure(run, "GET", "latency_mean_ms") > 10.5


def test_a_run_too_short_to_settle_is_refused():
    with pytest.raises(InputError, match="too few for the store to settle"):
        figure(run_of(np.full(8, 0.1), arrival_s=np.zeros(8)), "GET", "throughput_ops", steady=True)


def test_cores_are_busy_servers_of_a_role():
    def station(name: str, role: str, utilization: float, visits: int = 0) -> dict[str, object]:
        return {
            "name": name, "role": role, "servers": 8, "visits": visits, "utilization": utilization, "mean_queue": 0.0,
        }  # fmt: skip

    stations = [
        station("a", "rgw cpu", 0.5), station("b", "rgw cpu", 0.25), station("c", "osd host cpu", 1.0),
        station("d", "index shard", 0.0, visits=3232),
    ]  # fmt: skip
    run = closed_loop(0.01, 8, 100, stations=stations)
    assert figure(run, "GET", "rgw_cores") == pytest.approx(6)
    assert figure(run, "GET", "osd_cores") == pytest.approx(8)
    settled = figure(run, "GET", "throughput_ops", steady=True) / figure(run, "GET", "throughput_ops")
    assert figure(run, "GET", "rgw_cores", steady=True) == pytest.approx(6 * settled)
    assert figure(run, "GET", "index_visits") == pytest.approx(4)


def test_figures_without_simulation():
    case = case_named("ceph-redhat-billion")
    row = case.rows[0]
    found = figures_of_spec(load_spec(case.spec, row.assignments), tuple(row.measured))
    assert found["shard_objects_per_osd"] == pytest.approx(1_014_912_090 * 6 / 112)
    assert found["space_amplification"] == 6
    assert found["spilled_gb_per_osd"] == pytest.approx(80, rel=0.1)
    spec = load_spec(case_named("ceph-resharding-2026").spec, ["stored.objects=20e6", "workload.buckets=1"])
    assert figures_of_spec(spec, ("reshard_s",))["reshard_s"] == pytest.approx(20e6 / (64 * 128 / 0.1))


@pytest.mark.parametrize(("name", "index"), STATEMENTS)
def test_a_statement_can_fail(name, index):
    statement = statements_of(name)[index]
    labels = list(statement.variants)
    shapes = (np.ones(len(labels)), np.arange(1.0, len(labels) + 1), np.arange(float(len(labels)), 0, -1))
    verdicts = [statement.check(dict(zip(labels, values.tolist(), strict=True))) for values in shapes]
    assert not all(holds for holds, _ in verdicts)
    assert all(evidence for _, evidence in verdicts)


MINUTES = ("ceph-rbd-reef-cpu", "ceph-rbd-pg-reef")  # of the scoreboard
FITTED = [name for name in NAMES if name not in MINUTES and any(row.used_in_fit for row in case_named(name).rows)]
"""Cases to which values are fitted; the others are predicted from hardware alone."""


WHOLE = ("ceph-redhat-compression", "ceph-rbd-ec-squid")  # take seconds; the first has statements
AT_ONCE = ("ceph-hdd-quincy",)  # one run has all of its rows


@pytest.mark.parametrize("name", [name for name in FITTED if name not in (*WHOLE, *AT_ONCE)])
def test_some_rows_of_a_case_are_as_good_as_it_claims(name):
    case = case_named(name)
    rows = range(0, len(case.rows), 4 if len(case.rows) < 27 else 9)
    result = forecast(sample_of(case, rows))
    assert len(result.rows) == len(rows)
    assert result.error.all.median < case.tolerance


@pytest.mark.parametrize("name", others_nightly(FITTED, WHOLE, "some of their rows are predicted in every run"))
def test_a_case_is_as_good_as_it_claims(name):
    case = case_named(name)
    result = forecast(case)
    assert result.error.all.median < case.tolerance
    assert [statement.holds for statement in result.statements] == [True] * len(statements_of(name))


@pytest.mark.nightly("processes are those of validations, whose test runs many times a day")
def test_processes_change_nothing():
    case = case_named("ceph-redhat-compression")
    assert forecast(case, assignments=SHORT, workers=2) == forecast(case, assignments=SHORT)


def output(capsys, *arguments: str) -> tuple[int, str]:
    code = _exit_code(["reference", "run", *arguments])
    return code, capsys.readouterr().out


def test_run_prints_rows_and_statements(capsys):
    arguments = ("ceph-redhat-compression", "--workers", "1", "--set", *SHORT)
    code, out = output(capsys, *arguments, "--json")
    result = json.loads(out)
    assert code == 0
    assert {"measured", "predicted", "used_in_fit", "remark"} <= result["rows"][0].keys()
    assert all({"text", "holds", "evidence"} <= statement.keys() for statement in result["statements"])
    assert "holds: It costs MySQL" in output(capsys, *arguments)[1]


def test_check_fails_with_a_statement(capsys):
    arguments = ("ceph-redhat-compression", "--check", "--workers", "1", "--set", *SHORT)
    assert output(capsys, *arguments)[0] == 0
    code, out = output(capsys, *arguments, "--set", "bluestore.compression.compress=10MB/s")
    assert code == 1 and "FAILS: Aggressive compression costs fio" in out
