"""The requests that a layer issues to the store below it, as a Trace and as a workload of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.below.absent import with_absent
from models.network.sub_requests import Counts, RouteChoice, SubRequests
from models.shared.recent import Recent
from traces.operations import OPS, Op, rows_that
from traces.tables import LABEL, with_column
from traces.trace import Pacing, Trace
from traces.workload.generate import generate
from traces.workload.keys import WriteOnceReadOnce
from traces.workload.sizes import FixedSize, MixtureSize, SizeComponent, SizeDistribution
from traces.workload.workload import ClientGroup, Workload

MOST_ROWS = 1_000_000
"""Greatest number of requests to the store below from which its means and rates follow; further ones are left out."""
_MOST_CLASSES = 64  # classes of sizes that routes are told apart by
_SAMPLE = 500  # requests of a workload from which that of the store below follows
_ATOMS = 50  # sizes of its objects

UNROUTED = 0
"""The route of sub-requests before the store below is compiled."""


@dataclass(frozen=True)
class Issued:
    """Requests that some requests of a layer issue to the store below.

    Attributes:
        op: their operation.
        by: which requests of the layer issue them, shape (rows of its Trace,).
        starts: how many there are, of which sizes, and how many at a time, with the route `UNROUTED`.
        object_bytes: size of the object that each of them names; None: the bytes that it moves.
        of_part: whether they are of an upload in parts before its completion, and leave no object of their own, or read
            a part of their object; a COPY (UploadPartCopy) and a GET have a range then.
        absent: whether they look up a name, or list a prefix, that does not exist.
    """

    op: Op
    by: NDArray[np.bool_]
    starts: SubRequests
    object_bytes: int | None = None
    of_part: bool = False
    absent: bool = False


Issues = Callable[[Any, Trace], Sequence[Issued]]
"""Returns what the requests of a Trace on a layer, given its spec, issue to the store below."""


@dataclass(frozen=True)
class IssuedTrace:
    """The requests that reach the store below.

    Attributes:
        trace: a row for each, in the order of the requests that issue them; arrivals are those of these requests.
        kind: index of each row's `Issued`, shape (rows,).
        parents: number of the layer's requests whose rows these are: all, unless there are more than `MOST_ROWS` rows.
    """

    trace: Trace
    kind: NDArray[np.int64]
    parents: int


def issued_trace(trace: Trace, issued: Sequence[Issued]) -> IssuedTrace:
    """Return what the requests of a Trace issue; of many, those of the first requests.

    In a closed loop there are as many clients as requests to the store below are in progress, if each of them takes
    equally long. If nothing is issued, the first request issues one, so that there is something to compile.
    """
    moved, parents = trace.handled_bytes, len(trace)
    if parents and not any(each.by.any() for each in issued):
        issued = [replace(issued[0], by=np.arange(parents) == 0), *issued[1:]]
    counts = [np.where(each.by, each.starts.counts(moved), 0) for each in issued]
    total = np.cumsum(np.sum(counts, axis=0))
    if parents and total[-1] > MOST_ROWS:
        parents = max(int(np.searchsorted(total, MOST_ROWS, side="right")), 1)
    count = np.concatenate([each[:parents] for each in counts])
    parent = np.repeat(np.tile(np.arange(parents), len(issued)), count)
    kind = np.repeat(np.repeat(np.arange(len(issued)), parents), count)
    position = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count)
    size, object_bytes = np.empty(len(parent), np.int64), np.empty(len(parent), np.int64)
    for number, each in enumerate(issued):
        mine = kind == number
        size[mine] = each.starts.sizes(moved[parent[mine]], position[mine])
        object_bytes[mine] = size[mine] if each.object_bytes is None else each.object_bytes
    own = np.array([each.starts.own_keys for each in issued])[kind]
    ops = np.array([OPS.index(each.op) for each in issued], np.int64)[kind]
    ranged = np.array([each.of_part and each.op in ("COPY", "GET") for each in issued])[kind]
    order = np.argsort(parent, kind="stable")
    columns = {
        "op": pa.DictionaryArray.from_arrays(pa.array(ops[order], pa.int32()), pa.array(OPS)),
        "key": _keys(trace.table.column("key"), parent[order], np.where(own, position + 1, 0)[order]),
        "size_bytes": pa.array(object_bytes[order]),
        "range_start_bytes": pa.array(np.zeros(len(parent), np.int64), mask=~ranged[order]),
        "range_bytes": pa.array(size[order], mask=~ranged[order]),
    }
    table = trace.table.take(pa.array(parent[order]))
    table = table.drop_columns([name for name in ("target", "handle") if name in table.column_names])
    for name, values in columns.items():
        table = with_column(table, name, values.cast(table.schema.field(name).type))
    table = with_absent(table, np.array([each.absent for each in issued], bool)[kind[order]])
    return IssuedTrace(Trace(table, _pacing(trace.pacing, _in_progress(issued, counts))), kind[order], parents)


def _keys(keys: pa.ChunkedArray, parent: Counts, part: Counts) -> pa.Array:
    """Return a key for each part of an object, given the row of the request and 1 + the position; 0: the object's."""
    import pyarrow.compute as pc

    keys = keys.combine_chunks()
    width = int(part.max(initial=0)) + 1
    found, index = np.unique(keys.indices.to_numpy()[parent] * np.int64(width) + part, return_inverse=True)
    labels, parts = keys.dictionary.take(pa.array(found // width)).cast(pa.string()), pa.array(found % width)
    whole = pc.equal(parts, 0)
    named = pc.if_else(whole, labels, pc.binary_join_element_wise(labels, parts.cast(pa.string()), "/"))
    return pa.DictionaryArray.from_arrays(pa.array(index, pa.int32()), named).cast(LABEL)


def _in_progress(issued: Sequence[Issued], counts: Sequence[Counts]) -> float:
    """Return how many a request has in progress on average while it has some: their number over that of rounds."""
    every = [(count, each.starts.parallel) for each, count in zip(issued, counts, strict=True)]
    rounds = sum(int((count > 0).sum() if p is None else (-(-count // p)).sum()) for count, p in every)
    return sum(int(count.sum()) for count, _ in every) / rounds if rounds else 1.0


def _pacing(pacing: Pacing, factor: float) -> Pacing:
    groups = tuple((name, _pacing(group, factor)) for name, group in pacing.groups)
    clients = max(round(pacing.clients * factor), 1) if pacing.loop == "closed" else pacing.clients
    return replace(pacing, clients=clients, groups=groups)


def routes_of(route: NDArray[np.int32], size_bytes: Counts) -> int | RouteChoice:
    """Return the routes of sub-requests like these, of which each has a route and a size, shape (n,)."""
    if len(np.unique(route)) <= 1:
        return int(route[0]) if len(route) else UNROUTED
    sizes = np.unique(size_bytes)
    part = np.arange(len(sizes)) * _MOST_CLASSES // max(len(sizes), _MOST_CLASSES)
    part[-1] = _MOST_CLASSES  # whole chunks
    largest = sizes[np.flatnonzero(np.diff(part, append=_MOST_CLASSES + 1))]
    of_row = np.searchsorted(largest, size_bytes)
    classes = []
    for number in range(len(largest)):
        values, counts = np.unique(route[of_row == number], return_counts=True)
        classes.append(tuple(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True)))
    last = [k for k, each in enumerate(classes) if k + 1 == len(classes) or each != classes[k + 1]]
    return RouteChoice(tuple(int(largest[k]) for k in last), tuple(classes[k] for k in last))


_WORKLOADS = Recent[tuple[Any, Issues], Workload](4)
"""Workloads made last: a spec is compiled with many traces."""


def issued_workload(spec: Any, issues: Issues) -> Workload:
    """Return the workload that reaches the store below a layer, from some requests of that of its spec.

    It has the operations, sizes, rates and clients of the requests to that store, and the keys of the layer's.
    """
    return _WORKLOADS.of((spec, issues), lambda: _issued_workload(spec, issues))


def _issued_workload(spec: Any, issues: Issues) -> Workload:
    workload: Workload = spec.workload
    if not workload.groups:
        return _issued_by(spec, workload, workload, issues)
    groups = {name: _issued_by(spec, _alone(workload, of), of, issues) for name, of in workload.groups.items()}
    return workload.model_copy(update={"groups": groups})


def _alone(workload: Workload, group: ClientGroup) -> Workload:
    return workload.model_copy(
        update={name: getattr(group, name) for name in type(group).model_fields} | {"groups": {}}
    )


Part = TypeVar("Part", bound=ClientGroup)


def _issued_by(spec: Any, workload: Workload, part: Part, issues: Issues) -> Part:
    """Return a workload, or a group of one, as it reaches the store below, given the workload of it alone."""
    few = generate(workload.limited(_SAMPLE), 0)
    found = issued_trace(few, issues(spec.model_copy(update={"workload": workload}), few))
    each, closed = len(found.trace) / max(found.parents, 1), part.rate is None
    numbers, counts = np.unique(found.trace.op, return_counts=True)
    mix = {OPS[k]: float(count) for k, count in zip(numbers.tolist(), counts.tolist(), strict=True)}
    in_phases = isinstance(part.keys, WriteOnceReadOnce)  # each with an operation
    return part.model_copy(update={
        "object_size": _sizes(found.trace.size_bytes), "own_objects": {}, "ranges": None,
        "mix": part.mix if in_phases else mix,
        "operations": None if part.operations is None else math.ceil(part.operations * each),
        "rate": None if part.rate is None else part.rate * each,
        "clients": found.trace.pacing.clients if closed else part.clients,
    })  # fmt: skip


def _sizes(size_bytes: Counts) -> SizeDistribution:
    """Return the distribution of these sizes, of many different ones by their quantiles."""
    sizes, counts = np.unique(size_bytes, return_counts=True)
    if len(sizes) > _ATOMS:
        sizes, counts = np.unique(
            np.quantile(size_bytes, (np.arange(_ATOMS) + 0.5) / _ATOMS).astype(np.int64), return_counts=True
        )
    if len(sizes) == 1:
        return FixedSize(size=int(sizes[0]))
    parts = zip(sizes.tolist(), counts.tolist(), strict=True)
    return MixtureSize(components=tuple(SizeComponent(weight=n, size=FixedSize(size=size)) for size, n in parts))


def created_each(trace: Trace, issued: Sequence[Issued]) -> float:
    """Return the mean number of objects that a request creates in the store below, of those that create one."""
    found = issued_trace(trace, issued)
    own = int(rows_that(trace.op[: found.parents], "creates").sum())
    return float(_created(found, issued).sum()) / own if own else 1.0


def created_bytes(trace: Trace, issued: Sequence[Issued]) -> float:
    """Return the mean size of the objects that requests create in the store below."""
    found = issued_trace(trace, issued)
    written = found.trace.size_bytes[rows_that(found.trace.op, "creates")]
    return float(written.sum()) / max(int(_created(found, issued).sum()), 1)


def _created(found: IssuedTrace, issued: Sequence[Issued]) -> NDArray[np.bool_]:
    """Return which requests to the store below create an object, shape (rows,)."""
    parts = np.array([each.of_part for each in issued])[found.kind]
    return np.asarray(rows_that(found.trace.op, "creates") & ~parts)
