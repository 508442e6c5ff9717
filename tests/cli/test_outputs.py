"""Existing outputs: each command refuses to overwrite them before any work, and overwrites them with --force."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from models.store import load_spec
from sim.simulate import simulate
from tests.cli.commands.test_simulate import EXAMPLE, tailcast
from tests.paths import EXAMPLES, ROOT
from traces.run import Run

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


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_second_command_for_the_same_output_fails_at_once(capsys, folder, force):
    for arguments in (["simulate", str(EXAMPLE), "--out", "new"], [*FILES[0][:-1], "new"]):
        with (folder / ".new.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            code, out, err = tailcast(capsys, *arguments, *force)
        assert (code, out) == (2, "") and err.endswith("new: another command is writing it; name another path\n")
        assert not (folder / "new").exists()
    assert tailcast(capsys, *FILES[0][:-1], "new", *force)[0] == 0, "a lock that no one holds is none"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_of_two_commands_at_the_same_time_one_fails(folder):
    command = [sys.executable, "-c", "from cli.main import main; main()", "simulate", str(EXAMPLE), "--out", "new"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) for _ in range(2)]
    said = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    assert Run.read(folder / "new").info["kind"] == "simulated"


def test_a_device_is_not_replaced(capsys, folder):
    os.mkfifo("pipe")
    Path("link").symlink_to("/dev/null")
    for name in ("/dev/null", "pipe", "link"):
        code, _, err = tailcast(capsys, *FILES[0][:-1], name, "--force")
        assert code == 2 and "is a device, a pipe or a socket; name a file to write" in err
    assert Path("/dev/null").is_char_device() and Path("pipe").is_fifo() and Path("link").is_symlink()


def test_a_link_stays_and_its_file_is_replaced(capsys, folder):
    Path("link.parquet").symlink_to("t.parquet")
    before = Path("t.parquet").read_bytes()
    assert tailcast(capsys, *FILES[0][:-1], "link.parquet", "--force")[0] == 0
    assert Path("link.parquet").is_symlink() and Path("t.parquet").read_bytes() != before


def test_a_short_salt_is_refused(capsys, folder):
    command = ["trace", "import", str(LOG), "-o", "new.parquet", "--anonymise", "--salt"]
    code, _, err = tailcast(capsys, *command, "x" * 15)
    assert code == 2 and "--salt has 15 characters; at least 16 are needed" in err
    assert tailcast(capsys, *command, "x" * 16)[0] == 0
