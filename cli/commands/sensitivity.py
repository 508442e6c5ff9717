"""`tailcast sensitivity`: the numbers of a spec to which a latency is most sensitive."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.common import (
    kept_in,
    progress,
    warn_if_slow,
    worker_count,
)
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
    if assumed and (vary or target):
        raise InputError("--assumed takes the ranges of what is not known; leave out --vary and --target")
    if not assumed and not (vary and target):
        raise InputError("give --vary and --target, or --assumed for the values that are not known")
    from cli.doubts import say_implausible
    from cli.made import Made
    from cli.pages.find import assumed_page, sensitivity_page
    from cli.parse.goal import parse_target
    from cli.parse.spec import described, say_loops
    from cli.parse.vary import parse_range
    from cli.present import Answer, outputs_to_folder, present
    from cli.tables.experiments.find import sensitivity_shown
    from cli.tables.forecast.uncertainty import assumed_shown
    from sim.experiments.sensitivity import sensitivity
    from sim.experiments.sweep import Settings
    from sim.experiments.uncertainty import assumed_effects
    from sim.experiments.variants import Variants

    ranges = [parse_range(text) for text in vary or ()]
    latency = None if target is None else parse_target(target)
    settings = Settings(seed or 0, replications, steady=steady)
    name = "assumed" if assumed else "sensitivity"
    outputs = outputs_to_folder(name, out, report, figures_to, figure_format, as_json)
    warn_if_slow()
    if assumed:
        read = described(spec, None, profile, assignments)
        unknown = read.uncertain
        count = 1 + sum(len(one.values) or 2 for one in unknown.unknowns)
        with kept_in(out), progress("simulating ranges", count) as update:
            effects = assumed_effects(
                unknown, settings, workers=worker_count(workers), cache=outputs.folder, progress=update
            )
        made = Made.of(unknown.spec({}), seed or 0, read)
        present(
            Answer(effects, lambda: assumed_shown(effects), made, lambda: assumed_page(effects, spec.name)), outputs
        )
        return
    assert latency is not None
    read = described(spec, None, profile, assignments)
    say_loops(read.whole, [between.path for between in ranges])
    variants = Variants(read.whole, str(spec), settings, worker_count(workers))
    say_implausible([read])
    with kept_in(out), progress("screening", trajectories * (len(ranges) + 1)) as update:
        result = sensitivity(
            variants, ranges, latency, trajectories=trajectories, cache=outputs.folder, progress=update
        )
    made = Made.of(variants.spec(), seed or 0, read)
    answer = Answer(
        result,
        lambda: sensitivity_shown(result),
        made,
        lambda: sensitivity_page(result, spec.name),
    )
    present(answer, outputs)
