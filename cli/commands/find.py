"""`tailcast find`: the value of one field that meets the objectives, or that minimises a latency."""

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
    TARGET_FORM,
    DrawnReplicationsOption,
    FiguresOption,
    FormatOption,
    JsonOption,
    KeptOption,
    PageOption,
    ProbabilityOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SloOption,
    SpecArgument,
    SteadyOption,
    WorkersOption,
    fraction,
)
from traces.errors import InputError


def command(
    spec: SpecArgument,
    goal: Annotated[
        str,
        typer.Argument(
            metavar="'max|min|best PATH [in LOW..HIGH]'",
            help="Value to search for: the greatest (max) or least (min) that meets every --slo, or the one "
            "with the least --target (best).",
            show_default=False,
        ),
    ],
    slos: SloOption = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar=TARGET_FORM, help="Latency that 'best' minimises, such as GET.p99 (default: none)."
        ),
    ] = None,
    extra_load: Annotated[
        float | None,
        typer.Option(
            "--extra-load",
            metavar="FRACTION",
            parser=fraction,
            help="Greatest fraction of additional attempts that 'best' allows, such as 5% (default: no limit).",
        ),
    ] = None,
    with_failure: Annotated[
        str | None,
        typer.Option(
            "--with-failure",
            metavar="FAILURE",
            help="Failure that lasts during all simulations, such as host, drive:3 or slow-drive=10 (default: none). "
            "The store has noticed it before they begin; failed requests count as infinitely late.",
        ),
    ] = None,
    replications: DrawnReplicationsOption = None,
    uncertainty: ProbabilityOption = None,
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
    """Find the value of one field that meets the objectives, or that minimises a latency.

    Example: tailcast find examples/minio.yaml 'max workload.rate in 50..2000' --slo 'GET.p99<20ms'
    """
    from cli.answers.find import best_answer, limit_answer
    from cli.doubts import say_basis, say_implausible
    from cli.draws import draws_of
    from cli.made import Made
    from cli.parse.failure import parse_failure
    from cli.parse.goal import parse_goal, parse_target
    from cli.parse.slo import parse_slos
    from cli.parse.spec import described, say_loops
    from cli.present import outputs_to_folder, present
    from models.spec.field_paths import resolved
    from sim.experiments.find.find_best import find_best
    from sim.experiments.find.find_limit import find_limit
    from sim.experiments.sweep import Settings
    from sim.experiments.variants import Variants

    search = parse_goal(goal)
    is_best = search.kind == "best"
    of_limits = bool(slos) or uncertainty is not None
    if is_best != (target is not None) or (is_best and of_limits) or (extra_load is not None and not is_best):
        takes = f"'best' takes --target {TARGET_FORM} and --extra-load; 'max' and 'min' --slo and --uncertainty"
        raise InputError(f"goal {goal!r}: {takes}")
    if not is_best and not slos:
        raise InputError(f"goal {goal!r}: needs an objective to meet; add --slo 'GET.p99<50ms'")
    objectives = parse_slos(slos)
    settings = Settings(seed or 0, replications or REPLICATIONS, steady=steady)
    read = described(spec, None, profile, assignments)
    say_loops(read.whole, [search.path])
    failure = None if with_failure is None else parse_failure(with_failure)
    searched = read.knowing(resolved(read.spec, search.path, counted=True))
    draws = None if is_best else draws_of(searched, uncertainty, replications, objectives)
    variants = Variants(read.whole, str(spec), settings, worker_count(workers), failure, draws)
    outputs = outputs_to_folder("find", out, report, figures_to, figure_format, as_json)
    warn_if_slow()
    say_implausible([searched])
    made = Made.of(variants.spec(), seed or 0, searched)
    with kept_in(out), progress("searching") as update:
        if target is not None:
            latency = parse_target(target)
            best = find_best(
                variants, search, latency, most_extra_load=extra_load, cache=outputs.folder, progress=update
            )
            answer = best_answer(best, spec.name, made)
        else:
            limit = find_limit(variants, search, objectives, cache=outputs.folder, progress=update)
            answer = limit_answer(limit, spec.name, made)
    say_basis(searched, spec)
    present(answer, outputs)
