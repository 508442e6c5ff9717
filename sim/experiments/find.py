"""The value of one field that a spec needs: the most, or the least, that keeps its objectives; or the best.

Every value is simulated with the same seeds. So whether it keeps the objectives is a function of the value alone, and
a search gives what a grid as fine would give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from models.field_paths import resolved
from models.store import Spec
from sim.analysis.bounds import bounds
from sim.experiments.goal import Goal, Target, hedge_delays, limits_of, start_of
from sim.experiments.line_search import Scale, bisect, bracket, least, probes, reversals
from sim.experiments.measures import Measures, difference
from sim.experiments.sweep import Cache
from sim.experiments.variants import Simulations, Variants, assignment
from sim.replication.slo import UTILIZATION, Slo
from sim.replication.summaries import RATES
from traces.errors import InputError
from traces.workload.generate import generate

Trial = dict[str, Any]
"""A value that was tried, as JSON has it."""

_BEST_TOLERANCE = 0.05  # a least value is flat: nearer than this is chance


def find_limit(
    variants: Variants,
    goal: Goal,
    slos: Sequence[Slo],
    *,
    tolerance: float = 0.01,
    cache: Cache | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> dict[str, Any]:
    """The greatest (``max``) or the least (``min``) value that keeps all objectives.

    A value keeps them if its estimates do; what the intervals say is told beside. A value that the spec refuses does
    not keep them, nor does a rate above what the bottleneck serves in the long run. Bisection needs that they are kept
    on one side only: a value in the middle of each side is tried besides, and where that does not fit, ``monotonic`` is
    false.

    Args:
        goal: of kind ``max`` or ``min``.
        slos: at least one.
        tolerance: how near to the limit, of numbers that are not whole: a share of the value, from 0.001.
        cache: of values that are simulated already.
        progress: told how many values have been tried.

    Returns:
        ``{"find", "path", "unit", "value", "beyond", "set", "sure", "monotonic", "reversals", "seed", "replications",
        "trials"}``.

        - ``value`` keeps the objectives; ``beyond``, the next that was tried, does not (None: the spec allows none).
        - ``sure`` is ``{"keeps", "breaks"}``, the values nearest to the limit whose verdict the confidence intervals
          leave no doubt of (None: there is none).
        - ``reversals``: pairs of neighbours; from the first the objectives are broken, from the second kept again.
        - A trial, in ascending order of values, is ``{"value", "keeps", "sure", "slo": {TEXT: {"verdict", "value",
          "low", "high"}}, "ops", "extra_load"}``, or ``{"value", "keeps", "sure", "impossible"}``.

    Raises:
        InputError: no value keeps the objectives, all do, or the goal does not fit the spec.
    """
    if not slos:
        raise InputError(f"{goal.kind} {goal.path}: needs an objective to keep, such as GET.p99<50ms")
    path, upward = resolved(type(variants.spec()), goal.path, counted=True), goal.kind == "max"
    limits = limits_of(variants, path, goal)
    start = start_of(variants, path) if limits is None else limits[0]
    scale = Scale(isinstance(start, int), tolerance)
    trials: dict[float, Trial] = {}
    with variants.simulations(cache) as simulations:

        def holds(value: float) -> bool:
            if value not in trials:
                trials[value] = _judged(variants, simulations, path, value, slos)
                progress(len(trials))
            return bool(trials[value]["keeps"])

        if limits is None:
            inside, outside = bracket(holds, scale, start, upward)
        else:
            near, far = limits if upward else limits[::-1]
            inside, outside = (near, far) if holds(near) else (None, near)
            if inside is not None and holds(far):
                inside, outside = far, None
        if inside is None or (outside is None and not _is_last(variants, path, inside, upward)):
            raise InputError(_nowhere(path, goal, trials))
        if outside is not None:
            inside, outside = bisect(holds, scale, inside, outside)
            for value in probes(scale, list(trials), inside, outside):
                holds(value)
    return {
        "find": goal.kind,
        "path": path,
        "unit": variants.unit(path),
        "value": inside,
        "beyond": outside,
        "set": assignment(path, inside),
        **_evidence(trials, upward),
        "seed": variants.settings.seed,
        "replications": variants.settings.replications,
        "trials": [trials[value] for value in sorted(trials)],
    }


def find_best(
    variants: Variants,
    goal: Goal,
    target: Target,
    *,
    most_extra_load: float | None = None,
    tolerance: float = _BEST_TOLERANCE,
    cache: Cache | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> dict[str, Any]:
    """The value of least latency, among those that add no more load than allowed: by a scan, then golden section.

    Args:
        goal: of kind ``best``; without bounds only for a hedge's delay, which is looked for between p50 and p99.9 of
            the target's operation as the spec stands.
        target: the latency.
        most_extra_load: attempts beyond the first of each request, as a share of the requests, at most; None: any.
        tolerance: how near to the best, a share of the value, from 0.001.
        cache: of values that are simulated already.
        progress: told how many values have been tried.

    Returns:
        ``{"find", "path", "unit", "value", "set", "target", "most_extra_load", "best", "base", "difference",
        "improves", "seed", "replications", "trials"}``.

        - ``best`` and ``base`` (the spec as it stands) are trials.
        - ``difference`` is ``{"value", "low", "high"}`` of best minus base in seconds; ``improves``: whether that is
          below 0 for sure.
        - A trial is ``{"value", "target": {"value", "low", "high"}, "extra_load", "allowed", "ops"}``.

    Raises:
        InputError: no value adds so little load, or goal or target do not fit the spec.
    """
    op, name = target.op, target.figure
    path = resolved(type(variants.spec()), goal.path, counted=True)
    measured: dict[float | None, Measures] = {}
    trials: dict[float | None, Trial] = {}
    with variants.simulations(cache) as simulations:

        def cost(value: float | None) -> tuple[float, float]:
            measured[value] = measures = simulations([] if value is None else [assignment(path, value)])
            if op not in measures.ops:
                raise InputError(f"target {target}: the workload has no {op}; it has {', '.join(measures.ops)}")
            extra, figure = measures.extra_load, measures.interval(op, name)
            excess = 0.0 if most_extra_load is None else max(0.0, extra - most_extra_load)
            trials[value] = {
                "value": value,
                "target": figure,
                "extra_load": extra,
                "allowed": not excess,
                "ops": _figures(measures),
            }
            progress(len(trials))
            return excess, figure["value"]

        cost(None)
        low, high = limits_of(variants, path, goal) or hedge_delays(path, measured[None], op)
        if not low:
            raise InputError(f"best {path} in {low:g}..{high:g}: the bounds must be above 0")
        value = least(cost, Scale(isinstance(low, int), tolerance), low, high)
    best = trials[value]
    if not best["allowed"]:
        raise InputError(
            f"best {path}: no value tried from {low:g} to {high:g} adds at most {most_extra_load:.2%} load; the "
            f"least is {best['extra_load']:.2%}, at {value:g}"
        )
    gain = difference(measured[None], measured[value])["ops"][op]["latency_s"][name]
    return {
        "find": goal.kind,
        "path": path,
        "unit": variants.unit(path),
        "value": value,
        "set": assignment(path, value),
        "target": str(target),
        "most_extra_load": most_extra_load,
        "best": best,
        "base": trials[None],
        "difference": gain,
        "improves": gain["high"] < 0,
        "seed": variants.settings.seed,
        "replications": variants.settings.replications,
        "trials": [trials[v] for v in sorted(v for v in trials if v is not None)],
    }


def _is_last(variants: Variants, path: str, value: float, upward: bool) -> bool:
    """Whether the spec refuses the next whole number."""
    if not isinstance(value, int):
        return False
    try:
        variants.spec([assignment(path, value + (1 if upward else -1))])
    except InputError:
        return True
    return False


def _judged(variants: Variants, simulations: Simulations, path: str, value: float, slos: Sequence[Slo]) -> Trial:
    try:
        _refuse_saturated(variants.spec([assignment(path, value)]), variants.settings.seed)
        measures = simulations([assignment(path, value)])
    except InputError as error:
        return {"value": value, "keeps": False, "sure": True, "impossible": str(error)}
    for slo in slos:
        if slo.figure != UTILIZATION and slo.subject not in measures.ops:
            raise InputError(f"slo {slo.text}: the workload has no {slo.subject}; it has {', '.join(measures.ops)}")
    judgements = {slo: slo.judge(measures) for slo in slos}
    keeps = all(slo.verdict(judged.value, judged.value) == "pass" for slo, judged in judgements.items())
    verdicts = [judged.verdict for judged in judgements.values()]
    return {
        "value": value,
        "keeps": keeps,
        "sure": all(verdict == "pass" for verdict in verdicts) if keeps else "fail" in verdicts,
        "slo": {slo.text: asdict(judged) for slo, judged in judgements.items()},
        "ops": _figures(measures),
        "extra_load": measures.extra_load,
    }


def _refuse_saturated(spec: Spec, seed: int) -> None:
    """Refuse a rate that the bottleneck cannot serve: a run ends before it shows that its queue would grow for ever."""
    if spec.workload.rate is None:
        return
    limits = bounds(*spec.compile(generate(spec.workload, seed)))
    most_ops = limits["max_throughput_ops"]
    if most_ops is not None and spec.workload.rate >= most_ops:
        raise InputError(
            f"{spec.workload.rate:.6g}/s is more than the {limits['bottleneck']} can serve in the long run, which is "
            f"{most_ops:.6g}/s"
        )


def _figures(measures: Measures) -> dict[str, Any]:
    """Rates and main latencies of each operation with intervals, shaped as a summary has them."""
    return {
        op: {name: measures.interval(op, name) for name in RATES}
        | {"latency_s": {name: measures.interval(op, name) for name in ("mean", "p50", "p99", "p99_9")}}
        for op in measures.ops
    }


def _evidence(trials: dict[float, Trial], upward: bool) -> dict[str, Any]:
    """What the trials say of how sure the answer is."""
    keeps = [value for value, trial in trials.items() if trial["keeps"] and trial["sure"]]
    breaks = [value for value, trial in trials.items() if not trial["keeps"] and trial["sure"]]
    nearest_kept, nearest_broken = (max, min) if upward else (min, max)
    turns = reversals({value: trial["keeps"] for value, trial in trials.items()}, upward)
    return {
        "sure": {"keeps": nearest_kept(keeps, default=None), "breaks": nearest_broken(breaks, default=None)},
        "monotonic": not turns,
        "reversals": [list(pair) for pair in turns],
    }


def _nowhere(path: str, goal: Goal, trials: dict[float, Trial]) -> str:
    """Why there is no limit, in a line."""
    low, high = min(trials), max(trials)
    all_keep = any(trial["keeps"] for trial in trials.values())
    begin = f"{goal.kind} {path}: {'every' if all_keep else 'no'} value tried from {low:g} to {high:g}"
    verb = "keeps" if all_keep else "keeps all of"
    last = trials[high if (goal.kind == "max") == all_keep else low]
    if "impossible" in last:
        return f"{begin} {verb} the objectives; at {last['value']:g}: {last['impossible']}"
    figures = ", ".join(f"of {text} the figure is {judged['value']:.4g}" for text, judged in last["slo"].items())
    return f"{begin} {verb} the objectives; at {last['value']:g}, in units of s, 1/s or bytes/s, {figures}"
