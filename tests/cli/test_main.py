"""The command line starts at once: subcommands are imported when they are run."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from cli.main import MOVED, SUMMARIES, app, main


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
        (["simulate", "spec.yaml", "--bounds"], "simulate has no --bounds; use: tailcast bounds SPEC"),
        (["whatif", "spec.yaml", "--find=max rate"], "whatif has no --find; use: tailcast find SPEC"),
        (["simulate", "spec.yaml", "--nothing"], "No such option: --nothing"),
        (["replay", "trace.csv", "--profile=x"], "replay has no --profile; it is now called --aws-profile"),
        (["find", "spec.yaml", "--format=svg"], "find has no --format; it is now called --figure-format"),
        (["replay", "trace.csv", "--timeout=30"], "--timeout': '30' needs a unit, as in 30ms or 30s"),
    ],
)
def test_a_mistake_is_one_line(capsys, arguments, said):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("command", "option"), [(name, option) for name in MOVED for option in MOVED[name]])
def test_an_option_that_became_a_command_names_it(capsys, command, option):
    with pytest.raises(SystemExit) as left:
        main([command, "spec.yaml", option, "x"])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    verb = said.partition("use: tailcast ")[2].split()[0]
    assert verb in SUMMARIES and verb != command
