"""Enough requests of a workload for its mean demands: of a few, chance decides how many are of a rare kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from models.shared.faults import fault_times
from models.store import Spec, compile_spec, faults_of, store_of, warms
from sim.saturation.stable_rate import at_times
from traces.errors import InputError
from traces.trace import Trace
from traces.workload.kept_traces import generated
from traces.workload.keys import WriteOnceReadOnce
from traces.workload.reuse import ReuseKeys

LEAST = 50_000
"""Number of requests from which those of a trace are enough: the standard error of the number of a kind with a fraction
of 10 % is 1.3 %, and that of one of eleven bucket index shards with a tenth of the requests 4.5 %."""
_ALSO = 5_000  # requests, if a workload has no more, such as one that deletes each object once
_FEW = 20  # requests of which the store's own work is found
_THROUGHOUT_S = 10.0  # in which requests are issued if faults and own work last throughout, whatever their rate


def with_enough_requests(spec: Spec, trace: Trace, at_load: bool = False) -> Trace:
    """Return a trace of `LEAST` requests of the workload of a spec, given one that it generated.

    It is the same for any length and seed, so what follows from it does not depend on these, and at a rate of 1/s where
    times do not count. Where the order of all requests decides, as which objects caches hold, a longer trace is
    returned.

    Faults and the store's own work have their times in the run at hand, so with these there are as many requests in the
    same time, as an open loop; if all of these last throughout, in a time that is the same for all rates. If the time
    is not known, as of a closed loop without a duration, or if there are phases or groups of clients, the trace is
    returned. If caches fill first, they need the time that more requests take, and own work that lasts throughout is
    the same then.

    Args:
        spec: of the store.
        trace: its requests.
        at_load: whether the rate has to be that of the trace, too.
    """
    workload = spec.workload
    if workload.groups or isinstance(workload.keys, WriteOnceReadOnce) or not len(trace):
        return trace
    if len(trace) >= LEAST and (isinstance(workload.keys, ReuseKeys) or warms(spec)):
        return trace
    is_timed = bool(faults_of(spec)) or (not warms(spec) and _has_work(spec, trace))
    if is_timed and (at_load or not _length_s(trace) or trace.phase.any()):
        return trace
    has_times = at_load or warms(spec)  # those of timed work are those of the trace, whatever the rate
    for count in (LEAST, _ALSO):
        ends: dict[str, Any] = {"operations": count}
        if workload.rate is not None:
            ends |= {"duration": None, "rate": workload.rate if has_times else 1.0}
        try:
            is_enough = count == _ALSO <= len(trace)
            longer = trace if is_enough else generated(workload.model_copy(update=ends), 0)
        except InputError:  # such as more operations than there are keys to delete
            continue
        if not is_timed:
            return longer
        length_s = _length_s(trace) or 0.0
        return _in_time_of(trace, longer, _THROUGHOUT_S if _lasts_throughout(spec, trace, length_s) else length_s)
    return trace


def _has_work(spec: Spec, trace: Trace) -> bool:
    """Whether the store has work of its own."""
    return bool(compile_spec(spec, replace(trace, table=trace.table.slice(0, _FEW)))[1].background)


def _lasts_throughout(spec: Spec, trace: Trace, length_s: float) -> bool:
    """Whether faults and the store's own work begin with a run and have no end, also in longer runs.

    Caches that fill, and faults that make a store work, such as by moving objects, change it in the meantime.
    """
    faults: list[Any] = list(faults_of(spec).values())
    working = {kind.event for kind in store_of(spec).faults.values() if kind.form == "work"}
    if warms(spec) or any(fault_times(faults)) or any(fault.kind in working for fault in faults):
        return False
    end_s = max(length_s, _THROUGHOUT_S)
    count = min(_FEW, len(trace))
    few = at_times(trace, np.arange(count), end_s * np.arange(1, count + 1) / count)
    network, requests = compile_spec(spec, few)
    lasting = all(load.from_s == 0 and load.until_s >= end_s for load in requests.background)
    return lasting and not any(action.at_s for action in network.scenario)


def _length_s(trace: Trace) -> float | None:
    """Return the time in which the requests of a trace are issued; None: it is not known."""
    return float(trace.arrival_s[-1]) if trace.pacing.loop == "open" else trace.pacing.duration_s


def _in_time_of(trace: Trace, longer: Trace, length_s: float) -> Trace:
    """Return a longer trace with arrivals in a time, paced as the other one."""
    count = len(longer)
    if trace.pacing.loop != "open":
        return at_times(longer, np.arange(count), (np.arange(count, dtype=np.float64) + 0.5) * (length_s / count))
    arrival_s = longer.arrival_s * (length_s / float(longer.arrival_s[-1]))
    column = longer.table.column_names.index("arrival_s")
    return replace(trace, table=longer.table.set_column(column, "arrival_s", pa.array(arrival_s)))
