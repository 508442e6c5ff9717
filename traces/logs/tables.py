"""Convert records in order of time into rows of a Trace and of a Run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.operations import OPS, rows_that
from traces.run import RUN_SCHEMA
from traces.tables import label
from traces.trace import TRACE_SCHEMA

NUMBERED = pa.schema([
    pa.field("time_ns", pa.int64(), nullable=False),
    pa.field("latency_ns", pa.int64()),
    pa.field("first_byte_ns", pa.int64()),
    pa.field("op", pa.int8(), nullable=False),
    pa.field("object", pa.int32(), nullable=False),
    pa.field("size_bytes", pa.int64()),
    pa.field("transfer_bytes", pa.int64()),
    pa.field("range_start_bytes", pa.int64()),
    pa.field("range_bytes", pa.int64()),
    pa.field("client", pa.int32()),
    pa.field("status", pa.int16()),
    pa.field("error", pa.int32()),
    pa.field("phase", pa.int32()),
    pa.field("request_id", pa.int64()),
    pa.field("target", pa.int32()),
    pa.field("handle", pa.int64()),
])  # fmt: skip
"""`traces.readers.records.RECORDS` with numbers instead of names."""


@dataclass(frozen=True)
class Names:
    """The names by number.

    Attributes:
        buckets, keys: bucket and key of each object, dictionary-encoded.
        errors: error texts.
    """

    buckets: pa.DictionaryArray
    keys: pa.DictionaryArray
    errors: pa.Array


def trace_table(
    rows: pa.Table,
    size_bytes: NDArray[np.int64],
    zero_ns: int,
    names: Names,
    phase: NDArray[np.int32],
    think_s: NDArray[np.float64],
    schema: pa.Schema = TRACE_SCHEMA,
) -> pa.Table:
    """Convert rows of `NUMBERED` to rows of a Trace.

    Args:
        rows: records in order of time.
        size_bytes: object size of each row.
        zero_ns: time of arrival 0.
        names: names of the numbers.
        phase: phase of each row.
        think_s: think time before each row, seconds.
        schema: that of a Trace, with its optional columns.
    """
    columns = _shared(rows, size_bytes, names) | {
        "arrival_s": _seconds(rows, zero_ns),
        "think_s": think_s,
        "phase": phase,
        "range_start_bytes": rows.column("range_start_bytes"),
        "range_bytes": rows.column("range_bytes"),
        "client": rows.column("client"),
    }
    return pa.table([columns[name] for name in schema.names], schema=schema)


def run_table(
    rows: pa.Table, size_bytes: NDArray[np.int64], zero_ns: int, names: Names, schema: pa.Schema = RUN_SCHEMA
) -> pa.Table:
    """Convert rows of `NUMBERED`, all with a latency, to rows of a Run: each issued on time, in one attempt.

    Values missing in the log are replaced: the status by 200 for successful and 0 for failed requests, the client by
    -1, the transfer by the requested size.
    """
    arrival_s = _seconds(rows, zero_ns)
    failed = rows.column("error").is_valid()
    transfer = pc.coalesce(rows.column("transfer_bytes"), _requested_bytes(rows, size_bytes, failed))
    columns = _shared(rows, size_bytes, names) | {
        "arrival_s": arrival_s,
        "start_s": arrival_s,
        "first_byte_s": pc.add(arrival_s, pc.divide(rows.column("first_byte_ns").cast(pa.float64()), 1e9)),
        "end_s": pc.add(arrival_s, pc.divide(rows.column("latency_ns").cast(pa.float64()), 1e9)),
        "transfer_bytes": transfer,
        "client": rows.column("client").fill_null(-1),
        "status": pc.coalesce(rows.column("status"), pc.if_else(failed, 0, 200).cast(pa.int16())),
        "attempts": np.ones(len(rows), np.int16),
        "winner": pc.if_else(failed, 0, 1).cast(pa.int16()),
        "error": names.errors.take(rows.column("error")).cast(pa.string()),
    }
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _shared(rows: pa.Table, size_bytes: NDArray[np.int64], names: Names) -> dict[str, pa.Array]:
    objects = rows.column("object")
    return {
        "op": label(rows.column("op").to_numpy(), OPS),
        "bucket": _labels(names.buckets, objects),
        "key": _labels(names.keys, objects),
        "size_bytes": size_bytes,
        "target": _labels(names.keys, rows.column("target")),
        "handle": rows.column("handle"),
    }


def _labels(names: pa.DictionaryArray, objects: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return the names of objects, with only those names in the dictionary; null stays null."""
    known = objects.is_valid().to_numpy()
    used, place = np.unique(names.indices.to_numpy()[objects.drop_null().to_numpy()], return_inverse=True)
    indices = np.zeros(len(objects), np.int32)
    indices[known] = place
    texts = names.dictionary.take(used).cast(pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=~known), texts)


def _seconds(rows: pa.Table, zero_ns: int) -> NDArray[np.float64]:
    since: NDArray[np.int64] = rows.column("time_ns").to_numpy() - zero_ns
    return since / 1e9


def _requested_bytes(rows: pa.Table, size_bytes: NDArray[np.int64], failed: pa.ChunkedArray) -> pa.Array:
    """Return the payload of each request by its operation, size and range; 0 if it failed."""
    op = rows.column("op").to_numpy()
    start = rows.column("range_start_bytes").fill_null(0).to_numpy()
    wanted = rows.column("range_bytes").fill_null(np.iinfo(np.int64).max).to_numpy()
    ranged = np.clip(size_bytes - start, 0, wanted)
    written = np.where(rows_that(op, "has_range"), rows.column("range_bytes").fill_null(-1).to_numpy(), -1)
    written = np.where(written < 0, size_bytes, written)
    moved = np.where(rows_that(op, "reads"), ranged, np.where(rows_that(op, "writes"), written, 0))
    return pa.array(np.where(failed.to_numpy(), 0, moved))
