from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from tests.paths import EXAMPLES
from tests.runs import run_of
from traces.trace import Trace
from traces.workload.workload import load_workload

RUN = EXAMPLES / "recorded" / "mix-32KiB-c16"
WORKLOAD = "rate: 100/s\nduration: 30s\nobject_size: 64KiB\nkeys: {kind: zipf, count: 500}\n"


@pytest.fixture
def trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    path = tmp_path / "t.parquet"
    tailcast(capsys, "generate", tmp_path / "w.yaml", "-o", path)
    return path


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["trace", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    code, out, err = tailcast(capsys, *arguments, "--json")
    assert code == 0, err
    result: dict[str, Any] = json.loads(out)
    return result


def test_fit_writes_a_workload_similar_to_the_trace(
    capsys: pytest.CaptureFixture[str], trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "fit.yaml"
    spec = EXAMPLES / "minio.yaml"
    result = as_json(capsys, "fit", trace, "-o", out, "--check", "--spec", spec, "--set", "hosts.cores.count=4")
    assert result["verdict"] == "agrees"
    hits = next(one for one in result["comparison"] if one["name"] == "LRU hits, 10 % of the objects")
    assert hits["agrees"] and hits["absolute"] > 0
    assert result["simulated"]["ops"]["GET"]["latency_s"]["p50"]["a"] > 0
    workload = load_workload(out)
    assert workload.rate == pytest.approx(100, rel=0.1)
    assert workload.model_dump(mode="json", exclude_unset=True) == result["workload"]
    assert out.read_text().startswith("# Fitted to t.parquet.\n")


def test_latencies_are_compared_on_the_clock_of_the_trace(
    capsys: pytest.CaptureFixture[str], trace: Path, tmp_path: Path
) -> None:
    """Of a log in whole seconds, a hundred requests arrive at once; so must those that are generated."""
    log = tmp_path / "log.csv"
    table = Trace.read(trace).table
    columns = (table.column(name).to_pylist() for name in ("arrival_s", "key"))
    rows = (f"{int(at)},{key},65536\n" for at, key in zip(*columns, strict=True))
    log.write_text("".join(["time,key,size\n", *rows]))
    coarse = tmp_path / "coarse.parquet"
    as_json(capsys, "import", log, "--columns", "time=time:s,key=key,size=size", "-o", coarse)
    fitted = as_json(capsys, "fit", coarse, "--spec", EXAMPLES / "minio.yaml")
    p50 = fitted["simulated"]["ops"]["GET"]["latency_s"]["p50"]
    assert p50["a"] == pytest.approx(p50["b"], rel=0.2)
    assert p50["b"] > 0.01, "the requests of a second wait for each other"


def test_a_fit_for_people_shows_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = tailcast(capsys, "fit", RUN)
    assert code == 0
    assert "clients: 16" in out
    assert "GET fraction" in out
    assert "within" in out
    assert "aims" in out.splitlines()[-1]


def test_info_of_a_run_and_its_page(capsys: pytest.CaptureFixture[str], trace: Path, tmp_path: Path) -> None:
    assert as_json(capsys, "info", RUN)["workers"]["clients"] == 16
    page = tmp_path / "t.html"
    code, out, _ = tailcast(capsys, "info", trace, "--report", page)
    assert code == 0
    assert "index of dispersion" in out
    text = page.read_text()
    for title in ("Rate over time", "Burstiness", "Sizes of requested objects", "Popularity", "Reuse"):
        assert title in text
    assert page.stat().st_size < 6e6


def test_edits_from_the_command_line(capsys: pytest.CaptureFixture[str], trace: Path, tmp_path: Path) -> None:
    whole = len(Trace.read(trace))
    out = tmp_path / "o.csv"
    cut = as_json(capsys, "cut", trace, "--from", "10s", "--to", "20s", "-o", out)
    assert 800 < cut["requests"] == len(Trace.read(out)) < 1200
    assert as_json(capsys, "scale", trace, "--rate", 2, "-o", out, "--force")["requests"] == 2 * whole
    assert 0 < as_json(capsys, "sample", trace, "--keys", 0.5, "-o", out, "--force")["requests"] < whole
    assert as_json(capsys, "merge", trace, trace, "-o", out, "--force")["requests"] == 2 * whole


def test_cut_takes_the_trace_of_a_run(capsys: pytest.CaptureFixture[str], trace: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "r.run", tmp_path / "o.parquet"
    run_of([0.001] * 5, trace=Trace.read(trace)).write(run)
    of_run = as_json(capsys, "cut", run, "--from", "10s", "--to", "20s", "-o", out)
    of_file = as_json(capsys, "cut", trace, "--from", "10s", "--to", "20s", "-o", out, "--force")
    assert of_run == of_file
    assert of_run["requests_before"] == len(Trace.read(trace))


def test_cut_of_a_run_without_a_trace_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = tmp_path / "r.run"
    run_of([0.001] * 5).write(run)
    code, out, err = tailcast(capsys, "cut", run, "-o", tmp_path / "o.parquet")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "r.run" in err and "without a trace" in err


def test_convert_writes_a_workload_and_says_what_is_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    definition, out = tmp_path / "w.yml", tmp_path / "o.yaml"
    definition.write_text("warp: {api: v1, benchmark: get, params: {concurrent: 4, autoterm: {enabled: true}}}\n")
    code, stdout, err = tailcast(capsys, "convert", definition, "-o", out)
    assert (code, stdout) == (0, "")
    assert "throughput is steady" in err
    assert load_workload(out).clients == 4
    assert "throughput is steady" in out.read_text()
    code, stdout, _ = tailcast(capsys, "convert", definition)
    assert "clients: 4" in stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "absent.parquet"], "absent.parquet: no such file"),
        (["fit", "."], "not a Run"),
        (["cut", "t.parquet", "--from", "soon", "-o", "o.csv"], "--from soon: 'soon' is not a duration"),
        (["cut", "t.parquet", "--from", "1h", "-o", "o.csv"], "no request is due"),
        (["scale", "t.parquet", "--rate", "-1", "-o", "o.csv"], "a factor above 0"),
        (["scale", "t.parquet", "--rate", "2", "--how", "magic", "-o", "o.csv"], "--how"),
        (["sample", "t.parquet", "--keys", "2", "-o", "o.csv"], "did you mean 2%?"),
        (["merge", "t.parquet", "t.parquet", "--align", "clock", "-o", "o.csv"], "align their starts"),
        (["convert", "absent.xml"], "absent.xml: no such file"),
        (["convert", "w.yaml"], "w.yaml: "),
        (["info", "t.parquet", "--report", "absent/p.html"], "absent/p.html: cannot be written"),
    ],
)
def test_mistakes_are_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    trace: Path,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(trace.parent)
    code, out, err = tailcast(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in trace.parent.iterdir()) == ["t.parquet", "w.yaml"]
