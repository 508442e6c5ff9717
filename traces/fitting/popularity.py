"""Fit object popularity and sizes, and find operations that have objects of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.fitting.sizes import fit_sizes
from traces.statistics.popularity import Indices, fit_zipf, objects_of
from traces.tables import DELETE, GET, HEAD, LIST, OPS, PUT
from traces.trace import Trace
from traces.workload.keys import SequentialKeys, UniformKeys, ZipfKeys

_ENOUGH = 30  # requests of an operation needed to decide whether it has objects of its own; assumed
_DISJOINT = 0.3  # fraction of the overlap expected by chance below which two sets of objects are disjoint; assumed
_UNBOUNDED = 1_000_000_000  # number of keys if no request names a key again: more than any workload requests

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Requested:
    """The requests of a trace and the objects they name; all arrays have shape (requests,).

    Attributes:
        op: operation as an index into `OPS`.
        objects: object number; -1 for LISTs.
        size_bytes: object size.
    """

    op: NDArray[np.int32]
    objects: Indices
    size_bytes: NDArray[np.int64]

    @staticmethod
    def of(trace: Trace) -> Requested:
        objects = np.full(len(trace), -1, np.int64)
        objects[trace.op != LIST] = objects_of(trace)
        return Requested(trace.op, objects, trace.size_bytes)


def fit_objects(requested: Requested) -> tuple[dict[str, Any], list[str]]:
    """Fit ``keys``, ``object_size`` and ``own_objects`` of a workload; return them with notes on what is not fitted."""
    own = _own(requested)
    shared = ~np.isin(requested.op, [*own, DELETE, LIST])
    notes = _left_out(requested)
    if not shared.any():  # nothing but DELETEs and LISTs
        shared = requested.op != LIST
    if not shared.any():
        return {"object_size": 0}, notes
    fields = _group(requested, shared)
    if own:
        fields["own_objects"] = {OPS[op]: _group(requested, requested.op == op) for op in own}
    return fields, notes


def _own(requested: Requested) -> list[int]:
    """Return the operations with objects of their own; never all operations, as one uses the shared objects."""
    present = [op for op in (GET, PUT, HEAD) if (requested.op == op).any()]
    rows = np.isin(requested.op, present)
    op, objects = requested.op[rows], requested.objects[rows]
    shuffled = np.random.default_rng(0).permutation(op)  # null hypothesis: operations choose from the same objects
    frequent = [o for o in present if (op == o).sum() >= _ENOUGH]
    own = [o for o in frequent if _overlap(op, objects, o) < _DISJOINT * _overlap(shuffled, objects, o)]
    if len(own) == len(present) and own:
        own.remove(max(own, key=lambda o: int((op == o).sum())))
    return own


def _overlap(op: NDArray[np.int32], objects: Indices, one: int) -> float:
    """Return the fraction of an operation's objects that other operations also name."""
    mine, others = np.unique(objects[op == one]), np.unique(objects[op != one])
    return float(np.isin(mine, others, assume_unique=True).mean())


def _group(requested: Requested, rows: Rows) -> dict[str, Any]:
    """Fit keys and sizes of the objects that the selected requests name."""
    moving = rows & np.isin(requested.op, [GET, PUT])  # logs often lack the sizes for other operations
    sized = moving if moving.any() else rows
    sizes = fit_sizes(requested.size_bytes[sized], requested.objects[sized])
    return {"object_size": sizes.model_dump(exclude_unset=True), "keys": _keys(requested.objects[rows])}


def _keys(objects: Indices) -> dict[str, Any]:
    _, first, hits = np.unique(objects, return_index=True, return_counts=True)
    in_turn = objects[np.sort(first)]
    if len(hits) > 1 and (objects == np.resize(in_turn, len(objects))).all():
        return SequentialKeys(count=_UNBOUNDED if len(hits) == len(objects) else len(hits)).model_dump()
    zipf = fit_zipf(hits)
    if zipf.exponent == 0 and not zipf.one_hit:
        return UniformKeys(count=zipf.count).model_dump()
    one_hit = {"one_hit": zipf.one_hit} if zipf.one_hit else {}
    return ZipfKeys(count=zipf.count, exponent=zipf.exponent, **one_hit).model_dump(exclude_unset=True)


def _left_out(requested: Requested) -> list[str]:
    """Describe what a workload cannot express about these requests."""
    notes = []
    deleted = requested.objects[requested.op == DELETE]
    others = requested.objects[~np.isin(requested.op, [DELETE, LIST])]
    shared = np.isin(deleted, others).mean() if len(deleted) else 0.0
    if shared > 0:
        notes.append(f"{shared:.0%} of the DELETEs name objects of other requests; those of a workload never do")
    if (requested.op == LIST).any():
        notes.append("the prefixes of LISTs; in a workload each covers a thousand keys")
    return notes
