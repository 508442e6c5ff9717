"""The scoreboard: its lines and file, simpler forecasts, changes, and the command."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.main import _exit_code
from models.store import load_spec
from sim.simulate import simulate
from tests.paths import ROOT
from traces.errors import InputError
from validate.reference.cases import CASES, case_named
from validate.reference.rows import Row
from validate.scoreboard import board
from validate.scoreboard.baselines import baseline, straight_lines
from validate.scoreboard.changes import SIGNIFICANT, changes_of
from validate.scoreboard.lines import FITTED, KNOWN, STATEMENT, UNSEEN, Line, read_board, write_board
from validate.scoreboard.published import BoardSettings, published_lines, sample_of
from validate.scoreboard.recorded import recorded_lines
from validate.scoreboard.recordings import RECORDINGS
from validate.scoreboard.summary import KINDS, kind_of, summary_of

BOARD = ROOT / "docs" / "scoreboard.csv"
QUICK = BoardSettings(seed=0, replications=2, uncertainty=None, workers=1, model="a model")
LINE = Line("case", "a row", "GET", "throughput_ops", KNOWN, 100.0, 90.0, 0.01, model="m")

numbers = st.floats(1e-6, 1e9).map(lambda value: float(f"{value:.6g}"))
lines = st.builds(
    Line,
    case=st.text(max_size=9),
    row=st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20),
    op=st.sampled_from(["GET", "a.PUT", ""]),
    figure=st.sampled_from(["throughput_ops", "latency_p99_9_ms", STATEMENT]),
    seen=st.sampled_from([FITTED, KNOWN, UNSEEN]),
    measured=numbers,
    predicted=numbers,
    noise=st.none() | numbers,
    low=st.none() | numbers,
    doubling=st.none() | numbers,
    model=st.just("0.1.0 abc"),
    seed=st.integers(0, 2**64 - 1),
    resolution=st.none() | numbers,
).filter(lambda line: "\r" not in line.case)


@given(st.lists(lines, max_size=5))
def test_a_board_is_read_as_it_was_written(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("board") / "board.csv"
    write_board(found, path)
    assert read_board(path) == found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("measured,", "was,", 1), "is no scoreboard"),
        (lambda text: text.replace(",100,", ",many,"), "line 2: measured is 'many'"),
        (lambda text: text.replace(",100,", ",,"), "line 2: measured and predicted are needed"),
        (lambda text: text.replace("known", "guessed"), "line 2: seen is 'guessed'"),
        (lambda text: text.replace(",m,0", ",m,-1"), "line 2: seed is '-1'"),
        (lambda text: text.replace("\n", ",7\n").replace(",7\n", "\n", 1), "line 2: has another number of cells"),
    ],
)
def test_a_wrong_board_is_refused(tmp_path, change, said):
    path = tmp_path / "board.csv"
    write_board([LINE], path)
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=said):
        read_board(path)


def test_a_cut_simulation_says_so():
    assert replace(LINE, measured_s=60.0, simulated_s=59.0).cut == ""
    assert replace(LINE, measured_s=None, simulated_s=1.0).cut == ""
    cut = replace(LINE, measured_s=60.0, simulated_s=15.0, doubling=1.1).cut
    assert cut == "cut to 15 of 60 s: 2.0 doublings, the last x 1.10"


def _rows(figure: str, points: dict[int, float], **settings: str) -> list[Row]:
    return [Row("t", "GET", {"workload.clients": f"{n}", **settings}, False, {figure: y}) for n, y in points.items()]


def test_a_straight_line_goes_through_the_two_lightest_loads():
    rows = _rows("throughput_ops", {8: 75.0, 1: 10.0, 4: 40.0}) + _rows("throughput_ops", {1: 7.0, 2: 9.0}, size="4KiB")
    assert straight_lines(rows, "throughput_ops") == [pytest.approx(80.0), None, None, None, None]
    longer = [replace(row, settings={**row.settings, "workload.operations": f"{i}"}) for i, row in enumerate(rows)]
    assert straight_lines(longer, "throughput_ops")[0] == pytest.approx(80.0)  # a length is no difference
    assert straight_lines(_rows("latency_p99_ms", {1: 9.0, 2: 4.0, 9: 3.0}), "latency_p99_ms")[2] is None  # below zero


def test_simpler_forecasts_are_bounds_and_means_of_the_same_demands():
    spec = load_spec(ROOT / "examples" / "minio.yaml", ["workload.mix={GET: 1}", "workload.object_size=64KiB"])
    simple, run = baseline(spec, "GET"), simulate(spec)
    served = len(run) / run.duration_s
    highest = simple.figure(simple.bounds, "GET", "throughput_ops")
    exact = simple.figure(simple.mva, "GET", "throughput_ops")
    assert highest is not None and exact is not None and exact <= highest * 1.0001
    assert served <= highest * 1.02
    assert simple.figure(simple.bounds, "GET", "latency_mean_ms") <= 1e3 * run.latency_s.mean() * 1.02
    per_request = simple.figure(simple.mva, "GET", "throughput_bytes_per_s") / exact
    assert per_request == pytest.approx(run.column("transfer_bytes").mean(), rel=0.05)
    clients = spec.workload.clients
    assert simple.figure(simple.mva, "GET", "latency_mean_s") == pytest.approx(clients / exact, rel=0.05)  # Little
    assert simple.figure(simple.mva, "PUT", "throughput_ops") is None
    assert simple.figure(simple.mva, "GET", "latency_p99_ms") is None


def test_the_phase_of_an_operation_has_its_own_duration():
    case = case_named("minio-s3bench")
    light = [line for line in published_lines(sample_of(case, (0, 1)), QUICK) if line.figure == "duration_s"]
    assert [line.op for line in light] == ["PUT", "GET"]
    for line in light:  # one client: the bound is the time without contention
        assert 0.5 * line.predicted < line.bounds <= 1.05 * line.predicted


def test_kinds_do_not_depend_on_units():
    named = {
        "throughput_gb_per_s": "throughput", "latency_mean_us": "mean", "latency_p99_9_ms": "p99.9",
        "latency_p99_s": "p99", "latency_max_ms": "other latency", "rgw_cores": "cores", "server_cpu_ms": "cores",
        "duration_s": "duration", "index_visits": "other",
    }  # fmt: skip
    assert {name: kind_of(name) for name in named} == named
    assert set(named.values()) <= set(KINDS)


def test_summary_counts_what_was_not_fitted():
    found = [
        replace(LINE, low=80.0, high=110.0, bounds=100.0),
        replace(LINE, row="b", predicted=50.0, low=40.0, high=60.0, bounds=200.0),
        replace(LINE, row="c", seen=FITTED, predicted=100.0),
        replace(LINE, row="d", seen=UNSEEN, predicted=125.0),
        replace(LINE, row="says", figure=STATEMENT, measured=1.0, predicted=0.0),
    ]
    summary = summary_of(found)
    (kind,) = summary.kinds
    assert kind.errors[KNOWN].median == pytest.approx((100 / 90 - 1 + 1) / 2)
    assert kind.errors[KNOWN].within == 1 and kind.errors[UNSEEN].worst == pytest.approx(0.25)
    assert kind.worst.row == "b" and (kind.banded, kind.covered) == (2, 1)
    assert kind.baselines["bounds"].baseline.median == pytest.approx(0.5)
    assert set(kind.baselines) == {"bounds"}
    assert (summary.statements, summary.holding) == (1, 0)


def test_a_change_beyond_noise_is_worse_or_better():
    before = [replace(LINE, row=f"{i}", noise=0.01) for i in range(3)]
    noise = np.hypot(0.01, 0.01)
    within, beyond = np.exp(0.9 * SIGNIFICANT * noise), np.exp(1.1 * SIGNIFICANT * noise)
    now = [
        replace(before[0], predicted=90 / within),
        replace(before[1], predicted=90 / beyond),
        replace(before[2], predicted=90 * beyond),
        replace(LINE, row="new"),
    ]
    found = changes_of(before, now)
    assert [change.now.row for change in found.changed] == ["1", "2"]
    assert [change.now.row for change in found.worse] == ["1"]
    assert (found.compared, found.noisy, len(found.missing), len(found.new)) == (3, 1, 0, 1)
    assert not changes_of(before, before).changed
    assert changes_of(before, now[:1]).missing == (before[1], before[2])
    assert changes_of(before, now[:1], sample=True).missing == ()


def test_noise_of_one_row_is_at_least_that_of_its_case():
    before = [replace(LINE, row=f"{i}", noise=noise) for i, noise in enumerate((0.0, 0.05, 0.05))]
    assert not changes_of(before, [replace(before[0], predicted=95.0)]).changed


def test_the_sample_has_rows_of_every_kind():
    names = {case.name for case in CASES} | {recording.name for recording in RECORDINGS}
    assert set(board.SAMPLE) <= names
    for recording in RECORDINGS:
        assert max(board.SAMPLE[recording.name]) < len(recording.runs)
    figures = {
        kind_of(figure)
        for name, rows in board.SAMPLE.items()
        if name in {case.name for case in CASES}
        for i in rows
        for figure in case_named(name).rows[i].measured
    }
    assert {"throughput", "mean", "p99", "cores", "duration"} <= figures


def test_a_recorded_run_is_predicted_with_its_trace():
    recording = next(recording for recording in RECORDINGS if recording.name == "recorded")
    found = recorded_lines(recording, QUICK, ["GET-4KiB-c1", "GET-4KiB-c4", "mix-32KiB-c16"])
    assert {line.row: line.seen for line in found} == {
        "GET-4KiB-c1": FITTED, "GET-4KiB-c4": FITTED, "mix-32KiB-c16": KNOWN,
    }  # fmt: skip
    figures = {line.figure for line in found}
    assert {"throughput_ops", "latency_mean_ms", "latency_p99_ms", "client_cpu_ms", "server_cpu_ms"} <= figures
    assert not any(line.cut for line in found)
    fitted = [line.error for line in found if line.seen == FITTED and line.figure == "throughput_ops"]
    assert max(fitted) < 0.1


def test_the_board_of_the_repository_has_all_rows():
    expected = {
        (case.name, row.op, figure)
        for case in CASES
        for row in case.rows
        for figure in row.measured
        if "duration_s" not in row.measured or not figure.startswith("throughput_")
    }
    found = read_board(BOARD)
    assert len({line.key for line in found}) == len(found)
    names = {case.name for case in CASES}
    published = [line for line in found if line.case in names and not line.is_statement]
    assert {(line.case, line.op, line.figure) for line in published} == expected
    counts = {case.name: sum(line.case == case.name for line in published) for case in CASES}
    for case in CASES:
        figures = sum(
            "duration_s" not in row.measured or not name.startswith("throughput_")
            for row in case.rows
            for name in row.measured
        )
        assert counts[case.name] == figures, f"{case.name}: make the board anew"
    runs = {(recording.name, run.name) for recording in RECORDINGS for run in recording.runs}
    assert {(line.case, line.row) for line in found if line.case not in names} == runs
    assert all(line.model for line in found)


@pytest.fixture
def small(monkeypatch):
    """A board of one short case and one Run."""
    monkeypatch.setattr(board, "CASES", (case_named("minio-s3bench-tail"),))
    monkeypatch.setattr(board, "RECORDINGS", (next(r for r in RECORDINGS if r.name == "recorded-ceph"),))


def test_the_command_writes_board_and_page_and_compares(small, tmp_path, capsys):
    csv, page = tmp_path / "board.csv", tmp_path / "board.html"
    command = ["reference", "run", "--all", "--replications", "2", "--workers", "1"]
    assert _exit_code([*command, "--out", str(csv), "--report", str(page)]) == 0
    assert "Figures that nothing was fitted to" in capsys.readouterr().out
    found = read_board(csv)
    assert {line.case for line in found} == {"minio-s3bench-tail", "recorded-ceph"}
    assert "minio-s3bench-tail" in page.read_text()
    assert _exit_code([*command, "--against", str(csv), "--check"]) == 0
    assert "0 worse and 0 better" in capsys.readouterr().out
    good = [replace(line, predicted=line.measured, noise=0.0) for line in found]  # what is predicted now is worse
    write_board(good, csv)
    assert _exit_code([*command, "--against", str(csv), "--check", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["changes"]["changed"] and len(result["rows"]) == len(found)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "minio-nvme8", "--all"], "leave out NAME"),
        (["run", "--all", "--check"], "needs --against"),
        (["run", "minio-nvme8", "--sample"], "add --all"),
        (["run", "--all", "--against", "nowhere.csv"], "no such file"),
    ],
)
def test_options_that_do_not_go_together(arguments, said, capsys):
    assert _exit_code(["reference", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
