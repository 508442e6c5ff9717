"""`tailcast lab campaign`: loads and faults of a real store in a box, measured and predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import kept_in, say
from cli.options import JsonOption, SetOption
from traces.errors import InputError


def command(
    file: Annotated[Path, typer.Argument(metavar="CAMPAIGN.yaml", help="File of the campaign.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Folder of the Runs, LOAD/REPETITION; those that are there are not measured again.",
            show_default=False,
        ),
    ],
    assignments: SetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="GLOB", help="Loads by name, such as 'get-*'; repeatable (default: all)."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of times that each load is measured.")] = 1,
    seeds: Annotated[int, typer.Option(min=1, help="Number of simulations of each load.")] = 1,
    size: Annotated[
        float, typer.Option(min=0.001, help="Fraction of the durations of loads, and of the times of faults.")
    ] = 1.0,
    measure_only: Annotated[bool, typer.Option("--measure-only", help="Predict nothing.")] = False,
    predict_only: Annotated[bool, typer.Option("--predict-only", help="Measure nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure the loads of a campaign on a store of the lab, and predict each: the loads are data, in a file.

    Values that the file fits to some loads are found first; all else is predicted by its spec. A measurement that was
    disturbed more than the file allows is repeated, and left out after the third time; then the exit code is 1, and the
    same command measures it.

    Example: tailcast lab campaign examples/campaigns/swift-loads.yaml --out runs --only 'get-4KiB-*'
    """
    from cli.present import Answer, Outputs, present
    from cli.tables.measured.campaign import campaign_lines
    from sim.json_form import to_json
    from validate.campaign.campaign import read_campaign
    from validate.campaign.cells import cells_of, chosen
    from validate.campaign.measure import measure, measured, windows_of
    from validate.campaign.predict import fitted_values, rows_of, summary_of

    if measure_only and predict_only:
        raise InputError("--measure-only and --predict-only exclude each other")
    campaign = read_campaign(file, assignments or ())
    cells = cells_of(campaign)
    names = chosen(list(cells), only or ())
    left_out = 0
    if not predict_only:
        with kept_in(out):
            left_out = measure(campaign, windows_of([cells[name] for name in names], repeats, out), out, size, say)
    if not measure_only:
        runs = {name: found for name in cells if (found := measured(out, name))}
        if not (there := [name for name in names if name in runs]):
            raise InputError(f"{out}: has no Run of these loads; measure them without --predict-only")
        values = fitted_values(campaign, cells, {name: found[0] for name, found in runs.items()})
        rows = [row for name in there for row in rows_of(campaign, cells[name], runs[name], values, seeds)]
        answer = {"fitted": values, "rows": to_json(rows), "summary": summary_of(rows)}
        present(Answer(answer, lambda: campaign_lines(values, rows)), Outputs(as_json))
    if left_out:
        say(f"{left_out} measurements were left out; the same command measures them")
        raise typer.Exit(1)
