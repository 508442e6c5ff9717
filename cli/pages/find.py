"""Pages about searches and sensitivity analyses."""

from __future__ import annotations

from dataclasses import replace

from cli.figures.assumed import STILL, ranges, unmoved
from cli.figures.find import best_figures, effects, limit_figures, strengths
from cli.pages.page import Header, Page, Section
from cli.tables.experiments.find import (
    best_found,
    best_grid,
    best_opening,
    best_sure,
    extreme,
    limit_grid,
    limit_opening,
    range_of,
    sensitivity_grid,
    sensitivity_opening,
)
from cli.tables.forecast.uncertainty import assumed_grids, load_line, range_text
from cli.words import LABELS, percent
from sim.experiments.find.find_best import Best
from sim.experiments.find.find_limit import FoundLimit
from sim.experiments.sensitivity import Effect, Screening
from sim.experiments.uncertainty import RangeEffects

_LIMITS = (
    "Each point is a simulated value with its 95% interval, or without if too few requests are that slow; the dashed "
    "line is the objective."
)
_STRENGTHS = (
    "An elasticity of 0.5 means that a number larger by one percent makes the latency larger by half a percent. The "
    "colour is the direction of the effect, if the interval of the mean elasticity excludes 0."
)
_EFFECTS = (
    "In the second figure, a number near the lower axis has the same effect everywhere. Near the dashed line or above "
    "it, the effect depends on its own value or on other numbers."
)

_RANGES = "Each value goes to both ends of its range, while the others are as assumed; 1 is the forecast as assumed."


def limit_page(result: FoundLimit, spec: str) -> Page:
    """Return a page about the result of `sim.experiments.find.find_limit.find_limit` for a spec."""
    objectives = " and ".join(slo.text for slo in result.slos)
    header = Header.of(
        f"The {extreme(result)} {result.path} with which {spec} meets {objectives}.",
        limit_opening(result),
        _simulated(result, len(result.simulated)),
    )
    sections = [
        Section("", [_LIMITS], charts=limit_figures(result)),
        Section("All values", (), [replace(limit_grid(result), title="")]),
    ]
    return Page(f"The {extreme(result)} {result.path}", header, sections)


def best_page(result: Best, spec: str) -> Page:
    """Return a page about the result of `sim.experiments.find.find_best.find_best` for a spec."""
    most = result.most_extra_load
    within = "" if most is None else f", with at most {most:.2%} extra load"
    header = Header.of(
        f"The {result.path} that minimises {result.target} of {spec}{within}.",
        [best_found(result), *best_opening(result)],
        f"{best_sure(result)} {_simulated(result, len(result.trials) + 3)}",
    )
    sections = [
        Section("", charts=best_figures(result)),
        Section("All values", (), [replace(best_grid(result), title="")]),
    ]
    return Page(f"The best {result.path}", header, sections)


def sensitivity_page(result: Screening, spec: str) -> Page:
    """Return a page about the result of `sim.experiments.sensitivity.sensitivity` for a spec."""
    strongest = result.parameters[0]
    strength = strongest.strength
    header = Header.of(
        f"Which of {len(result.parameters)} numbers of {spec} affects {result.target} most.",
        [
            f"{strongest.path} matters most: 1 % more of it {_change(strongest, str(result.target))} on average; its "
            f"range ({range_of(strongest)}) is worth a factor of {strongest.factor:.3g}.",
            *sensitivity_opening(result),
        ],
        f"The {result.confidence:.0%} interval of its strength is {strength.low:.2f} to {strength.high:.2f}, from "
        f"{result.trajectories} trajectories. {_simulated(result, result.simulated)}",
    )
    sections = [
        Section("", [_STRENGTHS, _EFFECTS], charts=[strengths(result), effects(result)]),
        Section("All numbers", (), [replace(sensitivity_grid(result), title="")]),
    ]
    return Page(f"Sensitivity of {result.target}", header, sections)


def assumed_page(result: RangeEffects, spec: str) -> Page:
    """Return a page about the result of `sim.experiments.uncertainty.assumed_effects` for a spec."""
    strongest = result.effects[0]
    found = (
        f"{strongest.unknown.path} matters most: over its range ({range_text(strongest.unknown)}), "
        f"p99 or throughput of an operation changes by up to {percent(strongest.strength)}. Measure it first."
    )
    header = Header.of(
        f"Which of {len(result.effects)} values of {spec} that are not known affects the forecast most.",
        [found, *load_line(result.load)],
        f"Replications of each end of a range: {result.replications}, with common random numbers; ranges are those of "
        "real stores.",
    )
    still = [f"No value changes {LABELS[name]} by {STILL:.1%} or more." for name in unmoved(result)]
    sections = [
        Section("Ranges", [_RANGES, *still], charts=ranges(result)),
        Section("All values", (), assumed_grids(result)),
    ]
    return Page(f"Assumed values of {spec}", header, sections)


def _change(effect: Effect, target: str) -> str:
    """Say what one percent more of a number does to a latency, with the direction if it is certain."""
    elasticity = effect.elasticity
    if elasticity.low <= 0 <= elasticity.high:
        return f"changes {target} by {effect.strength.value:.2f} %, up or down,"
    return f"makes {target} {abs(elasticity.value):.2f} % {'longer' if elasticity.value > 0 else 'shorter'}"


def _simulated(result: FoundLimit | Best | Screening, count: int) -> str:
    return f"{count} points have {result.replications} replications each, with common random numbers."
