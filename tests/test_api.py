"""`import tailcast`: its documentation runs, and its results are those of the commands."""

from __future__ import annotations

import doctest
import json
import re
import runpy
from pathlib import Path

import polars as pl
import pytest

import tailcast
from tests.cli.commands.test_simulate import tailcast as command
from tests.paths import ROOT

MINIO = ROOT / "examples/minio.yaml"
SHORT = {"workload.operations": 400, "workload.duration": None}
RECORDED = ROOT / "examples/recorded/mix-32KiB-c16"


@pytest.fixture(scope="module")
def spec() -> tailcast.Spec:
    return tailcast.load_spec(MINIO, set=SHORT)


def test_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/python.md").read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert len(blocks) == 3 and names["run"] and (tmp_path / "forecast.html").is_file()
    assert doctest.testmod(tailcast).attempted == 5 and not doctest.testmod(tailcast).failed


def test_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples/whatif.py"))["main"](operations=300)
    out = capsys.readouterr().out
    assert "latency_p99_s" in out and out.count("workload.rate") >= 2 and "client.hedge.after" in out


def test_results_are_those_of_the_commands(spec: tailcast.Spec, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [part for path, value in SHORT.items() for part in ("--set", f"{path}={json.dumps(value)}")]
    found = tailcast.simulate(spec, slos=["GET.p99<50ms"]).to_json()
    printed = json.loads(command(capsys, "simulate", str(MINIO), *arguments, "--slo", "GET.p99<50ms", "--json")[1])
    for result in (found, printed):
        result["engine"].pop("wall_s")
    assert found == printed
    varied = tailcast.whatif(spec, {"workload.clients": [1, 4]}, replications=2).to_json()
    vary = ["--vary", "workload.clients=1,4", "--replications", "2", "--workers", "1"]
    printed = json.loads(command(capsys, "whatif", str(MINIO), *arguments, *vary, "--json")[1])
    assert varied["points"] == printed["points"] and varied["made"] == printed["made"]


def test_tables(spec: tailcast.Spec) -> None:
    one, several = tailcast.simulate(spec).to_polars(), tailcast.simulate(spec, replications=3).to_polars()
    assert one["count"].sum() * 3 == several["count"].sum() and "latency_p99_s_low" not in one.columns
    assert (several["latency_p99_s_low"] < several["latency_p99_s"]).all()
    tried = tailcast.find(spec, "max workload.clients in 1..8", slos=["GET.p99<20ms"], replications=2)
    assert set(tried.to_polars()["op"]) == {"GET", "PUT"} and "workload.clients" in tried.summary()
    best = tailcast.find(spec, "best client.hedge.after in 2ms..8ms", target="GET.p99", replications=2)
    assert best.to_polars().filter(pl.col("value") == best.value.value).height == 2
    lost = tailcast.failures(ROOT / "examples/minio-12-hdd.yaml", "drive", replications=2).to_polars()
    assert set(lost["window"]) == {"before", "during", "after"} and lost["healthy_latency_p99_s"].is_finite().any()


def test_forecasts_are_compared(spec: tailcast.Spec) -> None:
    one, several = tailcast.simulate(spec), tailcast.simulate(spec, replications=2)
    assert tailcast.compare(one, one.value.run).value.verdict == "agree"
    with pytest.raises(tailcast.InputError, match="several replications"):
        tailcast.compare(several, one)


def test_runs(tmp_path: Path) -> None:
    run = tailcast.read_run(str(RECORDED))
    assert len(run.to_pandas()) == len(run.value) == run.to_polars().height
    for each in (run, run.value):
        same = tailcast.compare(RECORDED, each)
        assert same.value.verdict == "agree" and same.to_polars()["log_ratio"].abs().max() == 0
    assert run.write_page(tmp_path / "run.html").stat().st_size < 1_500_000
    light = sorted((ROOT / "examples/recorded").glob("*-c1"))[:1]
    profile = tailcast.calibrate(MINIO, light, anyway=True, out=tmp_path / "mine.yaml")
    assert set(profile.to_polars()["parameter"]) == set(profile.value.parameters)
    calibrated = tailcast.load_spec(MINIO, profile=tmp_path / "mine.yaml", set=SHORT)
    assert calibrated.to_yaml() != tailcast.load_spec(MINIO, set=SHORT).to_yaml()


def test_notebooks_show_results(spec: tailcast.Spec) -> None:
    forecast = tailcast.simulate(spec)
    shown = forecast._repr_html_()
    assert "<table" in shown and 'scope="col"' in shown and forecast.notes[0].replace("'", "&#39;") in shown
    assert str(forecast) == forecast.summary() and forecast.plot(1).layout.title.text
    with pytest.raises(tailcast.InputError, match=r"figure 99: there is none; the result has \d+ figures"):
        forecast.plot(99)
    with pytest.raises(tailcast.InputError, match="one run instead of replications"):
        tailcast.simulate(spec, replications=2).write_page("page.html")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "best workload.rate in 1..2"}, "takes a target"),
        ({"goal": "max workload.rate in 1..2"}, "take slos"),
        ({"goal": "max workload.rat in 1..2", "slos": ["GET.p99<1s"]}, "did you mean rate"),
    ],
)
def test_wrong_goals(spec: tailcast.Spec, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(tailcast.InputError, match=message):
        tailcast.find(spec, **arguments)  # type: ignore[arg-type]


def test_specs_of_mappings_and_loaded_ones(spec: tailcast.Spec) -> None:
    import yaml

    same = tailcast.load_spec(yaml.safe_load(spec.to_yaml()))
    assert tailcast.simulate(same).to_polars().equals(tailcast.simulate(spec).to_polars())
    with pytest.raises(tailcast.InputError, match="is loaded"):
        tailcast.load_spec(spec, profile="p.yaml")
    with pytest.raises(tailcast.InputError, match=r"workload\.client"):
        tailcast.load_spec(spec, set={"workload.client": 1})
    with pytest.raises(AttributeError, match="nothing"):
        _ = tailcast.nothing
    assert "simulate" in dir(tailcast)
