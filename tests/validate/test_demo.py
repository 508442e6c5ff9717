"""The demo on its recorded Runs: what it says is what it computed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from tests.cli.commands.test_simulate import tailcast
from traces.run import Run
from validate import demo
from validate.lab import lab
from validate.lab.minio import program
from validate.s3.account import Target


@pytest.fixture(autouse=True)
def fitted_once(monkeypatch, request):
    """Fit the recorded Runs in the first test only: all tests take the same ones, and a fit takes long."""
    if "live" not in request.keywords:
        monkeypatch.setattr(demo, "demonstrate", lambda *_: demonstrated())


@cache
def demonstrated(demonstrate=demo.demonstrate):
    *light, heavy = (demo.recorded(clients) for clients in (*demo.LIGHT_CLIENTS, demo.HEAVY_CLIENTS))
    return demonstrate(tuple(light), heavy, 0, len(os.sched_getaffinity(0)), lambda fraction: None)


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
    assert {"hosts.cpu.GET.constant", "drives.commit.constant"} < set(result["fit"]["values"])
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


def live_demo(monkeypatch, other_shares):
    """Have the demo measure recorded Runs "live", with these fractions of other work, one measurement after another."""
    stopped, asked = [], iter(other_shares)
    monkeypatch.setattr(program, "find", lambda: program.Path("/minio"))
    monkeypatch.setattr(lab, "status", lambda *_: None)
    monkeypatch.setattr(lab, "up", lambda *_, **__: SimpleNamespace(target=Target("http://127.0.0.1:1")))
    monkeypatch.setattr(lab, "down", stopped.append)

    def replay(trace, target, progress):
        run = demo.recorded(trace.pacing.clients)
        return replace(run, info=run.info | {"cpu": run.info["cpu"] | {"other_share": next(asked)}})

    monkeypatch.setattr(demo, "replay", replay)
    return stopped, asked


def test_demo_on_a_busy_machine_says_so_and_takes_recorded_runs(capsys, tmp_path, monkeypatch):
    stopped, asked = live_demo(monkeypatch, [0.01, 0.4, 0.35])
    code, said, err = tailcast(capsys, "demo", "--out", str(tmp_path / "demo"), "--json")
    result = json.loads(said)
    assert code == 0 and stopped == ["minio"] and next(asked, None) is None
    assert "not used" in err and "busy" in err and "4 clients" in err and "other work took 35 %" in err
    assert result["unused"]["clients"] == 4 and "35 %" in result["unused"]["reasons"][0]
    assert "recorded" in result["source"] and result["comparison"]["verdict"] == "agree"
    assert Run.read(tmp_path / "demo" / "measured-4").info["cpu"]["other_share"] < 0.1


def test_demo_measures_again_what_was_disturbed_once(capsys, tmp_path, monkeypatch):
    live_demo(monkeypatch, [0.4, 0.01, 0.02, 0.03])
    code, said, err = tailcast(capsys, "demo", "--out", str(tmp_path / "demo"), "--json")
    result = json.loads(said)
    assert code == 0 and "not used" not in err
    assert "live" in result["source"] and result["unused"] is None
    assert Run.read(tmp_path / "demo" / "measured-16").info["cpu"]["other_share"] == 0.03
    code, _, err = tailcast(capsys, "demo", "--out", str(tmp_path / "demo"))
    assert code == 2 and "measured-1: exists and is a Run; --force" in err


@pytest.mark.live
def test_demo_on_a_live_store(capsys, tmp_path, lab_state):
    if program.find() is None:
        pytest.skip("the MinIO server is not built here; 'make minio' builds it")
    code, said, _ = tailcast(capsys, "demo", "--out", str(tmp_path / "demo"), "--json")
    result = json.loads(said)
    assert code == 0
    assert ("live" in result["source"]) == (result["unused"] is None)
    assert result["measured"]["ops"]["GET"]["errors"] == 0
    assert lab.running() is None
