"""Figures of replications with their intervals, without samples: small enough to be stored for each point of a sweep.

Estimates need the merged samples of all replications, so they are recorded after each batch: two points of a sweep can
then be paired over their common replications.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from models.shared.client_policy import ClientPolicies
from sim.json_form import to_json
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import (
    CONFIDENCE,
    FIGURES,
    NO_INTERVAL,
    RATES,
    Differences,
    EngineWork,
    Figure,
    Interval,
    OpIntervals,
    Replication,
    Replications,
    unbounded,
)
from sim.saturation.capacity import Capacity
from sim.verdict.extra_attempts import ExtraAttempts, extra_attempts
from sim.verdict.verdict import LoadVerdict
from traces.statistics.summary import Floats, too_few

ERRORS = "errors"


@dataclass(frozen=True)
class OpMeasures:
    """The figures of an operation.

    Attributes:
        count, errors, left_out: numbers of requests, failed requests, and requests excluded as warm-up.
        least_s: minimum latency.
        greatest_each_s: maximum latency of each replication, shape (replications,); NaN if it has none.
        error_fraction: of each replication, shape (replications,).
        values: the estimate of each of `FIGURES` after each batch, shape (batches,).
        each: each of `FIGURES` by replication, shape (replications,); NaN if it has none.
    """

    count: int
    errors: int
    left_out: int
    least_s: float
    greatest_each_s: Floats
    error_fraction: Floats
    values: dict[str, Floats]
    each: dict[str, Floats]

    @property
    def few(self) -> list[str]:
        """Quantiles that too few successful requests support."""
        return too_few(self.count - self.errors)

    @property
    def greatest_s(self) -> float:
        """The maximum latency; NaN if no request succeeded."""
        known = self.greatest_each_s[~np.isnan(self.greatest_each_s)]
        return float(known.max()) if len(known) else math.nan


@dataclass(frozen=True)
class Measures:
    """The figures of replications.

    Attributes:
        batches: number of replications after each batch, shape (batches,).
        ops: by operation.
        roles: the utilisation of the busiest station with a limited number of servers, by role.
        busiest: that station's name, by role.
        engine: the cost of all replications.
        attempts: mean number of attempts per request, mean over the replications.
        verdict: on the load; None: not determined.
        unsettled: why the runs are too short; empty if they are not.
    """

    batches: tuple[int, ...]
    ops: dict[str, OpMeasures]
    roles: dict[str, Figure]
    busiest: dict[str, str]
    engine: EngineWork
    attempts: float
    verdict: LoadVerdict | None = None
    unsettled: list[Unsettled] = field(default_factory=list)

    @property
    def extra_load(self) -> float:
        """Attempts beyond the first of each request (retries and hedges), as a fraction of the requests."""
        return self.attempts - 1

    @property
    def overloaded(self) -> bool:
        """Whether more requests arrive than the store can serve."""
        return self.verdict is not None and self.verdict.overloaded

    def __len__(self) -> int:
        return self.batches[-1]

    @staticmethod
    def of(replications: Replications, batch: int | None = None, capacity: Capacity | None = None) -> Measures:
        """Summarise replications that were run in batches of `batch` (None: all at once).

        `capacity`: of the store, for the verdict on its load; None: unknown.
        """
        ends = (*range(batch or len(replications), len(replications), batch or 1), len(replications))
        so_far = [Replications(replications.runs[:end]).figures for end in ends[:-1]] + [replications.figures]
        roles, busiest = _busiest(replications.runs)
        return Measures(
            batches=ends,
            ops={op: _op_measures(replications.runs, op, [f.get(op, {}) for f in so_far]) for op in so_far[-1]},
            roles=roles,
            busiest=busiest,
            engine=replications.work,
            attempts=math.fsum(run.attempts for run in replications.runs) / len(replications),
            verdict=replications.verdict(capacity),
            unsettled=replications.unsettled,
        )

    @cached_property
    def figures(self) -> dict[str, dict[str, Figure]]:
        """`FIGURES` of each operation, over all replications."""
        return {op: {name: self.figure(op, name) for name in FIGURES} for op in self.ops}

    def figure(self, op: str, name: str, replications: int | None = None) -> Figure:
        """Return one of `FIGURES` over the first replications, a number of whole batches (default: all)."""
        count = replications or len(self)
        measures = self.ops[op]
        return Figure(float(measures.values[name][self.batches.index(count)]), measures.each[name][:count])

    def interval(self, op: str, name: str, confidence: float = CONFIDENCE) -> Interval:
        """Return the confidence interval of a figure of an operation.

        `name` is one of `FIGURES`, ``errors`` (fraction of the requests) or ``max``. The interval of the maximum is the
        range of the replications' maxima. If all requests failed, latencies are infinite and rates 0. NaN if there were
        no requests of the operation. Latencies of an overloaded store have no bounds, because they grow with the run,
        and neither have quantiles that too few requests support.
        """
        if op not in self.ops:
            return NO_INTERVAL
        measures = self.ops[op]
        if name == ERRORS:
            return _error_interval(measures, confidence)
        if measures.errors == measures.count:
            value = 0.0 if name.startswith("throughput") else math.inf
            return Interval(value, value, value)
        if self.overloaded and name not in RATES:
            value = measures.greatest_s if name == "max" else self.figure(op, name).value
            return Interval(value, math.nan, math.nan)
        if name == "max":
            few = len(self) < 2
            least = -math.inf if few else float(np.nanmin(measures.greatest_each_s))
            return Interval(measures.greatest_s, least, math.inf if few else measures.greatest_s)
        if name in measures.few:
            return Interval(self.figure(op, name).value, math.nan, math.nan)
        return self.figure(op, name).interval(confidence)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values; NaN if a figure has no value."""
        return {
            "batches": list(self.batches),
            "ops": {op: _plain(vars(measures)) for op, measures in self.ops.items()},
            "roles": {role: _plain(vars(figure)) for role, figure in self.roles.items()},
            "busiest": self.busiest,
            "engine": to_json(self.engine),
            "attempts": self.attempts,
            "verdict": to_json(self.verdict),
            "unsettled": to_json(self.unsettled),
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Measures:
        """Create the measures from the result of `to_json`."""
        return Measures(
            batches=tuple(data["batches"]),
            ops={op: OpMeasures(**_arrays(measures)) for op, measures in data["ops"].items()},
            roles={role: Figure(**_arrays(figure)) for role, figure in data["roles"].items()},
            busiest=data["busiest"],
            engine=EngineWork(**data["engine"]),
            attempts=data["attempts"],
            verdict=None if data["verdict"] is None else LoadVerdict.from_json(data["verdict"]),
            unsettled=[Unsettled(**each) for each in data["unsettled"]],
        )


def extra_attempts_of(measures: Measures, client: ClientPolicies) -> ExtraAttempts | None:
    """Return what retries and hedges of the clients cost; None: there are none, or an overload dominates."""
    counts = {op: figures.count for op, figures in measures.ops.items()}
    return extra_attempts(measures.extra_load, counts, client, measures.verdict)


def difference(base: Measures, other: Measures, confidence: float = CONFIDENCE) -> Differences:
    """Return the paired differences `other` - `base`; both have the same seeds, so common random numbers.

    If one has more replications than the other, the additional ones are ignored. If one is overloaded, differences of
    latencies have no bounds, and neither have those of quantiles that too few requests of one support.
    """
    count = max(set(base.batches) & set(other.batches))
    ops = {}
    for op in (op for op in base.ops if op in other.ops):
        figures = {
            name: (other.figure(op, name, count) - base.figure(op, name, count)).interval(confidence)
            for name in FIGURES
        }
        throughput_ops, throughput_bytes = (figures.pop(name) for name in RATES)
        if base.overloaded or other.overloaded:
            figures = unbounded(figures)
        few = {*base.ops[op].few, *other.ops[op].few}
        figures |= unbounded({name: figures[name] for name in few if name in figures})
        ops[op] = OpIntervals(throughput_ops, throughput_bytes, figures)
    return Differences(count, confidence, ops)


def _op_measures(runs: Sequence[Replication], op: str, so_far: list[dict[str, Figure]]) -> OpMeasures:
    summaries = [run.summary["ops"].get(op) for run in runs]
    requested = [summary for summary in summaries if summary]
    warm_ups = [run.info.get("warm_up", {}).get(op) for run in runs]
    nothing = Figure(math.nan, np.empty(0))
    return OpMeasures(
        count=sum(summary["count"] for summary in requested),
        errors=sum(summary["errors"] for summary in requested),
        left_out=sum(w["requests"] for w in warm_ups if w),
        least_s=so_far[-1]["min"].value,
        greatest_each_s=np.array([s["latency_s"]["max"] if s else math.nan for s in summaries]),
        error_fraction=np.array([s["errors"] / s["count"] if s else math.nan for s in summaries]),
        values={name: np.array([f.get(name, nothing).value for f in so_far]) for name in FIGURES},
        each={name: so_far[-1][name].each for name in FIGURES},
    )


def _error_interval(measures: OpMeasures, confidence: float) -> Interval:
    """Return the interval of the error fraction, from replications, and at least as wide as for independent requests.

    Errors come in bursts, so their variance is that between replications. If no replication had any, the interval of
    Clopper and Pearson ("The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26(4), 1934) bounds how frequent they may still be.
    """
    value = measures.errors / measures.count
    exact = scipy.stats.binomtest(measures.errors, measures.count).proportion_ci(confidence, "exact")
    half = Figure(value, measures.error_fraction).half_width(confidence)
    low, high = max(0.0, min(float(exact.low), value - half)), min(1.0, max(float(exact.high), value + half))
    return Interval(value, low, high)


def _busiest(runs: Sequence[Replication]) -> tuple[dict[str, Figure], dict[str, str]]:
    """Return the utilisation and name of the station with limited servers that is busiest on average, by role.

    A replication may lack stations that its requests do not need, such as those of healing; these are idle.
    """
    roles: dict[str, Figure] = {}
    busiest: dict[str, str] = {}
    role_of = {row["name"]: row["role"] for run in runs for row in run.stations if row["servers"] is not None}
    by_name = [{row["name"]: row["utilization"] for row in run.stations} for run in runs]
    each = np.array([[of_run.get(name, 0.0) for of_run in by_name] for name in role_of]).reshape(-1, len(runs))
    for (name, role), own, mean in zip(role_of.items(), each, each.mean(axis=1).tolist(), strict=True):
        if role not in roles or mean > roles[role].value:
            roles[role], busiest[role] = Figure(mean, own), name
    return roles, busiest


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Convert arrays to lists, also one level deeper."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else _plain(value) if isinstance(value, dict) else value
        for name, value in fields.items()
    }


def _arrays(fields: dict[str, Any]) -> dict[str, Any]:
    """Convert lists to arrays, also one level deeper."""
    return {
        name: np.array(value, np.float64)
        if isinstance(value, list)
        else _arrays(value)
        if isinstance(value, dict)
        else value
        for name, value in fields.items()
    }
