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
from typing import Any

import numpy as np

from models.store import Spec
from sim.parallel.process_pool import process_map
from traces.errors import InputError
from traces.run import Run
from validate.compare.compare import JUDGED
from validate.compare.run_quality import Judgement, judge
from validate.forecast.configurations import Asked, asked_of, cells_of, labels_of
from validate.forecast.prediction import predict

TOLERANCES: Mapping[str, float] = {"throughput_ops": 0.05, "p50": 0.10, "p99": 0.15, "w1": 0.10}
"""The error of each judged figure that is good enough whatever the noise."""

NOISE_FACTOR = 1.5
"""An error up to so many noise bands is good enough, too."""

VERDICTS = ("within", "noise", "beyond")
"""Within the tolerance; beyond it, but within `NOISE_FACTOR` noise bands; beyond both."""

Identity = tuple[str, int]
"""When a Run began, and how many requests it had: the same Run in another folder is still that Run."""


@dataclass(frozen=True)
class Examined:
    """What is known of a Run before anything is predicted; `asked` is None where the Run does not keep its trace."""

    folder: Path
    judgement: Judgement
    asked: Asked | None
    identity: Identity


@dataclass(frozen=True)
class _Cell:
    label: str
    members: Sequence[int]  # of all Runs
    usable: Sequence[int]
    fitted: bool
    is_open: bool


def examine(folder: Path) -> Examined:
    """Read a Run and judge it.

    Raises:
        InputError: there is no Run, or it is broken.
    """
    run = Run.read(folder)
    judgement, asked = judge(run), None
    try:
        asked = asked_of(run)
    except InputError as error:
        judgement = replace(judgement, faults={**judgement.faults, "unknown workload": str(error)})
    return Examined(folder, judgement, asked, (str(run.info.get("started_at")), len(run)))


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
) -> dict[str, Any]:
    """Judge the Runs, predict each cell of the usable ones, and say how far off the predictions are.

    A cell of which a Run was fitted is predicted like the others, but does not count in the summary, even if it has
    further Runs: its workload was seen.

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

    Returns:
        ``{"runs": [{"run", "usable", "faults", "figures", "cell", "fitted"}], "cells": [{"cell", "runs", "loop",
        "fitted", "ops"}], "summary": {FIGURE: …}, "tolerances", "noise_factor", "seeds", "verdict"}``. The operations
        of a cell are as `predict` has them; its measures get ``noise_band`` (an error, None where nothing was
        repeated) and ``noise_pairs`` (0: the band of all cells), and the judged ones ``verdict``, one of `VERDICTS`.
        The summary has for each judged figure, over the operations of the held-out cells (of throughput, the closed
        loops': an open loop's is what was asked), ``{"count", "median", "worst": {"error", "cell", "op"},
        "noise_band", "tolerance", "verdict"}``; its noise band is the median over all cells that were repeated. The
        verdict is ``fail`` where a figure's is beyond, ``nothing held out`` where there is no figure, else ``pass``.

    Raises:
        InputError: a value is out of range, a Run cannot be read, or the spec cannot serve one.
    """
    _check(tolerances, seeds, workers)
    with process_map(min(workers, max(len(runs), 1))) as mapping:
        examined: list[Examined] = []
        for found in mapping(examine, runs.values()):
            examined.append(found)
            progress(len(examined) / len(runs) / 2)
        cells = _cells(examined, fitted)
        groups = [[examined[i].folder for i in cell.usable] for cell in cells]
        predictions: list[dict[str, Any]] = []
        for prediction in mapping(partial(predict, spec, seeds=seeds, seed=seed), groups):
            predictions.append(prediction)
            progress(0.5 + len(predictions) / len(groups) / 2)
    _add_noise_bands(predictions)
    _add_verdicts(predictions, tolerances)
    names = list(runs)
    summary = {figure: _summary(figure, cells, predictions, tolerances) for figure in JUDGED}
    return {
        "runs": _run_rows(names, examined, cells, fitted),
        "cells": [
            {
                "cell": cell.label,
                "runs": [names[i] for i in cell.usable],
                "loop": "open" if cell.is_open else "closed",
                "fitted": cell.fitted,
                "ops": prediction["ops"],
            }
            for cell, prediction in zip(cells, predictions, strict=True)
        ],
        "summary": summary,
        "tolerances": dict(tolerances),
        "noise_factor": NOISE_FACTOR,
        "seeds": seeds,
        "verdict": _verdict(summary),
    }


def _check(tolerances: Mapping[str, float], seeds: int, workers: int) -> None:
    for name in JUDGED:
        if not tolerances.get(name, 0) > 0:
            raise InputError(f"the tolerance of {name} is {tolerances.get(name)}; it must be above 0")
    if seeds < 2:
        raise InputError(f"seeds is {seeds}; at least 2 are needed for an interval")
    if workers < 1:
        raise InputError(f"workers is {workers}; at least 1 is needed")


def _cells(examined: Sequence[Examined], fitted: Collection[Identity]) -> list[_Cell]:
    """The cells that have a usable Run."""
    known = [(i, run.asked) for i, run in enumerate(examined) if run.asked is not None]
    groups = cells_of([asked for _, asked in known])
    first = [known[group[0]][1] for group in groups]
    cells = []
    for group, asked, label in zip(groups, first, labels_of(first), strict=True):
        members = [known[k][0] for k in group]
        usable = [i for i in members if examined[i].judgement.usable]
        seen = any(examined[i].identity in fitted for i in members)
        if usable:
            cells.append(_Cell(label, members, usable, seen, asked.pacing.loop == "open"))
    return cells


def _run_rows(
    names: Sequence[str], examined: Sequence[Examined], cells: Sequence[_Cell], fitted: Collection[Identity]
) -> list[dict[str, Any]]:
    labels = {i: cell.label for cell in cells for i in cell.members}
    return [
        {
            "run": name,
            "usable": run.judgement.usable,
            **asdict(run.judgement),
            "cell": labels.get(i),
            "fitted": run.identity in fitted,
        }
        for i, (name, run) in enumerate(zip(names, examined, strict=True))
    ]


def measures(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The measures of an operation that `predict` gave, by figure: ``throughput_ops``, quantiles, ``w1``, ``ks``."""
    ordered: dict[str, dict[str, Any] | None] = {
        "throughput_ops": result.get("throughput_ops"),
        **result.get("latency_s", {}),
        "w1": result.get("w1"),
        "ks": result.get("ks"),
    }
    return {figure: measure for figure, measure in ordered.items() if measure is not None}


def _add_noise_bands(predictions: Sequence[dict[str, Any]]) -> None:
    """Put into each measure the noise band of its cell, or of all cells where its own was not repeated."""
    own: dict[tuple[str, str], list[float]] = {}
    for prediction in predictions:
        for op, result in prediction["ops"].items():
            for figure, measure in measures(result).items():
                pairs = [pair[op][figure] for pair in prediction["repetitions"] if figure in pair.get(op, {})]
                measure["noise_pairs"] = len(pairs)
                measure["noise_band"] = float(np.median(pairs)) if pairs else None
                if pairs:
                    own.setdefault((op, figure), []).append(measure["noise_band"])
    for prediction in predictions:
        for op, result in prediction["ops"].items():
            for figure, measure in measures(result).items():
                if measure["noise_band"] is None and (op, figure) in own:
                    measure["noise_band"] = float(np.median(own[op, figure]))


def _add_verdicts(predictions: Sequence[dict[str, Any]], tolerances: Mapping[str, float]) -> None:
    for prediction in predictions:
        for result in prediction["ops"].values():
            for figure, measure in measures(result).items():
                if figure in JUDGED:
                    measure["verdict"] = _judged(measure["error"], tolerances[figure], measure["noise_band"])


def _judged(error: float, tolerance: float, noise_band: float | None) -> str:
    if error <= tolerance:
        return "within"
    return "noise" if noise_band is not None and error <= NOISE_FACTOR * noise_band else "beyond"


def _summary(
    figure: str, cells: Sequence[_Cell], predictions: Sequence[dict[str, Any]], tolerances: Mapping[str, float]
) -> dict[str, Any]:
    counted = [
        (cell, op, measures(result)[figure])
        for cell, prediction in zip(cells, predictions, strict=True)
        for op, result in prediction["ops"].items()
        if figure in measures(result) and not (figure == "throughput_ops" and cell.is_open)
    ]
    bands = [measure["noise_band"] for _, _, measure in counted if measure["noise_pairs"]]
    held_out = [(cell, op, measure["error"]) for cell, op, measure in counted if not cell.fitted]
    band = float(np.median(bands)) if bands else None
    found: dict[str, Any] = {"count": len(held_out), "noise_band": band, "tolerance": tolerances[figure]}
    if not held_out:
        return found | {"median": None, "worst": None, "verdict": None}
    median = float(np.median([error for _, _, error in held_out]))
    cell, op, error = max(held_out, key=lambda entry: entry[2])
    worst = {"error": error, "cell": cell.label, "op": op}
    return found | {"median": median, "worst": worst, "verdict": _judged(median, tolerances[figure], band)}


def _verdict(summary: Mapping[str, Mapping[str, Any]]) -> str:
    verdicts = [row["verdict"] for row in summary.values() if row["verdict"] is not None]
    if not verdicts:
        return "nothing held out"
    return "fail" if "beyond" in verdicts else "pass"
