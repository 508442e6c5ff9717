"""The figures of a candidate: the greatest rate at the objectives, and latencies, also with failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from models.basis.described import DescribedSpec
from models.store import Spec, spec_of, store_of
from sim.experiments.discrepancy import Deviation
from sim.experiments.failing import evaluated
from sim.experiments.failure_kinds import Failure
from sim.experiments.measures import ERRORS, Measures
from sim.experiments.sweep import first_trace
from sim.replication.replicate import replicate
from sim.replication.slo import Slo
from sim.saturation.capacity import Capacity, capacity_of
from sim.simulate import simulate
from traces.errors import InputError
from traces.run import Run
from traces.workload.kept_traces import generated

FAILURES = ("host", "drive", "slow-drive")
_TRIALS = 6  # of a search for the greatest rate
_LEAST = 0.02  # of the rate at which the store saturates; below it the search ends
_MOST = 0.97
PRECISION = (_MOST / _LEAST) ** 0.5**_TRIALS - 1
"""Fraction by which the greatest rate may be above the one that is found: the last step of the bisection, 6 %."""
_CORES = ("cpu", "cores")  # ends of the roles of stations that are cores


@dataclass(frozen=True)
class OpFigures:
    """Latencies of an operation in s, and the fraction of its requests that fail."""

    p50_s: float
    p99_s: float
    errors: float


@dataclass(frozen=True)
class Situation:
    """A store at the workload's rate, healthy or with a failure.

    Attributes:
        ops: figures by operation; empty if the store does not serve the rate.
        meets: whether the objectives are met.
        reason: why there are no figures, such as an overload; empty: there are.
        cores: mean number of busy cores of the store's machines; NaN: not known.
    """

    ops: Mapping[str, OpFigures]
    meets: bool
    reason: str = ""
    cores: float = math.nan


@dataclass(frozen=True)
class Figures:
    """The figures of a candidate.

    Attributes:
        most_ops: greatest rate in 1/s at which the objectives are met; 0: none was found.
        saturation_ops: rate at which the store saturates; None: not known.
        limit: what saturates first; None: not known.
        healthy: at the workload's rate.
        failing: with each of `FAILURES` that the store's model has.
    """

    most_ops: float
    saturation_ops: float | None
    limit: str | None
    healthy: Situation
    failing: Mapping[str, Situation]


def figures_of(
    spec: Spec, faults: Mapping[str, tuple[Any, ...] | str], slos: Sequence[Slo], seed: int, *, quick: bool = False
) -> Figures:
    """Return the figures of a store, at the rate of its workload and at the greatest one.

    Args:
        spec: the healthy store.
        faults: of each failure, as `faults_of_failures` returns them.
        slos: the objectives.
        seed: of the requests and the service times.
        quick: whether the load with a failure is judged by its run alone, without the rate at saturation.

    Raises:
        InputError: the spec cannot be simulated.
    """
    limit = capacity_of(spec, first_trace(spec, seed))
    failing = {}
    for kind, fault in faults.items():
        try:
            failing[kind] = _failing(spec, fault, slos, seed, quick)
        except InputError as error:
            failing[kind] = Situation({}, False, error.messages[0])
    return Figures(
        most_ops(spec, slos, seed, limit), limit.mean_ops, limit.station, _situation(spec, slos, seed, limit), failing
    )


def deviating(figures: Figures, deviation: Deviation) -> Figures:
    """Return the figures of a draw with the deviation of its model: latencies, and the greatest rate inversely."""
    return replace(
        figures,
        most_ops=figures.most_ops * deviation.rate,
        healthy=_deviating(figures.healthy, deviation),
        failing={kind: _deviating(each, deviation) for kind, each in figures.failing.items()},
    )


def _deviating(situation: Situation, deviation: Deviation) -> Situation:
    ops = {
        op: replace(each, p50_s=each.p50_s * deviation.quantile(0.5), p99_s=each.p99_s * deviation.quantile(0.99))
        for op, each in situation.ops.items()
    }
    return replace(situation, ops=ops)


def faults_of_failures(described: DescribedSpec) -> dict[str, tuple[Any, ...] | str]:
    """Return the faults of a spec with each of `FAILURES` that its store's model has, or why it cannot have it."""
    found: dict[str, tuple[Any, ...] | str] = {}
    spec = described.spec
    for kind in FAILURES:
        if kind not in store_of(spec).faults:
            continue
        failure = Failure(kind, kind)
        try:
            data = failure.added_to(described.whole, failure.lasting(spec), described.source)
            found[kind] = spec_of(data, described.source).faults
        except InputError as error:
            found[kind] = error.messages[0]
    return found


def most_ops(spec: Spec, slos: Sequence[Slo], seed: int, limit: Capacity) -> float:
    """Return the greatest rate in 1/s at which the objectives are met, by bisection on a logarithmic scale; 0: none.

    Args:
        spec: the store.
        slos: the objectives.
        seed: of the runs.
        limit: what saturates it, whose rate is not exceeded; without one, 20 times the rate of the workload is not.
    """
    most = limit.mean_ops or 20 * (spec.workload.rate or 1.0)

    def meets(fraction: float) -> bool:
        at_rate = spec.model_copy(update={"workload": spec.workload.with_rate(fraction * most)})
        return _meets(_run(at_rate, seed, limit)[0], slos)

    if meets(_MOST):
        return _MOST * most
    low, high = _LEAST, _MOST
    if not meets(low):
        return 0.0
    for _ in range(_TRIALS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low * most


def _run(spec: Spec, seed: int, limit: Capacity | None) -> tuple[Measures, float]:
    """Return the figures of one run, and the mean number of busy cores; all stores have the same requests."""
    found = replicate(partial(_simulated, spec), seed=seed, replications=1)
    cores = math.fsum(
        (row["servers"] or 0) * row["utilization"]
        for row in found.runs[0].stations
        if row["role"].endswith(_CORES) and not row["role"].startswith("client")
    )
    return Measures.of(found, capacity=limit), cores


def _simulated(spec: Spec, *, seed: int) -> Run:
    return simulate(spec, generated(spec.workload, seed), seed=seed)


def _meets(measures: Measures, slos: Sequence[Slo]) -> bool:
    return not measures.overloaded and all(slo.is_met(measures, evaluated(slo, measures)) for slo in slos)


def _situation(spec: Spec, slos: Sequence[Slo], seed: int, limit: Capacity | None) -> Situation:
    """Return the store at the rate of its workload."""
    most = None if limit is None else limit.mean_ops
    if most is not None and (spec.workload.rate or 0.0) >= most:
        return Situation({}, False, f"overloaded: {most:,.0f}/s at most")
    measures, cores = _run(spec, seed, limit)
    ops = {
        op: OpFigures(*(measures.interval(op, name).value for name in ("p50", "p99", ERRORS))) for op in measures.ops
    }
    if all(each.errors == 1 for each in ops.values()):
        return Situation({}, False, "no service")
    reason = "overloaded" if measures.overloaded else ""
    return Situation({} if reason else ops, _meets(measures, slos), reason, cores)


def _failing(spec: Spec, faults: tuple[Any, ...] | str, slos: Sequence[Slo], seed: int, quick: bool) -> Situation:
    if isinstance(faults, str):
        return Situation({}, False, faults)
    failing = spec.model_copy(update={"faults": faults})
    limit = None if quick else capacity_of(failing, first_trace(failing, seed))
    return _situation(failing, slos, seed, limit)
