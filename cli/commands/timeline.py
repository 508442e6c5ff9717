"""`tailcast timeline`: throughput and latency of a store against the number of objects stored."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from cli.common import (
    DRAWS,
    kept_in,
    progress,
    warn_if_slow,
    worker_count,
)
from cli.options import (
    EngineOption,
    FiguresOption,
    FormatOption,
    JsonOption,
    KeptOption,
    PageOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SpecArgument,
    WorkersOption,
    fraction,
)
from traces.errors import InputError


def command(
    spec: SpecArgument,
    objects: Annotated[
        str,
        typer.Option(
            "--objects", metavar="LOW..HIGH", help="Range of objects stored, such as 1e6..1e9.", show_default=False
        ),
    ],
    states: Annotated[int, typer.Option("--states", help="Number of simulated states in this range.")] = 20,
    window: Annotated[str, typer.Option("--window", help="Simulated time at each state.")] = "10s",
    spacing: Annotated[
        Literal["geometric", "linear"],
        typer.Option(
            "--spacing", help="Spacing of the states: equal ratios (geometric) or equal differences (linear)."
        ),
    ] = "geometric",
    uncertainty: Annotated[
        float | None,
        typer.Option(
            "--uncertainty",
            metavar="FRACTION",
            parser=fraction,
            help=f"Draw the assumed values from their ranges {DRAWS} times, simulate all states for each draw, and "
            "give the band that contains this fraction of the results, such as 80% (default: use the assumed values).",
        ),
    ] = None,
    engine: EngineOption = "compiled",
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    out: KeptOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a store as it fills: throughput and latency against the objects stored.

    Example: tailcast timeline examples/ceph/billion-objects.yaml --objects 1e6..1e9
    """
    from cli.doubts import say_basis, say_implausible
    from cli.made import Made
    from cli.pages.timeline import timeline_page
    from cli.parse.option import seconds_of
    from cli.parse.spec import described
    from cli.present import Answer, outputs_to_folder, present
    from cli.tables.experiments.timeline import timeline_shown
    from sim.capacity.tables import states_table
    from sim.capacity.timeline import TimelinePlan, timeline
    from sim.capacity.timeline_bands import timeline_bands
    from sim.experiments.probability import check_level

    plan = TimelinePlan(*_ends(objects), states, spacing, seconds_of("--window", window))
    if uncertainty is not None:
        check_level(uncertainty, DRAWS)
    read = described(spec, None, profile, assignments)
    store = read.spec
    say_implausible([read])
    outputs = outputs_to_folder("timeline", out, report, figures_to, figure_format, as_json)
    if engine == "compiled":
        warn_if_slow()
    with kept_in(out), progress("simulating windows", plan.states) as update:
        result = timeline(
            store,
            plan,
            seed=seed or 0,
            engine=engine,
            workers=worker_count(workers),
            cache=outputs.folder,
            progress=update,
        )
    bands = None
    if uncertainty is not None:
        with kept_in(out), progress("drawing", DRAWS * plan.states) as update:
            bands = timeline_bands(
                read.uncertain,
                plan,
                result,
                uncertainty,
                DRAWS,
                seed=seed or 0,
                engine=engine,
                workers=worker_count(workers),
                cache=outputs.folder,
                progress=update,
            )
    say_basis(read, spec)
    made = Made.of(store, seed or 0, read)
    answer = Answer(
        result.to_json() | ({} if bands is None else {"bands": bands}),
        lambda: timeline_shown(result, bands),
        made,
        lambda: timeline_page(result, f"{spec.stem} as it fills", bands),
        {"timeline.parquet": states_table(result)},
    )
    present(answer, outputs)


def _ends(objects: str) -> tuple[float, float]:
    from cli.parse.vary import refuse_dash

    low, _, high = objects.partition("..")
    try:
        return float(low), float(high)
    except ValueError as error:
        refuse_dash(f"--objects {objects}", objects)
        raise InputError(f"--objects {objects}: write it like 1e6..1e9") from error
