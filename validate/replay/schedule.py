"""The Run's table from the records of a replay, and whether its client kept the schedule."""

from __future__ import annotations

import math
from typing import Required, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.trace import Trace, optional_columns
from validate.replay.issue import Record

LATE_S = 0.005
"""A start this much after its intended time is late; the schedule is kept if the p99 of the lag is at most this."""

LEAST_RATE = 0.98
"""The fraction of the intended rate that an open loop must reach."""


class Schedule(TypedDict, total=False):
    """How well a client kept its schedule; without requests, only their number is known.

    Attributes:
        requests: number of requests that were issued.
        kept: whether the schedule was kept.
        lag_p50_s, lag_p99_s, lag_max_s: how much later than intended requests started.
        late_s: `LATE_S`.
        late_share: fraction of starts that were later than that.
        intended_ops, achieved_ops: starts per second; None: unknown, or a closed loop, which has no intended rate.
        rate_ratio: achieved / intended.
        in_flight_max: maximum number of requests in progress.
    """

    requests: Required[int]
    kept: bool
    lag_p50_s: float
    lag_p99_s: float
    lag_max_s: float
    late_s: float
    late_share: float
    intended_ops: float | None
    achieved_ops: float | None
    rate_ratio: float | None
    in_flight_max: int


def run_table(trace: Trace, records: list[Record]) -> pa.Table:
    """Return the Run's table: the trace's columns of the issued rows, and their outcomes."""
    named = ["op", "bucket", "key", "size_bytes", *optional_columns(trace.table)]
    taken = trace.table.select(named).take([r.due.row for r in records])
    responses = [r.outcome.response for r in records]
    first_byte = [None if math.isnan(a.first_byte_s) else a.first_byte_s for a in responses]
    measured = {
        "arrival_s": pa.array([r.due.at_s for r in records], pa.float64()),
        "start_s": pa.array([r.start_s for r in records], pa.float64()),
        "first_byte_s": pa.array(first_byte, pa.float64()),
        "end_s": pa.array([r.end_s for r in records], pa.float64()),
        "transfer_bytes": pa.array([a.transfer_bytes for a in responses], pa.int64()),
        "client": pa.array([r.due.client for r in records], pa.int32()),
        "status": pa.array([a.status for a in responses], pa.int16()),
        "attempts": pa.array([r.outcome.attempts for r in records], pa.int16()),
        "winner": pa.array([r.outcome.winner for r in records], pa.int16()),
        "error": pa.array([a.error for a in responses], pa.string()),
    }
    return pa.table(measured | {name: taken.column(name) for name in taken.column_names})


def schedule_of(table: pa.Table, loop: str) -> Schedule:
    """Return how well the client kept the schedule.

    Args:
        table: the table of the Run.
        loop: the loop of the trace's pacing. A closed loop has no intended rate: its starts follow the responses.
    """
    arrival, start = table.column("arrival_s").to_numpy(), table.column("start_s").to_numpy()
    if not len(arrival):
        return {"requests": 0}
    lag = start - arrival
    intended, achieved = _rate(arrival) if loop == "open" else None, _rate(start)
    ratio = achieved / intended if achieved and intended else None
    lag_p99_s = float(np.quantile(lag, 0.99))
    return {
        "requests": len(lag),
        "kept": lag_p99_s <= LATE_S and (ratio is None or ratio >= LEAST_RATE),
        "lag_p50_s": float(np.quantile(lag, 0.5)),
        "lag_p99_s": lag_p99_s,
        "lag_max_s": float(lag.max()),
        "late_s": LATE_S,
        "late_share": float((lag > LATE_S).mean()),
        "intended_ops": intended,
        "achieved_ops": achieved,
        "rate_ratio": ratio,
        "in_flight_max": _most_at_once(start, table.column("end_s").to_numpy()),
    }


def _rate(times_s: NDArray[np.float64]) -> float | None:
    span_s = float(np.ptp(times_s))
    return (len(times_s) - 1) / span_s if span_s > 0 else None


def _most_at_once(start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> int:
    begun = np.arange(1, len(start_s) + 1)
    ended = np.searchsorted(np.sort(end_s), np.sort(start_s), side="right")
    return int((begun - ended).max())


def kept_sentence(schedule: Schedule) -> str:
    """Return a sentence on a schedule that was kept; see `validate.compare.lateness` for one that was not."""
    if not schedule["requests"]:
        return "nothing was issued"
    lag = f"starts lagged {1000 * schedule['lag_p99_s']:.2f} ms at p99, {1000 * schedule['lag_max_s']:.1f} ms at most"
    rate = ""
    if schedule["rate_ratio"] is not None:
        rate = f"{schedule['achieved_ops']:.1f} of {schedule['intended_ops']:.1f} op/s, "
    return f"the schedule was kept: {rate}{lag}"
