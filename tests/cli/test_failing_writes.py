"""A disk that is full or fails at any write: one line, exit code 2, and what was there stays as it was."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import EXAMPLES, ROOT
from tests.profiles import NIGHTLY
from tests.program_starter import Done, Programs
from traces.run import Run
from traces.trace import Trace

LIBRARY = Path(__file__).with_name("failing_writes.c")
PROGRAM = ROOT / "tailcast" / "__main__.py"
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


pytestmark = pytest.mark.timeout(3600 if NIGHTLY else 300)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """Programs whose writes fail."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("faults")
    library = folder / "failing_writes.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, LIBRARY, "-ldl"], check=True)
    with Programs(folder, {"LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)}) as started:
        yield started


def run(programs: Programs, folder: Path, name: str, **fault: object) -> Done:
    given = {"FAIL_BELOW": f"{folder}/", "FAIL_COUNT": str(folder.parent / "count")}
    given |= {f"FAIL_{part.upper()}": str(value) for part, value in fault.items()}
    return programs.run(PROGRAM, COMMANDS[name], folder, given, within_s=120)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_write_that_fails_is_one_line_and_changes_nothing(programs: Programs, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    first = run(programs, folder, name)
    assert first.code == 0, first.err
    count, before = int((tmp_path / "count").read_text()), contents(folder)
    assert count >= 3
    chance = random.Random(None if NIGHTLY else 3)
    places = range(1, count + 1) if NIGHTLY else sorted(chance.sample(range(1, count + 1), 2))
    for at in places:
        number = chance.choice([errno.ENOSPC, errno.EIO])
        keeps = name == "whatif"
        if keeps:
            shutil.rmtree(folder / "kept")
        failed = run(programs, folder, name, at=at, errno=number)
        assert failed.code == 2, (at, failed.err)
        lines = [line for line in failed.err.splitlines() if line.startswith("tailcast: error: ")]
        assert len(lines) == 1 and "Traceback" not in failed.err, (at, failed.err)
        assert os.strerror(number) in lines[0], (at, lines)
        assert not [path for path in folder.rglob(".*") if path.is_file() or path.name.startswith(".out")], at
        if keeps:
            assert run(programs, folder, name).code == 0, "the same command continues"
        elif at < count - 2:  # the last operations flush the folder after the new name is there
            assert {**before, **contents(folder)} == contents(folder)
            if (folder / "out").exists():
                assert len(Run.read(folder / "out"))
            for trace in folder.glob("out.*"):
                assert len(Trace.read(trace))
