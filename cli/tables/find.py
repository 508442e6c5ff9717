"""Tables of searches and sensitivity analyses, and sentences about their results."""

from __future__ import annotations

from collections.abc import Callable

from cli.tables.grid import Grid
from cli.words import byte_rate, number, seconds, size
from sim.experiments.find import Best, InfeasibleTrial, Limit, LimitTrial
from sim.experiments.sensitivity import Effect, Screening
from sim.replication.slo import Slo, SloResult
from sim.replication.summaries import Interval


def _plain(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value)


_FORMATS: dict[str, Callable[[float | None], str]] = {
    "s": seconds,
    "1/s": lambda value: f"{number(value)}/s",
    "B": lambda value: number(value) if value is None else size(value),
    "B/s": byte_rate,
}
_FIGURES = {"throughput_ops": "1/s", "throughput_bytes": "B/s"}


def shown(result: Limit | Best | Effect, value: float | None) -> str:
    """Format a value of the searched or varied field with its unit."""
    return _FORMATS.get(result.unit, _plain)(value)


def limit_grid(result: Limit) -> Grid:
    """Table with one row per value; its title is the result and its uncertainty."""
    rows = []
    for trial in result.trials:
        met = "yes" if trial.meets else "no"
        slos = {} if isinstance(trial, InfeasibleTrial) else trial.slo
        figures = [_estimate(slo, slos[slo.text]) if slos else number(None) for slo in result.slos]
        rows.append([shown(result, trial.value), *figures, met if slos else "impossible", _sure(trial)])
    title = f"{limit_found(result)} {limit_sure(result)}"
    return Grid(title, [result.path, *(slo.text for slo in result.slos), "meets all", "sure"], rows)


def extreme(result: Limit) -> str:
    """``greatest`` or ``least``."""
    return "greatest" if result.find == "max" else "least"


def limit_found(result: Limit) -> str:
    """State the limit, and the next value beyond it."""
    value = shown(result, result.value)
    return f"{value} is the {extreme(result)} {result.path} that meets the objectives; {_beyond(result)}."


def limit_sure(result: Limit) -> str:
    """State the values whose verdict is certain, and whether there is more than one limit."""
    nearest = {"meets": result.sure.meets, "violates": result.sure.violates}
    known = [f"{shown(result, value)} {verb} them" for verb, value in nearest.items() if value is not None]
    text = f"With certainty, {' and '.join(known)}." if known else "No verdict is certain: add replications."
    if result.monotonic:
        return text
    turns = ", ".join(f"{shown(result, a)} violates and {shown(result, b)} meets them" for a, b in result.reversals)
    return f"{text} There is more than one limit: {turns}."


def _beyond(result: Limit) -> str:
    if result.beyond is None:
        return "the spec allows no value beyond it"
    trial = next(trial for trial in result.trials if trial.value == result.beyond)
    value = shown(result, trial.value)
    return f"{value} is not possible: {trial.infeasible}" if isinstance(trial, InfeasibleTrial) else f"{value} does not"


def best_grid(result: Best) -> Grid:
    """Table with the spec and the best value in fresh replications, then the spec and each value in the search.

    Its title is the result and its uncertainty.
    """
    named = [("fresh", trial) for trial in (result.base, result.best)]
    named += [("search", trial) for trial in (result.base_in_search, *result.trials)]
    rows = [
        [
            "as in the spec" if trial.value is None else shown(result, trial.value),
            seeds,
            *_interval(trial.target),
            f"{trial.extra_load:.2%}",
            "yes" if trial.allowed else "no",
        ]
        for seeds, trial in named
    ]
    title = f"{best_found(result)} {best_sure(result)}"
    return Grid(title, [result.path, "seeds", str(result.target), "interval", "extra load", "allowed"], rows, labels=2)


def best_found(result: Best) -> str:
    """State the best value, with latency and extra load."""
    best, base = result.best.target, result.base.target
    return (
        f"With {result.path} at {shown(result, result.value)}, {result.target} is {seconds(best.value)} at "
        f"{result.best.extra_load:.2%} extra load, and {seconds(base.value)} with the value in the spec."
    )


def best_sure(result: Best) -> str:
    """State the difference from the unchanged spec, with its interval, and the effect of having tried many values."""
    gain = result.difference
    between = f"95 % interval {seconds(gain.low)} … {seconds(gain.high)}"
    verdict = "it is significantly better" if result.improves else "it is not significantly better"
    text = (
        f"The difference is {seconds(gain.value)} ({between}): {verdict}. These figures are of fresh replications, as "
        f"the least of {len(result.trials)} values seems better than it is in the search that chose it: there, they "
        f"were {seconds(result.in_search.target.value)} and {seconds(result.base_in_search.target.value)}."
    )
    if result.best.allowed or result.most_extra_load is None:
        return text
    return f"{text} In fresh replications, it adds more than the {result.most_extra_load:.2%} load allowed."


def sensitivity_grid(result: Screening) -> Grid:
    """Table with one row per number, the strongest first."""
    rows = []
    for row in result.parameters:
        effect = row.elasticity
        rows.append([
            row.path,
            range_of(row),
            f"{effect.value:+.2f} ± {effect.high - effect.value:.2f}",
            f"{row.strength.value:.2f}",
            f"×{row.factor:.3g}",
        ])  # fmt: skip
    title = f"Change of {result.target} in % per 1 % increase of each number"
    return Grid(title, ["number", "range", "elasticity", "strength", "over the range"], rows)


def range_of(row: Effect) -> str:
    """Format the range of a number."""
    return f"{shown(row, row.low)} … {shown(row, row.high)}"


def _estimate(slo: Slo, estimate: SloResult) -> str:
    if slo.figure in ("errors", "utilization"):
        return f"{estimate.value:.2%}"
    return _FORMATS[_FIGURES.get(slo.figure, "s")](estimate.value)


def _sure(trial: LimitTrial | InfeasibleTrial) -> str:
    return "yes" if trial.sure else "no"


def _interval(figure: Interval) -> list[str]:
    return [seconds(figure.value), f"{seconds(figure.low)} … {seconds(figure.high)}"]
