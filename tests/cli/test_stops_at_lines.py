"""A stop at any line of the program: one line says so, and what is there is complete or as it was."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_failing_writes import COMMANDS
from tests.paths import ROOT
from tests.profiles import NIGHTLY
from tests.program_starter import Programs
from traces.interrupts import STOPS
from traces.run import Run
from traces.trace import Trace

PROGRAM = Path(__file__).with_name("stop_at_line.py")
WRITERS = (
    "/interrupts.py",
    "/outputs.py",
    "/tables.py",
    "/process_pool.py",
    "/run_files.py",
    "/tempfile.py",
    "/main.py",
)
TRIED = 120 if NIGHTLY else 3


pytestmark = pytest.mark.timeout(3600 if NIGHTLY else 300)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    with Programs(tmp_path_factory.mktemp("stops"), {"PYTHONPATH": str(ROOT)}) as started:
        yield started


@pytest.mark.parametrize("name", COMMANDS)
def test_a_stop_at_any_line_ends_a_command_cleanly(programs: Programs, tmp_path: Path, name: str) -> None:
    first, places = tmp_path / "first", tmp_path / "places"
    first.mkdir()
    done = programs.run(PROGRAM, [str(places), "0", *COMMANDS[name]], first)
    assert done.code == 0, done.err
    counts = {place: int(count) for count, place in (line.split(" ", 1) for line in places.read_text().splitlines())}
    handled = min(count for place, count in counts.items() if "/outputs.py" in place)  # earlier ones end any program
    later = {place: count for place, count in counts.items() if count >= handled}
    delicate = [place for place in later if place.rpartition(":")[0].endswith(WRITERS)]
    assert len(delicate) > 50
    chance = random.Random(None if NIGHTLY else name)
    for at in chance.sample(delicate, TRIED) + chance.sample(sorted(later), TRIED // 3):
        number = chance.choice(STOPS)
        folder = tmp_path / "work"
        shutil.copytree(first, folder)
        if name == "whatif":
            shutil.rmtree(folder / "kept")
        stopped = programs.run(
            PROGRAM, [str(places), str(int(number)), *COMMANDS[name]], folder, {"STOP_AT": str(later[at])}, within_s=120
        )
        what = (at, signal.Signals(number).name, stopped.err)
        assert stopped.code in (130, 0) and "Traceback" not in stopped.err, what
        assert stopped.code == 0 or "tailcast: interrupted" in stopped.err, what
        assert not list(folder.rglob(".*")), what
        if name != "whatif":
            assert {path.name for path in folder.iterdir()} == {path.name for path in first.iterdir()}, what
        if (folder / "out").exists():
            assert len(Run.read(folder / "out"))
        for trace in folder.glob("out.*"):
            assert len(Trace.read(trace))
        shutil.rmtree(folder)
