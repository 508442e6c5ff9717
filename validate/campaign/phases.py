"""Figures of a Run before, during and after a fault, and how far those of a prediction are from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.stats

from sim.json_form import NOT_IN_JSON
from traces.operations import OPS
from traces.run import Run
from traces.statistics.summary import Floats

SETTLED_S = 2.0
"""Left out at the start of a load with a fault: what first requests and connections take."""

_BEYOND = 10
"""Smallest number of requests beyond a quantile that is given."""


@dataclass(frozen=True)
class OpFigures:
    """The requests of an operation in a phase.

    Attributes:
        requests: number that succeeded.
        throughput_ops: of these, by the time in which they end.
        p50_s, mean_s: of their latencies.
        tail_s: at the quantile `tail`; NaN if there are too few requests.
        tail: 0.99, or 0.95 of fewer than 1,000 requests.
        latency_s: sorted latencies.
    """

    requests: int
    throughput_ops: float
    p50_s: float
    mean_s: float
    tail_s: float
    tail: float
    latency_s: Floats = field(metadata=NOT_IN_JSON)


@dataclass(frozen=True)
class PhaseFigures:
    """The requests of a phase.

    Attributes:
        throughput_ops: successful requests that end in it, by its length.
        errors: number of requests that arrive in it and fail.
        stall_s: longest time without the end of a successful request.
        ops: figures of each operation.
    """

    throughput_ops: float
    errors: int
    stall_s: float
    ops: Mapping[str, OpFigures]


Phases = Mapping[str, tuple[float, float]]
"""Begin and end in s of each phase, by its name."""


def phases_of(run: Run) -> Phases:
    """Return the phases before, during and after the first fault of a Run, or the whole Run if it has none."""
    end_s = float(np.nanmax(run.column("end_s")))
    if not (staged := run.info.get("lab_faults")):
        return {"all": (0.0, end_s)}
    at_s, until_s = float(staged[0]["at"]), staged[0]["until"]
    last_s = float(np.nanmax(run.column("arrival_s")))
    ended_s = last_s if until_s is None else float(until_s)
    found = {"before": (SETTLED_S, at_s), "during": (at_s, ended_s), "after": (ended_s, last_s)}
    return {name: (from_s, end_s) for name, (from_s, end_s) in found.items() if from_s < end_s}


def figures_of(run: Run, phases: Phases) -> dict[str, PhaseFigures]:
    """Return the figures of a Run by phase.

    Requests belong to the phase in which they arrive, ends and stalls to that of their time.
    """
    arrival_s, end_s, ok = run.column("arrival_s"), run.column("end_s"), ~run.failed
    whole = len(phases) == 1
    found = {}
    for name, (from_s, until_s) in phases.items():
        arrived = np.ones(len(run), bool) if whole else (arrival_s >= from_s) & (arrival_s < until_s)
        ended = ok if whole else ok & (end_s >= from_s) & (end_s < until_s)
        length_s = max(until_s - from_s, 1e-9)
        done_s = np.sort(end_s[ended])
        stall_s = float(np.diff(np.concatenate([[from_s], done_s, [until_s]])).max())
        ops = {}
        for code in np.unique(run.op[arrived]).tolist():
            of_op = run.op == code
            latency_s = np.sort(run.latency_s[arrived & ok & of_op])
            if len(latency_s):
                ops[OPS[code]] = _of_latencies(latency_s, float((ended & of_op).sum()) / length_s)
        found[name] = PhaseFigures(len(done_s) / length_s, int((arrived & ~ok).sum()), stall_s, ops)
    return found


def _of_latencies(latency_s: Floats, throughput_ops: float) -> OpFigures:
    count = len(latency_s)
    tail = 0.99 if count * 0.01 >= _BEYOND else 0.95
    has_tail = count * (1 - tail) >= _BEYOND - 1e-9
    p50_s, tail_s = np.quantile(latency_s, [0.5, tail]).tolist()
    return OpFigures(
        count, throughput_ops, p50_s, float(latency_s.mean()), tail_s if has_tail else float("nan"), tail, latency_s
    )


def mean_of(
    found: Sequence[Mapping[str, PhaseFigures]], tails: Mapping[tuple[str, str], float]
) -> dict[str, PhaseFigures]:
    """Return the means of the figures of several simulations; latencies are those of all together.

    Args:
        found: by simulation, each with the same phases.
        tails: the quantile of the tail by phase and operation, as that of the measured requests.
    """
    result = {}
    for phase in found[0]:
        each = [figures[phase] for figures in found]
        ops = {}
        for op in dict.fromkeys(op for one in each for op in one.ops):
            of_op = [one.ops[op] for one in each if op in one.ops]
            latency_s = np.sort(np.concatenate([one.latency_s for one in of_op]))
            tail = tails.get((phase, op), 0.99)
            p50_s, tail_s = np.quantile(latency_s, [0.5, tail]).tolist()
            rate = sum(one.throughput_ops for one in of_op) / len(each)
            ops[op] = OpFigures(
                round(len(latency_s) / len(each)), rate, p50_s, float(latency_s.mean()), tail_s, tail, latency_s
            )
        result[phase] = PhaseFigures(
            float(np.mean([one.throughput_ops for one in each])),
            round(float(np.mean([one.errors for one in each]))),
            float(np.mean([one.stall_s for one in each])),
            ops,
        )
    return result


def deviations(measured: OpFigures, other: OpFigures) -> dict[str, float]:
    """Return relative deviations of other figures from measured ones.

    Returns:
        ``throughput``, ``p50``, ``tail`` (if the measured one is known), and ``w1``, the Wasserstein distance of the
        latencies as a fraction of the measured mean.
    """
    found = {
        "throughput": other.throughput_ops / measured.throughput_ops - 1 if measured.throughput_ops else float("nan"),
        "p50": other.p50_s / measured.p50_s - 1,
    }
    if np.isfinite(measured.tail_s):
        found["tail"] = float(np.quantile(other.latency_s, measured.tail)) / measured.tail_s - 1
    distance_s = scipy.stats.wasserstein_distance(measured.latency_s, other.latency_s)
    return found | {"w1": float(distance_s / measured.mean_s)}
