"""`tailcast answer`: the usual questions about a store, each with the command that shows its evidence."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from cli.common import progress, say, warn_if_slow, worker_count
from cli.options import (
    FiguresOption,
    FormatOption,
    JsonOption,
    KeptOption,
    PageOption,
    PricesOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SloOption,
    SpecArgument,
    WorkersOption,
)
from traces.errors import InputError


def command(
    spec: SpecArgument,
    slos: SloOption = None,
    failures: Annotated[
        list[str] | None,
        typer.Option(
            "--failure",
            metavar="FAILURE",
            help="Failure with which the greatest rate is searched as well, such as host or slow-drive=10; repeatable "
            "(default: host and drive, as far as the store's model has them).",
        ),
    ] = None,
    growth: Annotated[
        Path | None,
        typer.Option("--growth", help="YAML file with the growth of objects and requests (default: no growth)."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="N/s",
            help="Rate that a change of the store should make possible (default: 1.5 times the greatest rate).",
        ),
    ] = None,
    requests: Annotated[
        int, typer.Option("--requests", min=1000, max=10_000_000, help="Number of requests of each simulation.")
    ] = 10_000,
    replications: Annotated[
        int, typer.Option("--replications", min=2, help="Replications of each simulation of a search.")
    ] = 3,
    prices: PricesOption = None,
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
    """Say what a store takes, healthy and with failures, what limits it, and what would help.

    Each result is followed by the command that shows its evidence.

    Example: tailcast answer examples/minio.yaml --slo 'GET.p99<20ms'
    """
    from cli.doubts import say_basis, say_implausible
    from cli.made import Made
    from cli.pages.answer import answer_page
    from cli.parse.failure import parse_failure
    from cli.parse.option import fact_of
    from cli.parse.prices import described_with_prices
    from cli.parse.slo import parse_slos
    from cli.parse.spec import described, say_loops
    from cli.present import Answer, outputs_to_folder, present
    from cli.tables.experiments.answer import Asked, answer_shown
    from models.site.kinds import RATE
    from models.store import store_of
    from sim.answer.answer import Question, answer, sized
    from sim.capacity.growth import read_growth
    from sim.experiments.sweep import Settings
    from traces.spec.units import parse_rate

    if not slos:
        raise InputError("answer: needs an objective; add --slo 'GET.p99<30ms'")
    objectives = parse_slos(slos)
    rate_ops = None if rate is None else parse_rate(fact_of("--rate", rate, RATE))
    given = tuple(assignments or ())
    read = described_with_prices(described(spec, None, profile, given), prices)
    kinds = failures or [name for name in ("host", "drive") if name in store_of(read.spec).faults]
    failing = [parse_failure(kind) for kind in kinds]
    for failure in failing:
        failure.fault(read.spec)  # refuses what the store does not have
    question = Question(
        read,
        str(spec),
        objectives,
        failing,
        None if growth is None else read_growth(growth),
        rate_ops,
        sized(read.spec, requests),
        Settings(seed or 0, replications),
    )
    say_loops(read.whole, ["workload.rate"])
    outputs = outputs_to_folder("answer", out, report, figures_to, figure_format, as_json)
    warn_if_slow()
    say_implausible([read])

    result = answer(question, workers=worker_count(workers), progress=_step)
    say_basis(read, spec)
    common = [*(word for each in given for word in ("--set", each))]
    common += [] if profile is None else ["--profile", str(profile)]
    common += [] if seed is None else ["--seed", str(seed)]
    catalogue = prices or ("shipped" if any(part.currency for part in result.prices) else None)
    asked = Asked(
        str(spec), tuple(common), tuple(slos), None if growth is None else str(growth), replications, catalogue
    )
    made = Made.of(read.spec, seed or 0, read)
    present(
        Answer(
            result,
            lambda: answer_shown(result, asked),
            made,
            lambda: answer_page(result, asked),
        ),
        outputs,
    )


def _step(what: str) -> AbstractContextManager[Callable[[float], None]]:
    """Say what is simulated now, and show its progress."""
    say(f"{what} …")
    return progress(what)
