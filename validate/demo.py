"""The demonstration: fit a store's model to light loads, then forecast a heavier one that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.spec.spec_values import with_values
from models.store import Spec, load_spec
from sim.simulate import simulate
from traces.errors import InputError
from traces.run import Run
from traces.trace import Trace
from traces.workload.generate import generate
from validate.calibration.calibrate import calibrate
from validate.calibration.profile import Profile
from validate.compare.compare import Comparison, compare
from validate.compare.run_quality import check_quality
from validate.replay.replay import Progress, replay
from validate.s3.account import Target

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "demo"
"""The demo's spec, its one YAML file, and Runs that were recorded on a real store of its kind."""

LIGHT_CLIENTS, HEAVY_CLIENTS = (1, 4), 16
"""Closed-loop clients of the loads that are fitted, and of the one that is forecast."""

TOLERANCE = 0.25

TRIES = 2
"""Maximum number of measurements of a load on a live store: what disturbed one may be over in the next."""


@dataclass(frozen=True)
class Demonstration:
    """What the demo found.

    Attributes:
        light: the measured Runs that were fitted.
        profile: the fitted parameters.
        measured, forecast: the heavy load, on the store and in the model.
        comparison: the forecast against the measurement.
    """

    light: tuple[Run, ...]
    profile: Profile
    measured: Run
    forecast: Run
    comparison: Comparison


def store_name() -> str:
    """The store that the demo's spec is of."""
    return _spec().store


def run_name(clients: int) -> str:
    """What a measured Run's folder is called."""
    return f"measured-{clients}"


def recorded(clients: int) -> Run:
    """Return the Run of this number of clients that was recorded on a real store.

    Raises:
        InputError: there is no recording.
    """
    return Run.read(FOLDER / run_name(clients))


class DisturbedError(Exception):
    """The machine was too busy for a measurement.

    Attributes:
        clients: number of clients of the load that was measured.
        reasons: the warnings of the run-quality check, as sentences.
    """

    def __init__(self, clients: int, reasons: Sequence[str]):
        super().__init__("; ".join(reasons))
        self.clients, self.reasons = clients, list(reasons)


def measured(clients: int, target: Target, progress: Progress) -> Run:
    """Return a Run with this number of clients on a live store; a disturbed one is measured again.

    Raises:
        InputError: the store cannot be reached or refuses.
        DisturbedError: each of `TRIES` measurements was disturbed.
        KeyboardInterrupt: the replay was interrupted.
    """
    reasons: list[str] = []
    for _ in range(TRIES):
        run = replay(_trace(clients), target, progress=progress)
        if run.info["aborted"]:
            raise KeyboardInterrupt
        reasons = check_quality(run).warnings
        if not reasons:
            return run
    raise DisturbedError(clients, reasons)


def demonstrate(
    light: tuple[Run, ...], heavy: Run, seed: int, workers: int, progress: Callable[[float], None]
) -> Demonstration:
    """Fit the light loads, forecast the heavy one, and compare; `progress` is called with the fraction of the fit done.

    Runs of a store that was not steady are fitted too: a demonstration takes the disks that it finds.
    """
    runs = [(run_name(clients), run) for clients, run in zip(LIGHT_CLIENTS, light, strict=True)]
    spec = _spec()
    profile = calibrate(
        spec, runs, source=str(_spec_file()), seed=seed, workers=workers, anyway=True, progress=progress
    )
    forecast = simulate(with_values(spec, profile.values), heavy.trace, seed=seed)
    comparison = compare(forecast, heavy, tolerance=TOLERANCE, seed=seed)
    return Demonstration(light, profile, heavy, forecast, comparison)


_TRACE_SEED = 0


def _spec_file() -> Path:
    for path in FOLDER.glob("*.yaml"):
        return path
    raise InputError(f"{FOLDER}: has no spec; the demo runs from a checkout of the project, which has its examples")


def _spec(clients: int = HEAVY_CLIENTS) -> Spec:
    return load_spec(_spec_file(), [f"workload.clients={clients}"])


def _trace(clients: int) -> Trace:
    return generate(_spec(clients).workload, _TRACE_SEED)
