"""The page of `sim.choose`."""

from __future__ import annotations

from pathlib import Path

from cli.figures.choose import choice_figures
from cli.pages.page import Header, Page, Section
from cli.tables.experiments.choose import (
    bands_grid,
    caveats,
    cost_grid,
    excluded_lines,
    latency_grid,
    promised,
    ranking_lines,
    store_grid,
)
from cli.tables.spec.prices import price_lines
from sim.choose.choose import LEVEL, Choice
from sim.choose.hardware import HardwareFile


def choice_page(result: Choice, file: HardwareFile, source: str) -> Page:
    """Return a page about a choice: the ranking, the table with its figures, and the stores that are not in it."""
    hosts, drives = file.hosts, file.drives
    ranking = result.ranking
    lines = [] if ranking is None else ranking_lines(ranking)
    found = lines[0] if lines else _best(result)
    header = Header(
        f"Which store on {hosts.count} host{'s' * (hosts.count > 1)} with {drives.count} drives ({drives.preset}) each "
        f"for {file.workload.rate:g} requests a second, with {', '.join(file.objectives)}.",
        f"{found}.",
        f"{_bands(result)} All stores have the same requests.",
    )
    rates, *latencies = choice_figures(result, file) if result.rows else [None]
    sections = []
    if rates is not None:
        sections.append(Section("Stores", [promised(result)], [store_grid(result, file)], [rates]))
    if ranking is not None:
        sections.append(Section("Ranking", lines, [bands_grid(result, ranking, file)]))
    if result.rows:
        sections.append(Section("Latency, also with failures", (), [latency_grid(result, file)], latencies))
        sections.append(
            Section("Space, cores, durability and growth", price_lines(file.priced_parts), [cost_grid(result, file)])
        )
    sections.append(Section("Notes", [*excluded_lines(result), *caveats(result)]))
    return Page(f"Which store: {Path(source).name}", header, sections)


def _bands(result: Choice) -> str:
    if result.ranking is None:
        return "Values that are not known are as assumed, without bands, so another store may be the best."
    return f"Bands contain {LEVEL:.0%} of the draws of values that are not known."


def _best(result: Choice) -> str:
    if not result.rows:
        return "No store keeps the promise"
    best = result.rows[0]
    return f"{best.candidate.store} takes the greatest rate at the objectives, {best.figures.most_ops:,.0f}/s"
