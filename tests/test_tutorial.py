"""The tutorial's commands, run as they stand there; and what it says they print."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cli.common
from cli.common import stdout
from cli.main import main
from tests.paths import ROOT

TUTORIAL = (ROOT / "docs/tutorial.md").read_text()
LIKE = 0.1  # by how much a printed number may differ: another machine's mathematical functions may end in other digits

BLOCK = re.compile(r"^ *```(sh|text)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
VARIANT = re.compile(r"^\| (\d) \| (none|p95) \| ([\d.]+) ms \| (pass|fail|unsure) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with what the commands need."""
    folder = tmp_path_factory.mktemp("session")
    shutil.copytree(ROOT / "examples/tutorial", folder / "examples/tutorial")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(stdout, "width", 110)
        patch.setattr(cli.common, "form_on", lambda _: "table")  # as on the terminal of a reader
        patch.setattr(os, "sched_getaffinity", lambda _: {0})  # no worker processes: they would import for longer
        yield folder


def blocks() -> list[tuple[str, list[str]]]:
    return [(kind, [line.strip() for line in text.splitlines()]) for kind, text in BLOCK.findall(TUTORIAL)]


def printed_by(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints that succeeds."""
    if not command.startswith("tailcast "):
        return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    out, err = capsys.readouterr()
    assert not ended.value.code, f"{command}: {err}"
    return out


def taken_apart(line: str) -> tuple[list[str], list[float]]:
    """The words of a line, with marks in place of its numbers, and the numbers."""
    bare = re.sub(r"[│┃]", " ", line)
    return NUMBER.sub("#", bare).split(), [float(number.replace(",", "")) for number in NUMBER.findall(bare)]


def says(printed: str, told: str) -> bool:
    (words, numbers), (told_words, told_numbers) = taken_apart(printed), taken_apart(told)
    alike = (math.isclose(a, b, rel_tol=LIKE) for a, b in zip(numbers, told_numbers, strict=False))
    return words == told_words and all(alike)


def not_printed(told: list[str], printed: str) -> list[str]:
    """The lines that were not printed, or not in that order."""
    lines = iter(printed.splitlines())
    return [line for line in told if line != "…" and not any(says(other, line) for other in lines)]


def test_commands_print_what_the_page_says(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, commands = "", 0
    for kind, lines in blocks():
        if kind == "sh":
            printed = "".join(printed_by(command, capsys) for command in lines)
            commands += len(lines)
        else:
            assert not not_printed(lines, printed), printed
    assert commands >= 12
    decision = VARIANT.findall(TUTORIAL)
    assert decision == [told_of(point) for point in json.loads((session / "grid/whatif.json").read_text())["points"]]
    assert {page.name for page in session.glob("*.html")} == {"whatif.html", "failure.html", "plan.html"}


def told_of(point: dict[str, Any]) -> tuple[str, str, str, str]:
    """A variant as the page's last table has it."""
    gateways, hedge = point["set"]["gateways.count"], point["set"]["client.hedge.after"]
    p99_ms = point["ops"]["GET"]["latency_s"]["p99"] * 1e3
    return str(gateways), hedge or "none", f"{p99_ms:#.3g}".rstrip("."), point["slo"]["GET.p99<50ms"]


def test_lines_are_compared_by_words_and_numbers() -> None:
    printed = "head\n│ 2 │ none │ 50.0 ms │ fail │\n│ 4 │ none │ 26.3 ms │ pass │\n"
    assert not not_printed(["│ 2  │ none │ 51.0 ms │ fail │", "…", "4 none 26.3 ms pass"], printed)
    assert not_printed(["2 none 57 ms fail"], printed), "a number that differs"
    assert not_printed(["2 none 50.0 ms pass"], printed), "another verdict"
    assert not_printed(["2 none 50.0 µs fail"], printed), "another unit"
    assert not_printed(["4 none 26.3 ms pass", "2 none 50.0 ms fail"], printed), "another order"


def test_the_log_is_small_and_said_to_be_synthetic() -> None:
    assert (ROOT / "examples/tutorial/rgw-ops.json.gz").stat().st_size < 100_000
    assert "synthetic" in TUTORIAL
