"""The lines of `sim.answer`: each result, and the command that shows its evidence."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cli.tables.experiments.find import best_found, estimate, failing_opening, figure_of, shown
from cli.tables.experiments.plan import found as plan_found
from cli.tables.forecast.steadiness import unsettled_lines
from cli.tables.forecast.uncertainty import one_way, range_text
from cli.tables.forecast.verdict import verdict_line
from cli.tables.spec.prices import price_lines
from cli.words import LABELS, number, percent, seconds
from models.site.replacements import replacement
from sim.answer.answer import EXTRA_LOAD, LEVEL, RATE, Answer, Refused
from sim.answer.changes import HEDGE, Change, Changes
from sim.experiments.find.find_limit import FoundLimit, LimitTrial
from sim.experiments.uncertainty import RangeEffect, RangeEffects, UncertaintyBand
from sim.experiments.whatif import InfeasiblePoint
from sim.replication.slo import Slo

_SHOWN = 3  # assumed values, and changes that do not do


@dataclass(frozen=True)
class Line:
    """A line of the result, and the command that shows its evidence; empty: that of the line before, or none."""

    text: str
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """What the commands need: name of the spec, further options of all, and of those with objectives or prices."""

    spec: str
    options: tuple[str, ...]
    slos: tuple[str, ...]
    growth: str | None
    replications: int
    prices: str | None = None

    def command(
        self, verb: str, *words: str, sets: Sequence[str] = (), replications: int | None = None
    ) -> tuple[str, ...]:
        """Return the words of a command on the spec; without `replications`, with those of all; 0: its default."""
        count = self.replications if replications is None else replications
        repeated = ("--replications", str(count)) if count else ()
        return "tailcast", verb, self.spec, *words, *_each("--set", sets), *repeated, *self.options

    @property
    def objectives(self) -> tuple[str, ...]:
        """The options with the objectives."""
        return _each("--slo", self.slos)


def _each(option: str, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for value in values for word in (option, value))


def answer_shown(result: Answer, asked: Asked) -> list[str]:
    """Return what is printed: at most thirty lines with two failures."""
    found = []
    for line in answer_lines(result, asked):
        found.append(line.text)
        if line.command:
            found.append(f"    {shlex.join(line.command)}")
    return found


def answer_lines(result: Answer, asked: Asked) -> Iterator[Line]:
    """Yield the results."""
    goal = f"max {RATE}"
    yield Line(_limit("Healthy", result.healthy), asked.command("find", goal, *asked.objectives, sets=result.sets))
    yield from _short(result.healthy)
    yield from _first(result.healthy)
    for text, limit in result.failing.items():
        if isinstance(limit, Refused):
            yield Line(f"With failure {text}: not determined, because {limit.reason}.")
            continue
        failing = ("--with-failure", text)
        command = asked.command("find", goal, *asked.objectives, *failing, sets=result.sets)
        yield Line(_limit(f"With failure {text}", limit), command)
        yield from _short(limit)
    yield from _growth(result, asked)
    yield from _hedging(result, asked)
    yield from change_lines(result.changes, asked, result.slos)
    yield from (Line(f"  {line}") for line in price_lines(result.prices))
    yield from _assumed(result.effects, result.load_sets, asked)
    yield from _band(result.band, result, asked)


def _limit(when: str, limit: FoundLimit) -> str:
    objectives = " and ".join(slo.text for slo in limit.slos)
    if limit.value is None:
        return " ".join([f"{when}: no rate meets {objectives}.", *failing_opening(limit)])
    trial = limit.decisive
    figures = ""
    if isinstance(trial, LimitTrial):
        figures = ", ".join(f"{slo.text.partition('<')[0]} {figure_of(slo, trial.slo[slo.text])}" for slo in limit.slos)
        there = shown(limit, trial.value)
        figures = f" ({figures})" if there == estimate(limit) else f" (at {there}: {figures})"
    meets, violates = limit.sure.meets, limit.sure.violates
    between = f"; between {shown(limit, meets)} and {shown(limit, violates)} for sure" if meets and violates else ""
    return f"{when}: up to {estimate(limit)} meets {objectives}{figures}{between}."


def _short(limit: FoundLimit) -> Iterator[Line]:
    """Warn of runs that are too short for their latencies, which are longer in a settled run near saturation."""
    trial = limit.decisive
    if isinstance(trial, LimitTrial):
        lines = unsettled_lines(trial.unsettled, {}, can_leave_out=False)
        yield from (Line(f"  {line.removesuffix('.')} (--requests): latencies may then be longer.") for line in lines)


def _first(limit: FoundLimit) -> Iterator[Line]:
    """Say what saturates first."""
    trial = limit.decisive
    if isinstance(trial, LimitTrial) and trial.load is not None:
        yield Line(f"At {shown(limit, trial.value)}: {verdict_line(trial.load)}")


def _growth(result: Answer, asked: Asked) -> Iterator[Line]:
    if result.plan is None:
        yield Line("Growth: not given, so it is not known when the drives are full (--growth FILE).")
    elif isinstance(result.plan, Refused):
        yield Line(f"Growth: not determined, because {result.plan.reason}.")
    else:
        command = asked.command("plan", "--growth", str(asked.growth), *asked.objectives, replications=0)
        yield Line(f"Growth: {plan_found(result.plan)}", command)


def _hedging(result: Answer, asked: Asked) -> Iterator[Line]:
    best = result.hedge
    if isinstance(best, Refused):
        yield Line(f"Hedging: not determined, because {best.reason}.")
        return
    words = (f"best {HEDGE}", "--target", str(best.target), "--extra-load", f"{EXTRA_LOAD:.0%}")
    helps = "helps" if best.improves and best.best.allowed else "does not help for certain"
    yield Line(f"Hedging {helps}: {best_found(best)}", asked.command("find", *words, sets=result.load_sets))


def change_lines(changes: Changes | Refused, asked: Asked, slos: Sequence[Slo]) -> Iterator[Line]:
    """Yield the cheapest change that meets the objectives, or that may, and why the others do not."""
    if isinstance(changes, Refused):
        yield Line(f"Changes: not determined, because {changes.reason}.")
        return
    best, rate = changes.best, f"{number(changes.rate_ops)}/s"
    perhaps = _perhaps(changes, slos) if best is None else None
    if perhaps is not None:
        yield Line(
            f"Cheapest change for {rate}: none of the store's remedies meets the objectives for certain; "
            f"{perhaps.path} {perhaps.value} may ({_figures(perhaps, slos)}; more --replications tell).",
            _whatif(changes, perhaps.path, asked),
        )
    elif best is None:
        yield Line(f"Cheapest change for {rate}: no single one of the store's remedies meets the objectives.")
    else:
        price = f"for {_price(best)}" if _price(best) else "without prices, the first in the store's order"
        yield Line(
            f"Cheapest change for {rate}: {best.path} {best.value} ({_figures(best, slos)}), {price}.",
            _whatif(changes, best.path, asked),
        )
    paths = dict.fromkeys(change.path for change in changes.changes)
    shown_path = next((change.path for change in (best, perhaps) if change is not None), "")
    others = [path for path in paths if path != shown_path]
    for path in others[:_SHOWN]:
        yield Line(f"  Not {_why_not(path, changes, slos)}.", _whatif(changes, path, asked))
    if left := others[_SHOWN:]:
        yield Line(f"  Nor {'; '.join(_why_not(path, changes, slos) for path in left)}.")


def _perhaps(changes: Changes, slos: Sequence[Slo]) -> Change | None:
    """Return the cheapest change whose figures meet the objectives, although their intervals do not; None: none."""
    met = [
        change
        for change in changes.changes
        if _is_unsure(change)
        and not isinstance(change.point, InfeasiblePoint)
        and all(_is_met(slo, change.point.slo_figures[slo.text].value) for slo in slos)
    ]
    return min(met, key=lambda change: change.extra_cost or 0.0, default=None)


def _is_met(slo: Slo, value: float) -> bool:
    return value > slo.limit if slo.above else value < slo.limit


def _whatif(changes: Changes, path: str, asked: Asked) -> tuple[str, ...]:
    values = ",".join(change.value for change in changes.changes if change.path == path)
    priced = ("--prices", asked.prices) if asked.prices else ()
    return asked.command("whatif", "--vary", f"{path}={values}", *priced, *asked.objectives, sets=changes.sets)


def _why_not(path: str, changes: Changes, slos: Sequence[Slo]) -> str:
    of_path = [change for change in changes.changes if change.path == path]
    meets = [change for change in of_path if change.meets]
    if meets:
        first = min(meets, key=lambda change: change.extra_cost or 0.0)
        costs = f"it costs {_price(first)}" if _price(first) else "it also does"
        return f"{path} {first.value}: {costs}"
    possible = [change for change in of_path if not isinstance(change.point, InfeasiblePoint)]
    if not possible:
        return f"{path}: the spec refuses {', '.join(change.value for change in of_path)}"
    last = possible[-1]
    doubt = " (not for certain; more --replications tell)" if _is_unsure(last) else ""
    return f"{path} {last.value}: {_figures(last, slos)}{doubt}"


def _price(change: Change) -> str:
    """Return the additional cost of a change, and that of the whole store; empty without prices."""
    if change.extra_cost is None or isinstance(change.point, InfeasiblePoint):
        return ""
    return f"{number(change.extra_cost)} more ({number(change.point.cost)} in all)"


def _is_unsure(change: Change) -> bool:
    """Return whether a change may meet the objectives: its figures do, and their intervals do not."""
    return not isinstance(change.point, InfeasiblePoint) and change.point.verdict == "unsure"


def _figures(change: Change, slos: Sequence[Slo]) -> str:
    """Return the figure of each objective, or that the store is overloaded."""
    point = change.point
    if isinstance(point, InfeasiblePoint):
        return point.error
    if point.overloaded and point.load is not None:
        return verdict_line(point.load).partition(";")[0]
    return ", ".join(_figure(slo, point.slo_figures[slo.text].value) for slo in slos)


def _figure(slo: Slo, value: float) -> str:
    name = slo.text.partition("<")[0].partition(">")[0]
    if slo.figure in ("errors", "utilization"):
        return f"{name} {value:.2%}"
    return f"{name} {number(value) if slo.above else seconds(value)}"


def _assumed(effects: RangeEffects | Refused, sets: Sequence[str], asked: Asked) -> Iterator[Line]:
    if isinstance(effects, Refused):
        yield Line(f"Assumed values: not determined, because {effects.reason}.")
        return
    command = asked.command("sensitivity", "--assumed", sets=sets, replications=1)
    yield Line("Assumed values that matter most, and what would replace them:", command)
    for effect in effects.effects[:_SHOWN]:
        unknown = effect.unknown
        source = replacement(unknown.path)
        yield Line(f"  {unknown.path} ({range_text(unknown)}): {_moved(effect)}; {source}")


def _moved(effect: RangeEffect) -> str:
    """Return the figure that moves most, with its change at both ends of the range."""
    moved = [
        (max(abs(math.log(ratio)) for ratio in ratios if 0 < ratio < math.inf), f"{op} {LABELS[name]}", ratios)
        for op, figures in effect.ops.items()
        for name, ratios in figures.items()
        if any(0 < ratio < math.inf for ratio in ratios)
    ]
    if not moved:
        return "not possible at the ends of the range"
    _, name, ratios = max(moved)
    chance = f", both ends {way} it: chance?" if (way := one_way(effect.unknown, ratios)) else ""
    return f"{name} {' … '.join(percent(math.log(r)) if 0 < r < math.inf else '–' for r in ratios)}{chance}"


def _band(band: UncertaintyBand | Refused, result: Answer, asked: Asked) -> Iterator[Line]:
    if isinstance(band, Refused):
        yield Line(f"Band: not determined, because {band.reason}.")
        return
    load = number(float(result.load_sets[-1].partition("=")[2]))
    texts = []
    for op, figures in band.ops.items():
        p99 = figures["p99"]
        texts.append(f"{op} p99 {seconds(p99.value)}, {seconds(p99.low)} to {seconds(p99.high)}")
    command = asked.command("simulate", "--uncertainty", f"{LEVEL:.0%}", sets=result.load_sets, replications=0)
    yield Line(f"Band of {LEVEL:.0%} at {load}/s: {'; '.join(texts)}.", command)
