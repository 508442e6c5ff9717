"""Generate a Trace from a Workload: every column is a pure function of workload and seed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.operations import FILE, OPS, ops_that, rows_that
from traces.random_streams import mixed, stream_id, uniforms
from traces.tables import label
from traces.trace import GROUP_FIELD, TARGET_FIELD, TRACE_SCHEMA, Pacing, Trace
from traces.workload.arrivals import arrival_times
from traces.workload.distributions import Floats
from traces.workload.keys import Indices, Keys, WriteOnceReadOnce
from traces.workload.object_names import Chosen, Objects, named
from traces.workload.reuse import KeysInOrder, OperationsInOrder, ReuseKeys
from traces.workload.sizes import SizeDistribution
from traces.workload.workload import ClientGroup, Workload

CYCLE = 100_000
"""Number of rows of a closed loop that has only a duration; they are repeated until it is over."""


def generate(workload: Workload, seed: int) -> Trace:
    """Generate the trace of a workload, which is determined by the workload and the seed.

    Keys are called ``object-0000000000`` and so on (``put-object-…`` for objects of PUTs alone), buckets ``bucket-0``
    and so on. If there are operations of file systems, keys are files such as ``directory-0000000/file-0000000000``.
    The dictionary contains only keys that some request names. The size and bucket of an object are functions of the
    index of its key; a file is empty when it is created. The second key of a RENAME or COPY is the first one with
    ``-rename`` or ``-copy``. With `ReuseKeys`, operations on one object come in their order.

    With groups of clients, the rows of each are those of its own workload with a seed of its own (`group_seed`), in
    buckets called ``NAME-0`` and so on. The rows of closed loops come first, then those of open loops by arrival.

    Raises:
        InputError: the workload has more requests than a trace may have.
    """
    if not workload.groups:
        return Trace.of(*_requests(workload, seed, "bucket"), "workload")
    found = {name: _requests(part, group_seed(seed, name), name) for name, part in workload.parts.items()}
    ordered = sorted(found.items(), key=lambda item: item[1][1].loop == "open")
    tables = [
        table.append_column(GROUP_FIELD, label(np.zeros(len(table), np.int32), [name])) for name, (table, _) in ordered
    ]
    merged = pa.concat_tables(tables, promote_options="default").unify_dictionaries().combine_chunks()
    merged = merged.take(np.argsort(merged.column("arrival_s").to_numpy(), kind="stable"))
    if workload.total_rate is None:
        groups = tuple((name, pacing) for name, (_, pacing) in found.items())
        return Trace.of(merged, Pacing("mixed", duration_s=workload.duration, groups=groups), "workload")
    merged = merged.slice(0, workload.operations).combine_chunks()
    return Trace.of(merged, Pacing("open", duration_s=workload.duration), "workload")


def group_seed(seed: int, name: str) -> int:
    """Return the seed of a group's random numbers, which do not depend on other groups."""
    return mixed(seed, stream_id(f"workload/groups/{name}"), 0) if name else seed


def _requests(workload: ClientGroup, seed: int, buckets: str) -> tuple[pa.Table, Pacing]:
    """Return the requests of one kind of clients, and their pacing."""
    if workload.rate is None:
        pacing = Pacing(
            "closed", workload.clients, workload.stagger, workload.duration, repeat=workload.operations is None
        )
        per_key = 2 if isinstance(workload.keys, WriteOnceReadOnce) else 1
        arrival_s = np.zeros(per_key * (workload.operations or CYCLE))
        think_s = _think_times(workload, seed, len(arrival_s))
    else:
        pacing = Pacing("open", duration_s=workload.duration)
        arrival_s = arrival_times(workload.arrivals, workload.rate, seed, workload.operations, workload.duration)
        think_s = np.zeros(len(arrival_s))
    count = len(arrival_s)
    op = _operations(workload, seed, count)
    phase = rows_that(op, "reads") if isinstance(workload.keys, WriteOnceReadOnce) else np.zeros(count, bool)
    in_order = _in_order(workload, seed, op)
    bucket, key, size_bytes = _objects(workload, seed, op, in_order, buckets)
    columns = [arrival_s, think_s, phase.astype(np.int32), label(op, OPS), bucket, key, size_bytes]
    if workload.ranges is not None:
        columns += workload.ranges.columns(seed, op, key.indices.to_numpy(), size_bytes)
    columns += [pa.nulls(count, TRACE_SCHEMA.field(i).type) for i in range(len(columns), len(TRACE_SCHEMA))]
    table = pa.table(columns, schema=TRACE_SCHEMA)
    if any(name in ops_that("names_two") for name in workload.ops_of_part):
        table = table.append_column(TARGET_FIELD, _targets(op, key))
    return table, pacing


def _think_times(workload: ClientGroup, seed: int, count: int) -> Floats:
    think = workload.think_time
    return think.distribution.quantile(uniforms(seed, stream_id("workload/think"), 0, count)) * think.mean


def _operations(workload: ClientGroup, seed: int, count: int) -> NDArray[np.int32]:
    """Draw the operation of each request as an index into `OPS`."""
    if isinstance(workload.keys, WriteOnceReadOnce):
        return np.repeat(np.array([OPS.index(op) for op in workload.keys.phases], np.int32), count // 2)
    weights = np.cumsum([workload.mix.get(op, 0.0) for op in OPS])
    draws = uniforms(seed, stream_id("workload/operations"), 0, count) * weights[-1]
    operations: NDArray[np.int32] = np.searchsorted(weights, draws).astype(np.int32)
    return operations


def _in_order(workload: ClientGroup, seed: int, op: NDArray[np.int32]) -> KeysInOrder | None:
    """Draw keys with their places among the requests for each object, and replace the operations by those in order."""
    if not isinstance(workload.keys, ReuseKeys):
        return None
    elsewhere = [OPS.index(name) for name in workload.own_objects]
    rows = np.flatnonzero(rows_that(op, "names_object") & ~np.isin(op, elsewhere))
    in_order = workload.keys.in_order(seed, len(rows))
    if workload.keys.operations is not None:
        op[rows] = _operations_in_order(workload.keys.operations, in_order, seed)
    return in_order


def _operations_in_order(operations: OperationsInOrder, in_order: KeysInOrder, seed: int) -> NDArray[np.int32]:
    """Draw the operation of each request by its place."""
    draws = uniforms(seed, stream_id("workload/operations/in_order"), 0, len(in_order.key))
    op = np.empty(len(draws), np.int32)
    for place in range(4):
        weights = operations.at(place)
        cumulated = np.cumsum([weights.get(name, 0.0) for name in OPS])
        rows = in_order.place == place
        op[rows] = np.searchsorted(cumulated, draws[rows] * cumulated[-1])
    return op


def _objects(
    workload: ClientGroup, seed: int, op: NDArray[np.int32], in_order: KeysInOrder | None, buckets: str
) -> tuple[pa.Array, pa.Array, NDArray[np.int64]]:
    """Draw the columns bucket, key and size_bytes."""
    own = {OPS.index(name): objects for name, objects in workload.own_objects.items()}
    groups: list[tuple[str, NDArray[np.bool_], Keys, SizeDistribution]]
    groups = [("", ~np.isin(op, list(own)), workload.keys, workload.object_size)]
    groups += [(f"{OPS[i].lower()}-", op == i, objects.keys, objects.object_size) for i, objects in own.items()]
    is_files = any(name in FILE for name in workload.ops_of_part)
    parts: list[Chosen] = []
    for begin, rows, keys, _ in groups:
        own_seed = mixed(seed, stream_id("workload/own/" + begin), 0) if begin else seed  # independent of the others
        parts.append(Chosen(begin, rows, _chosen(keys, own_seed, op[rows], None if begin else in_order), own_seed))
    found = named(parts, op, is_files)
    size_bytes = np.empty(len(op), np.int64)
    for (_, rows, keys, sizes), part, objects in zip(groups, parts, found.objects, strict=True):
        size_bytes[rows] = _sizes(keys, sizes, part.seed, objects)
    size_bytes[rows_that(op, "creates_empty")] = 0
    used, bucket = np.unique((found.place * workload.buckets).astype(np.int64), return_inverse=True)
    return label(bucket, [f"{buckets}-{b}" for b in used.tolist()]), found.key, size_bytes


def _chosen(keys: Keys, seed: int, op: NDArray[np.int32], in_order: KeysInOrder | None) -> Indices:
    """Return the key of each request; one that names a path has no place in an order: it takes the key before it."""
    if in_order is not None:
        named = np.cumsum(rows_that(op, "names_object")) - 1
        return in_order.key[np.maximum(named, 0)] if len(in_order.key) else np.zeros(len(op), np.int64)
    chosen = keys.choose(seed, len(op))
    if not isinstance(keys, WriteOnceReadOnce | ReuseKeys):
        own = rows_that(op, "names_own")  # each has a key of its own, after all others
        chosen[own] = keys.count + np.arange(own.sum())
    return chosen


def _sizes(keys: Keys, sizes: SizeDistribution, seed: int, objects: Objects) -> NDArray[np.int64]:
    """Return the size of each request's object; 0 of prefixes and directories."""
    size = keys.sizes(seed, objects.keys, sizes) if isinstance(keys, ReuseKeys) else sizes.quantile(objects.size_draws)
    drawn = np.rint(size).astype(np.int64)
    return np.concatenate([drawn, np.zeros(objects.names - len(drawn), np.int64)])[objects.index]


def _targets(op: NDArray[np.int32], key: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the second key of each request that names two: the first one with the operation after it."""
    rows = np.flatnonzero(rows_that(op, "names_two"))
    pairs, place = np.unique(key.indices.to_numpy()[rows] * np.int64(len(OPS)) + op[rows], return_inverse=True)
    names, ops = key.dictionary.take(pa.array(pairs // len(OPS))).to_pylist(), (pairs % len(OPS)).tolist()
    index = np.full(len(op), -1, np.int32)
    index[rows] = place
    targets = pa.array([f"{name}-{OPS[i].lower()}" for name, i in zip(names, ops, strict=True)], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(index, mask=index < 0), targets)
