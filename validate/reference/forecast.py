"""Predicts the rows of a reference case and compares them with the published figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.store import Spec, load_spec
from sim.parallel.process_pool import process_map
from sim.replication.replicate import seed_of
from sim.simulate import simulate
from validate.reference.cases import DURATION, Case, Row, spec_file
from validate.reference.figures import figure, figures_of_spec
from validate.reference.redhat import statements_of
from validate.reference.statements import Statement, Variant

RANGE = (0.05, 0.95)
"""Quantiles over the replications that are the ends of a figure's range."""

Samples = dict[str, list[float]]


def forecast(
    case: Case,
    *,
    assignments: Sequence[str] = (),
    seed: int = 0,
    replications: int | None = None,
    workers: int = 1,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Predict all rows of a case.

    Args:
        case: the case to predict.
        assignments: changes of the spec in addition to each row's settings.
        seed: seed of all simulations.
        replications: number of simulations per row, with different seeds; None: that of the case.
        workers: number of processes.
        progress: called with the fraction done.

    Returns:
        ``{"name", "source", "spec", "replications", "rows": [{"table", "op", "set", "used_in_fit", "remark",
        "measured", "predicted", "range", "ratio"}], "error": {"figure", "all", "used_in_fit", "held_out"},
        "statements": [{"text", "part", "holds", "evidence"}]}``.
        `predicted` is the median over the replications and `range` its 5 and 95 % quantiles, `ratio` predicted /
        measured, all by figure. Errors are exp(|log ratio|) - 1 of the evaluated figures: ``{"rows", "median",
        "worst"}``, null without rows; `figure` is null if more than one figure is evaluated.

    Raises:
        InputError: the spec is missing, or an assignment is invalid.
    """
    count = case.replications if replications is None else replications
    seeds = tuple(seed_of(seed, k) for k in range(count))
    wanted = [Variant(row.assignments, row.op, tuple(row.measured)) for row in case.rows]
    statements = statements_of(case.name)
    wanted += [variant for statement in statements for variant in statement.variants.values()]
    samples = _samples(case, wanted, tuple(assignments), seeds, workers, progress)
    pairs = [(row, _row_result(row, samples[i])) for i, row in enumerate(case.rows)]
    found = iter(samples[len(case.rows) :])
    evaluated = {name for row in case.rows for name in row.evaluated}
    error = {
        "figure": evaluated.pop() if len(evaluated) == 1 else None,
        "all": _error(pairs),
        "used_in_fit": _error([(row, result) for row, result in pairs if row.used_in_fit]),
        "held_out": _error([(row, result) for row, result in pairs if not row.used_in_fit]),
    }
    return {
        "name": case.name,
        "source": case.source,
        "spec": case.spec.name,
        "replications": count,
        "rows": [result for _, result in pairs],
        "error": error,
        "statements": [_checked(statement, found) for statement in statements],
    }


def duration_s(spec: Spec, op: str, seed: int) -> float:
    """Return the seconds from the first start to the last end of an operation's requests in one simulation."""
    return figure(simulate(spec, seed=seed), op, DURATION)


@dataclass(frozen=True)
class _Job:
    """Figures from the same simulations, and the seeds of those."""

    spec: Path
    assignments: tuple[str, ...]
    seeds: tuple[int, ...]
    steady: bool
    wanted: tuple[Variant, ...]


def _samples(
    case: Case,
    wanted: Sequence[Variant],
    assignments: tuple[str, ...],
    seeds: tuple[int, ...],
    workers: int,
    progress: Callable[[float], None] | None,
) -> list[Samples]:
    """Return the wanted figures in order; equal settings are simulated once."""
    same_settings: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for i, one in enumerate(wanted):
        same_settings.setdefault((one.spec_name or case.spec_name, (*one.assignments, *assignments)), []).append(i)
    jobs = [
        _Job(spec_file(name), given, seeds, case.steady, tuple(wanted[i] for i in mine))
        for (name, given), mine in same_settings.items()
    ]
    found: dict[int, Samples] = {}
    with process_map(min(workers, len(jobs))) as mapping:
        for mine, samples in zip(same_settings.values(), mapping(_predicted, jobs), strict=True):
            found.update(zip(mine, samples, strict=True))
            if progress:
                progress(len(found) / len(wanted))
    return [found[i] for i in range(len(wanted))]


def _predicted(job: _Job) -> list[Samples]:
    """Return the figures of each simulation for each of the job's requests."""
    spec = load_spec(job.spec, job.assignments)
    result: list[Samples] = [
        {name: [value] for name, value in figures_of_spec(spec, one.figures).items()} for one in job.wanted
    ]
    requested = [
        [name for name in one.figures if name not in known] for one, known in zip(job.wanted, result, strict=True)
    ]
    for seed in job.seeds if any(requested) else ():
        run = simulate(spec, seed=seed)
        for one, names, samples in zip(job.wanted, requested, result, strict=True):
            for name in names:
                samples.setdefault(name, []).append(figure(run, one.op, name, job.steady))
    return result


def _checked(statement: Statement, found: Iterator[Samples]) -> dict[str, Any]:
    values = {}
    for label, variant in statement.variants.items():
        samples = next(found)
        values[label] = float(np.median(samples[variant.figures[0]]))
    holds, evidence = statement.check(values)
    return {"text": statement.text, "part": statement.part, "holds": holds, "evidence": evidence}


def _row_result(row: Row, samples: Samples) -> dict[str, Any]:
    predicted = {name: float(np.median(samples[name])) for name in row.measured}
    return {
        "table": row.table,
        "op": row.op,
        "set": dict(row.settings),
        "used_in_fit": row.used_in_fit,
        "remark": row.remark,
        "measured": dict(row.measured),
        "predicted": predicted,
        "range": {name: np.quantile(samples[name], RANGE).tolist() for name in row.measured},
        "ratio": {name: predicted[name] / value for name, value in row.measured.items()},
    }


def _error(rows: Sequence[tuple[Row, dict[str, Any]]]) -> dict[str, Any]:
    ratios = [result["ratio"][name] for row, result in rows for name in row.evaluated]
    if not ratios:
        return {"rows": 0, "median": None, "worst": None}
    errors = np.expm1(np.abs(np.log(ratios)))
    return {"rows": len(rows), "median": float(np.median(errors)), "worst": float(errors.max())}
