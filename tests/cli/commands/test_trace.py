from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.workload import load_workload

WORKLOAD = "rate: 100/s\noperations: 500\nobject_size: 64KiB\nkeys: zipf\n"


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "w.yaml"
    path.write_text(WORKLOAD)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["trace", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    figures: dict[str, Any] = json.loads(out)
    return figures


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_generate_writes_what_info_reads(
    capsys: pytest.CaptureFixture[str], workload: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / name
    made = run_json(capsys, "generate", workload, "--seed", 5, "--out", out)
    assert (made.pop("seed"), made.pop("out")) == (5, str(out))
    told = run_json(capsys, "info", out)
    assert {name: told[name] for name in made} == made
    assert (told["popularity"]["GET"]["count"] > 0, told["workers"], len(told["dispersion"]) > 1) == (True, None, True)
    assert made["requests"] == 500
    expected = generate(load_workload(workload), 5)
    assert Trace.read(out).table.to_pylist() == expected.table.to_pylist()


def test_set_overrides_a_value(capsys: pytest.CaptureFixture[str], workload: Path) -> None:
    settings = ["--set", "workload.operations=7", "--set", "workload.mix={PUT: 1}"]
    figures = run_json(capsys, "generate", workload, *settings)
    assert {op: v["count"] for op, v in figures["ops"].items()} == {"PUT": 7}


def test_tables_are_for_people(capsys: pytest.CaptureFixture[str], workload: Path) -> None:
    code, out, err = run(capsys, "generate", workload)
    assert code == 0
    assert "requests" in out
    assert "64KiB" not in out
    assert "65,536" in out
    assert "not written" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["generate", "absent.yaml"], "absent.yaml: no such file"),
        (["generate", "w.yaml", "--set", "workload.operations=-1"], "w.yaml: operations: is -1"),
        (["generate", "w.yaml", "--set", "workload.xyz=1"], "w.yaml: xyz: unknown field; allowed are rate"),
        (["generate", "w.yaml", "--set", "workload.clients"], "write it like workload.clients=8"),
        (["generate", "w.yaml", "--seed", "-1"], "--seed"),
        (["generate", "w.yaml", "--out", "absent/t.csv"], "absent/t.csv: cannot be written"),
        (["info", "absent.parquet"], "absent.parquet: no such file"),
        (["info", "w.yaml"], "w.yaml: cannot be read as parquet"),
        (["info"], "Missing argument"),
        ([], "Missing command"),
    ],
)
def test_mistakes_are_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    workload: Path,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(workload.parent)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert [p.name for p in workload.parent.iterdir()] == ["w.yaml"]
