"""The `tailcast` command: runs a subcommand, and turns errors into one line and an exit code.

The module of a subcommand is imported when it is run, and imports inside its function what it needs beyond its options,
so that help and completion start at once.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for them reads what every package says of itself
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small, and its threads cost 0.1 s of CPU at the start

_INTERRUPTED = "tailcast: interrupted"

try:
    from typing import Annotated, Any

    import typer
    from typer.core import TyperGroup

    from cli.ending import begin_alone, tell_end
    from traces.errors import InputError
    from traces.interrupts import handled_stops, raised_stops
    from traces.printable import printable
    from traces.without_pandas import do_without_pandas
except KeyboardInterrupt:  # imports take most of the time of a short command
    print(_INTERRUPTED, file=sys.stderr)
    sys.exit(130)

GROUPS = {
    "Start": {
        "init": "Write a commented spec of a store that says where each value is from: options, files, or assumed.",
        "probe": "Measure a drive and the cores of this machine in a minute, for a spec.",
        "choose": "Compare stores on given hardware at the same promise of durability, and rank them.",
        "answer": "Say what a store takes, healthy and with failures, what limits it, and what would help.",
    },
    "Forecast": {
        "demo": "Fit a store's model to light loads, forecast a heavier one, and compare that with its measurement.",
        "simulate": "Simulate a store and print latencies, throughput and the load of each station.",
        "bounds": "Compute the bottleneck, bounds on throughput and response time, and exact means where they exist.",
        "report": "Write an HTML page about one Run, or a comparison of two; it works offline.",
    },
    "What a forecast rests on": {
        "check": "Check a spec: assumed values, what costs nothing, is implausible, too slow or probably not meant.",
        "show": "Print the values of a spec and where each comes from.",
        "explain": "Explain a field of a spec: meaning, unit, default and its source, allowed and plausible values.",
        "presets": "List the presets of hosts and drives that specs may name.",
    },
    "Changes, failures and growth": {
        "whatif": "Simulate variants of a spec with common random numbers, and say which meet the objectives.",
        "explore": "Serve a local page with the main values of a spec as sliders, and what follows from them.",
        "find": "Find the value of one field that meets the objectives, or that minimises a latency.",
        "sensitivity": "Rank the numbers of a spec by their effect on a latency (Morris screening).",
        "failures": "Simulate failures: each operation before, during and after one, compared with a healthy store.",
        "timeline": "Simulate a store as it fills: throughput and latency against the objects stored.",
        "plan": "Find when a growing store reaches its limits, and the cheapest change that meets its objectives.",
    },
    "Requests": {
        "trace": "Generate, import, describe, fit and transform traces of requests.",
    },
    "Validation": {
        "lab": "Start and stop a real store on loopback, or in a box of shaped drives and links.",
        "replay": "Issue the requests of a trace to a real store, and record their outcomes.",
        "import-metrics": "Read a store's metrics from Prometheus: a workload, targets of a fit, and utilisation.",
        "compare": "Compare two Runs quantile by quantile, and say whether A agrees with B.",
        "calibrate": "Fit a model to measured Runs or published tables, and write a profile for other commands.",
        "validate": "Check measured Runs, predict those that the model was not fitted to, and report the errors.",
        "reference": "Predict published measurements of real stores.",
    },
}
"""Subcommands, which are modules of `cli.commands`, with their summaries, in the groups and order of the help."""

SUMMARIES = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}

RENAMED = {("up", "--nodes"): "--hosts, and --drives is the number per host"}
"""Options with a new name whose meaning changed, too, by subcommand and former name."""


class _InterruptError(Exception):
    """A KeyboardInterrupt in a form that typer does not turn into an exit code without a message."""


@contextlib.contextmanager
def _without_typers_exit() -> Iterator[None]:
    try:
        with raised_stops():
            yield
    except KeyboardInterrupt as error:
        raise _InterruptError(*error.args) from None


class _Imported(Mapping[str, Any]):
    """Subcommands by name, imported when they are looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        module = importlib.import_module(f".commands.{name.replace('-', '_')}", __package__)
        group = getattr(module, "app", None)
        if group is None:
            group = typer.Typer()
            group.command(name)(module.command)
        from cli.tables.format import add_option  # loads typer's options, which help and completion do not need

        group._add_completion, group.rich_markup_mode = False, None
        command = typer.main.get_command(group)
        command.name = name
        add_option(command, name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class _Commands(TyperGroup):
    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        self.commands = _Imported()  # type: ignore[assignment]  # typer only looks commands up

    def list_commands(self, ctx: Any) -> list[str]:
        return list(SUMMARIES)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the subcommands without importing them."""
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with _without_typers_exit():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _without_typers_exit():
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


app = typer.Typer(
    name="tailcast",
    cls=_Commands,
    help="Forecast the tail latency, throughput and capacity of an object store, and validate it on a real one.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from traces.provenance import code_version

        print(f"tailcast {code_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Accept only --version: all other options belong to subcommands."""


COLLECTED_AT = 50_000
"""Number of new objects at which Python collects garbage; with its default of 700, this takes a tenth of a start."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, and exit: 0 done, 1 a check failed, 2 bad usage or input, 130 interrupted.

    Each error of an input is a line on stderr. So are resources that run out: memory, disk space, threads, the depth of
    a recursion.
    """
    _prepare_streams()
    if arguments is None:  # the process is this command alone
        do_without_pandas()
        gc.set_threshold(COLLECTED_AT)
        begin_alone()
    with handled_stops(at_exit=arguments is None):
        try:
            code = _exit_code(arguments)
            tell_end(code)
        finally:
            if outputs := sys.modules.get(f"{__package__}.outputs"):  # commands without outputs do not import it
                outputs.release_outputs()
    sys.exit(code)


def _prepare_streams() -> None:
    """Make it possible to print any character on stdout, and to run with stdout or stderr closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _exit_code(arguments: Sequence[str] | None) -> int:
    try:
        arguments = sys.argv[1:] if arguments is None else arguments
        if formats := sys.modules.get(f"{__package__}.tables.format"):  # of a command before in this process
            formats.choose(None)
        result = app(args=list(arguments) or ["--help"], prog_name="tailcast", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _fail(_renamed(error) or getattr(error, "format_message", error.__str__)())
    except InputError as error:
        return _fail(*error.messages)
    except (_InterruptError, typer.Abort) as error:
        # The arguments say what the command has kept (`cli.common.kept_in`).
        print(printable("; ".join([_INTERRUPTED, *map(str, error.args)])), file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_stdout()  # whoever read the output has closed it
        return 0
    except Exception as error:
        message = _exhausted(error)
        if message is None:
            raise
        _drop_stdout()
        return _fail(message)
    return result if isinstance(result, int) else 0


def _drop_stdout() -> None:
    """Drop what has not been written, on which Python would fail when it exits."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_OF_SYSTEM = (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)


def _exhausted(error: Exception) -> str | None:
    """Return a line on a resource that ran out; None: the error is another one."""
    text = str(error)
    if isinstance(error, MemoryError) or "failed to map segment" in text or "Cannot allocate memory" in text:
        return "memory ran out; use fewer requests, points or workers, or a machine with more memory"
    if isinstance(error, RecursionError):
        return "the input is nested too deep"
    if isinstance(error, OverflowError):
        return f"a value is too large or too small to compute with: {error}"
    if isinstance(error, RuntimeError) and "can't start new thread" in text:
        return "no more threads can be started; use fewer workers or clients, or raise the limit (ulimit -u, -v)"
    if isinstance(error, OSError) and error.errno in (*_NO_SPACE, *_OF_SYSTEM):
        return f"{error.filename or 'the output'}: {error.strerror}"
    return None


def _renamed(error: typer.TyperException) -> str | None:
    """Return a message for an option in `RENAMED`; None for any other mistake."""
    command, option = getattr(getattr(error, "ctx", None), "info_name", None), getattr(error, "option_name", None)
    if new := RENAMED.get((command or "", option or "")):
        return f"{command} has no {option}; it is now called {new}"
    return None


_LONGEST_LINE = 4000  # characters of a message; a value in it may be any


def _fail(*messages: str) -> int:
    for message in messages:
        line = printable(" ".join(message.split()))
        if len(line) > _LONGEST_LINE:
            line = f"{line[:_LONGEST_LINE]}… ({len(line):,} characters)"
        print(f"tailcast: error: {line}", file=sys.stderr)
    return 2
