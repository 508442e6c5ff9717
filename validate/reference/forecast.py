"""Predicts the rows of a reference case and holds them against what was published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.spec import Spec, load_spec
from sim.replicate import seed_of
from sim.simulate import simulate
from traces.errors import InputError
from traces.run import Run
from traces.statistics import latencies
from traces.tables import OPS
from validate.reference.cases import Case, Row

Floats = NDArray[np.float64]

JUDGED = "duration_s"
"""The figure by which a row is judged: all rows have it."""

REPLICATIONS = 20
RANGE = (0.05, 0.95)
"""Quantiles over the replications that a figure's range has for its ends."""

_PERCENTS = {"latency_min_ms": 0, **{f"latency_p{p}_ms": p for p in (25, 50, 75, 90, 99)}, "latency_max_ms": 100}


def forecast(
    case: Case,
    *,
    assignments: Sequence[str] = (),
    seed: int = 0,
    replications: int = REPLICATIONS,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Predict all rows of a case.

    Args:
        case: what to predict.
        assignments: changes of the spec, on top of each row's settings.
        seed: of all simulations.
        replications: simulations of a row, with seeds of their own.
        progress: told how many rows are done.

    Returns:
        ``{"name", "source", "spec", "replications", "rows": [{"table", "op", "set", "used_in_fit", "measured",
        "predicted", "range", "ratio"}], "error": {"figure", "all", "used_in_fit", "held_out"}}``. `predicted` is the
        median over the replications and `range` its 5 and 95 % quantiles, `ratio` predicted / measured, all by figure.
        Errors are exp(|log ratio|) - 1 of the judged figure: ``{"rows", "median", "worst"}``, nulls without a row.

    Raises:
        InputError: the spec is missing or an assignment is wrong.
    """
    known: dict[tuple[str, ...], list[Run]] = {}
    rows = []
    for i, row in enumerate(case.rows):
        given = (*row.assignments, *assignments)
        if given not in known:
            spec = load_spec(case.spec, given)
            known[given] = [simulate(spec, seed=seed_of(seed, k)) for k in range(replications)]
        rows.append(_judged(row, known[given]))
        if progress:
            progress(i + 1)
    error = {
        "figure": JUDGED,
        "all": _error(rows),
        "used_in_fit": _error([row for row in rows if row["used_in_fit"]]),
        "held_out": _error([row for row in rows if not row["used_in_fit"]]),
    }
    return {
        "name": case.name,
        "source": case.source,
        "spec": case.spec.name,
        "replications": replications,
        "rows": rows,
        "error": error,
    }


def duration_s(spec: Spec, op: str, seed: int) -> float:
    """How long an operation's requests take in one simulation, first start to last end."""
    return figure(simulate(spec, seed=seed), op, JUDGED)


def figure(run: Run, op: str, name: str) -> float:
    """A figure of an operation of a Run, by the name that it has in a `Row`.

    The quantile p of n latencies is that of s3bench: the one of rank floor(p n), counted from 0. So p99 of 256 is the
    third largest.

    Raises:
        InputError: the Run has none of these operations.
    """
    mine = run.op == OPS.index(op)
    if not mine.any():
        raise InputError(f"the workload asks for no {op}; keys: write_once_read_once asks for PUT and GET")
    took_s = float(run.column("end_s")[mine].max() - run.column("arrival_s")[mine].min())
    if name == "duration_s":
        return took_s
    if name == "throughput_mib_per_s":
        return float(run.column("transfer_bytes")[mine].sum()) / took_s / 2**20
    ordered_ms = np.sort(latencies(run, op)) * 1000
    return float(ordered_ms[min(_PERCENTS[name] * len(ordered_ms) // 100, len(ordered_ms) - 1)])


def _judged(row: Row, runs: Sequence[Run]) -> dict[str, Any]:
    samples = {name: [figure(run, row.op, name) for run in runs] for name in row.measured}
    predicted = {name: float(np.median(values)) for name, values in samples.items()}
    return {
        "table": row.table,
        "op": row.op,
        "set": dict(row.settings),
        "used_in_fit": row.used_in_fit,
        "measured": dict(row.measured),
        "predicted": predicted,
        "range": {name: np.quantile(values, RANGE).tolist() for name, values in samples.items()},
        "ratio": {name: predicted[name] / value for name, value in row.measured.items()},
    }


def _error(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if not rows:
        return {"rows": 0, "median": None, "worst": None}
    errors = np.expm1(np.abs(np.log([row["ratio"][JUDGED] for row in rows])))
    return {"rows": len(rows), "median": float(np.median(errors)), "worst": float(errors.max())}
