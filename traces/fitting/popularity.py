"""Which objects requests name: popularity, sizes, and which operations have objects of their own."""

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

_TELLING = 30  # requests of an operation that tell whether its objects are its own; assumed
_APART = 0.3  # share of the overlap that chance gives, below which two sets of objects are apart; assumed
_EVER_NEW = 1_000_000_000  # keys, where no request names one again: more than are ever asked for

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Requested:
    """The requests of a trace by what they name.

    Attributes:
        op: index in `OPS` of each request.
        objects: number of each request's object; a LIST's is no object's.
        size_bytes: size of the object.
    """

    op: NDArray[np.int32]
    objects: Indices
    size_bytes: NDArray[np.int64]

    @staticmethod
    def of(trace: Trace) -> Requested:
        objects = np.full(len(trace), -1, np.int64)
        objects[trace.op != LIST] = objects_of(trace)
        return Requested(trace.op, objects, trace.size_bytes)


def fit_objects(asked: Requested) -> tuple[dict[str, Any], list[str]]:
    """The fields ``keys``, ``object_size`` and ``own_objects`` of a workload, and what they cannot say."""
    own = _own(asked)
    shared = ~np.isin(asked.op, [*own, DELETE, LIST])
    notes = _left_out(asked)
    if not shared.any():  # nothing but DELETEs and LISTs
        shared = asked.op != LIST
    if not shared.any():
        return {"object_size": 0}, notes
    fields = _group(asked, shared)
    if own:
        fields["own_objects"] = {OPS[op]: _group(asked, asked.op == op) for op in own}
    return fields, notes


def _own(asked: Requested) -> list[int]:
    """The operations that name objects of their own, fewer than there are: one has the shared objects."""
    present = [op for op in (GET, PUT, HEAD) if (asked.op == op).any()]
    rows = np.isin(asked.op, present)
    op, objects = asked.op[rows], asked.objects[rows]
    mixed = np.random.default_rng(0).permutation(op)  # which operation it was, were that all chance
    telling = [o for o in present if (op == o).sum() >= _TELLING]
    apart = [o for o in telling if _overlap(op, objects, o) < _APART * _overlap(mixed, objects, o)]
    if len(apart) == len(present) and apart:
        apart.remove(max(apart, key=lambda o: int((op == o).sum())))
    return apart


def _overlap(op: NDArray[np.int32], objects: Indices, one: int) -> float:
    """Share of the objects that an operation names which others name too."""
    mine, others = np.unique(objects[op == one]), np.unique(objects[op != one])
    return float(np.isin(mine, others, assume_unique=True).mean())


def _group(asked: Requested, rows: Rows) -> dict[str, Any]:
    """Keys and sizes of the objects that these requests name."""
    moving = rows & np.isin(asked.op, [GET, PUT])  # logs do not always have the size of others
    sized = moving if moving.any() else rows
    sizes = fit_sizes(asked.size_bytes[sized], asked.objects[sized])
    return {"object_size": sizes.model_dump(exclude_unset=True), "keys": _keys(asked.objects[rows])}


def _keys(objects: Indices) -> dict[str, Any]:
    _, first, hits = np.unique(objects, return_index=True, return_counts=True)
    in_turn = objects[np.sort(first)]
    if len(hits) > 1 and (objects == np.resize(in_turn, len(objects))).all():
        return SequentialKeys(count=_EVER_NEW if len(hits) == len(objects) else len(hits)).model_dump()
    law = fit_zipf(hits)
    if law.exponent == 0 and not law.one_hit:
        return UniformKeys(count=law.count).model_dump()
    once = {"one_hit": law.one_hit} if law.one_hit else {}
    return ZipfKeys(count=law.count, exponent=law.exponent, **once).model_dump(exclude_unset=True)


def _left_out(asked: Requested) -> list[str]:
    """What a workload does not say of these requests."""
    notes = []
    deleted, others = asked.objects[asked.op == DELETE], asked.objects[~np.isin(asked.op, [DELETE, LIST])]
    shared = np.isin(deleted, others).mean() if len(deleted) else 0.0
    if shared > 0:
        notes.append(f"{shared:.0%} of the DELETEs name an object of other requests; a workload's never do")
    if (asked.op == LIST).any():
        notes.append("the prefixes of LISTs; a workload's stand for a thousand keys each")
    return notes
