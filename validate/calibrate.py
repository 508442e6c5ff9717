"""Fits a spec's parameters to measured Runs: simulated log-quantiles and throughputs against the measured ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from models.spec import Spec, spec_of
from sim.simulate import simulate
from traces.errors import InputError
from traces.run import Run
from traces.statistics import latencies, ops_of, quantiles, summarise
from traces.trace import Trace
from traces.yaml_input import override

PROBABILITIES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""The quantiles that are fitted."""

_WEIGHTS = np.array([1, 1, 1, 1, 1, 0.7, 0.4])  # the far quantiles of a short Run say less
_THROUGHPUT_WEIGHT = 2.0

# The step of slopes, in the logarithm of a parameter: a job that overtakes another makes the figures jump, so slopes
# have to be taken over a distance on which many do.
_STEP = 0.15


@dataclass(frozen=True)
class Parameter:
    """A value of the spec that a fit may choose.

    Attributes:
        path: where it stands in the spec, as for ``--set``.
        low, high: its bounds, in the spec's unit (seconds for durations); both above 0.
    """

    path: str
    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < math.inf:
            raise InputError(f"{self.path}: bounds {self.low} and {self.high} must ascend from above 0")


@dataclass(frozen=True)
class Measurement:
    """A Run and the Trace that it was asked."""

    trace: Trace
    run: Run


@dataclass(frozen=True)
class Fit:
    """What a fit found.

    Attributes:
        values: the chosen value of each parameter's path.
        spec: the spec with these values.
        rms_log_error: root mean square of the log-ratios simulated / measured that it was fitted on.
        simulations: how many Runs were simulated for it.
    """

    values: Mapping[str, float]
    spec: Spec
    rms_log_error: float
    simulations: int


def calibrate(
    data: dict[str, Any],
    measurements: Sequence[Measurement],
    parameters: Sequence[Parameter],
    *,
    source: str = "spec",
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Fit:
    """The values of the parameters with which the simulated Runs come nearest to the measured ones.

    Least squares over the logarithms of quantiles and throughputs, by operation; every simulation takes the same
    random numbers, so the sum is smooth in the parameters. The search is in the logarithm of the parameters.

    Args:
        data: the spec as a mapping; it gives the first guess, too.
        measurements: what to fit; failed requests are left out.
        parameters: what may change.
        source: what to call the spec in a message.
        seed: of all simulations.
        progress: told how many Runs have been simulated.

    Raises:
        InputError: nothing to fit, a parameter is not in the spec, or a measured Run has no successful request.
    """
    if not measurements or not parameters:
        raise InputError("a fit needs at least one Run and one parameter")
    targets = [_figures(m.run) for m in measurements]
    low, high = np.log([p.low for p in parameters]), np.log([p.high for p in parameters])
    guess = np.clip([math.log(_value_at(data, p.path, source)) for p in parameters], low, high)
    simulated = 0

    def errors(point: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal simulated
        spec = _spec_at(data, parameters, point, source)
        parts = []
        for measurement, target in zip(measurements, targets, strict=True):
            forecast = _figures(simulate(spec, measurement.trace, seed=seed))
            parts.append(np.concatenate([_error(forecast[op], target[op]) for op in target]))
            simulated += 1
            if progress:
                progress(simulated)
        return np.concatenate(parts)

    def slopes(point: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = _STEP * np.eye(len(point))
        return np.stack([(errors(point + s) - errors(point - s)) / (2 * _STEP) for s in steps], axis=1)

    found = optimize.least_squares(errors, guess, jac=slopes, bounds=(low, high), xtol=1e-3, ftol=1e-4, max_nfev=25)
    values = dict(zip((p.path for p in parameters), np.exp(found.x).tolist(), strict=True))
    rms = float(np.sqrt(np.mean(errors(found.x) ** 2)))
    return Fit(values, _spec_at(data, parameters, found.x, source), rms, simulated)


def _spec_at(data: dict[str, Any], parameters: Sequence[Parameter], point: NDArray[np.float64], source: str) -> Spec:
    assignments = [f"{p.path}={math.exp(x)!r}" for p, x in zip(parameters, point, strict=True)]
    return spec_of(override(data, assignments), source)


def _value_at(data: dict[str, Any], path: str, source: str) -> float:
    """The first guess: the value as the checked spec has it."""
    place: Any = spec_of(data, source).model_dump()
    for part in path.split("."):
        if not isinstance(place, dict) or part not in place:
            raise InputError(f"{source}: {path} is not in the spec; a parameter to fit must stand in it")
        place = place[part]
    if not isinstance(place, int | float) or place <= 0:
        raise InputError(f"{source}: {path} is {place!r}; a parameter to fit needs a first guess above 0")
    return float(place)


def _figures(run: Run) -> dict[str, NDArray[np.float64]]:
    """The logarithms that are fitted, by operation: quantiles, then throughput."""
    summary = summarise(run)["ops"]
    figures = {}
    for op in ops_of(run):
        samples = latencies(run, op)
        if not len(samples):
            raise InputError(f"the Run has no successful {op}: there is nothing to fit")
        figures[op] = np.log([*quantiles(samples, PROBABILITIES), summary[op]["throughput_ops"]])
    return figures


def _error(forecast: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    error: NDArray[np.float64] = (forecast - target) * np.append(_WEIGHTS, _THROUGHPUT_WEIGHT)
    return error
