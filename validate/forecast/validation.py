"""A model held against measurements it was not fitted on, and those against their own repetitions.

The *noise band* of a figure is how far one measurement of a cell is from another of the same cell, in the median over
pairs of its Runs; where a cell has no repetition, in the median over the cells that have. A forecast cannot be expected
to be nearer to a measurement than a second measurement is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from models.store import Spec
from sim.parallel.process_pool import process_map
from traces.errors import InputError
from traces.run import Run
from validate.compare.compare import JUDGED
from validate.compare.measured import Measured
from validate.compare.run_quality import Judgement
from validate.forecast.configurations import cells_of, labels_of
from validate.forecast.prediction import Deviation, OpPrediction, Prediction, predict

TOLERANCES: Mapping[str, float] = {"throughput_ops": 0.05, "p50": 0.10, "p99": 0.15, "w1": 0.10}
"""The error of each judged figure that is good enough whatever the noise."""

REPEATABILITY_FACTOR = 1.5
"""An error up to so many noise bands is good enough, too."""

VERDICTS = ("within", "noise", "beyond")
"""Within the tolerance; beyond it, but within `REPEATABILITY_FACTOR` noise bands; beyond both."""

AnyDeviation = TypeVar("AnyDeviation", bound=Deviation)

_UNKNOWN = "unknown workload"

Identity = tuple[str, int]
"""When a Run began, and how many requests it had: the same Run in another folder is still that Run."""


@dataclass(frozen=True)
class JudgedRun:
    """A Run, what speaks against it, the label of its cell if that was predicted, and whether it was fitted."""

    run: str
    judgement: Judgement
    cell: str | None
    fitted: bool

    def to_json(self) -> dict[str, Any]:
        """Its fields."""
        judged = {"usable": self.judgement.usable, **asdict(self.judgement)}
        return {"run": self.run, **judged, "cell": self.cell, "fitted": self.fitted}


@dataclass(frozen=True)
class Cell:
    """A cell that was predicted.

    Attributes:
        cell: its label.
        runs: its usable Runs.
        loop: ``open`` or ``closed``.
        fitted: whether a Run of it was fitted.
        ops: what was predicted of each operation.
    """

    cell: str
    runs: tuple[str, ...]
    loop: str
    fitted: bool
    ops: Mapping[str, OpPrediction]

    def to_json(self) -> dict[str, Any]:
        """Its fields."""
        ops = {op: prediction.to_json() for op, prediction in self.ops.items()}
        return {"cell": self.cell, "runs": list(self.runs), "loop": self.loop, "fitted": self.fitted, "ops": ops}


@dataclass(frozen=True)
class Worst:
    """The greatest error of a figure, and where it is."""

    error: float
    cell: str
    op: str


@dataclass(frozen=True)
class FigureSummary:
    """A judged figure over the operations of the held-out cells; of throughput, those of closed loops.

    Attributes:
        count: how many there are.
        noise_band: the median over all cells that were repeated.
        tolerance: the error that is good enough.
        median, worst: of the errors; None where nothing was held out, as is `verdict`.
        verdict: one of `VERDICTS`, of the median.
    """

    count: int
    repeatability: float | None
    tolerance: float
    median: float | None = None
    worst: Worst | None = None
    verdict: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self)


@dataclass(frozen=True)
class Validation:
    """What measured Runs say of a model."""

    runs: tuple[JudgedRun, ...]
    cells: tuple[Cell, ...]
    summary: Mapping[str, FigureSummary]
    tolerances: Mapping[str, float]
    seeds: int

    @property
    def verdict(self) -> str:
        """``fail`` where that of a figure is ``beyond``, ``nothing held out`` where none has one, else ``pass``."""
        verdicts = [row.verdict for row in self.summary.values() if row.verdict is not None]
        if not verdicts:
            return "nothing held out"
        return "fail" if "beyond" in verdicts else "pass"

    def to_json(self) -> dict[str, Any]:
        """Its fields, the factor of the noise bands, and the verdict."""
        return {
            "runs": [run.to_json() for run in self.runs],
            "cells": [cell.to_json() for cell in self.cells],
            "summary": {figure: row.to_json() for figure, row in self.summary.items()},
            "tolerances": dict(self.tolerances),
            "noise_factor": REPEATABILITY_FACTOR,
            "seeds": self.seeds,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class _Group:
    """A cell before it is predicted: its Runs, and the usable ones among them, by their places."""

    label: str
    members: Sequence[int]
    usable: Sequence[int]
    fitted: bool
    loop: str


def examined(named: tuple[str, Path]) -> tuple[Measured, Judgement]:
    """Read a Run and judge it; a workload that is not known counts against it.

    Raises:
        InputError: there is no Run, or it is broken.
    """
    name, folder = named
    measured = Measured(name, Run.read(folder))
    judgement = measured.judgement
    try:
        measured.requested  # noqa: B018 - is found here, in a worker
    except InputError as error:
        judgement = replace(judgement, faults={**judgement.faults, _UNKNOWN: str(error)})
    return measured, judgement


def validate(
    spec: Spec,
    runs: Mapping[str, Path],
    *,
    fitted: Collection[Identity] = (),
    tolerances: Mapping[str, float] = TOLERANCES,
    seeds: int = 5,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[float], None] = lambda done: None,
) -> Validation:
    """Judge the Runs, predict each cell of the usable ones, and say how far off the predictions are.

    A cell of which a Run was fitted is predicted like the others, but does not count in the summary, even if it has
    further Runs: its workload was seen. Each Run is read once, and kept.

    Args:
        spec: the store; its workload does not count, each Run has its own trace; nor do its clients' policies where
            a Run has its own.
        runs: the folders of Runs, by the names to call them by.
        fitted: which Runs the spec was fitted on.
        tolerances: of the figures in `JUDGED`.
        seeds: simulations of each cell, at least 2.
        seed: from which all seeds are made.
        workers: processes.
        progress: told the share done.

    Raises:
        InputError: a value is out of range, a Run cannot be read, or the spec cannot serve one.
    """
    _check(tolerances, seeds, workers)
    measured: list[Measured] = []
    judgements: list[Judgement] = []
    with process_map(min(workers, max(len(runs), 1))) as mapping:
        for run, judgement in mapping(examined, runs.items()):
            measured.append(run)
            judgements.append(judgement)
            progress(len(measured) / len(runs) / 2)
        groups = _groups(measured, judgements, fitted)
        predictions: list[Prediction] = []
        members = [[measured[i] for i in group.usable] for group in groups]
        for prediction in mapping(partial(predict, spec, seeds=seeds, seed=seed), members):
            predictions.append(prediction)
            progress(0.5 + len(predictions) / len(groups) / 2)
    cells = tuple(
        Cell(group.label, tuple(measured[i].name for i in group.usable), group.loop, group.fitted, ops)
        for group, ops in zip(groups, _with_verdicts(predictions, tolerances), strict=True)
    )
    labels = {i: group.label for group in groups for i in group.members}
    rows = tuple(
        JudgedRun(run.name, judgement, labels.get(i), run.identity in fitted)
        for i, (run, judgement) in enumerate(zip(measured, judgements, strict=True))
    )
    summary = {figure: _summary(figure, cells, tolerances[figure]) for figure in JUDGED}
    return Validation(rows, cells, summary, dict(tolerances), seeds)


def _check(tolerances: Mapping[str, float], seeds: int, workers: int) -> None:
    for name in JUDGED:
        if not tolerances.get(name, 0) > 0:
            raise InputError(f"the tolerance of {name} is {tolerances.get(name)}; it must be above 0")
    if seeds < 2:
        raise InputError(f"seeds is {seeds}; at least 2 are needed for an interval")
    if workers < 1:
        raise InputError(f"workers is {workers}; at least 1 is needed")


def _groups(
    measured: Sequence[Measured], judgements: Sequence[Judgement], fitted: Collection[Identity]
) -> list[_Group]:
    """The cells that have a usable Run."""
    known = [
        (i, m.requested) for i, (m, j) in enumerate(zip(measured, judgements, strict=True)) if _UNKNOWN not in j.faults
    ]
    cells = cells_of([requested for _, requested in known])
    first = [known[cell[0]][1] for cell in cells]
    groups = []
    for cell, requested, label in zip(cells, first, labels_of(first), strict=True):
        members = [known[k][0] for k in cell]
        usable = [i for i in members if judgements[i].usable]
        if usable:
            seen = any(measured[i].identity in fitted for i in members)
            groups.append(_Group(label, members, usable, seen, requested.pacing.loop))
    return groups


def _with_verdicts(predictions: Sequence[Prediction], tolerances: Mapping[str, float]) -> list[dict[str, OpPrediction]]:
    """The operations of each cell with noise bands, of the cell or else of all that have some, and verdicts."""
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

    def judged(measure: AnyDeviation, at: tuple[str, str], errors: Sequence[float]) -> AnyDeviation:
        several = errors or bands.get(at)
        band = float(np.median(several)) if several else None
        verdict = _judged(measure.error, tolerances[at[1]], band) if at[1] in JUDGED else None
        return replace(measure, noise_pairs=len(errors), repeatability=band, verdict=verdict)

    return [
        {
            op: replace(
                found,
                ratios={name: judged(m, (op, name), own[op, name]) for name, m in found.ratios.items()},
                distances={name: judged(m, (op, name), own[op, name]) for name, m in found.distances.items()},
            )
            for op, found in prediction.ops.items()
        }
        for prediction, own in zip(predictions, pairs, strict=True)
    ]


def _judged(error: float, tolerance: float, repeatability: float | None) -> str:
    if error <= tolerance:
        return "within"
    return "noise" if repeatability is not None and error <= REPEATABILITY_FACTOR * repeatability else "beyond"


def _summary(figure: str, cells: Sequence[Cell], tolerance: float) -> FigureSummary:
    counted = [
        (cell, op, found.measures[figure])
        for cell in cells
        for op, found in cell.ops.items()
        if figure in found.measures and not (figure == "throughput_ops" and cell.loop == "open")
    ]
    bands = [m.repeatability for _, _, m in counted if m.noise_pairs and m.repeatability is not None]
    held_out = [Worst(m.error, cell.cell, op) for cell, op, m in counted if not cell.fitted]
    band = float(np.median(bands)) if bands else None
    if not held_out:
        return FigureSummary(0, band, tolerance)
    median = float(np.median([one.error for one in held_out]))
    worst = max(held_out, key=lambda one: one.error)
    return FigureSummary(len(held_out), band, tolerance, median, worst, _judged(median, tolerance, band))
