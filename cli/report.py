"""`tailcast report`: one Run, or two held against each other, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import figures, phrases
from cli.common import JsonOption, SeedOption, print_json, progress, say
from cli.compare import ToleranceOption, run_names
from cli.page import Section, write_page
from cli.tables import Grid, attribution_grid, comparison_grid, stations_grid, summary_grid
from traces.attribution import attribution
from traces.errors import InputError
from traces.run import Run
from traces.statistics import summarise
from validate.compare import compare


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [REFERENCE]", help="The folders of one Run or two.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="The page's title; else the names of the Runs.")] = None,
    tolerance: ToleranceOption = 0.15,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a page about one Run, or about two and how they differ; it works without a network."""
    if len(runs) > 2:
        raise InputError(f"report takes one Run or two, not {len(runs)}")
    named = list(zip(run_names(runs), [Run.read(folder) for folder in runs], strict=True))
    comparison = None
    if len(named) == 2:
        with progress("comparing", total=1) as advance:
            comparison = compare(named[0][1], named[1][1], tolerance=tolerance, seed=seed or 0, progress=advance)
    write_report(named, out, title or " against ".join(name for name, _ in named), comparison=comparison)
    say(f"wrote {out}")
    if as_json:
        summaries = {name: summarise(run) for name, run in named}
        print_json({"report": str(out), "runs": summaries, "comparison": comparison})


def write_report(
    runs: Sequence[tuple[str, Run]],
    path: Path,
    title: str,
    *,
    comparison: dict[str, Any] | None = None,
    notes: Sequence[str] = (),
    grids: Sequence[Grid] = (),
) -> None:
    """Write a page about one Run, or about two: the second is the reference.

    Args:
        runs: names and Runs, one or two.
        path: the HTML file.
        title: the page's heading.
        comparison: what `compare` said of the two; required for two Runs, absent for one.
        notes: paragraphs that go before all else.
        grids: tables that go after the key figures.

    Raises:
        InputError: the file cannot be written.
    """
    sections = _one(runs[0][1], notes, grids) if comparison is None else _two(runs, comparison, notes, grids)
    write_page(path, title, sections)


def _one(run: Run, notes: Sequence[str], grids: Sequence[Grid]) -> list[Section]:
    words = [*notes, phrases.asked(run), phrases.found(run), phrases.sure(run)]
    return [Section("", words, [summary_grid(run, "Key figures"), *grids]), *_charts([("", run)])]


def _two(
    runs: Sequence[tuple[str, Run]], comparison: dict[str, Any], notes: Sequence[str], grids: Sequence[Grid]
) -> list[Section]:
    names = runs[0][0], runs[1][0]
    words = [
        *notes,
        *(f"{name}: {phrases.asked(run)}" for name, run in runs),
        phrases.verdict(comparison, names),
        phrases.doubt(comparison),
    ]
    summaries = [summary_grid(run, f"Key figures of {name}") for name, run in runs]
    ratios = [figures.ratios(comparison, names)]
    return [
        Section("", words, [*summaries, *grids]),
        Section("Quantile by quantile", (), [comparison_grid(comparison, names)], ratios),
        *_charts(runs),
    ]


def _charts(runs: Sequence[tuple[str, Run]]) -> list[Section]:
    sections = []
    if any(len(run) for _, run in runs):
        sections = [
            Section("Latency", charts=[figures.cdf(runs), figures.tail(runs)]),
            Section("Over time", charts=[figures.latency_over_time(runs), figures.throughput_over_time(runs)]),
        ]
    attributions = [attribution(run) for _, run in runs]
    colours = figures.role_colours(attributions)
    for (name, run), found in zip(runs, attributions, strict=True):
        if found:
            sections.append(_where_the_time_went(name, found, colours))
        if run.stations is not None:
            table = [station for station in run.stations.to_pylist() if station["visits"]]
            heading = f"Stations of {name}" if name else "Stations"
            sections.append(Section(heading, (), [stations_grid(table)], [figures.stations(table)]))
    return sections


def _where_the_time_went(name: str, found: dict[str, Any], colours: dict[str, str]) -> Section:
    words = [phrases.ATTRIBUTION, *(phrases.tail_parts(op, bands) for op, bands in found.items())]
    bars = [figures.attribution(op, bands, colours) for op, bands in found.items()]
    heading = f"Where the time went: {name}" if name else "Where the time went"
    return Section(heading, words, [attribution_grid(found)], bars)
