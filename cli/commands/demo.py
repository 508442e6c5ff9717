"""`tailcast demo`: the whole way once, from a measurement to a forecast that is checked."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import sentences
from cli.common import progress, say, warn_if_slow
from cli.live.watching import bars
from cli.made import Made
from cli.options import ForceOption, JsonOption, SeedOption
from cli.outputs import check_run_output
from cli.pages.calibration import values_grid
from cli.pages.page import write_page
from cli.pages.report import report_page
from cli.present import Answer, Outputs, present
from cli.simulations import recorded_verdict
from cli.tables.forecast.verdict import verdict_line
from cli.tables.grid import Grid
from cli.tables.measured.comparison import comparison_grid
from traces.errors import InputError
from traces.run import Run
from traces.statistics.summary import summarise
from validate import demo
from validate.demo import HEAVY_CLIENTS, LIGHT_CLIENTS, TRIES, Demonstration, DisturbedError
from validate.lab import lab
from validate.lab.registry import kind_of
from validate.lab.store import StoreKind
from validate.s3.account import Target

_NAMES = f"forecast of {HEAVY_CLIENTS} clients", "measured"


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report and the Runs.")] = Path("out/demo"),
    use_recorded: Annotated[bool, typer.Option("--recorded", help="Use the recorded Runs, start no store.")] = False,
    force: ForceOption = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit a store's model to light loads, forecast a heavier one, and compare that with its measurement.

    Measures a live store on loopback where its server is installed; else, or if the machine is busy, takes Runs
    recorded on a real one.

    Example: tailcast demo
    """
    for name in (*map(demo.run_name, (*LIGHT_CLIENTS, HEAVY_CLIENTS)), "forecast"):
        if (out / name).exists():
            check_run_output(out / name, force)
    source, measurements, unused = _measurements(use_recorded)
    *light, heavy = measurements
    warn_if_slow()
    with progress("fitting the model to the light loads", total=1) as update:
        found = demo.demonstrate(tuple(light), heavy, seed or 0, len(os.sched_getaffinity(0)), update)
    page = _write(found, measurements, out, source)
    say(f"report: {page}")
    facts = _facts(found, source, unused, page)
    present(Answer(facts, lambda: _shown(found, source), Made(found.profile.spec_hash, seed or 0)), Outputs(as_json))


def _shown(found: Demonstration, source: str) -> list[str | Grid]:
    """Return what is printed: the verdict on the forecast, the fitted values, and the comparison."""
    verdict = recorded_verdict(found.forecast)
    opening = [] if verdict is None else [f"The {_NAMES[0]} is {verdict_line(verdict)}"]
    compared = comparison_grid(found.comparison, _NAMES, f"{HEAVY_CLIENTS} clients: {source}")
    agreement = [sentences.verdict(found.comparison, _NAMES), sentences.doubt(found.comparison)]
    return [*opening, _parameters(found), compared, *agreement]


def _measurements(use_recorded: bool) -> tuple[str, list[Run], DisturbedError | None]:
    """Return the origin of the measurements, those of the light loads and the heavy one, and why live ones are unused.

    A disturbed measurement would be called a wrong forecast.
    """
    loads = (*LIGHT_CLIENTS, HEAVY_CLIENTS)
    kind = kind_of(demo.store_name())
    unused = None
    if not use_recorded and kind.find() is not None:
        try:
            return f"a live {kind.title} on this machine", _live(kind, loads), None
        except DisturbedError as error:
            unused = error
            say(
                f"The live {kind.title} was measured {TRIES} times with {_clients(error.clients)}, and the measurement "
                f"is not used, because this machine was busy: {'; '.join(error.reasons)}."
            )
            say(f"So the demo takes Runs that were recorded on a real {kind.title}; try again on a quiet machine.")
    elif not use_recorded:
        say(f"{kind.title} is not installed, so the demo takes Runs that were recorded on a real {kind.title}.")
        say(f"To measure a live one: 'tailcast lab install {kind.name}' ({kind.installation}), then the demo again.")
    measurements = [demo.recorded(clients) for clients in loads]
    return f"Runs recorded on a real {kind.title} at {measurements[-1].info['started_at'][:10]}", measurements, unused


def _live(kind: StoreKind, loads: Sequence[int]) -> list[Run]:
    """Measure each load on a live store.

    Raises:
        DisturbedError: the machine was too busy.
    """
    measurements = []
    with _store(kind) as target:
        for clients in loads:
            say(f"measuring a live {kind.title} with {_clients(clients)}")
            with bars() as report:
                measurements.append(demo.measured(clients, target, report))
    return measurements


def _clients(count: int) -> str:
    return f"{count} client{'' if count == 1 else 's'}"


@contextlib.contextmanager
def _store(kind: StoreKind) -> Iterator[Target]:
    """The lab's store in its first form; one that was not up is taken down afterwards."""
    running = lab.status(kind.name)
    store = lab.up(kind.name, progress=say)
    try:
        yield store.target
    finally:
        if running is None:
            lab.down(kind.name)


def _write(found: Demonstration, measurements: list[Run], out: Path, source: str) -> Path:
    """Write the Runs and the report; returns the report's path."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be made: {error.strerror}") from error
    for run, clients in zip(measurements, (*LIGHT_CLIENTS, HEAVY_CLIENTS), strict=True):
        run.write(out / demo.run_name(clients))
    found.forecast.write(out / "forecast")
    page = out / "report.html"
    light = " and ".join(map(str, LIGHT_CLIENTS))
    note = (
        f"The model of one {kind_of(demo.store_name()).title} was fitted to {light} clients on {source}; "
        f"with {HEAVY_CLIENTS} clients, which it had not seen, it forecast what is compared here with the measurement."
    )
    shown = report_page(
        [(_NAMES[0], found.forecast), (_NAMES[1], found.measured)],
        "tailcast demo",
        comparison=found.comparison,
        notes=[note],
        grids=[_parameters(found)],
    )
    write_page(shown, page)
    return page


def _parameters(found: Demonstration) -> Grid:
    return values_grid(found.profile, f"Fitted to {' and '.join(map(str, LIGHT_CLIENTS))} clients")


def _facts(found: Demonstration, source: str, unused: DisturbedError | None, page: Path) -> dict[str, Any]:
    return {
        "source": source,
        "unused": None if unused is None else {"clients": unused.clients, "reasons": unused.reasons},
        "fit": {
            "values": found.profile.values,
            "rms_log_error": found.profile.rms_log_error,
            "simulations": found.profile.simulations,
        },
        "measured": summarise(found.measured),
        "forecast": summarise(found.forecast),
        "comparison": found.comparison.to_json(),
        "report": str(page),
    }
