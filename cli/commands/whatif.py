"""`tailcast whatif`: variants of a spec with common random numbers: estimates, differences, objectives."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.common import (
    REPLICATIONS,
    kept_in,
    progress,
    warn_if_slow,
    worker_count,
)
from cli.options import (
    DrawnReplicationsOption,
    FiguresOption,
    FormatOption,
    JsonOption,
    KeptOption,
    PageOption,
    PrecisionOption,
    ProbabilityOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SloOption,
    SpecArgument,
    SteadyOption,
    VariantPricesOption,
    WorkersOption,
)
from traces.errors import InputError


def command(
    spec: SpecArgument,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="PATH=VALUES",
            help="Field and its values: A..B, A..B:STEP, A..B/COUNT, or a list separated by commas (none is null); "
            "repeatable.",
            show_default=False,
        ),
    ],
    slos: SloOption = None,
    samples: Annotated[
        int | None,
        typer.Option("--samples", min=1, help="Number of points of a Latin hypercube sample (default: the full grid)."),
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option(
            "--base",
            metavar="PATH=VALUE",
            help="Point to compare the others with; repeatable (default: the first point).",
        ),
    ] = None,
    replications: DrawnReplicationsOption = None,
    precision: PrecisionOption = None,
    uncertainty: ProbabilityOption = None,
    steady: SteadyOption = False,
    prices: VariantPricesOption = "none",
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Dask cluster to use, such as tcp://10.0.0.1:8786 (default: local workers).",
        ),
    ] = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    out: KeptOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate variants of a spec with common random numbers, and say which meet the objectives.

    Example: tailcast whatif examples/minio.yaml --vary workload.clients=8,16,32 --slo 'GET.p99<20ms'
    """
    from cli.answers.whatif import whatif_answer
    from cli.doubts import say_basis, say_implausible
    from cli.draws import draws_of
    from cli.made import Made
    from cli.parse.prices import described_with_prices
    from cli.parse.slo import parse_slos
    from cli.parse.spec import described, say_loops
    from cli.parse.vary import parse_base, parse_variation
    from cli.present import outputs_to_folder, present
    from sim.experiments.sweep import Settings
    from sim.experiments.whatif import WhatIfExperiment, variants, whatif
    from sim.replication.replicate import Precision

    if scheduler is not None and workers is not None:
        raise InputError("--workers are local and --scheduler is a cluster; give one of them")
    read = described_with_prices(described(spec, None, profile, assignments), prices)
    variations = [parse_variation(text) for text in vary]
    objectives = parse_slos(slos)
    say_loops(read.whole, [variation.path for variation in variations])
    experiment = WhatIfExperiment(
        read.whole,
        str(spec),
        variations,
        objectives,
        samples,
        parse_base(base or ()),
        Settings(seed or 0, replications or REPLICATIONS, None if precision is None else Precision(precision), steady),
        draws_of(read, uncertainty, replications, objectives),
    )
    outputs = outputs_to_folder("whatif", out, report, figures_to, figure_format, as_json)
    warn_if_slow()
    points = variants(experiment, read)
    say_implausible(points)
    with kept_in(out), progress("simulating points", 1.0) as update:
        result = whatif(
            experiment,
            workers=worker_count(workers),
            scheduler=scheduler,
            cache=outputs.folder,
            progress=lambda done, points: update(done / points),
        )
    say_basis(points[0], spec)
    present(whatif_answer(result, Made.of(read.spec, seed or 0, read)), outputs)
