"""`tailcast failures`: the effect of failures on each operation before, during and after them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import (
    json_text,
    kept_in,
    print_grid,
    print_json,
    print_lines,
    progress,
    say,
    warn_if_slow,
    worker_count,
)
from cli.figures import figure_files
from cli.options import (
    FiguresOption,
    FormatOption,
    JsonOption,
    PageOption,
    PrecisionOption,
    ProfileOption,
    ReplicationsOption,
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
    replications: ReplicationsOption = 5,
    precision: PrecisionOption = None,
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
    from cli.doubts import say_implausible
    from cli.made import Made
    from cli.outputs import check_kept_output
    from cli.pages.failures import write_failures_page
    from cli.parse.failure import parse_failure
    from cli.parse.option import seconds_of
    from cli.parse.slo import parse_slos
    from cli.parse.spec import spec_mapping
    from cli.tables.failures import failure_grids, findings, notes, opening
    from models.store import spec_of
    from sim.experiments.failures import FailureExperiment, failures
    from sim.experiments.sweep import Settings
    from sim.parallel.result_cache import ResultFolder
    from sim.replication.replicate import Precision

    experiment = FailureExperiment(
        spec_mapping(spec, profile, assignments),
        str(spec),
        [parse_failure(text) for text in kinds],
        None if at is None else seconds_of("--at", at),
        None if lasts is None else seconds_of("--for", lasts),
        parse_slos(slos),
        Settings(seed or 0, replications, None if precision is None else Precision(precision)),
    )
    check_kept_output(out)
    folder = None if out is None else ResultFolder(out)
    pages = figure_files.PageFiles(report, figures_to, figure_format)
    warn_if_slow()
    store = spec_of(experiment.data, experiment.source)
    say_implausible([store], experiment.data)
    made = Made.of(store, seed or 0)
    known = None if precision is not None else len(kinds) * replications
    with kept_in(out, resumes=False), progress("simulating failures", known) as update:
        result = failures(experiment, workers=worker_count(workers), progress=update)
    if folder is not None:
        folder.write_text("failures.json", json_text(result, made))
        say(f"Result written to {folder.path / 'failures.json'}")
    pages.write(lambda path: write_failures_page(result, path, made))
    if as_json:
        print_json(result, made)
        return
    print_lines(opening(result))
    for row in result["failures"]:
        for grid in failure_grids(result, row):
            print_grid(grid, transpose=False)
    print_lines([*findings(result), *notes(result)])
