"""`tailcast failures`: the effect of failures on each operation before, during and after them."""

from __future__ import annotations

from pathlib import Path
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
    PageOption,
    PrecisionOption,
    ProbabilityOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SloOption,
    SpecArgument,
    WorkersOption,
)


def command(
    spec: SpecArgument,
    kinds: Annotated[
        list[str],
        typer.Argument(
            metavar="FAILURE...",
            help="Failures, each simulated separately: drive, host, gateway (or drive:3, host:1, gateway:2), "
            "slow-drive=10 (10 times slower), noisy-neighbour:cpu=0.5 (the fraction it takes of cpu, drives or "
            "network).",
            show_default=False,
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", help="Time at which the failure begins (default: after a third of the workload)."
        ),
    ] = None,
    lasts: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Duration of the failure (default: half of the remaining time)."),
    ] = None,
    slos: SloOption = None,
    replications: DrawnReplicationsOption = None,
    precision: PrecisionOption = None,
    uncertainty: ProbabilityOption = None,
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write the result to this folder (default: none)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate failures: each operation before, during and after one, compared with a healthy store.

    Example: tailcast failures examples/minio-12-hdd.yaml drive --slo 'GET.p99<100ms'
    """
    from cli.answers.failures import failures_answer
    from cli.doubts import say_basis, say_implausible
    from cli.draws import draws_of
    from cli.made import Made
    from cli.parse.failure import parse_failure
    from cli.parse.option import seconds_of
    from cli.parse.slo import parse_slos
    from cli.parse.spec import described
    from cli.present import outputs_to_folder, present
    from sim.experiments.failures import FailureExperiment, failures
    from sim.experiments.sweep import Settings
    from sim.replication.replicate import Precision

    read, objectives = described(spec, None, profile, assignments), parse_slos(slos)
    experiment = FailureExperiment(
        read.whole,
        str(spec),
        [parse_failure(text) for text in kinds],
        None if at is None else seconds_of("--at", at),
        None if lasts is None else seconds_of("--for", lasts),
        objectives,
        Settings(seed or 0, replications or REPLICATIONS, None if precision is None else Precision(precision)),
        draws_of(read, uncertainty, replications, objectives),
    )
    outputs = outputs_to_folder("failures", out, report, figures_to, figure_format, as_json)
    warn_if_slow()
    say_implausible([read])
    known = None if precision is not None else len(kinds) * experiment.settings.replications
    with kept_in(out, resumes=False), progress("simulating failures", known) as update:
        result = failures(experiment, workers=worker_count(workers), progress=update)
    say_basis(read, spec)
    present(failures_answer(result, Made.of(read.spec, seed or 0, read)), outputs)
