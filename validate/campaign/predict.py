"""Predicts the loads of a campaign: values that follow from some of its loads, then a simulation of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa

from models.spec.spec_values import fit_at
from models.store import Spec, spec_of
from sim.simulate import simulate
from traces.errors import InputError
from traces.run import Run
from traces.spec.spec_file import replaced
from traces.trace import Trace
from validate.campaign.campaign import Campaign, Figure
from validate.campaign.cells import Cell
from validate.campaign.phases import PhaseFigures, Phases, deviations, figures_of, mean_of, phases_of
from validate.lab.registry import kind_of
from validate.replay.recorded_faults import recorded_faults
from validate.replay.recorded_policies import recorded_policies

_ROUNDS, _STEP = 3, 1.2
_SEEDS_OF_MEANS = 8  # means of few requests, some of which pause, differ between simulations; medians hardly do
BUSY = 0.5
"""Fraction of the machine's CPU time from which the cores limit a load, as clients and store have them in common."""


@dataclass(frozen=True)
class Row:
    """A load in a phase, measured and predicted.

    Attributes:
        busy: fraction of the machine's CPU time that store and clients used.
        fitted: whether values of the spec follow from this load.
        deviation: of the prediction from the measurement, by operation and figure.
        repeatability: of a second measurement from the first one; without operations that it does not have.
    """

    load: str
    phase: str
    busy: float
    fitted: bool
    measured: PhaseFigures
    predicted: PhaseFigures
    deviation: Mapping[str, Mapping[str, float]]
    repeatability: Mapping[str, Mapping[str, float]]

    @property
    def counts(self) -> bool:
        """Whether it is in the medians: not fitted, without a fault, and not limited by the machine's cores."""
        return self.phase == "all" and not self.fitted and self.busy < BUSY


def fitted_values(campaign: Campaign, cells: Mapping[str, Cell], runs: Mapping[str, Run]) -> dict[str, float]:
    """Return the values of the spec at which the predicted figures of some loads are the measured ones.

    Each value in turn is changed by the secant of the figure that it is fitted to, in several rounds, within the bounds
    of its field. Those whose load was not measured keep their value.

    Args:
        runs: a measured Run by load.

    Raises:
        InputError: a path is no number of the spec that can be fitted.
    """
    values: dict[str, float] = {}
    fits = {path: fit for path, fit in campaign.file.fit.items() if fit.load in runs}
    for path, fit in fits.items():
        if fit.figure == "client_cpu":
            values[path] = float(runs[fit.load].info["cpu"]["client_per_op_s"])
    slopes: dict[str, float] = {}
    for _ in range(_ROUNDS):
        for path, fit in fits.items():
            if fit.figure == "client_cpu":
                continue
            cell, run = cells[fit.load], runs[fit.load]
            low, high, first = _bounds(campaign, cell, run, path)
            now = values.get(path, first)
            wanted_s, found_s = _figure(run, fit.figure), _at(campaign, cell, run, values, path, now, fit.figure)
            if path not in slopes:
                other = now * _STEP if now * _STEP <= high else now / _STEP
                slopes[path] = (_at(campaign, cell, run, values, path, other, fit.figure) - found_s) / (other - now)
            if slopes[path] > 0:
                now = min(max(now + (wanted_s - found_s) / slopes[path], low), high)
            values[path] = now
    return values


def _bounds(campaign: Campaign, cell: Cell, run: Run, path: str) -> tuple[float, float, float]:
    """Return the bounds of a value that is fitted, and the one to begin with."""
    source = f"{campaign.path}: fit: {path}"
    spec = spec_for(campaign, cell, run, {path: 1e-6})
    fit = fit_at(spec, path)
    if fit is None:
        raise InputError(f"{source}: cannot be fitted")
    given: Any = spec_for(campaign, cell, run, {}).model_dump()
    for part in path.split("."):
        given = given.get(part) if isinstance(given, dict) else None
    first = float(given) if isinstance(given, int | float) and given > 0 else float(np.sqrt(fit.low * fit.high))
    return fit.low, fit.high, min(max(first, fit.low), fit.high)


def _at(
    campaign: Campaign, cell: Cell, run: Run, values: Mapping[str, float], path: str, value: float, figure: Figure
) -> float:
    spec = spec_for(campaign, cell, run, {**values, path: value})
    seeds = range(1, 1 + (_SEEDS_OF_MEANS if figure == "mean" else 1))
    return fmean(_figure(simulate(spec, _placed(campaign, spec, run), seed=seed), figure) for seed in seeds)


def _figure(run: Run, figure: Figure) -> float:
    latency_s = run.latency_s[~run.failed]
    if figure == "mean":
        return float(latency_s.mean())
    return float(np.quantile(latency_s, {"p25": 0.25, "p50": 0.5}[figure]))


def spec_for(campaign: Campaign, cell: Cell, run: Run, values: Mapping[str, Any]) -> Spec:
    """Return the spec that predicts a Run: with its faults and policies, and the values of campaign and load.

    Raises:
        InputError: a value is wrong, or the model has no such fault.
    """
    source = f"{campaign.spec_path} for {cell.name}"
    data = dict(campaign.spec)
    if policies := recorded_policies(run, source):
        data["client"] = {**data.get("client", {}), **policies.model_dump()}
    faults = [*data.get("faults", ()), *recorded_faults(run, source)]
    if faults:
        data["faults"] = faults
    workload = cell.workload if "clients" in cell.workload else {**cell.workload, "rate": 1.0}
    data["workload"] = {"operations": 1, **workload} if "clients" in workload else {"duration": 1.0, **workload}
    return spec_of(replaced(data, {**campaign.file.set, **values, **cell.load.set}), source)


def _placed(campaign: Campaign, spec: Spec, run: Run, number: int = 1) -> Trace:
    """Return the requests of a Run with the placement that it recorded, or with one of several if there is none."""
    trace = run.trace
    assert trace is not None
    kind, recorded = kind_of(campaign.file.store), run.info.get("campaign", {}).get("placement")
    if kind.placement is not None and recorded:
        return kind.placement.applied(trace, recorded, spec)
    if not campaign.file.any_placement:
        return trace
    keys = trace.table.column("key").combine_chunks()
    names = pa.array([f"{number}/{name}" for name in keys.dictionary.to_pylist()])
    return trace.with_keys(pa.DictionaryArray.from_arrays(keys.indices, names))


def rows_of(campaign: Campaign, cell: Cell, runs: list[Run], values: Mapping[str, float], seeds: int = 1) -> list[Row]:
    """Return a row for each phase of a load that was measured.

    Args:
        runs: of its repetitions; the one with the least load from elsewhere counts, another one shows how far they
            differ.
        seeds: number of simulations.
    """
    by_quiet = sorted(runs, key=lambda run: run.info["cpu"]["other_share"])
    run = by_quiet[0]
    spec, phases = spec_for(campaign, cell, run, values), phases_of(run)
    measured = figures_of(run, phases)
    tails = {(phase, op): one.tail for phase, found in measured.items() for op, one in found.ops.items()}
    predicted = mean_of([_forecast(campaign, spec, run, phases, seed) for seed in range(1, seeds + 1)], tails)
    again = figures_of(by_quiet[1], phases_of(by_quiet[1])) if len(runs) > 1 else {}
    cpu = run.info["cpu"]
    fitted = any(fit.load == cell.name for fit in campaign.file.fit.values())
    busy = cpu["busy_share"] - cpu["other_share"]
    return [
        Row(
            cell.name, phase, busy, fitted, found, predicted[phase],
            _deviations(found, predicted[phase]), _deviations(found, again[phase]) if phase in again else {},
        )
        for phase, found in measured.items()
    ]  # fmt: skip


def _deviations(measured: PhaseFigures, other: PhaseFigures) -> dict[str, dict[str, float]]:
    """Return the deviations of each operation that both have."""
    return {op: deviations(one, other.ops[op]) for op, one in measured.ops.items() if op in other.ops}


def _forecast(campaign: Campaign, spec: Spec, run: Run, phases: Phases, seed: int) -> dict[str, PhaseFigures]:
    """Return the figures of a simulation in the phases of a Run; without a fault, in its own whole time."""
    forecast = simulate(spec, _placed(campaign, spec, run, seed), seed=seed)
    return figures_of(forecast, phases_of(forecast) if list(phases) == ["all"] else phases)


def summary_of(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return for each figure the number of operations of rows that count, and the median and greatest deviation.

    Returns:
        By figure ``rows``, ``median``, ``greatest``, and ``repeatability``, the median deviation of second
        measurements, NaN without any.
    """
    found = {}
    for name in ("throughput", "p50", "tail", "w1"):
        counted = [row for row in rows if row.counts]
        values = [abs(of_op[name]) for row in counted for of_op in row.deviation.values() if name in of_op]
        again = [abs(of_op[name]) for row in counted for of_op in row.repeatability.values() if name in of_op]
        if values:
            found[name] = {
                "rows": len(values), "median": float(np.median(values)), "greatest": max(values),
                "repeatability": float(np.median(again)) if again else float("nan"),
            }  # fmt: skip
    return found
