"""Enough requests of a workload for its mean demands: of a few, chance decides how many are of a rare kind."""

from __future__ import annotations

from dataclasses import replace

from models.store import Spec, compile_spec, faults_of
from traces.errors import InputError
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.keys import WriteOnceReadOnce

LEAST = 50_000
"""Number of requests from which those of a trace are enough: a kind with a fraction of 10 % has it within ±1.3 % of
this fraction, and the one of eleven bucket index shards with a tenth of them to within ±4 %."""
_ALSO = 5_000  # requests, if a workload has no more, such as one that deletes each object once
_FEW = 20  # requests of which the store's own work is found


def with_enough_requests(spec: Spec, trace: Trace) -> Trace:
    """Return a trace that the workload of a spec generated, or of less than `LEAST` requests a longer one.

    Faults, phases and the store's own work have their times in the run at hand, so with these the trace is returned,
    and with groups of clients, which end together.
    """
    workload = spec.workload
    is_timed = faults_of(spec) or workload.groups or isinstance(workload.keys, WriteOnceReadOnce)
    if is_timed or not len(trace) or len(trace) >= LEAST:
        return trace
    if compile_spec(spec, replace(trace, table=trace.table.slice(0, _FEW)))[1].background:
        return trace
    for count in (LEAST, _ALSO):
        ends = {"operations": count, **({"duration": None} if workload.rate is not None else {})}
        try:
            return trace if count <= len(trace) else generate(workload.model_copy(update=ends), 0)
        except InputError:  # such as more operations than there are keys to delete
            continue
    return trace
