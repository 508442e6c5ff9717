"""Tables of the probability that objectives are met, over draws of the values that are not known, and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from cli.tables.forecast.uncertainty import unknowns_grid
from cli.tables.forecast.verdict import FEW, NOT_ENOUGH, figure
from cli.tables.grid import Grid
from cli.words import number
from models.basis.uncertainty import Unknown
from sim.experiments.probability import MetProbability
from sim.replication.slo import Slo


def probability_text(met: MetProbability) -> str:
    """Format the probability and its interval: ``85% (64% … 95%)``."""
    return f"{met.value:.0%} ({met.low:.0%} … {met.high:.0%})"


def probability_grids(
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[str], MetProbability | None]],
    slos: Sequence[Slo],
    unknowns: Sequence[Unknown],
    title: str = "",
) -> list[Grid]:
    """Tables of the bands of objectives with the probability that all are met, and of the values that were drawn.

    Args:
        columns: names of the first cells of each row.
        rows: first cells, and the probability; None: the row is not possible.
        slos: the objectives.
        unknowns: the values that were drawn; none: without their table.
        title: to precede that of the first table.
    """
    known = [met for _, met in rows if met is not None]
    if not known:
        return []
    cells = [[*first, *_cells(met, slos)] for first, met in rows]
    before = f"{title}: " if title else ""
    grid = Grid(
        f"{before}{known[0].level:.0%} bands over {known[0].draws} draws of the values that are not known, and "
        "probability that all objectives are met (95 % interval)",
        [*columns, *(slo.text for slo in slos), "all met"],
        cells,
        labels=len(columns),
    )
    return [grid, unknowns_grid(tuple(unknowns))] if unknowns else [grid]


def _cells(met: MetProbability | None, slos: Sequence[Slo]) -> list[str]:
    if met is None:
        return [*(number(None) for _ in slos), "not possible"]
    bands = [met.objectives[slo.text] for slo in slos]
    few = [f" ({FEW})" if band.requests_needed is not None else "" for band in bands]
    each = [
        f"{figure(slo, band.low)} … {figure(slo, band.high)}{mark}"
        for slo, band, mark in zip(slos, bands, few, strict=True)
    ]
    return [*each, probability_text(met)]


def probability_lines(met: Sequence[MetProbability | None], what: str) -> list[str]:
    """State how many variants or failures meet all objectives with the required probability.

    Args:
        met: of each; None: it is not possible.
        what: what they are, in plural: ``points``.
    """
    known = [each for each in met if each is not None]
    if not known:
        return []
    count = {verdict: sum(each.verdict == verdict for each in known) for verdict in ("pass", "fail", "unsure")}
    few = dict.fromkeys(text for each in known for text in each.few)
    reason = f" ({NOT_ENOUGH} in each draw for {', '.join(few)})" if few else ": add replications"
    unsure = f", {count['unsure']} are uncertain{reason}" if count["unsure"] else ""
    lines = [
        f"{count['pass']} of {len(met)} {what} meet every objective with a probability of at least "
        f"{known[0].level:.0%}, {count['fail']} do not{unsure}."
    ]
    impossible = max(each.impossible for each in known)
    if impossible:
        lines.append(f"Up to {impossible} further draws have values that do not fit together.")
    return lines
