"""Options and arguments of several commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer


def fraction(value: str | float) -> float:
    """Parse the value of an option: ``15%`` or ``0.15``."""
    from traces.spec.units import parse_fraction  # loads pydantic

    return _parsed(parse_fraction, value)


def duration(value: str | float) -> float:
    """Parse the value of an option in seconds: ``30s``, with a unit."""
    from traces.spec.units import parse_duration  # loads pydantic

    return _parsed(parse_duration, value)


def _parsed(parse: Callable[[object], float], value: str | float) -> float:
    try:
        return parse(value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


SpecArgument = Annotated[
    Path, typer.Argument(metavar="SPEC.yaml", help="Spec of the store and its workload.", show_default=False)
]
TraceOption = Annotated[
    Path | None,
    typer.Option("--trace", help="Trace to take the requests from (default: generated from the spec's workload)."),
]
ProfileOption = Annotated[
    Path | None,
    typer.Option(
        "--profile", help="Profile written by 'tailcast calibrate'; --set overrides its values (default: none)."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Override a value of the spec; repeatable (default: none)."),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", min=0, max=2**64 - 1, help="Seed of all random numbers (default: 0).")
]
SloOption = Annotated[
    list[str] | None,
    typer.Option(
        "--slo",
        metavar="OBJECTIVE",
        help="Objective: 'GET.p99<50ms', 'PUT.throughput>500/s', 'GET.errors<0.1%' or 'drive.utilization<80%'; "
        "repeatable (default: none).",
    ),
]
TARGET_FORM = "OP.QUANTILE"
Engine = Literal["compiled", "simpy"]
EngineOption = Annotated[
    Engine, typer.Option("--engine", help="Simulation engine; both give the same result, compiled is faster.")
]
ReplicationsOption = Annotated[
    int, typer.Option("--replications", min=1, help="Replications per variant, using common random numbers.")
]
DrawnReplicationsOption = Annotated[
    int | None,
    typer.Option(
        "--replications",
        min=1,
        help="Replications per variant, using common random numbers (default: 5), and draws with --uncertainty "
        "(default: 20).",
    ),
]
PrecisionOption = Annotated[
    float | None,
    typer.Option(
        "--precision",
        metavar="FRACTION",
        parser=fraction,
        help="Add replications until every p99 is known to this relative precision; 5% or 0.05 is ± 5 % "
        "(default: none).",
    ),
]
UncertaintyOption = Annotated[
    float | None,
    typer.Option(
        "--uncertainty",
        metavar="FRACTION",
        parser=fraction,
        help="Draw the assumed values from their ranges, once per replication (20 by default), and give the band that "
        "contains this fraction of the results, such as 80% (default: use the assumed values).",
    ),
]
ProbabilityOption = Annotated[
    float | None,
    typer.Option(
        "--uncertainty",
        metavar="FRACTION",
        parser=fraction,
        help="Draw the assumed values from their ranges as well, and say with which probability every --slo is met; "
        "such as 80%: it must be at least this one (default: use the assumed values only).",
    ),
]
SteadyOption = Annotated[bool, typer.Option("--steady", help="Leave out the warm-up period of each replication.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Number of worker threads or processes (default: one per core).")
]
PageOption = Annotated[
    Path | None, typer.Option("--report", help="Write the results as a page to this HTML file (default: none).")
]
FigureFormat = Literal["png", "svg"]
FiguresOption = Annotated[
    Path | None,
    typer.Option(
        "--figures", metavar="FOLDER", help="Write the page's figures to this folder; needs kaleido (default: none)."
    ),
]
FormatOption = Annotated[FigureFormat, typer.Option("--figure-format", help="File format of --figures.")]
PricesOption = Annotated[
    str | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        help="Catalogue for parts without a price: a YAML file, whose entries go before those of tailcast; 'shipped': "
        "those of tailcast, which 'tailcast presets --prices' prints; 'none' (default: shipped, without any prices).",
    ),
]
VariantPricesOption = Annotated[
    str,
    typer.Option(
        "--prices",
        metavar="FILE",
        help="Catalogue for parts without a price: a YAML file, whose entries go before those of tailcast; 'shipped': "
        "those of tailcast, which 'tailcast presets --prices' prints; 'none'.",
    ),
]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="Write the result to this path (default: none).")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Overwrite what --out names, if it exists (default: refuse).")
]
KeptOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Write results to this folder, from which an interrupted command continues (default: none).",
    ),
]
PortOption = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="Port on 127.0.0.1 of the page; 0: any free one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
