from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial

import pyarrow.parquet as pq
import pytest
import yaml

from cli.main import main
from cli.parse.slo import parse_slo
from cli.parse.vary import parse_variation
from cli.tables.experiments.whatif import findings, points_grids
from models.store import load_spec
from sim.experiments.sweep import simulated
from sim.experiments.whatif import WhatIfExperiment
from sim.experiments.whatif import whatif as requested
from sim.replication.replicate import seed_of
from sim.simulate import simulate
from tests.paths import ROOT
from tests.specs import minio
from traces.spec.spec_file import load_mapping, override


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "store.yaml"
    path.write_text(
        yaml.safe_dump(minio("workload.operations=300", "workload.clients=4", "prices={core: 10, host: 5}"))
    )
    return path


def tailcast(capsys, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return exit_.value.code, out, err


def whatif(capsys, spec, *arguments: object, verb: str = "whatif"):
    code, out, err = tailcast(capsys, verb, spec, "--workers", 1, *arguments)
    assert code == 0, err
    return out, err


def test_json_has_points_with_plain_figures(capsys, spec):
    out, _ = whatif(
        capsys, spec, "--vary", "hosts.cores.count=1,2", "--vary", "hedge.after=none,p95", "--slo", "GET.p99<3ms",
        "--seed", 7, "--replications", 2, "--json",
    )  # fmt: skip
    result = json.loads(out)
    assert [point["set"] for point in result["points"]] == [
        {"hosts.cores.count": n, "client.hedge.after": after} for n in (1, 2) for after in (None, "p95")
    ]
    for point in result["points"]:
        assert set(point["ops"]) == {"GET"}
        assert point["slo"]["GET.p99<3ms"] in ("pass", "fail", "unsure")
        assert point["ops"]["GET"]["count"] == 600
    runs = [simulate(load_spec(spec, ["hosts.cores.count=2"]), seed=seed_of(7, i)) for i in range(2)]
    figures = result["points"][2]["ops"]["GET"]
    assert figures["latency_s"]["max"] == max(run.latency_s.max() for run in runs)
    assert figures["throughput_ops"] == pytest.approx(sum(300 / run.duration_s for run in runs) / 2)


def test_a_table_has_a_row_for_each_point(capsys, spec):
    out, _ = whatif(
        capsys, spec, "--vary", "hosts.cores.count=1,2,4", "--slo", "GET.p99<3ms", "--slo", "GET.errors<2%",
        "--base", "hosts.cores.count=2",
    )  # fmt: skip
    lines = [re.split(r"\s{2,}", line) for line in out.splitlines() if re.match(r"[124]  ", line)]
    assert [(line[0], line[-2]) for line in lines] == [("1", "15.0"), ("2", "25.0"), ("4", "45.0")]
    assert [line[4] == "base" for line in lines] == [False, True, False]
    assert lines[0][4].startswith("+") and "±" in lines[0][4]
    assert [line[5:7] for line in lines] == [["fail", "pass"], *[["pass", "pass"]] * 2]
    assert "2 of 3 points meet every objective, 1 do not." in out
    assert "The cheapest that meets them has hosts.cores.count=2 and costs 25.0." in out


def test_several_operations_have_separate_tables(capsys, spec):
    arguments = ["--vary", "hosts.cores.count=1,2", "--set", "workload.mix={GET: 1, PUT: 1}", "--slo", "PUT.errors<1%"]
    out, _ = whatif(capsys, spec, *arguments)
    titles = ["PUT", "GET", "objectives"]  # operations with objectives come first
    assert out.startswith("hosts.cores.count=1 is ")
    assert [line.strip() for line in out.splitlines() if line.strip() in titles] == titles
    varied, slos = [parse_variation("hosts.cores.count=1,2")], [parse_slo("PUT.errors<1%")]
    result = requested(
        WhatIfExperiment(override(load_mapping(spec), ["workload.mix={GET: 1, PUT: 1}"]), "small", varied, slos)
    )
    grids = points_grids(result)
    assert [grid.title for grid in grids] == titles
    assert all(len(grid.rows) == 2 and len(grid.columns) == len(grid.rows[0]) for grid in grids)
    assert len(findings(result)) == 2


def test_finished_points_are_not_simulated_again(capsys, spec, tmp_path, monkeypatch):
    out = tmp_path / "sweep"
    arguments = ["--vary", "hosts.cores.count=1..3", "--out", out, "--json"]
    first = json.loads(whatif(capsys, spec, *arguments)[0])
    monkeypatch.setattr("sim.experiments.sweep.simulated", None)
    again = json.loads(whatif(capsys, spec, *arguments, "--slo", "GET.p99<3ms", "--set", "prices.core=1")[0])
    assert [point["ops"] for point in again["points"]] == [point["ops"] for point in first["points"]]
    assert [point["cost"] for point in again["points"]] == [6, 7, 8]
    assert json.loads((out / "whatif.json").read_text()) == again
    assert pq.read_table(out / "points.parquet").num_rows == 3


def test_an_interrupted_sweep_continues(spec, tmp_path):
    out = tmp_path / "sweep"
    requested = ["whatif", spec, "--vary", "workload.clients=1..300", "--out", out, "--workers", "1"]
    running = subprocess.Popen(
        [sys.executable, "-c", "import sys; from cli.main import main; main(sys.argv[1:])", *map(str, requested)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Whoever was started in the background ignores interrupts, and so would this process.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while running.poll() is None and len(list(out.glob("finished/*.json"))) < 3:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    printed, said = running.communicate(timeout=60)
    assert (running.returncode, printed) == (130, ""), said
    assert said.splitlines()[-1] == (
        f"tailcast: interrupted; finished work is in {out}; the same command continues from there"
    )
    assert "Traceback" not in said
    files = sorted(path.name for path in (out / "finished").iterdir())
    assert 3 <= len(files) < 300
    assert all(name.endswith(".json") and not name.startswith(".") for name in files), "whole files only"


def interrupted_after(calls: int, function):
    """Wrap a function so that a call beyond the given number raises KeyboardInterrupt."""
    done = []

    def called(*arguments, **named):
        if len(done) == calls:
            raise KeyboardInterrupt
        done.append(1)
        return function(*arguments, **named)

    return called


def test_an_interrupted_search_continues(capsys, spec, tmp_path, monkeypatch):
    out, find = tmp_path / "kept", ["min hosts.cores.count in 1..9", "--slo", "GET.p99<3ms", "--json"]
    with monkeypatch.context() as patch:
        patch.setattr("sim.experiments.sweep.simulated", interrupted_after(2, simulated))
        code, printed, said = tailcast(capsys, "find", spec, "--workers", 1, *find, "--out", out)
    assert (code, printed) == (130, "")
    assert said == f"tailcast: interrupted; finished work is in {out}; the same command continues from there\n"
    assert len(list((out / "finished").iterdir())) == 2
    whole = json.loads(whatif(capsys, spec, *find, verb="find")[0])
    with monkeypatch.context() as patch:
        patch.setattr("sim.experiments.sweep.simulated", interrupted_after(len(whole["trials"]) - 2, simulated))
        assert json.loads(whatif(capsys, spec, *find, "--out", out, verb="find")[0]) == whole
    assert json.loads((out / "find.json").read_text()) == whole
    monkeypatch.setattr("sim.experiments.sweep.simulated", None)
    swept = json.loads(whatif(capsys, spec, "--vary", f"hosts.cores.count={whole['value']}", "--json", "--out", out)[0])
    assert swept["points"][0]["ops"]["GET"]["count"] == 1500, "a sweep finds what a search has simulated"


def test_an_interrupted_search_without_a_folder_says_so(capsys, spec, monkeypatch):
    monkeypatch.setattr("sim.experiments.sweep.simulated", interrupted_after(1, simulated))
    code, printed, said = tailcast(capsys, "whatif", spec, "--workers", 1, "--vary", "hosts.cores.count=1..3")
    assert (code, printed) == (130, "")
    assert said == "tailcast: interrupted; nothing is kept; with --out FOLDER the command can be continued\n"


def test_ctrl_c_prints_one_line(capsys, spec, monkeypatch):
    monkeypatch.setattr("sim.forecast.simulate", interrupted_after(0, simulate))
    code, out, err = tailcast(capsys, "simulate", spec)
    assert (code, out, err.splitlines()[-1]) == (130, "", "tailcast: interrupted") and "Traceback" not in err


def test_interrupted_workers_print_nothing(spec):
    running = subprocess.Popen(
        [sys.executable, "-c", "import sys; from cli.main import main; print(1, flush=True); main(sys.argv[1:])",
         "simulate", str(spec), "--replications", "100000", "--workers", "2"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert running.stdout.readline() == "1\n"
    time.sleep(2)  # its workers may be at their imports, or at work
    os.killpg(running.pid, signal.SIGINT)
    printed, said = running.communicate(timeout=60)
    said = [line for line in said.splitlines() if "see: tailcast check" not in line]
    assert (running.returncode, printed, said) == (130, "", ["tailcast: interrupted"])


def test_a_page_is_written(capsys, spec, tmp_path):
    page = tmp_path / "page.html"
    _, err = whatif(capsys, spec, "--vary", "hosts.cores.count=1,2", "--slo", "GET.p99<3ms", "--report", page)
    assert f"Page written to {page}" in err
    assert "GET.p99&lt;3ms" in page.read_text()


def test_impossible_points_are_shown(capsys, spec):
    out, _ = whatif(capsys, spec, "--vary", "erasure.parity=0,2", "--set", "drives.count=2")
    assert "erasure.parity=2 is not possible:" in out


def test_samples_and_precision(capsys, spec):
    out, _ = whatif(
        capsys, spec, "--vary", "workload.clients=1..20", "--vary", "network.latency=0.1ms..2ms", "--samples", 6,
        "--precision", "0.2", "--json",
    )  # fmt: skip
    result = json.loads(out)
    assert len(result["points"]) == 6
    assert all(point["precise"] for point in result["points"])
    assert all(0.1 <= float(point["set"]["network.latency"].removesuffix("ms")) <= 2 for point in result["points"])
    assert all(math.isfinite(low) for p in result["points"] for low in p["ops"]["GET"]["interval"]["latency_s"]["p99"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing option '--vary'"),
        (["--vary", "hosts.cores.count"], "--vary hosts.cores.count: write it like"),
        (["--vary", "hosts.cores.count=1,2", "--slo", "fast"], "--slo fast: is not an objective"),
        (["--vary", "hots.cores.count=1,2"], "vary hots.cores.count: no such field; did you mean hosts.cores.count"),
        (["--vary", "hosts.cores.count=0,-1"], "hosts.cores.count: is 0: input should be greater than or equal to 1"),
        (["--vary", "hosts.cores.count=1,2", "--workers", "2", "--scheduler", "tcp://x"], "give one"),
        (["--vary", "hosts.cores.count=1,2", "--base", "hosts.cores.count"], "--base hosts.cores.count: write it like"),
        (["--vary", "hosts.cores.count=1,2", "--precision", "0"], "precision is 0.0"),
        (["--vary", "hosts.cores.count=1,2", "--out", "store.yaml"], "holds no results"),
    ],
)
def test_mistakes_are_one_line(capsys, spec, monkeypatch, arguments, said):
    monkeypatch.chdir(spec.parent)
    monkeypatch.setattr("cli.commands.whatif.warn_if_slow", lambda: None)
    code, out, err = tailcast(capsys, "whatif", spec, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_searches_are_reached(capsys, spec):
    found = json.loads(whatif(capsys, spec, "min hosts.cores.count", "--slo", "GET.p99<3ms", "--json", verb="find")[0])
    assert found["value"] == 2
    pytest.importorskip("SALib")
    screened = whatif(
        capsys, spec, "--target", "GET.p99", "--vary", "clients=2..8", "--vary", "hosts.cores.count=1..8",
        "--trajectories", 2, "--json", verb="sensitivity",
    )[0]  # fmt: skip
    assert {row["path"] for row in json.loads(screened)["parameters"]} == {"workload.clients", "hosts.cores.count"}


def test_an_overloaded_point_is_marked_and_has_no_intervals(capsys, tmp_path):
    path = tmp_path / "store.yaml"
    path.write_text(yaml.safe_dump(minio("workload.operations=600", "workload.rate=100/s")))
    varied = ["--vary", "workload.rate=100/s,9000/s", "--replications", 2, "--slo", "GET.p99<1h"]
    out, _ = whatif(capsys, path, *varied)
    assert out.startswith("workload.rate=100/s is healthy: ")
    assert [("overloaded" in row, "fail" in row) for row in out.splitlines() if row.startswith("9000/s")] == [
        (True, True)
    ]
    healthy, overloaded = json.loads(whatif(capsys, path, *varied, "--json")[0])["points"]
    assert (healthy["load"]["status"], overloaded["load"]["status"]) == ("healthy", "overloaded")
    assert healthy["ops"]["GET"]["interval"]["latency_s"]["p50"][0] > 0
    assert overloaded["ops"]["GET"]["interval"]["latency_s"]["p50"] == [None, None]
    assert overloaded["slo"] == {"GET.p99<1h": "fail"}


def test_too_few_requests_are_neither_pass_nor_fail(capsys, spec):
    arguments = ["--vary", "hosts.cores.count=1,2", "--replications", 2, "--slo", "GET.p99<1h"]
    assert "not enough requests" in whatif(capsys, spec, *arguments)[0]
    point = json.loads(whatif(capsys, spec, *arguments, "--json")[0])["points"][0]
    assert point["slo"] == {"GET.p99<1h": "unsure"}
    assert point["ops"]["GET"]["few"] == ["p99", "p99_9"]


@pytest.mark.parametrize(("slo", "outcome"), [("GET.p50<1h", "every value meets"), ("GET.p50<1us", "no value meets")])
def test_a_search_without_a_limit_is_an_answer(capsys, spec, tmp_path, slo, outcome):
    page = tmp_path / "page.html"
    goal = ["max workload.clients in 2..3", "--replications", 2, "--slo", slo, "--report", page]
    code, out, _ = tailcast(capsys, "find", spec, *goal, "--workers", 1)
    assert code == 0
    assert "search " in out
    assert "search " in page.read_text()
    result = json.loads(tailcast(capsys, "find", spec, *goal, "--workers", 1, "--json")[1])
    assert result["outcome"] == outcome
    assert result["trials"][0]["load"]["status"] in ("healthy", "near saturation", "saturated")
