"""Fit object popularity and sizes, and find operations that have objects of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.fitting.independence import has_sizes, is_independent
from traces.fitting.object_sizes import object_sizes
from traces.fitting.operations import has_order
from traces.fitting.reuse import fit_reuse
from traces.fitting.sizes import fit_sizes
from traces.operations import OPS, rows_that
from traces.statistics.popularity import Indices, fit_zipf, objects_of
from traces.trace import Trace
from traces.workload.keys import SequentialKeys, UniformKeys, ZipfKeys

_ENOUGH = 30  # requests of an operation needed to decide whether it has objects of its own; assumed
_DISJOINT = 0.3  # fraction of the overlap expected by chance below which two sets of objects are disjoint; assumed
_UNBOUNDED = 1_000_000_000  # number of keys if no request names a key again: more than any workload requests

RowMask = NDArray[np.bool_]


@dataclass(frozen=True)
class RequestedObjects:
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
    def of(trace: Trace) -> RequestedObjects:
        objects = np.full(len(trace), -1, np.int64)
        objects[rows_that(trace.op, "names_object")] = objects_of(trace)
        return RequestedObjects(trace.op, objects, trace.size_bytes)


def fit_objects(requested: RequestedObjects) -> tuple[dict[str, Any], list[str]]:
    """Fit ``keys``, ``object_size`` and ``own_objects`` of a workload; return them with notes on what is not fitted."""
    own = _own(requested)
    on_object, removes = (rows_that(requested.op, has) for has in ("names_object", "removes"))
    named = on_object & ~np.isin(requested.op, own)
    shared = named & ~removes
    if not shared.any():  # nothing but DELETEs and LISTs
        shared = on_object
    if not shared.any():
        return {"object_size": 0}, _left_out(requested, in_order=False)
    if has_order(requested.objects[named], requested.op[named]):
        shared = named
    fields = _group(requested, shared, named)
    if own:
        fields["own_objects"] = {OPS[op]: _group(requested, requested.op == op, requested.op == op) for op in own}
    return fields, _left_out(requested, in_order="classes" in fields["keys"])


def _own(requested: RequestedObjects) -> list[int]:
    """Return the operations with objects of their own; never all operations, as one uses the shared objects."""
    rows = rows_that(requested.op, "names_object") & ~rows_that(requested.op, "removes")
    present = np.unique(requested.op[rows]).tolist()
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


def _group(requested: RequestedObjects, rows: RowMask, named: RowMask) -> dict[str, Any]:
    """Fit keys and sizes of the objects that requests name.

    Args:
        requested: all requests.
        rows: the requests whose keys may be independent of each other.
        named: these and the DELETEs, which name the same objects if operations on an object have an order.
    """
    moving = rows_that(requested.op, "moves_bytes")  # logs often lack the sizes for other operations
    sized = rows & moving if (rows & moving).any() else rows
    objects, size_bytes = requested.objects, requested.size_bytes
    ordered = has_order(objects[rows], requested.op[rows])
    keys = _by_popularity(objects[rows])
    sizes = fit_sizes(size_bytes[sized], objects[sized])
    if isinstance(keys, SequentialKeys) or (
        not ordered
        and is_independent(objects[rows], keys)
        and has_sizes(objects[sized], size_bytes[sized], keys, sizes)
    ):
        return {"object_size": sizes.model_dump(exclude_unset=True), "keys": keys.model_dump(exclude_unset=True)}
    first = np.unique(objects[sized], return_index=True)[1]
    sizes = object_sizes(size_bytes[sized][first])
    known = np.where(sized, size_bytes, -1)[named]
    reuse = fit_reuse(objects[named], requested.op[named], known, sizes)
    return {"object_size": sizes.model_dump(exclude_unset=True), "keys": reuse.model_dump(exclude_unset=True)}


def _by_popularity(objects: Indices) -> SequentialKeys | UniformKeys | ZipfKeys:
    """Fit keys in turn, or keys that are drawn independently of each other."""
    _, first, hits = np.unique(objects, return_index=True, return_counts=True)
    in_turn = objects[np.sort(first)]
    if len(hits) > 1 and (objects == np.resize(in_turn, len(objects))).all():
        return SequentialKeys(count=_UNBOUNDED if len(hits) == len(objects) else len(hits))
    zipf = fit_zipf(hits)
    if zipf.exponent == 0 and not zipf.one_hit:
        return UniformKeys(count=zipf.count)
    one_hit = {"one_hit": zipf.one_hit} if zipf.one_hit else {}
    return ZipfKeys(count=zipf.count, exponent=zipf.exponent, **one_hit)


def _left_out(requested: RequestedObjects, in_order: bool) -> list[str]:
    """Describe what a workload cannot express about these requests."""
    notes = []
    on_object, removes = (rows_that(requested.op, has) for has in ("names_object", "removes"))
    deleted, others = requested.objects[removes], requested.objects[on_object & ~removes]
    shared = np.isin(deleted, others).mean() if len(deleted) else 0.0
    if shared > 0 and not in_order:
        removals = _named(requested, removes)
        notes.append(f"{shared:.0%} of the {removals} name objects of other requests; those of this workload never do")
    if not on_object.all():
        of_paths = _named(requested, ~on_object)
        notes.append(f"the prefixes of {of_paths}; in a workload each covers a thousand keys")
    return notes


def _named(requested: RequestedObjects, rows: RowMask) -> str:
    """Return the operations of some requests, in the plural."""
    return " and ".join(f"{OPS[i]}s" for i in np.unique(requested.op[rows]).tolist())
