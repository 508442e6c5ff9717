"""The command line starts at once: subcommands are imported when they are run."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from cli.main import SUMMARIES, app, main


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_subcommand_does_what_the_help_says(name):
    command = typer.main.get_command(app).commands[name]
    assert command.name == name
    assert command.get_short_help_str(300) == SUMMARIES[name]


def leaves(command: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command that has no subcommands, with the words that call it."""
    if not hasattr(command, "commands"):
        yield names, command
        return
    for name in command.commands:
        yield from leaves(command.commands[name], (*names, name))


def test_the_help_of_each_command_has_an_example_that_it_accepts():
    shown = 0
    for names, command in leaves(typer.main.get_command(app)):
        example = shlex.split(" ".join(command.help.split()).partition("Example: ")[2])
        assert tuple(example[: len(names) + 1]) == ("tailcast", *names), names
        command.make_context(names[-1], example[len(names) + 1 :])
        shown += 1
    assert shown > len(SUMMARIES)


def test_the_help_imports_no_subcommand():
    code = (
        "import sys, cli.main\n"
        "try: cli.main.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pyarrow', 'scipy', 'pydantic', 'simpy', 'plotly'} & sys.modules.keys()\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert all(name in done.stdout for name in SUMMARIES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simualte"], "No such command 'simualte'. Did you mean 'simulate'?"),
        (["lab", "statsu"], "Did you mean 'status'?"),
        (["simulate"], "Missing argument"),
        (["simulate", "spec.yaml", "--nothing"], "No such option: --nothing"),
        (
            ["lab", "up", "minio", "--nodes=4"],
            "up has no --nodes; it is now called --hosts, and --drives is",
        ),
        (["replay", "trace.csv", "--timeout=30"], "--timeout': '30' needs a unit, as in 30ms or 30s"),
    ],
)
def test_a_mistake_is_one_line(capsys, arguments, said):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert said in capsys.readouterr().err
