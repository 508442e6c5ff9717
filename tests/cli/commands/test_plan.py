from __future__ import annotations

import copy
import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
import yaml

from cli.main import main
from cli.pages.page import write_page
from cli.pages.plan import _costs, _load_and_fill, _objective, plan_page
from cli.parse.slo import parse_slo
from cli.tables.experiments.plan import contradiction_text, evidence, figure, found, opening, plan_grids
from cli.tables.experiments.timeline import millions
from sim.capacity.contradictions import Contradiction
from sim.capacity.growth import Growth
from sim.capacity.health import assess
from sim.capacity.plan import plan
from tests.browser import CHROMIUM, WIDTHS, opened
from tests.paths import EXAMPLES
from tests.specs import minio
from traces.spec.spec_file import load_mapping, validated

pytestmark = pytest.mark.usefixtures("few_requests")

BILLION, GROWTH = EXAMPLES / "ceph" / "billion-objects.yaml", EXAMPLES / "ceph" / "growth.yaml"
PRICED = minio("prices={host: 1000, core: 50, drive: 100}")
MORE = {"months": 12, "rate": {"now": 500, "growth": {"low": 0.05, "likely": 0.13, "high": 0.15}}, "scenarios": 3}
SLO = "GET.p99<2.2ms"


@pytest.fixture
def files(tmp_path):
    spec, growth = tmp_path / "spec.yaml", tmp_path / "growth.yaml"
    spec.write_text(yaml.safe_dump(PRICED))
    growth.write_text(yaml.safe_dump(MORE))
    return spec, growth


@pytest.fixture(scope="module")
def result():
    return plan(PRICED, validated(Growth, MORE, "growth"), [parse_slo(SLO)], window_s=0.4, replications=2)


def tailcast(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["plan", *arguments])
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err


def test_the_command_finds_what_the_function_does(capsys, files, tmp_path, result):
    spec, growth = map(str, files)
    out, page = tmp_path / "kept", tmp_path / "plan.html"
    brief = ("--growth", growth, "--slo", SLO, "--window", "0.4s", "--replications", "2", "--workers", "1")
    code, text, _ = tailcast(capsys, spec, *brief, "--json", "--out", str(out), "--report", str(page))
    assert code == 0
    told = json.loads(text)
    assert told == json.loads((out / "plan.json").read_text())
    assert pq.read_table(out / "changes.parquet").num_rows == len(told["changes"])
    assert told["first"] == SLO
    assert told["limits"][0]["month"] == vars(result.limits[0].month)
    assert set(told["limits"][0]) >= {"name", "month", "objects", "evidence"}
    assert set(told["changes"][0]) >= {"set", "cost", "holds", "evidence"}
    assert told["best"]["set"] == result.best.change.values
    assert "hosts.cores.count 3" in page.read_text(encoding="utf-8")


def test_an_interrupted_plan_continues(capsys, files, tmp_path, monkeypatch):
    spec, growth = map(str, files)
    out, looked_at = tmp_path / "kept", []

    def look(health_check):
        if len(looked_at) == 5:
            raise KeyboardInterrupt
        looked_at.append(health_check)
        return assess(health_check)

    requested = (spec, "--growth", growth, "--slo", SLO, "--window", "0.2s", "--replications", "2", "--workers", "1")
    with monkeypatch.context() as patch:
        patch.setattr("sim.capacity.health.assess", look)
        code, text, said = tailcast(capsys, *requested, "--json", "--out", str(out))
    assert (code, text) == (130, "")
    # Where a second has passed, an empty line of the progress bar stands before it.
    assert said.lstrip() == f"tailcast: interrupted; finished work is in {out}; the same command continues from there\n"
    assert {file.stem for file in (out / "finished").iterdir()} == {health_check.key for health_check in looked_at}
    whole = json.loads(tailcast(capsys, *requested, "--json", "--out", str(out))[1])
    assert len(list((out / "finished").iterdir())) > 5
    monkeypatch.setattr("sim.capacity.health.assess", None)  # nothing is left to look at, be prices what they are
    again = tailcast(capsys, *requested, "--json", "--out", str(out))
    assert json.loads(again[1]) == whole
    dearer = json.loads(tailcast(capsys, *requested, "--json", "--out", str(out), "--set", "prices.core=70")[1])
    assert dearer["best"]["cost"] == 70 * whole["best"]["cost"] / 50
    assert dearer["limits"] == whole["limits"]


def test_tables_say_what_was_found(capsys, files):
    code, text, _ = tailcast(capsys, str(BILLION), "--growth", str(GROWTH), "--workers", "1")
    assert code == 0
    assert "spill L4" in text
    assert "273.8 M" in text
    assert "spill L4 comes first" in text


def test_sentences_name_first_limit_change_and_price(result):
    said = found(result)
    months = result.limits[0].month
    assert said.startswith(f"{SLO} comes first, in month {months.likely:g} ({months.low:g} to ")
    assert "The cheapest change that suffices is hosts.cores.count 3 for 50" in said
    assert "ms in month" in evidence(result)[0]


SHARDS = {
    "store": "ceph",
    "workload": {"operations": 1, "rate": "1000/s", "object_size": "64KiB", "mix": {"PUT": 1, "GET": 1}},
    "hosts": {"count": 7, "drives": 16},
    "gateways": {"count": 7},
    "device": {"preset": "hdd-7k2", "capacity": "4TB"},
    "db": {"size": "80GB"},
    "pools": {"data": "ec 4+2"},
    "buckets": {"shards": 11, "resharding": {"dynamic": False}},
    "stored": {"objects": 1e8},
}
FILLING = {"months": 4, "objects": {"now": 1e8, "per_month": 1e7}}


def test_sentences_of_a_plan_do_not_contradict_each_other(capsys, tmp_path):
    spec, growth, page = tmp_path / "spec.yaml", tmp_path / "growth.yaml", tmp_path / "plan.html"
    spec.write_text(yaml.safe_dump(SHARDS))
    growth.write_text(yaml.safe_dump(FILLING))
    arguments = (str(spec), "--growth", str(growth), "--window", "0.2s", "--workers", "1", "--report", str(page))
    code, text, warned = tailcast(capsys, *arguments)
    assert code == 0
    first, *_ = text.splitlines()
    assert first.startswith(
        "index shards comes first, in month 0 at 1.1 M objects: set buckets.shards to at least 1,400. Unchanged, the "
        "store is neither full nor overloaded within the period, with warnings: index shards from month 0"
    )
    assert "healthy" not in text
    assert "suffices" not in text
    assert "warning: growth adds 3.86/s, 10 M a month; the workload creates 500/s, 1,296 M a month" in warned
    assert "the plan uses the growth for what is stored, and the workload for the load" in warned
    told = page.read_text(encoding="utf-8")
    assert first.split(";")[0] in told
    assert "1,296 M a month" in told


def test_full_drives_are_a_limit_with_the_number_that_avoids_it() -> None:
    """No objective is needed to see why the store of each month and each change does not work."""
    filling = minio("drives.capacity=50GB", "drives.count=4", "stored={objects: 10000, object_size: 1MB}")
    growth = validated(Growth, {"months": 3, "objects": {"per_month": 50_000}, "scenarios": 1}, "growth")
    grids = {grid.title: grid for grid in plan_grids(plan(filling, growth, [], window_s=0.1, replications=1))}
    (full,) = [dict(zip(grids["Limits"].columns, row, strict=True)) for row in grids["Limits"].rows if row[0] == "full"]
    assert full["set"].startswith("drives.count to at least ")
    likely = grids["Most likely growth"]
    assert likely.columns[-1] == "state" and not likely.rows[0][-1] and "refuse writes" in likely.rows[-1][-1]


def test_many_objects_have_no_exponent():
    found = Contradiction("objects.per_month", 3.8e7, "the workload", 1.174e10)
    text = contradiction_text(found)
    assert "38 M a month" in text and "11,740 M a month" in text
    assert [millions(value) for value in (12_345, 2.738e8, 1.0149e9)] == ["12,345", "273.8 M", "1,015 M"]


def test_grids_have_a_row_for_each(result):
    limits, changes, likely = plan_grids(result)
    assert [row[0] for row in limits.rows] == [limit.name for limit in result.limits]
    assert len(changes.rows) == len(result.changes)
    assert [row[1] for row in changes.rows].count("best") == 1
    assert len(likely.rows) == len(result.likely)
    assert all(len(row) == len(grid.columns) for grid in (limits, changes, likely) for row in grid.rows)


def test_a_change_that_suffices_too_rarely_is_a_risk(result):
    best = result.best.change.values
    seldom = [t if t.change.values == best else replace(t, holds=True, fraction=0.5) for t in result.changes]
    rows = plan_grids(replace(result, changes=tuple(seldom)))[1].rows
    assert {row[1] for row in rows} == {"best", "risk"}


@pytest.mark.parametrize(
    ("slo", "value", "text"),
    [
        ("GET.p99<50ms", 0.0123, "12.3 ms"),
        ("GET.errors<1%", 0.002, "0.2%"),
        ("PUT.throughput>100/s", 1234.0, "1,234/s"),
        ("PUT.throughput>1GB/s", 2e9, "2.00 GB/s"),
    ],
)
def test_figures_have_their_unit(slo, value, text):
    assert figure(slo, value) == text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slo", "GET.p99"], "--slo GET.p99: is not an objective"),
        (["--slo", "GET.p99<1ms", "--window", "3 parsecs"], "--window 3 parsecs"),
        (
            ["--set", "prices.gatway=3"],
            "prices.gatway: unknown field; allowed are catalogue, host, core, drive, nic_gbit",
        ),
        (["--set", "prices.core=-3"], "prices.core"),
    ],
)
def test_mistakes_are_one_line(capsys, files, arguments, said):
    spec, growth = map(str, files)
    code, out, err = tailcast(capsys, spec, "--growth", growth, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_growth_that_does_not_fit_is_one_line(capsys):
    code, _, err = tailcast(capsys, str(EXAMPLES / "bob" / "one-host.yaml"), "--growth", str(GROWTH))
    assert code == 2
    assert "store bob: its model has no growth" in err


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", WIDTHS)
def test_charts_are_drawn(tmp_path, result, width):
    path = tmp_path / "plan.html"
    write_page(plan_page(result, "a plan"), path)
    assert path.stat().st_size < 6e6
    with opened(path, width, dark=width == 800) as page:
        assert page.errors == []
        assert page.fetched == [path.as_uri()]
        assert page.evaluate("document.querySelectorAll('.chart').length") == 4
        assert page.evaluate("[...document.querySelectorAll('.chart')].every((c) => c.querySelector('.trace path'))")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_intervals_do_not_reach_below_0(result):
    wide = copy.deepcopy(result)
    for moment in wide.likely:
        for text, judged in moment.health.slos.items():
            moment.health.slos[text] = replace(judged, high=3 * judged.value)
    (line,) = _objective(wide, SLO).data
    assert line.error_y.symmetric is False
    assert list(line.error_y.array) == pytest.approx([2 * y for y in line.y])
    assert list(line.error_y.arrayminus) == list(line.y)


def test_the_limit_of_an_objective_is_not_at_the_edge_of_its_figure(result):
    shown = _objective(result, SLO)
    (limit,) = {shape.y0 for shape in shown.layout.shapes}
    assert shown.layout.yaxis.range[0] == 0 and shown.layout.yaxis.range[1] > limit


def test_the_load_of_the_busiest_station_is_one_sentence(result):
    quiet = copy.deepcopy(result)
    for moment in quiet.likely:
        moment.health.loads.clear()
        moment.health.loads.update({"rgw cpu": 0.04, "osd cpu": 0.02})
    (line,) = [each for each in opening(quiet) if each.startswith("Load")]
    assert line.endswith("; below its limit.") and line.count("rgw cpu") == 2
    shown = _load_and_fill(quiet)
    assert "rgw cpu busy" in [trace.name for trace in shown.data]


def test_a_page_without_limits_is_written(tmp_path):
    quiet = plan(load_mapping(EXAMPLES / "minio.yaml"), Growth(months=2), [], window_s=0.2, replications=1)
    write_page(plan_page(quiet, "quiet"), tmp_path / "quiet.html")
    assert "No limit is reached within 2 months." in (tmp_path / "quiet.html").read_text(encoding="utf-8")


def test_the_costs_of_changes_have_the_verdicts_of_the_table(result):
    first = next(trial for trial in result.changes if trial.holds and trial.change.values)
    others = [trial for trial in result.changes if trial is not first]
    risky = replace(result, changes=[replace(first, fraction=0.5), *others])
    by_name = {trace.name: list(trace.y) for trace in _costs(risky).data}
    (table,) = [grid for grid in plan_grids(risky) if "verdict" in grid.columns]
    said = {row[0]: row[1] for row in table.rows}
    assert {said[name] for name in by_name.get("suffices", [])} <= {"best", "suffices"}
    assert len(by_name["suffices in too few scenarios (risk)"]) == 1
    assert all(not said[name] for name in by_name["does not suffice"])
