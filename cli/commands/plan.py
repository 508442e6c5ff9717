"""`tailcast plan`: when a growing store reaches its limits, and the cheapest change that meets its objectives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import (
    kept_in,
    progress,
    say,
    warn_if_slow,
    worker_count,
)
from cli.options import (
    FiguresOption,
    FormatOption,
    JsonOption,
    KeptOption,
    PageOption,
    PricesOption,
    SeedOption,
    SetOption,
    SloOption,
    SpecArgument,
    WorkersOption,
)


def command(
    spec: SpecArgument,
    growth: Annotated[
        Path, typer.Option("--growth", help="YAML file with the growth of objects and requests.", show_default=False)
    ],
    slos: SloOption = None,
    window: Annotated[str, typer.Option("--window", help="Simulated time per window.")] = "2s",
    replications: Annotated[
        int,
        typer.Option("--replications", min=1, help="Simulated windows per month; of scenarios one where it decides."),
    ] = 3,
    prices: PricesOption = None,
    workers: WorkersOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: KeptOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    as_json: JsonOption = False,
) -> None:
    """Find when a growing store reaches its limits, and the cheapest change that meets its objectives.

    Example: tailcast plan SPEC --growth examples/ceph/growth.yaml --slo 'PUT.throughput>3000/s'
    """
    from cli.answers.plan import plan_answer
    from cli.doubts import say_basis, say_implausible
    from cli.made import Made
    from cli.parse.option import seconds_of
    from cli.parse.prices import described_with_prices
    from cli.parse.slo import parse_slos
    from cli.parse.spec import described
    from cli.present import outputs_to_folder, present
    from cli.tables.experiments.plan import contradiction_text
    from sim.capacity.growth import read_growth
    from sim.capacity.plan import plan

    objectives = parse_slos(slos)
    outputs = outputs_to_folder("plan", out, report, figures_to, figure_format, as_json)
    warn_if_slow()
    read = described_with_prices(described(spec, None, None, assignments), prices)
    say_implausible([read])
    with kept_in(out), progress("planning") as update:
        result = plan(
            read.whole,
            read_growth(growth),
            objectives,
            source=str(spec),
            seed=seed or 0,
            window_s=seconds_of("--window", window),
            replications=replications,
            workers=worker_count(workers),
            cache=outputs.folder,
            progress=update,
        )
    for each in result.contradictions:
        say(f"warning: {contradiction_text(each)}")
    say_basis(read, spec)
    present(plan_answer(result, spec.stem, Made.of(read.spec, seed or 0, read)), outputs)
