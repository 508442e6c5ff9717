"""Validation of a model on measurements to which it was not fitted, compared with the repeatability of those.

The *repeatability* of a figure is the difference between two measurements of the same configuration, as the median over
pairs of its Runs, or over the other configurations if it has no repetition. A forecast cannot be expected to be more
accurate than a second measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from models.store import Spec
from sim.parallel.process_pool import process_map
from traces.errors import InputError
from traces.run import Run
from validate.compare.compare import DECISIVE
from validate.compare.measured import Measured
from validate.compare.repetitions import repetition_warnings
from validate.compare.run_quality import RunQuality
from validate.forecast.configurations import configurations_of, labels_of
from validate.forecast.prediction import Deviation, OpPrediction, Prediction, predict

TOLERANCES: Mapping[str, float] = {"throughput_ops": 0.05, "p50": 0.10, "p99": 0.15, "w1": 0.10}
"""Tolerated error of each figure, whatever its repeatability."""

REPEATABILITY_FACTOR = 1.5
"""An error up to this multiple of the repeatability is accepted, too."""

AnyDeviation = TypeVar("AnyDeviation", bound=Deviation)

_UNKNOWN = "unknown workload"

Identity = tuple[str, int]
"""Start time and number of requests, which identify a Run in any folder."""


@dataclass(frozen=True)
class CheckedRun:
    """A Run, its quality, the label of its configuration if that was predicted, and whether it was fitted."""

    run: str
    quality: RunQuality
    configuration: str | None
    fitted: bool

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        quality = {"usable": self.quality.usable, **asdict(self.quality)}
        return {"run": self.run, **quality, "configuration": self.configuration, "fitted": self.fitted}


@dataclass(frozen=True)
class Configuration:
    """A predicted configuration.

    Attributes:
        label: a short name (`Requested.label`).
        runs: the names of its usable Runs.
        loop: ``open`` or ``closed``.
        fitted: whether a Run of it was fitted.
        ops: the prediction for each operation.
    """

    label: str
    runs: tuple[str, ...]
    loop: str
    fitted: bool
    ops: Mapping[str, OpPrediction]

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        ops = {op: prediction.to_json() for op, prediction in self.ops.items()}
        return {
            "configuration": self.label,
            "runs": list(self.runs),
            "loop": self.loop,
            "fitted": self.fitted,
            "ops": ops,
        }


@dataclass(frozen=True)
class Worst:
    """The greatest error of a figure, with its configuration and operation."""

    error: float
    configuration: str
    op: str


@dataclass(frozen=True)
class FigureSummary:
    """A figure over the operations of the held-out configurations (throughput: of closed loops only).

    Attributes:
        count: number of values.
        repeatability: median over all repeated configurations.
        tolerance: the tolerated error.
        median, worst: of the errors; None if nothing was held out, and so is `verdict`.
        verdict: of the median: ``within`` the tolerance; ``noise``, beyond it, but within `REPEATABILITY_FACTOR` times
            the repeatability; or ``beyond`` both.
    """

    count: int
    repeatability: float | None
    tolerance: float
    median: float | None = None
    worst: Worst | None = None
    verdict: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Validation:
    """The result of a validation.

    Attributes:
        warnings: Runs that failed the run-quality check and were used, and repetitions that disagree, as sentences.
    """

    runs: tuple[CheckedRun, ...]
    configurations: tuple[Configuration, ...]
    summary: Mapping[str, FigureSummary]
    tolerances: Mapping[str, float]
    seeds: int
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """``fail`` if the verdict of a figure is ``beyond``, ``nothing held out`` if there is none, else ``pass``."""
        verdicts = [row.verdict for row in self.summary.values() if row.verdict is not None]
        if not verdicts:
            return "nothing held out"
        return "fail" if "beyond" in verdicts else "pass"

    def to_json(self) -> dict[str, object]:
        """Return the fields, the factor of the repeatability, and the verdict as JSON values."""
        return {
            "runs": [run.to_json() for run in self.runs],
            "configurations": [configuration.to_json() for configuration in self.configurations],
            "summary": {figure: row.to_json() for figure, row in self.summary.items()},
            "tolerances": dict(self.tolerances),
            "repeatability_factor": REPEATABILITY_FACTOR,
            "seeds": self.seeds,
            "verdict": self.verdict,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class _Group:
    """A configuration before its prediction, with the indices of its Runs and of the usable ones."""

    label: str
    members: Sequence[int]
    usable: Sequence[int]
    fitted: bool
    loop: str


def read_and_check(named: tuple[str, Path]) -> tuple[Measured, RunQuality]:
    """Read a Run and check its quality; an unknown workload is a quality issue.

    Raises:
        InputError: the Run is missing or invalid.
    """
    name, folder = named
    measured = Measured(name, Run.read(folder))
    quality = measured.quality
    try:
        measured.requested  # noqa: B018 - is found here, in a worker
    except InputError as error:
        quality = replace(quality, issues={**quality.issues, _UNKNOWN: str(error)})
    return measured, quality


def validate(
    spec: Spec,
    runs: Mapping[str, Path],
    *,
    fitted: Collection[Identity] = (),
    tolerances: Mapping[str, float] = TOLERANCES,
    seeds: int = 5,
    seed: int = 0,
    workers: int = 1,
    anyway: bool = False,
    progress: Callable[[float], None] = lambda done: None,
) -> Validation:
    """Check the quality of the Runs, predict each configuration of the usable ones, and return the errors.

    A configuration with a fitted Run is predicted like the others, but is not in the summary, even if it has further
    Runs, because the fit has seen its workload. Each Run is read once and kept in memory.

    Args:
        spec: the store; its workload is ignored, as each Run has its own trace, and so are its client policies if
            a Run has recorded ones.
        runs: the folders of Runs, by name.
        fitted: the Runs to which the spec was fitted.
        tolerances: tolerated errors of the figures in `DECISIVE`.
        seeds: number of simulations per configuration, at least 2.
        seed: the seed from which all seeds are derived.
        workers: number of processes.
        anyway: also use Runs that fail the run-quality check, if their workload is known and a request succeeded.
        progress: called with the fraction done.

    Raises:
        InputError: a value is out of range, a Run cannot be read, or the spec cannot serve one.
    """
    _check(tolerances, seeds, workers)
    measured: list[Measured] = []
    qualities: list[RunQuality] = []
    with process_map(min(workers, max(len(runs), 1))) as mapping:
        for run, quality in mapping(read_and_check, runs.items()):
            measured.append(run)
            qualities.append(quality)
            progress(len(measured) / len(runs) / 2)
        groups = _groups(measured, qualities, fitted, anyway)
        predictions: list[Prediction] = []
        members = [[measured[i] for i in group.usable] for group in groups]
        for prediction in mapping(partial(predict, spec, seeds=seeds, seed=seed), members):
            predictions.append(prediction)
            progress(0.5 + len(predictions) / len(groups) / 2)
    configurations = tuple(
        Configuration(group.label, tuple(measured[i].name for i in group.usable), group.loop, group.fitted, ops)
        for group, ops in zip(groups, _with_verdicts(predictions, tolerances), strict=True)
    )
    labels = {i: group.label for group in groups for i in group.members}
    rows = tuple(
        CheckedRun(run.name, quality, labels.get(i), run.identity in fitted)
        for i, (run, quality) in enumerate(zip(measured, qualities, strict=True))
    )
    summary = {figure: _summary(figure, configurations, tolerances[figure]) for figure in DECISIVE}
    return Validation(rows, configurations, summary, dict(tolerances), seeds, _warnings(measured, qualities, groups))


def _warnings(
    measured: Sequence[Measured], qualities: Sequence[RunQuality], groups: Sequence[_Group]
) -> tuple[str, ...]:
    used = [i for group in groups for i in group.usable]
    doubtful = [
        f"{measured[i].name} was used although {'; '.join(qualities[i].reasons)}"
        for i in used
        if not qualities[i].usable
    ]
    apart = (repetition_warnings([(measured[i].name, measured[i].run) for i in group.usable]) for group in groups)
    return (*doubtful, *(sentence for sentences in apart for sentence in sentences))


def _check(tolerances: Mapping[str, float], seeds: int, workers: int) -> None:
    for name in DECISIVE:
        if not tolerances.get(name, 0) > 0:
            raise InputError(f"the tolerance of {name} is {tolerances.get(name)}; it must be above 0")
    if seeds < 2:
        raise InputError(f"seeds is {seeds}; at least 2 are needed for an interval")
    if workers < 1:
        raise InputError(f"workers is {workers}; at least 1 is needed")


def _groups(
    measured: Sequence[Measured], qualities: Sequence[RunQuality], fitted: Collection[Identity], anyway: bool
) -> list[_Group]:
    """Return the configurations that have a usable Run; `anyway`: any Run with a successful request is usable."""
    known = [
        (i, m.requested) for i, (m, j) in enumerate(zip(measured, qualities, strict=True)) if _UNKNOWN not in j.issues
    ]
    configurations = configurations_of([requested for _, requested in known])
    first = [known[configuration[0]][1] for configuration in configurations]
    groups = []
    for configuration, requested, label in zip(configurations, first, labels_of(first), strict=True):
        members = [known[k][0] for k in configuration]
        usable = [i for i in members if qualities[i].usable or (anyway and measured[i].succeeded)]
        if usable:
            seen = any(measured[i].identity in fitted for i in members)
            groups.append(_Group(label, members, usable, seen, requested.pacing.loop))
    return groups


def _with_verdicts(predictions: Sequence[Prediction], tolerances: Mapping[str, float]) -> list[dict[str, OpPrediction]]:
    """Return each configuration's operations with repeatability (its own, or else that of all) and verdicts."""
    pairs = [
        {
            (op, figure): [pair[op][figure] for pair in prediction.repetitions if figure in pair.get(op, {})]
            for op, found in prediction.ops.items()
            for figure in found.measures
        }
        for prediction in predictions
    ]
    bands: dict[tuple[str, str], list[float]] = {}
    for own in pairs:
        for at, errors in own.items():
            if errors:
                bands.setdefault(at, []).append(float(np.median(errors)))

    def with_verdict(measure: AnyDeviation, at: tuple[str, str], errors: Sequence[float]) -> AnyDeviation:
        several = errors or bands.get(at)
        band = float(np.median(several)) if several else None
        verdict = _verdict(measure.error, tolerances[at[1]], band) if at[1] in DECISIVE else None
        return replace(measure, repetition_pairs=len(errors), repeatability=band, verdict=verdict)

    return [
        {
            op: replace(
                found,
                ratios={name: with_verdict(m, (op, name), own[op, name]) for name, m in found.ratios.items()},
                distances={name: with_verdict(m, (op, name), own[op, name]) for name, m in found.distances.items()},
            )
            for op, found in prediction.ops.items()
        }
        for prediction, own in zip(predictions, pairs, strict=True)
    ]


def _verdict(error: float, tolerance: float, repeatability: float | None) -> str:
    if error <= tolerance:
        return "within"
    return "noise" if repeatability is not None and error <= REPEATABILITY_FACTOR * repeatability else "beyond"


def _summary(figure: str, configurations: Sequence[Configuration], tolerance: float) -> FigureSummary:
    counted = [
        (configuration, op, found.measures[figure])
        for configuration in configurations
        for op, found in configuration.ops.items()
        if figure in found.measures and not (figure == "throughput_ops" and configuration.loop == "open")
    ]
    bands = [m.repeatability for _, _, m in counted if m.repetition_pairs and m.repeatability is not None]
    held_out = [Worst(m.error, configuration.label, op) for configuration, op, m in counted if not configuration.fitted]
    band = float(np.median(bands)) if bands else None
    if not held_out:
        return FigureSummary(0, band, tolerance)
    median = float(np.median([one.error for one in held_out]))
    worst = max(held_out, key=lambda one: one.error)
    return FigureSummary(len(held_out), band, tolerance, median, worst, _verdict(median, tolerance, band))
