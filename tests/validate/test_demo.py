"""The demo on its recorded Runs: what it says is what it computed."""

from __future__ import annotations

import json

import pytest

from tests.cli.commands.test_simulate import tailcast
from traces.run import Run
from validate import demo
from validate.lab import lab
from validate.lab.minio import program


def test_recorded_runs_are_those_of_the_traces():
    for clients in (*demo.LIGHT_CLIENTS, demo.HEAVY_CLIENTS):
        run = demo.recorded(clients)
        trace = run.trace
        assert run.info["kind"] == "measured"
        assert run.info["pacing"]["clients"] == clients
        assert not run.failed.any()
        # The clients took the trace's rows in order, so the Run holds a prefix of it.
        assert sorted(run.requests.column("key").to_pylist()) == sorted(
            trace.table.column("key").slice(0, len(run)).to_pylist()
        )


def test_demo_forecasts_the_recorded_heavy_load(capsys, tmp_path):
    out = tmp_path / "demo"
    code, said, _ = tailcast(capsys, "demo", "--recorded", "--out", str(out), "--json")
    result = json.loads(said)
    assert code == 0
    assert result["comparison"]["verdict"] == "agree"
    assert {"host.cpu.GET.constant", "drives.commit.constant"} < set(result["fit"]["values"])
    for op in ("GET", "PUT"):
        forecast, measured = (result[side]["ops"][op]["throughput_ops"] for side in ("forecast", "measured"))
        assert forecast == pytest.approx(measured, rel=0.15)
    assert (out / "report.html").stat().st_size < 6e6
    assert Run.read(out / "forecast").info["kind"] == "simulated"


def test_demo_without_a_server_says_that_it_takes_recorded_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "find", lambda: None)
    monkeypatch.setattr(lab, "up", lambda *_, **__: pytest.fail("the demo must not start anything"))
    code, out, err = tailcast(capsys, "demo", "--out", str(tmp_path / "demo"))
    assert code == 0
    assert "recorded on a real MinIO" in err
    assert "lab install minio" in err
    assert "16 clients" in out


@pytest.mark.live
def test_demo_on_a_live_store(capsys, tmp_path, lab_state):
    if program.find() is None:
        pytest.skip("the MinIO server is not built here; 'make minio' builds it")
    code, said, _ = tailcast(capsys, "demo", "--out", str(tmp_path / "demo"), "--json")
    result = json.loads(said)
    assert code == 0
    assert "live" in result["source"]
    assert result["measured"]["ops"]["GET"]["errors"] == 0
    assert lab.running() is None
