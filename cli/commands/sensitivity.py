"""`tailcast sensitivity`: the numbers of a spec to which a latency is most sensitive."""

from __future__ import annotations

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
    TARGET_FORM,
    FiguresOption,
    FormatOption,
    JsonOption,
    KeptOption,
    PageOption,
    ProfileOption,
    ReplicationsOption,
    SeedOption,
    SetOption,
    SpecArgument,
    SteadyOption,
    WorkersOption,
)


def command(
    spec: SpecArgument,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="PATH=LOW..HIGH",
            help="Number to vary and its range; give at least two.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str,
        typer.Option("--target", metavar=TARGET_FORM, help="Latency to explain, such as GET.p99.", show_default=False),
    ],
    trajectories: Annotated[
        int, typer.Option("--trajectories", min=2, help="Number of Morris trajectories through the ranges.")
    ] = 10,
    replications: ReplicationsOption = 5,
    steady: SteadyOption = False,
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
    """Rank the numbers of a spec by their effect on a latency (Morris screening).

    Example: tailcast sensitivity examples/minio.yaml --vary network.latency=0.05ms..0.2ms --target GET.p99
    """
    from cli.pages.find import write_sensitivity_page
    from cli.parse.goal import parse_target
    from cli.parse.spec import say_loops, spec_mapping
    from cli.parse.vary import parse_range
    from cli.tables.find import sensitivity_grid, sensitivity_opening
    from sim.experiments.sensitivity import sensitivity
    from sim.experiments.sweep import Settings
    from sim.experiments.variants import Variants
    from sim.parallel.result_cache import ResultFolder

    ranges, latency = [parse_range(text) for text in vary], parse_target(target)
    settings = Settings(seed or 0, replications, steady=steady)
    data = spec_mapping(spec, profile, assignments)
    say_loops(data, [between.path for between in ranges])
    variants = Variants(data, str(spec), settings, worker_count(workers))
    folder = None if out is None else ResultFolder(out)
    pages = figure_files.PageFiles(report, figures_to, figure_format)
    warn_if_slow()
    with kept_in(out), progress("screening", trajectories * (len(ranges) + 1)) as update:
        result = sensitivity(variants, ranges, latency, trajectories=trajectories, cache=folder, progress=update)
    if folder is not None:
        folder.write_text("sensitivity.json", json_text(result))
        say(f"Result written to {folder.path / 'sensitivity.json'}")
    pages.write(lambda path: write_sensitivity_page(result, path, spec.name))
    if as_json:
        print_json(result)
    else:
        print_lines(sensitivity_opening(result))
        print_grid(sensitivity_grid(result))
