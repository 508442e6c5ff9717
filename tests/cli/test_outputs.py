"""Existing outputs: each command refuses to overwrite them before any work, and overwrites them with --force."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from models.store import load_spec
from sim.simulate import simulate
from tests.cli.commands.test_simulate import EXAMPLE, tailcast
from tests.paths import EXAMPLES, ROOT

LOG = ROOT / "examples/tutorial/rgw-ops.json.gz"
WORKLOAD = ["--set", "workload.duration=0.2s"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a Run ``run``, its trace ``t.parquet``, and other files."""
    monkeypatch.chdir(tmp_path)
    run = simulate(load_spec(EXAMPLE, ["workload.operations=50"]))
    run.write(tmp_path / "run")
    run.trace.write(tmp_path / "t.parquet")
    (tmp_path / "notes.md").write_text("precious")
    return tmp_path


def contents(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(path.rglob("*.parquet"))
    return {file.name: file.read_bytes() for file in files}


RUNS = [
    ["simulate", str(EXAMPLE), "--set", "workload.operations=60", "--out", "run"],
    ["replay", "t.parquet", "--endpoint-url", "http://127.0.0.1:9", "--out", "run"],
    ["trace", "import", str(LOG), "-o", "new.parquet", "--run", "run"],
]
FILES = [
    ["trace", "generate", str(EXAMPLES / "workload.yaml"), *WORKLOAD, "--out", "t.parquet"],
    ["trace", "cut", "t.parquet", "--to", "1s", "--out", "t.parquet"],
    ["trace", "scale", "t.parquet", "--rate", "2", "--out", "t.parquet"],
    ["trace", "sample", "t.parquet", "--keys", "0.5", "--out", "t.parquet"],
    ["trace", "merge", "t.parquet", "t.parquet", "--out", "t.parquet"],
    ["trace", "import", str(LOG), "--out", "t.parquet"],
    ["trace", "fit", "t.parquet", "--out", "t.parquet"],
    ["trace", "export", "run", "--out", "t.parquet"],
    ["trace", "convert", "absent.xml", "--out", "t.parquet"],
    ["calibrate", str(EXAMPLE), "run", "--out", "t.parquet"],
    ["validate", str(EXAMPLE), "run", "--out", "t.parquet"],
    ["reference", "run", "warp-2020", "--out", "t.parquet"],
]


@pytest.mark.parametrize("command", [*RUNS, *FILES], ids=lambda command: "-".join(command[:2]))
def test_an_existing_output_is_refused_before_any_work(capsys, folder, command):
    before = contents(folder / "run") | contents(folder / "t.parquet")
    code, out, err = tailcast(capsys, *command)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and "exists" in err and "--force" in err
    assert ("is a Run" in err) == (command in RUNS)
    assert contents(folder / "run") | contents(folder / "t.parquet") == before
    assert not (folder / "new.parquet").exists()


@pytest.mark.parametrize("command", [RUNS[0], FILES[0], FILES[3]], ids=lambda command: "-".join(command[:2]))
def test_force_overwrites(capsys, folder, command):
    before = contents(folder / "run") | contents(folder / "t.parquet")
    code, _, err = tailcast(capsys, *command, "--force")
    assert code == 0, err
    after = contents(folder / "run") | contents(folder / "t.parquet")
    assert after != before


def test_what_is_not_a_run_is_refused_even_with_force(capsys, folder):
    for path in ("notes.md", "."):
        code, _, err = tailcast(capsys, *RUNS[0][:-1], path, "--force")
        assert code == 2 and "is not a Run" in err and "--force" not in err
    assert (folder / "notes.md").read_text() == "precious"


def test_a_trace_does_not_replace_a_run(capsys, folder):
    code, _, err = tailcast(capsys, *FILES[0][:-1], "run", "--force")
    assert code == 2 and "run: is a Run" in err
    assert (folder / "run" / "run.json").is_file()


def test_a_page_replaces_a_page_and_nothing_else(capsys, folder):
    for expected in (0, 0):
        assert tailcast(capsys, "report", "run", "-o", "page.html")[0] == expected
    code, _, err = tailcast(capsys, "report", "run", "-o", "notes.md")
    assert code == 2 and "notes.md: exists and is not a page" in err
    code, _, err = tailcast(capsys, "trace", "info", "t.parquet", "--report", "run")
    assert code == 2 and "is not a page" in err
    assert (folder / "notes.md").read_text() == "precious"


def test_an_empty_folder_may_become_a_run(capsys, folder):
    shutil.rmtree(folder / "run")
    (folder / "run").mkdir()
    assert tailcast(capsys, *RUNS[0])[0] == 0
    assert (folder / "run" / "run.json").is_file()
