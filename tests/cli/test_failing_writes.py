"""A disk that is full or fails at any write: one line, exit code 2, and what was there stays as it was."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import EXAMPLES, ROOT
from tests.profiles import NIGHTLY
from traces.run import Run
from traces.trace import Trace

LIBRARY = Path(__file__).with_name("failing_writes.c")
STARTED = [sys.executable, "-c", "from cli.main import main; main()"]
MINIO = [str(EXAMPLES / "minio.yaml"), "--set", "workload.duration=0.3s", "--set", "workload.keys.count=50"]
COMMANDS = {
    "simulate": ["simulate", *MINIO, "--out", "out", "--force"],
    "generate": ["trace", "generate", str(EXAMPLES / "workload.yaml"), "--set", "workload.duration=0.3s",
                 "--out", "out.parquet", "--force"],
    "import": ["trace", "import", str(ROOT / "examples/tutorial/rgw-ops.json.gz"), "--out", "out.csv", "--run", "out",
               "--force"],
    "whatif": ["whatif", *MINIO, "--vary", "workload.clients=1,2", "--replications", "2", "--workers", "1",
               "--out", "kept"],
}  # fmt: skip


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("there is no C compiler")
    path = tmp_path_factory.mktemp("faults") / "failing_writes.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, LIBRARY, "-ldl"], check=True)
    return path


def run(library: Path, folder: Path, name: str, **fault: object) -> subprocess.CompletedProcess[str]:
    given = {"FAIL_BELOW": f"{folder}/", "FAIL_COUNT": str(folder.parent / "count")}
    given |= {f"FAIL_{part.upper()}": str(value) for part, value in fault.items()}
    environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*STARTED, *COMMANDS[name]], cwd=folder, env=environment | given, capture_output=True, text=True, timeout=300
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_write_that_fails_is_one_line_and_changes_nothing(library: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    first = run(library, folder, name)
    assert first.returncode == 0, first.stderr
    count, before = int((tmp_path / "count").read_text()), contents(folder)
    assert count >= 3
    chance = random.Random(None if NIGHTLY else 3)
    places = range(1, count + 1) if NIGHTLY else sorted(chance.sample(range(1, count + 1), 2))
    for at in places:
        number = chance.choice([errno.ENOSPC, errno.EIO])
        keeps = name == "whatif"
        if keeps:
            shutil.rmtree(folder / "kept")
        failed = run(library, folder, name, at=at, errno=number)
        assert failed.returncode == 2, (at, failed.stderr)
        lines = [line for line in failed.stderr.splitlines() if line.startswith("tailcast: error: ")]
        assert len(lines) == 1 and "Traceback" not in failed.stderr, (at, failed.stderr)
        assert os.strerror(number) in lines[0], (at, lines)
        assert not [path for path in folder.rglob(".*") if path.is_file() or path.name.startswith(".out")], at
        if keeps:
            assert run(library, folder, name).returncode == 0, "the same command continues"
        elif at < count - 2:  # the last operations flush the folder after the new name is there
            assert {**before, **contents(folder)} == contents(folder)
            if (folder / "out").exists():
                assert len(Run.read(folder / "out"))
            for trace in folder.glob("out.*"):
                assert len(Trace.read(trace))
