"""The demonstration: fit MinIO's model to light loads, then forecast a heavier one that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.spec import spec_of
from sim.simulate import simulate
from traces.errors import InputError
from traces.generate import generate
from traces.run import Run
from traces.trace import Trace
from traces.yaml_input import load_mapping, override
from validate.calibrate import Fit, Measurement, Parameter, calibrate
from validate.compare import compare
from validate.replay import Progress, replay
from validate.s3 import Target

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "demo"
"""The demo's spec, and Runs that were recorded on a real MinIO."""

LIGHT_CLIENTS, HEAVY_CLIENTS = (1, 4), 16
"""Closed-loop clients of the loads that are fitted, and of the one that is forecast."""

PARAMETERS = (
    Parameter("host.cpu.GET.constant", 2e-5, 2e-2),
    Parameter("host.cpu.GET.distribution.cv", 0.05, 3),
    Parameter("host.cpu.PUT.constant", 2e-5, 1e-1),
    Parameter("host.cpu.PUT.distribution.cv", 0.05, 3),
    Parameter("drives.commit.constant", 1e-5, 1.0),
    Parameter("drives.commit.distribution.cv", 0.05, 3),
)
"""What is fitted."""

TOLERANCE = 0.25


@dataclass(frozen=True)
class Demonstration:
    """What the demo found.

    Attributes:
        light: the measured Runs that were fitted.
        fit: the fitted parameters.
        measured, forecast: the heavy load, on the store and in the model.
        comparison: the forecast against the measurement.
    """

    light: tuple[Run, ...]
    fit: Fit
    measured: Run
    forecast: Run
    comparison: dict[str, Any]


def run_name(clients: int) -> str:
    """What a measured Run's folder is called."""
    return f"measured-{clients}"


def recorded(clients: int) -> Measurement:
    """The Run with so many clients that was recorded on a real MinIO.

    Raises:
        InputError: there is no recording.
    """
    return Measurement(_trace(clients), Run.read(FOLDER / run_name(clients)))


def measured(clients: int, target: Target, progress: Progress) -> Measurement:
    """A Run with so many clients on a live store.

    Raises:
        InputError: the store cannot be reached or refuses.
    """
    trace = _trace(clients)
    return Measurement(trace, replay(trace, target, progress=progress))


def demonstrate(
    light: tuple[Measurement, ...], heavy: Measurement, seed: int, progress: Callable[[int], None]
) -> Demonstration:
    """Fit the light loads, forecast the heavy one, and compare; `progress` is told of each simulation of the fit."""
    fit = calibrate(_data(), light, PARAMETERS, source=str(_SPEC), seed=seed, progress=progress)
    forecast = simulate(fit.spec, heavy.trace, seed=seed)
    comparison = compare(forecast, heavy.run, tolerance=TOLERANCE, seed=seed)
    return Demonstration(tuple(m.run for m in light), fit, heavy.run, forecast, comparison)


_SPEC = FOLDER / "minio.yaml"
_TRACE_SEED = 0  # that of the recorded Runs


def _data(clients: int = HEAVY_CLIENTS) -> dict[str, Any]:
    if not _SPEC.is_file():
        raise InputError(f"{_SPEC}: no such file; the demo runs from a checkout of the project, which has its examples")
    return override(load_mapping(_SPEC), [f"workload.clients={clients}"])


def _trace(clients: int) -> Trace:
    return generate(spec_of(_data(clients), str(_SPEC)).workload, _TRACE_SEED)
