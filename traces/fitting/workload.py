"""Fit a workload to a trace, such that generated traces have similar characteristics.

Not fitted: phases in which other objects or sizes are requested than at other times, for which only the reuse distances
are right, not the bytes between two requests; correlations between operations of different objects; sizes that change
when an object is overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.errors import InputError
from traces.fitting.arrivals import fit_arrivals
from traces.fitting.closed_loop import Loop, find_loop, fit_shape
from traces.fitting.popularity import RequestedObjects, fit_objects
from traces.fitting.sizes import fit_sizes
from traces.operations import OPS, rows_that
from traces.run import Run
from traces.spec.spec_file import validated
from traces.statistics.arrivals import arrival_span_s
from traces.statistics.burstiness import tick
from traces.trace import Trace, refuse_mixed
from traces.workload.keys import WriteOnceReadOnce
from traces.workload.workload import Workload

_DIGITS = 5  # significant digits of fitted figures
_EXACT = 9  # of figures whose rounding errors would add up or leave their bounds
_RANGE = ("range_start_bytes", "range_bytes")
_EXACT_FIELDS = ("duration", "shortest", "requests")


@dataclass(frozen=True)
class Fitted:
    """A fitted workload.

    Attributes:
        workload: the workload.
        loop: the detected closed loop; None for an open loop.
        notes: properties of the trace that a workload cannot express.
    """

    workload: Workload
    loop: Loop | None
    notes: tuple[str, ...]

    @property
    def fields(self) -> dict[str, Any]:
        """The workload as the mapping of a YAML file."""
        written: dict[str, Any] = self.workload.model_dump(mode="json", exclude_unset=True)
        return written


def loop_of(trace: Trace, run: Run | None) -> Loop | None:
    """Return the closed loop of a trace: its own pacing, or the loop that was detected in its log."""
    if trace.pacing.loop == "closed":
        return Loop(trace.pacing.clients, np.sort(trace.think_s))
    if run is None and trace.origin is not None and trace.origin.waiting_clients is not None:
        return Loop(trace.origin.waiting_clients, np.sort(trace.think_s))
    return find_loop(run) if run is not None and "origin" in run.info else None


def fit_workload(trace: Trace, run: Run | None = None) -> Fitted:
    """Fit a workload to a trace.

    Args:
        trace: the requests.
        run: the Run of the trace; if imported from a log, it shows whether clients waited for responses.

    Raises:
        InputError: the trace has no requests, all requests of an open loop arrive at the same time, or groups have
            loops of their own.
    """
    refuse_mixed(trace, "a fitted workload")
    if not len(trace):
        raise InputError("the trace has no requests; nothing to fit")
    loop = loop_of(trace, run)
    pace = _open(trace) if loop is None else _closed(trace, loop)
    counts = np.bincount(trace.op, minlength=len(OPS))
    mix = {op: float(f"{count / len(trace):.6g}") for op, count in zip(OPS, counts, strict=True) if count}
    buckets = len(trace.table.column("bucket").unique())
    fields = {**pace, "mix": mix, **({"buckets": buckets} if buckets > 1 else {})}
    notes: list[str] = []
    if _written_then_read(trace):
        pairs = len(trace) // 2
        sizes = fit_sizes(trace.size_bytes[:pairs], np.arange(pairs)).model_dump(exclude_unset=True)
        fields |= {"operations": pairs, "keys": "write_once_read_once", "object_size": sizes}
        del fields["mix"]
    else:
        objects, notes = fit_objects(RequestedObjects.of(trace))
        fields |= objects
        if len(np.unique(trace.phase)) > 1:
            notes.append("phases in sequence; a workload mixes its operations throughout")
        if (trace.handle >= 0).any():
            notes.append("which operations are on the same open file; a workload draws each on its own")
    fields |= _ranges(trace)
    return Fitted(validated(Workload, _rounded(fields), "fit"), loop, tuple(notes))


def _open(trace: Trace) -> dict[str, Any]:
    at = trace.arrival_s[: trace.issued]
    limit = trace.pacing.duration_s
    if not len(at):
        raise InputError(f"no request is due within the {limit:g} s of the trace; nothing to fit")
    if limit is not None and arrival_span_s(at, limit) < limit:
        limit = None  # the requests ended before
    # n arrivals represent n mean gaps: add half a gap on either side. A coarse clock rounds down: add its last tick.
    begin, end = (0.0, limit) if limit is not None else (float(at[0]), float(at[-1]))
    tick_s = tick(at) if limit is None else 0.0
    slack = 0.0 if limit is not None or tick_s else (end - begin) / max(len(at) - 1, 1) / 2
    duration = end - begin + 2 * slack + tick_s
    if not duration > 0:
        raise InputError("all requests arrive at the same time; the rate of the open loop is unknown")
    process = fit_arrivals(at - begin + slack, duration)
    arrivals = {} if process.kind == "poisson" else {"arrivals": process.model_dump(exclude_unset=True)}
    return {"rate": len(at) / duration, "duration": duration, **arrivals}


def _closed(trace: Trace, loop: Loop) -> dict[str, Any]:
    pacing, think = trace.pacing, loop.think_s
    fields: dict[str, Any] = {"clients": loop.clients}
    if think.mean() > 0:
        fields["think_time"] = {
            "mean": float(think.mean()),
            "distribution": fit_shape(think).model_dump(exclude_unset=True),
        }
    if pacing.loop == "closed" and pacing.stagger_s:
        fields["stagger"] = pacing.stagger_s
    if pacing.loop == "closed" and pacing.duration_s is not None:
        fields["duration"] = pacing.duration_s
    if not pacing.repeat:
        fields["operations"] = len(trace)
    return fields


def _written_then_read(trace: Trace) -> bool:
    """Whether a closed loop writes every key once and then reads every key once in the same order."""
    half = len(trace) // 2
    if trace.pacing.loop != "closed" or 2 * half != len(trace) or trace.pacing.duration_s is not None:
        return False
    writes, reads = (OPS.index(op) for op in WriteOnceReadOnce.phases)
    if (trace.op[:half] != writes).any() or (trace.op[half:] != reads).any():
        return False
    objects = RequestedObjects.of(trace).objects
    return len(np.unique(objects)) == half and bool((objects[:half] == objects[half:]).all())


def _ranges(trace: Trace) -> dict[str, Any]:
    length = trace.table.column("range_bytes")
    possible = rows_that(trace.op, "has_range")
    ranged = length.is_valid().to_numpy() & possible
    if not ranged.any():
        return {}
    requested = length.fill_null(0).to_numpy()[ranged]
    fraction = float(ranged.sum() / possible.sum())
    sizes = fit_sizes(requested, np.arange(len(requested)))
    fields: dict[str, Any] = {"fraction": fraction, "size": sizes.model_dump(exclude_unset=True)}
    if _in_sequence(trace, ranged):
        fields["order"] = "sequential"
    return {"ranges": fields}


def _in_sequence(trace: Trace, ranged: NDArray[np.bool_]) -> bool:
    """Return whether at least half of the ranges begin where the one before of the same object and operation ended."""
    rows = np.flatnonzero(ranged)
    objects = RequestedObjects.of(trace).objects
    rows = rows[np.lexsort((trace.op[rows], objects[rows]))]
    key, op = objects[rows], trace.op[rows]
    start, length = (trace.table.column(name).fill_null(0).to_numpy()[rows] for name in _RANGE)
    same = (np.diff(key) == 0) & (np.diff(op) == 0)
    follows = (start[1:] > 0) & (start[1:] == (start + length)[:-1])
    return bool(same.any() and follows[same].mean() >= 0.5)


def _rounded(value: Any, digits: int = _DIGITS) -> Any:
    """Round all figures in nested fields to significant digits, of `_EXACT_FIELDS` to more."""
    if isinstance(value, dict):
        return {name: _rounded(part, _EXACT if name in _EXACT_FIELDS else _DIGITS) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part, digits) for part in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
