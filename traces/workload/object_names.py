"""The objects that requests name: distinct keys, their places among the buckets, and the column of keys.

They depend on neither the rate of a workload nor the sizes of its objects, so workloads that differ in these only have
those of each seed once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.operations import rows_that
from traces.random_streams import stream_id, uniforms, uniforms_at
from traces.tables import label
from traces.workload.distributions import Floats
from traces.workload.keys import Indices

PAGE = 1000
"""Keys that share the prefix of a LIST, as many as S3 lists in one response, and files of a directory."""

_OBJECT, _PREFIX = "object-{:010d}", "object-{:07d}"
_FILE, _DIRECTORY = "directory-{1:07d}/file-{0:010d}", "directory-{:07d}"
_NEW_DIRECTORY = "directory-{:010d}"
_BLOCK = 1 << 16  # keys whose random numbers are drawn together
_FEW = 256  # of these keys, whose random numbers are drawn one by one
_MOST = 500_000  # requests, in total, whose objects are kept

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Chosen:
    """The requests for objects with a common set of keys.

    Attributes:
        begin: beginning of the names of objects.
        rows: whether each request is one of them, shape (requests,).
        keys: the key of each of them.
        seed: of what is drawn for the objects.
    """

    begin: str
    rows: Rows
    keys: Indices
    seed: int


@dataclass(frozen=True)
class Objects:
    """The distinct objects with a common set of keys.

    Attributes:
        keys: ascending.
        size_draws: a random number on (0, 1) for the size of each.
        index: of the name of each request's object; those of prefixes and directories follow those of the keys.
        names: number of the names.
    """

    keys: Indices
    size_draws: Floats
    index: Indices
    names: int


@dataclass(frozen=True)
class Named:
    """The objects that requests name.

    Attributes:
        key: column of the names; its dictionary contains only those in use.
        place: position of each request's object among the buckets, from 0 to 1, shape (requests,).
        objects: of each set of keys.
    """

    key: pa.DictionaryArray
    place: Floats
    objects: tuple[Objects, ...]


_made = OrderedDict[tuple[object, ...], Named]()
_lock = threading.Lock()


def named(chosen: Sequence[Chosen], op: NDArray[np.int32], is_files: bool) -> Named:
    """Return the objects of requests with these operations, which must not be changed.

    Those of the last calls are kept.

    Args:
        chosen: the requests of each set of keys, which follow from their operations.
        op: operation of each request, as an index into `OPS`.
        is_files: whether the names are those of files.
    """
    if len(op) > _MOST:
        return _named(chosen, op, is_files)
    of_sets = ((each.begin, each.seed, each.keys.tobytes()) for each in chosen)
    known = op.tobytes(), is_files, *of_sets
    with _lock:
        found = _made.pop(known, None) or _named(chosen, op, is_files)
        _made[known] = found
        while sum(len(each.place) for each in _made.values()) > _MOST:
            _made.popitem(last=False)
    return found


def _named(chosen: Sequence[Chosen], op: NDArray[np.int32], is_files: bool) -> Named:
    place, index = np.empty(len(op)), np.empty(len(op), np.int64)
    objects, names = [], list[str]()
    for each in chosen:
        found, place[each.rows], more = _objects(each, op[each.rows], is_files)
        index[each.rows] = found.index + len(names)
        names += [each.begin + name for name in more]
        objects.append(found)
    return Named(_used(index, names), place, tuple(objects))


def _objects(chosen: Chosen, op: NDArray[np.int32], is_files: bool) -> tuple[Objects, Floats, list[str]]:
    """Return the objects of one set of keys, the place of each request's object, and the names."""
    distinct, index = np.unique(chosen.keys, return_inverse=True)
    place = _draws_at(chosen.seed, "workload/buckets", distinct)[index]
    lists, new = ~rows_that(op, "names_object"), rows_that(op, "names_own")
    prefixes, prefix = np.unique(chosen.keys[lists & ~new] // PAGE, return_inverse=True)
    index[lists & ~new] = len(distinct) + prefix
    index[lists & new] = len(distinct) + len(prefixes) + np.arange((lists & new).sum())
    of_key, page = (_FILE, _DIRECTORY) if is_files else (_OBJECT, _PREFIX)
    names = [of_key.format(k, k // PAGE) for k in distinct.tolist()] + [page.format(p) for p in prefixes.tolist()]
    names += [_NEW_DIRECTORY.format(i) for i in range(int((lists & new).sum()))]
    size_draws = _draws_at(chosen.seed, "workload/sizes", distinct)
    size_draws.flags.writeable = False
    return Objects(distinct, size_draws, index, len(names)), place, names


def _used(index: Indices, names: Sequence[str]) -> pa.DictionaryArray:
    """Return a label column whose dictionary contains only the names in use."""
    used, compact = np.unique(index, return_inverse=True)
    return label(compact, [names[i] for i in used.tolist()])


def _draws_at(seed: int, stream: str, indices: Indices) -> Floats:
    """Return the draws of a stream at ascending indices.

    Only blocks with an index are drawn, and of those with few of them only these.
    """
    number, draws = stream_id(stream), np.empty(len(indices))
    block, starts, counts = np.unique(indices // _BLOCK, return_index=True, return_counts=True)
    few = np.repeat(counts <= _FEW, counts)
    if few.any():
        draws[few] = uniforms_at(seed, np.array([number], np.uint64), indices[few])
    for at in np.flatnonzero(counts > _FEW).tolist():
        first, mine = int(block[at]) * _BLOCK, slice(starts[at], starts[at] + counts[at])
        draws[mine] = uniforms(seed, number, first, _BLOCK)[indices[mine] - first]
    return draws
