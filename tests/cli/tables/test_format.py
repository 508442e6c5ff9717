"""Tables on stdout: plain in a pipe, CSV with numbers that are not rounded, colours on a terminal."""

from __future__ import annotations

import copy
import csv
import io
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest
import typer
from rich.console import Console

from cli import common
from cli.common import _progress_line, progress
from cli.main import app, main
from cli.tables.cells import Figure
from cli.tables.format import WITH_TABLES, csv_text, plain_text
from cli.tables.grid import Grid, rich_table
from cli.words import byte_rate, number, seconds, size
from tests.paths import EXAMPLES

SPEC = str(EXAMPLES / "minio.yaml")
SHORT = ("--set", "workload.operations=300", "--seed", "3")

WITHOUT_TABLES = {
    *("answer", "init", "explore", "report", "lab down", "lab fault", "lab install", "lab spec", "lab status"),
    *("lab up", "trace convert", "trace cut", "trace export", "trace generate", "trace import", "trace merge"),
    *("trace sample", "trace scale"),
}


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    """Return stdout and stderr of a command that succeeds."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    return said.out, said.err


def leaves(command: Any, name: str) -> dict[str, list[str]]:
    """Return the options of all commands that are no groups."""
    inner = {} if name == "init" else getattr(command, "commands", {})
    if not inner:
        return {name: [option for parameter in command.params for option in parameter.opts]}
    found: dict[str, list[str]] = {}
    for each in inner:
        found |= leaves(inner[each], f"{name} {each}".strip())
    return found


def test_exactly_the_commands_with_tables_have_the_option():
    options = leaves(typer.main.get_command(app), "")
    assert options.keys() - WITHOUT_TABLES == WITH_TABLES
    assert {name for name, of_command in options.items() if "--table-format" in of_command} == WITH_TABLES


def test_plain_tables_have_aligned_columns_on_lines_that_are_not_wrapped():
    long = "x" * 200
    grid = Grid("Title", ["name", "p99"], [["GET", "12.3 ms"], [long, "1 s"]])
    assert plain_text(grid).splitlines() == [
        "Title",
        f"name{' ' * 196}  {'p99':>7}",
        f"GET{' ' * 197}  12.3 ms",
        f"{long}  {'1 s':>7}",
    ]


def test_csv_has_headings_and_numbers_that_are_not_rounded():
    rows = [["GET", seconds(0.0123456), number(1234.56), "1,234,567"], ["a,b", seconds(12.0), "–", "12.5%"]]
    assert csv_text(Grid("", ["op", "p99", "op/s", "count"], rows)) == (
        'op,p99 (s),op/s,count\nGET,0.0123456,1234.56,1234567\n"a,b",12.0,–,12.5%\n\n'
    )


def test_csv_of_a_column_with_several_units_has_them_after_the_numbers():
    rows = [["latency", seconds(0.5)], ["rate", byte_rate(2e6)], ["size", size(1500.0)]]
    text = csv_text(Grid("Figures", ["figure", "value"], rows))
    assert text == "# Figures\nfigure,value\nlatency,0.5 s\nrate,2000000.0 B/s\nsize,1500.0 B\n\n"


def test_a_figure_is_its_text_elsewhere():
    shown = seconds(0.0015)
    assert isinstance(shown, Figure)
    assert (shown, f"{shown} later", shown.value, shown.unit) == ("1.50 ms", "1.50 ms later", 0.0015, "s")
    assert json.dumps([shown]) == '["1.50 ms"]'


def test_csv_of_a_command_is_that_of_its_json(capsys):
    out, err = tailcast(capsys, "simulate", SPEC, *SHORT, "--table-format", "csv")
    exact = json.loads(tailcast(capsys, "simulate", SPEC, *SHORT, "--json")[0])["ops"]
    table = list(csv.DictReader(io.StringIO(out.partition("\n\n")[0])))
    assert {row["op"] for row in table} == exact.keys()
    for row in table:
        assert float(row["p50 (s)"]) == pytest.approx(exact[row["op"]]["latency_s"]["p50"], rel=1e-12)
        assert float(row["op/s"]) == pytest.approx(exact[row["op"]]["throughput_ops"], rel=1e-12)
    assert "op/s; " in err, "the verdict is on stderr"
    assert "busy" not in out.partition("\n")[0]


def test_tables_are_plain_in_a_pipe_and_framed_if_wanted(capsys):
    piped = tailcast(capsys, "bounds", SPEC)[0]
    assert not set("│┃━") & set(piped)
    assert tailcast(capsys, "bounds", SPEC, "--table-format", "plain")[0] == piped
    assert "┃" in tailcast(capsys, "bounds", SPEC, "--table-format", "table")[0]
    assert tailcast(capsys, "bounds", SPEC)[0] == piped, "the option is of one command only"


def test_another_form_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["bounds", SPEC, "--table-format", "html"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def shown(**settings: Any) -> str:
    """Return a table with verdicts as a terminal gets it."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, color_system="standard", width=80, **settings)
    console.print(rich_table(Grid("", ["point", "verdict"], [["1", "pass"], ["2", "fail"]], labels=2)))
    return text.getvalue()


def test_verdicts_have_colours_but_for_no_color(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32mpass" in shown() and "\x1b[31mfail" in shown()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in shown().replace("\x1b[39m", "")


def test_names_print_no_control_characters():
    imported = "from cli.common import print_grid; from cli.tables.grid import Grid"
    script = f"{imported}; print_grid(Grid('', ['a'], [['\\x1b[31mx']]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout and "x" in done.stdout


def test_progress_is_a_line_now_and_then_if_stderr_is_no_terminal(monkeypatch, capsys):
    now_s = 0.0
    monkeypatch.setattr(common, "monotonic", lambda: now_s)
    with progress("simulating", 100) as update:
        for done in range(101):
            now_s = 2.0 * done
            update(done)
    lines = capsys.readouterr().err.splitlines()
    assert _progress_line("replaying", 0.001, 1.0, 10.0) == "replaying: 0% in 10 s"
    assert lines[:2] == ["simulating: 5% in 10 s, about 190 s left", "simulating: 10% in 20 s, about 180 s left"]
    assert len(lines) == 6  # at 10, 20, 40, 80, 140 and 200 s
    with progress("searching") as update:
        now_s += 12
        update(7)
    assert capsys.readouterr().err == "searching: 7 done in 12 s\n"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_keep_the_number(copied):
    """Reports copy the rows of tables."""
    cell = copied(Figure("1.23 ms", 0.0012345, "s"))
    assert (cell, cell.value, cell.unit) == ("1.23 ms", 0.0012345, "s")
