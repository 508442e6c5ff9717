"""`tailcast choose`: which store on given hardware, at the same promise of durability."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_shown, progress, say, warn_if_slow, worker_count
from cli.options import (
    FiguresOption,
    ForceOption,
    FormatOption,
    JsonOption,
    OutOption,
    PageOption,
    PricesOption,
    SeedOption,
    WorkersOption,
)
from cli.tables.grid import Grid
from traces.errors import InputError


def command(
    hardware: Annotated[
        Path,
        typer.Argument(
            metavar="HARDWARE.yaml",
            help="Hosts, drives, workload, objectives, promise, growth and prices.",
            show_default=False,
        ),
    ],
    pins: Annotated[
        list[str] | None,
        typer.Option(
            "--pin",
            metavar="STORE.PATH=VALUE",
            help="Value of a store's spec that its settings must have, as for --set; repeatable (default: none).",
        ),
    ] = None,
    excluded: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="STORE", help="Store that is left out; repeatable (default: none)."),
    ] = None,
    unsynced: Annotated[
        bool,
        typer.Option(
            "--unsynced",
            help="Let stores acknowledge writes before they are safe, which not all do: the same promise no longer "
            "holds for the newest objects.",
        ),
    ] = False,
    prices: PricesOption = None,
    requests: Annotated[
        int, typer.Option("--requests", min=1000, max=1_000_000, help="Number of requests of each simulation.")
    ] = 8000,
    draws: Annotated[
        int,
        typer.Option(
            "--draws",
            min=0,
            max=1000,
            help="Draws of unknown values, for the bands of the best three; 0: only the table.",
        ),
    ] = 12,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    out: OutOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare stores on given hardware at the same promise of durability, and rank them.

    Each store gets the first of its settings that keep the promise and hold the objects.

    Example: tailcast choose examples/choose/nvme.yaml --report choice.html
    """
    from cli.made import Made
    from cli.pages.choose import choice_page
    from cli.parse.pins import parse_pins
    from cli.parse.prices import pricing
    from cli.parse.slo import parse_objectives
    from cli.present import Answer, outputs_to_file, present
    from cli.tables.experiments.choose import ranking_shown, table_shown
    from sim.choose.candidates import Wanted, stores_to_compare
    from sim.choose.choose import Choice, choose
    from sim.choose.hardware import read_hardware

    if draws == 1:
        raise InputError("--draws: one draw has no band; give 0 or at least 2")
    file, data = read_hardware(hardware, pricing(prices))
    slos = parse_objectives(file.objectives, str(hardware))
    left_out = excluded or []
    pinned = parse_pins(pins or [], stores_to_compare(left_out))
    promise = file.promise.model_copy(update={"acknowledged": "written"}) if unsynced else file.promise
    wanted = Wanted(file, promise, data["workload"], requests, pinned)
    outputs = outputs_to_file(out, force, as_json, report, figures_to, figure_format)
    warn_if_slow()

    def shown(choice: Choice) -> None:
        if not as_json:
            print_shown(table_shown(choice, file))

    result = choose(
        wanted, slos, excluded=left_out, draws=draws, seed=seed or 0, workers=worker_count(workers), progress=_step,
        shown=shown,
    )  # fmt: skip

    def rest() -> Iterable[str | Grid]:
        return table_shown(result, file) if result.ranking is None else ranking_shown(result, file)

    present(
        Answer(result, rest, Made(seed=seed or 0), lambda: choice_page(result, file, str(hardware))),
        outputs,
    )


def _step(what: str) -> AbstractContextManager[Callable[[float], None]]:
    """Say what is simulated now, and show its progress."""
    say(f"{what} …")
    return progress(what, 1.0)
