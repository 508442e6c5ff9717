"""Tables of users: columns, rows, and what is wrong with them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml

from models.store import spec_of
from sim.json_form import to_json
from sim.replication.replicate import seed_of
from tests.cli.commands.test_simulate import tailcast
from tests.specs import minio
from traces.errors import InputError
from traces.spec.spec_file import override
from validate.reference import forecast as forecasts
from validate.reference.cases import UserTable
from validate.reference.forecast import forecast
from validate.reference.rows import is_steady, read_rows, rows_of
from validate.scoreboard.lines import KNOWN, Line

DATA = minio("workload.operations=300")
HEAD = "clients,workload.object_size,throughput_ops,latency_mean_ms,latency_p99_9_ms\n"


def test_note_says_which_throughput_needs_more_than_the_nic(tmp_path):
    fixed = ("hosts.nic=1GB/s", "workload.object_size=4MiB", "workload.mix.GET=1", "workload.operations=300")
    text = "clients,throughput_mb_per_s\n16,900\n16,14121.5\n"
    spec, table = files(tmp_path, text)
    data = override({"store": "ceph", "workload": {"object_size": 1, "keys": {"kind": "uniform", "count": 100}}}, fixed)
    notes = forecast(UserTable.read(spec, data, table)).notes
    assert len(notes) == 1
    needed, _, station = notes[0].partition("needs ")[2].partition(" times the rate of the NIC ")
    assert float(needed) == pytest.approx(14.1215 / 3 / (1448 / 1538), abs=0.02)  # three hosts
    assert station == "'host up'"


def rows(folder: Path, text: str, data=DATA):
    path = folder / "rows.csv"
    path.write_text(text)
    return rows_of(path, data, spec_of(data, "spec.yaml"), "spec.yaml")


def files(folder: Path, text: str) -> tuple[Path, Path]:
    spec, table = folder / "store.yaml", folder / "rows.csv"
    spec.write_text(yaml.safe_dump(DATA))
    table.write_text(text)
    return spec, table


def test_columns_are_paths_and_figures_in_any_order(tmp_path):
    first, second = rows(tmp_path, HEAD + "2,4KiB,900,2.1,\n4,,1500,,9\n")
    assert dict(first.settings) == {"workload.clients": "2", "workload.object_size": "4KiB"}
    assert dict(second.settings) == {"workload.clients": "4"}  # an empty cell sets nothing
    assert dict(first.measured) == {"throughput_ops": 900, "latency_mean_ms": 2.1}
    assert dict(second.measured) == {"throughput_ops": 1500, "latency_p99_9_ms": 9}
    assert (first.op, first.table, first.used_in_fit, first.line) == ("GET", "", False, 2)
    assert is_steady([first, second])
    (timed,) = rows(tmp_path, "duration_s,table,used_in_fit,op\n3,mine,yes,GET\n")
    assert timed.used_in_fit and timed.evaluated == ("duration_s",) and not is_steady([timed])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("clinets,throughput_ops\n1,5\n", ["column 'clinets'", "did you mean clients"]),
        ("workload.clients,throughput_op\n1,5\n", ["column 'throughput_op'", "did you mean throughput_ops"]),
        ("clients,throughput_ops\n1,fast\n", ["line 2", "throughput_ops", "'fast'"]),
        ("clients,throughput_ops\n1,0\n", ["line 2", "above 0"]),
        ("clients,throughput_ops\n1\n", ["line 2", "number of cells"]),
        ("clients,throughput_ops,clients\n1,2,3\n", ["each once"]),
        ("clients,throughput_ops,used_in_fit\n1,2,maybe\n", ["used_in_fit", "'maybe'"]),
        ("clients,throughput_ops\n1,5\n-3,5\nx,5\n", ["line 3: workload.clients", "line 4: workload.clients"]),
        ("clients,throughput_ops,op\n1,5,PUT\n", ["line 2", "op is 'PUT'", "GET"]),
        ("clients\n1\n", ["has no figure"]),
    ],
)
def test_mistakes_name_line_and_column(tmp_path, text, named):
    with pytest.raises(InputError) as refused:
        rows(tmp_path, text)
    for part in ("rows.csv", *named):
        assert part in str(refused.value)


def test_an_operation_is_needed_if_there_are_several(tmp_path):
    data = minio("workload.mix={GET: 1, PUT: 1}")
    with pytest.raises(InputError, match="op is ''"):
        rows(tmp_path, "clients,throughput_ops\n1,5\n", data)
    assert [row.op for row in rows(tmp_path, "clients,op,throughput_ops\n1,PUT,5\n1,all,5\n", data)] == ["PUT", "all"]


def test_predictions_of_a_table(tmp_path, capsys):
    spec, table = files(tmp_path, HEAD + "1,,1000,1,\n3,,1000,1,5\n")
    code, out, _ = tailcast(
        capsys, "reference", "run", "--spec", str(spec), "--table", str(table), "--json", "--workers", "1"
    )
    result = json.loads(out)
    assert code == 0 and (result["name"], result["replications"]) == ("rows", 1)
    one, three = (row["predicted"] for row in result["rows"])
    for predicted, clients in ((one, 1), (three, 3)):  # Little's law
        assert predicted["throughput_ops"] * predicted["latency_mean_ms"] / 1000 == pytest.approx(clients, rel=0.05)
    assert three["throughput_ops"] > 1.3 * one["throughput_ops"]
    code, out, _ = tailcast(
        capsys, "reference", "run", "--spec", str(spec), "--table", str(table), "--check", "--workers", "1"
    )
    assert code == 1 and "op/s" in out and "mean ms" in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "NAME"),
        (["--spec", "store.yaml"], "--table"),
        (["ceph-nvme-quincy", "--table", "rows.csv"], "leave out"),
        (["--spec", "missing.yaml", "--table", "rows.csv"], "missing.yaml"),
    ],
)
def test_a_case_or_a_table_is_needed(capsys, arguments, named):
    code, _, err = tailcast(capsys, "reference", "run", *arguments)
    assert code == 2 and named in err


def test_bands_of_a_table(tmp_path):
    ranged = {**DATA, "assumed": {"hosts.cores.count": {"values": [1, 2, 4], "source": "not known"}}}
    table = tmp_path / "rows.csv"
    table.write_text("clients,used_in_fit,throughput_ops\n8,no,1\n8,yes,1\n1,no,1000\n")
    spec = tmp_path / "store.yaml"
    spec.write_text(yaml.safe_dump(ranged))
    result = forecast(UserTable.read(spec, ranged, table), uncertainty=0.8, draws=6)
    low, high = result.rows[0].band["throughput_ops"]
    assert low < result.rows[0].predicted["throughput_ops"] < high and high > 1.5 * low
    assert result.uncertainty.figures == 2  # not the fitted row
    assert [unknown.path for unknown in result.uncertainty.unknowns] == ["hosts.cores.count"]
    assert not result.rows[0].covered["throughput_ops"]
    # What a row or an assignment sets is known.
    fixed = forecast(UserTable.read(spec, ranged, table), uncertainty=0.8, draws=3, assignments=["hosts.cores.count=2"])
    assert fixed.uncertainty.unknowns == [] and to_json(fixed)["uncertainty"]["discrepancy"]["mean"] > 0
    for row in fixed.rows:
        narrow = row.band["throughput_ops"]
        assert narrow[0] < row.predicted["throughput_ops"] < narrow[1] < 1.5 * narrow[0]


def test_draws_of_shorter_runs_grow_as_the_same_seeds_do(tmp_path, monkeypatch):
    def sampled(job, spec, seeds):
        grown = 2.0 if spec.workload.operations == 300 else 1.0
        values = [grown * (5.0 if seed == seed_of(0, 0) else 1.0) for seed in seeds]
        return [forecasts._Sampled({"latency_p99_ms": values}, {}, [1.0]) for _ in job.wanted]

    monkeypatch.setattr(forecasts, "_DRAWN_REQUESTS", 100)
    monkeypatch.setattr(forecasts, "_simulated", sampled)
    _, table = files(tmp_path, "clients,latency_p99_ms\n4,9\n")
    result = forecast(UserTable.read(tmp_path / "store.yaml", DATA, table), replications=3, uncertainty=0.8)
    low, high = result.rows[0].band["latency_p99_ms"]
    assert low < 2.0 < high < 4.0 and low > 1.0


@pytest.mark.parametrize(
    ("doubling", "measured_s", "factor"),
    [
        (1.4, 60.0, 1.4),
        (1.4, 2.0, 1.4),
        (1.4, math.sqrt(2), math.sqrt(1.4)),
        (1.4, 0.5, 1.0),
        (0.8, 60.0, 1.0),
        (1.4, None, 1.0),
    ],
)
def test_tails_grow_by_one_more_doubling_at_most(doubling, measured_s, factor):
    assert forecasts.further_growth(doubling, measured_s, 1.0) == pytest.approx(factor)


@pytest.mark.parametrize(("measured", "resolution", "inside"), [(1.0, 0.0, False), (1.0, 1.0, True), (0.6, 1.0, False)])
def test_a_band_has_what_is_rounded_to_the_measured_value(measured, resolution, inside):
    assert forecasts.is_inside(measured, (1.2, 1.4), resolution) is inside
    line = Line("case", "row", "GET", "latency_p50_ms", KNOWN, measured, 1.3, low=1.2, high=1.4, resolution=resolution)
    assert line.covered is inside


def test_resolution_is_in_the_unit_of_the_figure(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("op,resolution_ms,latency_mean_us,latency_p50_s,throughput_ops\nGET,1,900,0.001,5\n")
    (row,) = read_rows(path)
    assert [row.resolution(name) for name in row.measured] == pytest.approx([1000.0, 0.001, 0.0])
    path.write_text("op,resolution_ms,latency_mean_us\nGET,-1,900\n")
    with pytest.raises(InputError, match="line 2: resolution_ms is '-1'"):
        read_rows(path)


def test_upper_end_of_a_tail_is_that_of_a_longer_measurement(tmp_path, monkeypatch):
    def band(lasted: str) -> tuple[float, float]:
        _, table = files(tmp_path, f"clients,measured_s,latency_p99_ms\n4,{lasted},9\n")
        return forecast(table_of(table), replications=2, uncertainty=0.8).rows[0].band["latency_p99_ms"]

    def sampled(job, spec, seeds):
        return [forecasts._Sampled({"latency_p99_ms": [2.0] * len(seeds)}, {"latency_p99_ms": [1.0]}, [1.0])]

    def table_of(table: Path) -> UserTable:
        return UserTable.read(tmp_path / "store.yaml", DATA, table)

    monkeypatch.setattr(forecasts, "_simulated", sampled)
    (low, high), longer = band("1"), band("8")
    assert longer == pytest.approx((low, 2 * high))
