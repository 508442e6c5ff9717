"""`tailcast trace import` of results of benchmarks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.main import main
from tests.paths import EXAMPLES
from tests.paths import SAMPLES as LOGS
from traces.results.registry import read_table

SAMPLES = LOGS / "results"
WARP = SAMPLES / "warp.json"


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_results_become_a_table_and_no_run(capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"o.{ending}"
    code, out, err = tailcast(capsys, "trace", "import", WARP, SAMPLES / "fio.json", "-o", path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == 4 + 2 + 1  # operations, notes, the file
    for word in ("warp.json", "GET", "16 clients", "140 op/s", "p99", "3 errors"):
        assert word in lines[0]
    assert sum(line.startswith("note: fio.json: job idle") for line in lines) == 2
    assert "table of figures" in lines[-1] and "no Run" in lines[-1]
    assert read_table(path).column("op").to_pylist() == ["GET", "PUT", "write", "GET"]
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name]


def test_results_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = tailcast(capsys, "trace", "import", WARP, "-o", tmp_path / "o.csv", "--json")
    found = json.loads(out)
    assert (code, found["kind"], found["notes"]) == (0, "results", [])
    assert found["rows"][0]["settings"]["commandline"].startswith("./warp get")
    assert found["rows"][0]["latency_p95_s"] is None


def test_a_folder_of_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copytree(SAMPLES, tmp_path / "results")
    code, out, _ = tailcast(capsys, "trace", "import", tmp_path / "results", "-o", tmp_path / "o.parquet")
    assert code == 0
    assert all(path.name in out for path in SAMPLES.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([WARP, LOGS / "warp.csv.zst"], ("warp.json", "warp.csv.zst", "apart")),
        ([LOGS / "warp.csv.zst", WARP], ("warp.json", "warp.csv.zst", "apart")),
        ([WARP, "absent.json"], ("absent.json: no such file",)),
        ([WARP, "--columns", "time=a,op=b,key=c"], ("--columns", "warp.json", "figures")),
        ([WARP, "--run", "x.run"], ("--run",)),
        ([WARP, "--no-run"], ("--no-run",)),
        ([WARP, "--format", "warp"], ("--format",)),
        ([WARP, "--time-zone", "+02:00"], ("--time-zone",)),
        ([WARP, "--anonymise", "--salt", "x"], ("--anonymise",)),
    ],
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[object], words: tuple[str, ...]
) -> None:
    code, out, err = tailcast(capsys, "trace", "import", *arguments, "-o", tmp_path / "o.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert all(word in err for word in words), err
    assert not list(tmp_path.iterdir())


def test_an_existing_table_is_overwritten_only_with_force(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("mine\n")
    assert tailcast(capsys, "trace", "import", WARP, "-o", path)[0] == 2
    assert path.read_text() == "mine\n"
    assert tailcast(capsys, "trace", "import", WARP, "-o", path, "--force")[0] == 0


def test_commands_that_need_requests_say_that_results_are_figures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for ending in ("csv", "parquet"):
        assert tailcast(capsys, "trace", "import", WARP, "-o", tmp_path / f"o.{ending}")[0] == 0
    run = EXAMPLES / "recorded" / "mix-32KiB-c16"
    for path in (WARP, SAMPLES / "cosbench-workload.csv", tmp_path / "o.csv", tmp_path / "o.parquet"):
        for command in (
            ["trace", "info", path],
            ["compare", path, run],
            ["calibrate", EXAMPLES / "minio.yaml", path],
            ["validate", EXAMPLES / "minio.yaml", path],
        ):
            code, out, err = tailcast(capsys, *command)
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert path.name in err and "table of figures" in err
