"""The `tailcast` command: wires the subcommands together and turns errors into one line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from cli.commands import (
    calibrate,
    compare,
    demo,
    lab,
    plan,
    reference,
    replay,
    report,
    simulate,
    trace,
    validate,
    whatif,
)
from traces.errors import InputError


class _InterruptError(Exception):
    """A KeyboardInterrupt that passes through typer, which makes of them an exit code and no word."""


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _InterruptError(*error.args) from None


app = typer.Typer(
    name="tailcast",
    cls=_Commands,
    help="Forecast the tail latency, throughput and capacity of an object store, and prove it on a real one.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(trace.app, name="trace")
app.command(name="demo")(demo.command)
app.command(name="simulate")(simulate.command)
app.command(name="whatif")(whatif.command)
app.command(name="plan")(plan.command)
app.command(name="compare")(compare.command)
app.command(name="calibrate")(calibrate.command)
app.command(name="validate")(validate.command)
app.command(name="report")(report.command)
app.command(name="replay")(replay.command)
app.add_typer(reference.app, name="reference")
app.add_typer(lab.app, name="lab")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with 0 done, 1 a check failed, 2 bad usage or bad input, 130 interrupted."""
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: Sequence[str] | None) -> int:
    try:
        arguments = sys.argv[1:] if arguments is None else arguments
        result = app(args=list(arguments) or ["--help"], prog_name="tailcast", standalone_mode=False)
    except typer.TyperException as error:
        return _fail(getattr(error, "format_message", error.__str__)())
    except InputError as error:
        return _fail(str(error))
    except (_InterruptError, KeyboardInterrupt, typer.Abort) as error:
        # What is kept, the command may have told (`cli.common.kept_in`).
        print("; ".join(["tailcast: interrupted", *map(str, error.args)]), file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: nothing is left to tell
        return 0
    return result if isinstance(result, int) else 0


def _fail(message: str) -> int:
    print(f"tailcast: error: {' '.join(message.split())}", file=sys.stderr)
    return 2
