"""Page about one Run, or about two, of which the second is the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cli import sentences
from cli.figures import runs as figures
from cli.figures.objectives import with_objectives
from cli.figures.route import route_figures
from cli.pages.page import Header, Page, Section
from cli.simulations import recorded_extra, recorded_verdict
from cli.tables.forecast.extra_attempts import extra_attempts_line
from cli.tables.forecast.runs import attribution_grid, few_in, stations_grid, summary_grid
from cli.tables.forecast.steadiness import unsettled_lines
from cli.tables.forecast.verdict import backlog_grid, few_note, verdict_line
from cli.tables.grid import Grid
from cli.tables.measured.comparison import comparison_grid
from cli.tables.measured.quality import named_warnings, run_warnings
from cli.versions import runs_notes
from models.store import compile_spec, spec_of
from sim.replication.slo import Slo
from sim.replication.summaries import Replication, Replications
from sim.run_tables import visited_stations
from sim.verdict.offered_load import load_of
from traces.errors import InputError
from traces.run import Run, StationRow
from traces.statistics.critical_path import Attribution, attribution
from traces.statistics.summary import summarise
from traces.workload.loops import one_loop
from validate.compare.compare import Comparison

_ROUTE = (
    "Stages follow each other from left to right and line by line. The branches of a fork are below each other; equal "
    "branches are drawn once, with their number. A box shows the station role and its mean service time, without "
    "waiting. The colour is the mean utilisation of the stations that may serve the visit."
)


def report_page(
    runs: Sequence[tuple[str, Run]],
    title: str,
    *,
    comparison: Comparison | None = None,
    notes: Sequence[str] = (),
    grids: Sequence[Grid] = (),
    slos: Sequence[Slo] = (),
) -> Page:
    """Return a page about one Run, or two, of which the second is the reference.

    Args:
        runs: one or two Runs with their names.
        title: heading of the page.
        comparison: result of `compare` for two Runs; None for one.
        notes: paragraphs after the header.
        grids: tables after the key figures.
        slos: objectives, of which those on latencies are lines in the figures.
    """
    header, sections = _one(runs[0][1], slos) if comparison is None else _two(runs, comparison, slos)
    first, *others = sections
    sections = [replace(first, paragraphs=[*notes, *first.paragraphs], grids=[*first.grids, *grids]), *others]
    return Page(title, header, sections, runs)


def _one(run: Run, slos: Sequence[Slo]) -> tuple[Header, list[Section]]:
    verdict = recorded_verdict(run)
    overloaded = verdict is not None and verdict.overloaded
    opening = [] if verdict is None else [verdict_line(verdict), *([] if overloaded else _unsettled(run))]
    if (extra := recorded_extra(run, verdict)) is not None:
        opening.append(f"Of this load, {extra_attempts_line(extra)}")
    certainty = _certainty(sentences.sure(run, overloaded), run)
    header = Header.of(sentences.requested(run), [*opening, sentences.found(run)], certainty)
    backlog = [backlog_grid(verdict)] if verdict is not None and overloaded else []
    grids = [*backlog, summary_grid(run, "Key figures")]
    return header, [Section("", _few(run), grids), *_charts([("", run)], slos)]


def _unsettled(run: Run) -> list[str]:
    """Warn of a simulated Run that has not settled."""
    workload = run.info.get("spec", {}).get("workload", {})
    ends = {name: float(workload[name]) for name in ("operations", "duration") if workload.get(name)}
    found = Replications((Replication.of(run, 0, load_of(run)),)).unsettled
    return [line[0].upper() + line[1:] for line in unsettled_lines(found, ends)]


def _few(*runs: Run) -> list[str]:
    """Explain the marks of quantiles in the key figures."""
    ops = [figures for run in runs for figures in summarise(run)["ops"].values()]
    return few_note(few_in(figures["count"] - figures["errors"] for figures in ops))


def _two(runs: Sequence[tuple[str, Run]], comparison: Comparison, slos: Sequence[Slo]) -> tuple[Header, list[Section]]:
    names = runs[0][0], runs[1][0]
    requested = f"Whether {names[0]} agrees with {names[1]} within ±{comparison.tolerance * 100:g}%."
    summaries = [summary_grid(run, f"Key figures of {name}") for name, run in runs]
    ratios = [figures.ratios(comparison, names)]
    opening = [f"{name} is {verdict_line(found)}" for name, run in runs if (found := recorded_verdict(run))]
    paragraphs = [f"{name}: {sentences.requested(run)}" for name, run in runs]
    paragraphs += [f"Note: {note}." for note in runs_notes(runs)] + _few(*(run for _, run in runs))
    certainty = _certainty(sentences.doubt(comparison), *(run for _, run in runs))
    compared = comparison_grid(comparison, names, warnings=named_warnings(runs))
    return Header.of(requested, [sentences.verdict(comparison, names), *opening], certainty), [
        Section("", paragraphs, summaries),
        Section("Quantile by quantile", (), [compared], ratios),
        *_charts(runs, slos),
    ]


def _certainty(sentence: str, *runs: Run) -> str:
    """Return a sentence on what is certain, after one on measurements that may mislead."""
    if any(run_warnings(run) for run in runs):
        return f"The measurement may mislead: see the warnings below the tables. {sentence}"
    return sentence


def _charts(runs: Sequence[tuple[str, Run]], slos: Sequence[Slo]) -> list[Section]:
    sections = []
    if any(len(run) for _, run in runs):
        distributions = [with_objectives(figure, slos, "x") for figure in (figures.cdf(runs), figures.tail(runs))]
        over_time = [with_objectives(figures.latency_over_time(runs), slos), figures.throughput_over_time(runs)]
        sections = [
            Section("Latency", charts=distributions),
            Section("Over time", charts=over_time),
        ]
    attributions = [attribution(run) for _, run in runs]
    colours = figures.role_colours(attributions)
    for (name, run), found in zip(runs, attributions, strict=True):
        if found:
            sections.append(_attribution_section(name, found, colours))
        if run.stations is not None:
            table = visited_stations(run)
            heading = f"Stations of {name}" if name else "Stations"
            sections.append(Section(heading, (), [stations_grid(table)], [figures.stations(table)]))
            sections += _routes(name, run, table)
    return sections


def _routes(name: str, run: Run, stations: Sequence[StationRow]) -> list[Section]:
    """Draw the routes of a Run that contains its spec and trace."""
    if run.trace is None or "spec" not in run.info:
        return []
    heading = f"Request routes: {name}" if name else "Request routes"
    try:
        network, requests = compile_spec(spec_of(one_loop(run.info["spec"]), "its spec"), run.trace)
    except InputError as error:  # the Run has a spec of an earlier version
        return [Section(heading, [f"The routes cannot be drawn: {error}."])]
    return [Section(heading, [_ROUTE], charts=route_figures(network, requests, stations))]


def _attribution_section(name: str, found: Attribution, colours: dict[str, str]) -> Section:
    paragraphs = [sentences.ATTRIBUTION, *(sentences.tail_parts(op, bands) for op, bands in found.items())]
    bars = [figures.attribution(op, bands, colours) for op, bands in found.items()]
    heading = f"Tail attribution: {name}" if name else "Tail attribution"
    return Section(heading, paragraphs, [attribution_grid(found)], bars)
