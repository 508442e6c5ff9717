"""The commands of the README and of docs/commands.md, run in their order, as they stand."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from cli.main import SUMMARIES, main
from tests.paths import ROOT
from validate.lab.minio import program

README, COMMANDS = ((ROOT / name).read_text() for name in ("README.md", "docs/commands.md"))


def blocks_of(text: str, kind: str = "sh") -> list[str]:
    """Return the fenced blocks of a page."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


BLOCKS = [
    [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("tailcast ")]
    for block in [*blocks_of(README), *blocks_of(COMMANDS)]
]
ONLY_TABLES = shutil.ignore_patterns("*.py", "__pycache__")
LIVE = [any(command[0] == "lab" for command in block) for block in BLOCKS]


def run_all(blocks: list[list[list[str]]], folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Run commands; each must end well and print something."""
    count = 0
    for command in (command for block in blocks for command in block):
        with pytest.raises(SystemExit) as ended:
            main([path for word in command for path in paths_of(word, folder)])
        printed = capsys.readouterr()
        assert not ended.value.code, f"{shlex.join(command)}: {printed.err}"
        assert printed.out + printed.err, f"{shlex.join(command)} prints nothing"
        count += 1
    return count


def paths_of(word: str, folder: Path) -> list[str]:
    """Return the paths that a shell makes of a word with ``*``, or the word."""
    found = sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else []
    return found or [word]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples and published tables, as a clone has them."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "validate" / "reference", tmp_path / "validate" / "reference", ignore=ONLY_TABLES)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "scoreboard.csv", tmp_path / "docs")
    (tmp_path / "out").mkdir()
    (tmp_path / "mine.yaml").write_text(blocks_of(README, "yaml")[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.readme
@pytest.mark.timeout(1800)
def test_commands_run_in_their_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offline = [block for block, live in zip(BLOCKS, LIVE, strict=True) if not live]
    assert run_all(offline, folder, capsys) > 30


@pytest.mark.clock
@pytest.mark.live
def test_commands_of_a_live_store_run_in_their_order(
    folder: Path, lab_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if program.find() is None:
        pytest.skip("the MinIO server is not installed; 'tailcast lab install minio' builds it")
    assert run_all([block for block, live in zip(BLOCKS, LIVE, strict=True) if live], folder, capsys) > 4


def test_every_command_is_shown() -> None:
    shown = {command[0] for block in BLOCKS for command in block} | {"demo"}
    served = {name for name in SUMMARIES if f"    tailcast {name} " in COMMANDS} - shown
    assert served == {"explore", "probe"}  # until Ctrl-C, and which needs fio and a drive
    assert shown | served == set(SUMMARIES)


def test_the_minimal_spec_has_the_answer_that_the_readme_shows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = BLOCKS[0][0]
    with pytest.raises(SystemExit) as ended:
        main(command)
    printed = capsys.readouterr().out.splitlines()
    assert not ended.value.code and blocks_of(README, "text")[0].splitlines() == printed[:2]


def test_the_readme_is_short() -> None:
    assert len(README.split()) < 1200
