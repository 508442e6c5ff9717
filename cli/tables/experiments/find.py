"""Tables of searches and sensitivity analyses, and sentences about their results."""

from __future__ import annotations

import math
from collections.abc import Callable

from cli.tables.experiments.failures import described, failing
from cli.tables.forecast.extra_attempts import extra_attempts_line
from cli.tables.forecast.probability import probability_grids, probability_text
from cli.tables.forecast.steadiness import unsettled_lines
from cli.tables.forecast.verdict import NOT_ENOUGH, figure, verdict_line
from cli.tables.grid import Grid
from cli.words import byte_rate, number, seconds, size
from sim.experiments.find.find_best import Best, BestTrial
from sim.experiments.find.find_limit import FoundLimit, InfeasibleTrial, LimitTrial
from sim.experiments.sensitivity import Effect, Screening
from sim.replication.slo import Slo, SloResult
from sim.replication.summaries import Interval

_LEAST_STEP, _ROUNDING = 1e-3, 1e-9


def _plain(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value)


_FORMATS: dict[str, Callable[[float | None], str]] = {
    "s": seconds,
    "1/s": lambda value: f"{number(value)}/s",
    "B": lambda value: number(value) if value is None else size(value),
    "B/s": byte_rate,
}


def shown(result: FoundLimit | Best | Effect, value: float | None) -> str:
    """Format a value of the searched or varied field with its unit."""
    return _FORMATS.get(result.unit, _plain)(value)


def limit_shown(result: FoundLimit) -> list[str | Grid]:
    """Return what is printed of a limit: the result, its values, and notes."""
    return [*limit_opening(result), limit_grid(result), *drawn_grids(result), *limit_notes(result)]


def best_shown(result: Best) -> list[str | Grid]:
    """Return what is printed of a best value."""
    return [*best_opening(result), best_grid(result)]


def sensitivity_shown(result: Screening) -> list[str | Grid]:
    """Return what is printed of a screening."""
    return [*sensitivity_opening(result), sensitivity_grid(result)]


def limit_grid(result: FoundLimit) -> Grid:
    """Table with one row per value."""
    rows = []
    for trial in result.trials:
        met = "yes" if trial.meets else "no"
        slos = {} if isinstance(trial, InfeasibleTrial) else trial.slo
        figures = [figure_of(slo, slos[slo.text]) if slos else number(None) for slo in result.slos]
        drawn = [] if result.level is None else [_probability(trial)]
        rows.append([shown(result, trial.value), *figures, *drawn, met if slos else "impossible", _sure(trial)])
    drawn = [] if result.level is None else ["probability"]
    return Grid("", [result.path, *(slo.text for slo in result.slos), *drawn, "meets all", "sure"], rows)


def _probability(trial: LimitTrial | InfeasibleTrial) -> str:
    met = None if isinstance(trial, InfeasibleTrial) else trial.met
    return number(None) if met is None else probability_text(met)


def drawn_grids(result: FoundLimit) -> list[Grid]:
    """Tables of the bands of the objectives at each value, and of what was drawn; none if nothing was."""
    rows = [([shown(result, trial.value)], trial.met) for trial in result.simulated if trial.met is not None]
    return probability_grids([result.path], rows, result.slos, result.unknowns)


def limit_opening(result: FoundLimit) -> list[str]:
    """State what would help if requests fail at any rate, the range of the limit, and the verdict on the load there."""
    return [*failing_opening(result), f"{limit_sure(result)} {limit_found(result)}", *_load(result)]


def failing_opening(result: FoundLimit) -> list[str]:
    """State which requests fail at any rate, and what would help; empty: that is not why no value meets."""
    if result.failure is None or not result.errors:
        return []
    what = described(result.failure.failure, result.failure.event)
    return [failing(what, result.errors, result.remedies)]


def _load(result: FoundLimit) -> list[str]:
    trial = result.decisive
    if isinstance(trial, InfeasibleTrial) or trial.load is None:
        return []
    at = shown(result, trial.value)
    tried = (
        f", the {extreme(result)} value tried that meets them"
        if at == shown(result, result.value) != estimate(result)
        else ""
    )
    load = _meanwhile(result, f"At {at}{tried}, {verdict_line(trial.load)}")
    return [load, *unsettled_lines(trial.unsettled, {}), *_cost(result, trial)]


def _cost(result: FoundLimit | Best, trial: LimitTrial | BestTrial) -> list[str]:
    """State what retries and hedges cost."""
    return [] if trial.extra is None else [f"Of this load, {extra_attempts_line(trial.extra)}"]


def best_opening(result: Best) -> list[str]:
    """State the verdict on the load with the best value, and what retries and hedges cost."""
    load = result.best.load
    if load is None:
        return []
    opening = _meanwhile(result, f"At {shown(result, result.value)}, {verdict_line(load)}")
    return [opening, *unsettled_lines(result.best.unsettled, {}), *_cost(result, result.best)]


def limit_notes(result: FoundLimit) -> list[str]:
    """Name the objectives that too few requests support."""
    needed = {
        slo.text: found.requests_needed
        for slo in result.slos
        for trial in result.simulated
        if (found := trial.slo[slo.text]).requests_needed is not None
    }
    return [f"{NOT_ENOUGH} for {text}: it needs {count:,} successful ones." for text, count in needed.items()]


def extreme(result: FoundLimit) -> str:
    """``greatest`` or ``least``."""
    return "greatest" if result.find == "max" else "least"


def limit_found(result: FoundLimit) -> str:
    """State the limit and the next value beyond it, or that every value meets the objectives, or none does."""
    return f"{_meanwhile(result, _limit(result))}{_healthy(result)}"


def _meanwhile(result: FoundLimit | Best, sentence: str) -> str:
    """Begin a sentence with the failure in force; a part that is down is one of N."""
    if result.failure is None:
        return sentence
    what = described(result.failure.failure, result.failure.event)
    is_down = not {"speed", "resource"} & result.failure.event.keys()
    return f"{'At N-1, while' if is_down else 'While'} {what}: {sentence[0].lower()}{sentence[1:]}"


def _healthy(result: FoundLimit) -> str:
    """State at which rate the healthy store saturates."""
    if result.healthy_ops is None:
        return ""
    return f" Without the failure, the store saturates at {number(result.healthy_ops)} op/s."


def _limit(result: FoundLimit) -> str:
    onward, back = ("higher", "lower") if result.find == "max" else ("lower", "higher")
    trial = result.decisive
    if result.outcome == "every value meets":
        return (
            f"{shown(result, trial.value)} still meets {_objectives(result)}{_figures(result, trial)}; search {onward}."
        )
    if result.outcome == "no value meets":
        violated = f"{_objectives(result)}{_figures(result, trial)}"
        if _is_in_vain(result):
            other = result.simulated[0].value
            return f"{shown(result, trial.value)} violates {violated}, and so does {shown(result, other)}."
        return f"{shown(result, trial.value)} already violates {violated}; search {back}."
    level = "" if result.level is None else f" with a probability of at least {result.level:.0%}"
    value = estimate(result)
    about = "" if value == shown(result, result.value) else "About "
    return f"{about}{value} is the {extreme(result)} {result.path} that meets the objectives{level}; {_beyond(result)}."


def _objectives(result: FoundLimit) -> str:
    return "it" if len(result.slos) == 1 else "the objectives"


def _figures(result: FoundLimit, trial: LimitTrial | InfeasibleTrial) -> str:
    if isinstance(trial, InfeasibleTrial):
        return f" ({trial.infeasible})"
    return f" ({', '.join(f'{slo.text}: {figure_of(slo, trial.slo[slo.text])}' for slo in result.slos)})"


def limit_sure(result: FoundLimit) -> str:
    """State between which values the limit is by the intervals, and whether there is more than one limit."""
    meets, violates = result.sure.meets, result.sure.violates
    upward = result.find == "max"
    if meets is not None and violates is not None:
        low, high = sorted((meets, violates))
        text = f"The limit is between {shown(result, low)} and {shown(result, high)}"
    elif meets is not None:
        text = f"The limit is {'at least' if upward else 'at most'} {shown(result, meets)}"
    elif _is_in_vain(result):
        text = "No value that was tried meets the objectives"
    elif violates is not None:
        text = f"The limit is {'below' if upward else 'above'} {shown(result, violates)}"
    else:
        text = "The intervals leave every value in doubt"
    text = f"{text}, by {_evidence(result)}."
    if result.monotonic:
        return text
    turns = ", ".join(f"{shown(result, a)} violates and {shown(result, b)} meets them" for a, b in result.reversals)
    return f"{text} There is more than one limit: {turns}."


def _is_in_vain(result: FoundLimit) -> bool:
    """Whether no value meets the objectives, and much smaller ones do not help."""
    if result.outcome != "no value meets" or result.find != "max" or not result.simulated:
        return False
    return result.simulated[0] is not result.decisive


def _evidence(result: FoundLimit) -> str:
    """Name what the intervals are of: chance alone, or the values that are not known as well."""
    if result.level is None:
        return f"the 95 % intervals of {result.replications} replications, which do not count what is assumed"
    draws = next((trial.met.draws for trial in result.simulated if trial.met is not None), 0)
    return f"the 95 % intervals of {draws} draws of {len(result.unknowns)} values that are not known"


def estimate(result: FoundLimit) -> str:
    """Format the limit with the digits that it has, rounded to the side that meets the objectives.

    The step of rounding, 1, 2 or 5 of a digit, is at most half of the range that the sure values leave, and smaller if
    the rounded value would lie outside of it. Whole numbers are counts, which have all digits.
    """
    value, ends = result.value, (result.sure.meets, result.sure.violates)
    if value is None or isinstance(value, int) or not value:
        return shown(result, value)
    width = abs(ends[1] - ends[0]) if ends[0] is not None and ends[1] is not None else value
    most = max(width / 2, value * _LEAST_STEP)
    towards = -1 if result.find == "max" else 1
    digit = math.floor(math.log10(most))
    for step in (each * 10.0**power for power in (digit, digit - 1) for each in (5, 2, 1)):
        steps = -towards * math.floor(-towards * value / step + _ROUNDING)
        rounded = float(f"{steps * step:.6g}")
        if step <= most * (1 + _ROUNDING) and (ends[0] is None or towards * rounded <= towards * ends[0]):
            return shown(result, rounded)
    return shown(result, value)


def _beyond(result: FoundLimit) -> str:
    """State what the next value does that was tried."""
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
    best, base, most = result.best.target, result.base.target, result.most_extra_load
    beyond = "" if result.best.allowed or most is None else f" (more than the {most:.2%} allowed)"
    return _meanwhile(
        result,
        f"With {result.path} at {shown(result, result.value)}, {result.target} is {seconds(best.value)} at "
        f"{result.best.extra_load:.2%} extra load{beyond}, and {seconds(base.value)} with the value in the spec"
        f"{'' if result.improves else ', which is no significant difference'}.",
    )


def best_sure(result: Best) -> str:
    """State the difference from the unchanged spec, with its interval, and the effect of having tried many values."""
    gain = result.difference
    between = f"95 % interval {seconds(gain.low)} … {seconds(gain.high)}"
    verdict = "it is significantly better" if result.improves else "it is not significantly better"
    return (
        f"The difference is {seconds(gain.value)} ({between}): {verdict}. These figures are of fresh replications, as "
        f"the least of {len(result.trials)} values seems better than it is in the search that chose it: there, they "
        f"were {seconds(result.in_search.target.value)} and {seconds(result.base_in_search.target.value)}."
    )


def sensitivity_opening(result: Screening) -> list[str]:
    """State the verdict on the load of the unchanged spec."""
    return [] if result.load is None else [f"The unchanged spec is {verdict_line(result.load)}"]


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


def figure_of(slo: Slo, result: SloResult) -> str:
    """Format the figure of an objective, with a mark if too few requests support it."""
    return f"{figure(slo, result.value)}{' (few)' if result.requests_needed is not None else ''}"


def _sure(trial: LimitTrial | InfeasibleTrial) -> str:
    return "yes" if trial.sure else "no"


def _interval(figure: Interval) -> list[str]:
    return [seconds(figure.value), f"{seconds(figure.low)} … {seconds(figure.high)}"]
