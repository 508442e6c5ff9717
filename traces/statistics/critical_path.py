"""Tail attribution: the latency around a quantile, broken down into waiting and service time by station role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.run import Run
from traces.statistics.summary import QUANTILES, Floats, subjects_of
from traces.tables import combined

ATTRIBUTED = {"p50": 0.05, "p90": 0.05, "p99": 0.005, "p99_9": 0.0005}
"""The quantiles whose latency is attributed, with the half-width of their band as a fraction of all ranks."""

CLIENT_LAG = "client lag"
"""The role of the time from intended to actual start; all of it counts as waiting."""

_FEWEST = 10


class AttributedBand(TypedDict):
    """The latency around a quantile.

    Attributes:
        requests: their number in the band.
        latency_s: their ``mean``, ``min`` and ``max``.
        roles: mean ``waiting_s`` and ``service_s`` per request at stations of each role on the critical path. They add
            up to the mean latency.
    """

    requests: int
    latency_s: dict[str, float]
    roles: dict[str, dict[str, float]]


Attribution = dict[str, dict[str, AttributedBand]]
"""Bands by operation and quantile."""


@dataclass(frozen=True)
class _Path:
    """The columns of a critical-path table, each of shape (rows,); `role` is an index into `roles`."""

    request: NDArray[np.int64]
    role: NDArray[np.int32]
    waiting_s: Floats
    service_s: Floats
    roles: list[str]


def attribution(run: Run) -> Attribution:
    """Break down the latency around each of the quantiles `ATTRIBUTED`, by operation.

    The single request at a quantile says little, so a band of ranks around it is averaged: of an operation's n
    successful requests, ordered by latency (ties by row), those with ranks from (p - h) n to (p + h) n, where h is the
    half-width in `ATTRIBUTED`. So p50 covers the requests between p45 and p55, p99 those between p98.5 and p99.5.

    `CLIENT_LAG` and `EARLIER_ATTEMPTS` count as roles. Left out are roles without time in any band of the operation,
    quantiles whose band would have fewer than 10 requests (p50 and p90 need 100 requests, p99 1000, p99_9 10,000), and
    operations without any quantile. Empty if the Run has no critical path.
    """
    if run.critical_path is None:
        return {}
    path = _path(run.critical_path)
    found = {op: _of_op(run, path, op) for op in subjects_of(run)}
    return {op: bands for op, bands in found.items() if bands}


def _path(table: pa.Table) -> _Path:
    role = combined(table.column("role"))
    request, waiting_s, service_s = (table.column(name).to_numpy() for name in ("request", "waiting_s", "service_s"))
    return _Path(request, role.indices.to_numpy(), waiting_s, service_s, role.dictionary.to_pylist())


def _of_op(run: Run, path: _Path, op: str) -> dict[str, AttributedBand]:
    done = np.flatnonzero(run.has(op) & ~run.failed)
    ranked = done[np.argsort(run.latency_s[done], kind="stable")]
    around = {name: _around(ranked, QUANTILES[name], half) for name, half in ATTRIBUTED.items()}
    bands = {name: _band(run, path, rows) for name, rows in around.items() if len(rows)}
    spent = {role for band in bands.values() for role, part in band["roles"].items() if any(part.values())}
    for band in bands.values():
        band["roles"] = {role: part for role, part in band["roles"].items() if role in spent}
    return bands


def _around(ranked: NDArray[np.int64], p: float, half: float) -> NDArray[np.int64]:
    """Return the rows around a quantile, from rows ascending by latency; none if there are too few."""
    n = len(ranked)
    return ranked[round((p - half) * n) : round((p + half) * n)] if 2 * half * n >= _FEWEST else ranked[:0]


def _band(run: Run, path: _Path, rows: NDArray[np.int64]) -> AttributedBand:
    inside = np.zeros(len(run), bool)
    inside[rows] = True
    visited = np.flatnonzero(inside[path.request])
    role = path.role[visited]
    waiting_s, service_s = (
        np.bincount(role, spent_s[visited], minlength=len(path.roles)) / len(rows)
        for spent_s in (path.waiting_s, path.service_s)
    )
    roles = {
        name: {"waiting_s": float(waiting_s[i]), "service_s": float(service_s[i])} for i, name in enumerate(path.roles)
    }
    roles[CLIENT_LAG] = {"waiting_s": float(run.lag_s[rows].mean()), "service_s": 0.0}
    latency_s = run.latency_s[rows]
    return {
        "requests": len(rows),
        "latency_s": {"mean": float(latency_s.mean()), "min": float(latency_s.min()), "max": float(latency_s.max())},
        "roles": roles,
    }
