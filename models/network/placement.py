"""The hashes of keys that select rows of placement tables, and the containers that list the objects."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.tables import combined
from traces.trace import Trace

_MOST_CONTAINERS = 4096  # of which there are stations: more are as good as different


def key_hashes(trace: Trace) -> NDArray[np.uint64]:
    """Return a well-mixed 64-bit hash of each request's bucket and key, shape (requests,).

    It replaces the stores' own hashes (SipHash in MinIO, rjenkins in Ceph), because only uniformity matters here. A
    trace is compiled many times, so its hashes are kept with it; they cannot be changed.
    """
    return trace.once(_key_hashes)


def _key_hashes(trace: Trace) -> NDArray[np.uint64]:
    bucket, key = (_label_hashes(trace.table.column(name)) for name in ("bucket", "key"))
    hashes = _mix(_mix(bucket) + key)
    hashes.flags.writeable = False
    return hashes


def containers_of(trace: Trace, shards: int) -> tuple[NDArray[np.int64], int]:
    """Return the number of the container that lists each request's object, shape (requests,), and how many there are.

    Args:
        trace: its buckets are containers.
        shards: containers of each bucket, over which its keys are distributed.
    """
    buckets = combined(trace.table.column("bucket"))
    codes = np.unique(buckets.indices.to_numpy(zero_copy_only=False), return_inverse=True)[1].astype(np.int64)
    shard = (key_hashes(trace) >> np.uint64(32)).astype(np.int64) % shards
    count = min(_MOST_CONTAINERS, (int(codes.max(initial=0)) + 1) * shards)
    return (codes * shards + shard) % count, count


def part_keys(key_hash: NDArray[np.uint64], position: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hashes of the keys of an object's parts, such as blocks or segments, at these positions; same shape.

    They depend on the object's key and the position only, so readers find a part where a writer has put it.
    """
    with np.errstate(over="ignore"):
        return _mix(_mix(key_hash) + position.astype(np.uint64) + np.uint64(1))


def _label_hashes(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    labels = combined(column)
    if not len(labels):
        return np.empty(0, np.uint64)
    if len(labels) < len(labels.dictionary):  # hash only the strings of these rows, which may be few of a long trace
        labels = labels.dictionary_decode().dictionary_encode()
    hashes = _string_hashes(labels.dictionary)
    result: NDArray[np.uint64] = hashes[labels.indices.to_numpy(zero_copy_only=False)]
    return result


def _string_hashes(strings: pa.Array) -> NDArray[np.uint64]:
    """Return a polynomial hash of each string's bytes."""
    strings = strings.cast(pa.large_string())
    _, offsets_buffer, data = strings.buffers()
    window = slice(strings.offset, strings.offset + len(strings) + 1)
    offsets = np.frombuffer(offsets_buffer, np.int64)[window]
    raw = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if data else np.empty(0, np.uint8)
    lengths = np.diff(offsets)
    place = np.arange(len(raw)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, 0x100000001B3, np.uint64))
        terms = np.append((raw.astype(np.uint64) + np.uint64(1)) * powers[place], np.uint64(0))
    sums = np.add.reduceat(terms, offsets[:-1] - offsets[0])
    return np.where(lengths > 0, _mix(sums), np.uint64(0))


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
