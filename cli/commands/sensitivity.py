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
from traces.errors import InputError


def command(
    spec: SpecArgument,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="PATH=LOW..HIGH",
            help="Number to vary and its range; give at least two.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar=TARGET_FORM, help="Latency to explain, such as GET.p99.", show_default=False),
    ] = None,
    assumed: Annotated[
        bool,
        typer.Option(
            "--assumed",
            help="Instead: by how much p99 and throughput change over the range of each value that is not known, while "
            "the others have their assumed values.",
        ),
    ] = False,
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
    if assumed and (vary or target or report or figures_to):
        raise InputError("--assumed takes the ranges of what is not known; leave out --vary, --target and the page")
    if not assumed and not (vary and target):
        raise InputError("give --vary and --target, or --assumed for the values that are not known")
    from cli.doubts import say_implausible
    from cli.made import Made
    from cli.outputs import check_kept_output
    from cli.pages.find import write_sensitivity_page
    from cli.parse.goal import parse_target
    from cli.parse.spec import described, say_loops
    from cli.parse.vary import parse_range
    from cli.tables.experiments.find import sensitivity_grid, sensitivity_opening
    from cli.tables.forecast.uncertainty import assumed_grid, load_line
    from sim.experiments.sensitivity import sensitivity
    from sim.experiments.sweep import Settings
    from sim.experiments.uncertainty import assumed_effects
    from sim.experiments.variants import Variants
    from sim.parallel.result_cache import ResultFolder

    ranges = [parse_range(text) for text in vary or ()]
    latency = None if target is None else parse_target(target)
    settings = Settings(seed or 0, replications, steady=steady)
    check_kept_output(out)
    folder = None if out is None else ResultFolder(out)
    pages = figure_files.PageFiles(report, figures_to, figure_format)
    warn_if_slow()
    if assumed:
        unknown = described(spec, None, profile, assignments).uncertain
        count = 1 + sum(len(one.values) or 2 for one in unknown.unknowns)
        with kept_in(out), progress("simulating ranges", count) as update:
            effects = assumed_effects(unknown, settings, workers=worker_count(workers), cache=folder, progress=update)
        made = Made.of(unknown.spec({}), seed or 0)
        if folder is not None:
            folder.write_text("assumed.json", json_text(effects, made))
            say(f"Result written to {folder.path / 'assumed.json'}")
        if as_json:
            print_json(effects, made)
        else:
            print_lines(load_line(effects.load))
            print_grid(assumed_grid(effects))
        return
    assert latency is not None
    read = described(spec, None, profile, assignments)
    say_loops(read.whole, [between.path for between in ranges])
    variants = Variants(read.whole, str(spec), settings, worker_count(workers))
    say_implausible([read])
    with kept_in(out), progress("screening", trajectories * (len(ranges) + 1)) as update:
        result = sensitivity(variants, ranges, latency, trajectories=trajectories, cache=folder, progress=update)
    made = Made.of(variants.spec(), seed or 0)
    if folder is not None:
        folder.write_text("sensitivity.json", json_text(result, made))
        say(f"Result written to {folder.path / 'sensitivity.json'}")
    pages.write(lambda path: write_sensitivity_page(result, path, spec.name, made))
    if as_json:
        print_json(result, made)
    else:
        print_lines(sensitivity_opening(result))
        print_grid(sensitivity_grid(result))
