"""Records, the common output of all readers: one per request, with null for everything its log does not contain."""

from __future__ import annotations

import http
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

RECORDS = pa.schema([
    pa.field("time_ns", pa.int64(), nullable=False),  # start of the request: since 1970 UTC, or relative
    pa.field("latency_ns", pa.int64()),  # from start to end
    pa.field("first_byte_ns", pa.int64()),  # from start to the first byte of the response body
    pa.field("op", pa.int8(), nullable=False),  # index in traces.operations.OPS
    pa.field("bucket", pa.string()),  # null if the format has none
    pa.field("key", pa.string(), nullable=False),  # of a LIST: the prefix
    pa.field("size_bytes", pa.int64()),  # of the object
    pa.field("transfer_bytes", pa.int64()),  # payload transferred
    pa.field("range_start_bytes", pa.int64()),  # of a GET, READ or WRITE of a range
    pa.field("range_bytes", pa.int64()),
    pa.field("client", pa.string()),
    pa.field("status", pa.int16()),  # HTTP status; 0 without a response
    pa.field("error", pa.string()),  # null on success
    pa.field("phase", pa.int32()),  # of a benchmark: 0 is its preparation; null if the format has none
    pa.field("request_id", pa.int64()),  # of the identity that the store gave the request; null if there is none
    pa.field("target", pa.string()),  # second key, of a RENAME or COPY
    pa.field("handle", pa.int64()),  # of the open file
])  # fmt: skip
"""The columns of a record batch; null stands for values that the log does not contain."""

NO_OBJECT = "not an operation on an object or a listing"
"""The reason for leaving out operations that a Trace cannot represent."""

SEVERAL_OBJECTS = "a delete of several objects"
"""The reason for leaving out requests that delete several objects, where these have no rows of their own."""

NO_OBJECT_NAMED = "names no object"
"""The reason for leaving out requests for objects that the log does not name."""

LONGEST_NS = 10 * 86400 * 10**9
"""Ten days, the longest plausible latency (assumed)."""

FIRST_ERROR, LAST_STATUS = 400, 999
"""The lowest HTTP status of an error, and the highest possible status."""

ERRORS = {status.value: status.phrase for status in http.HTTPStatus if status.value >= FIRST_ERROR}
"""The names of the HTTP statuses of errors."""


@dataclass(frozen=True)
class Parsed:
    """The result of parsing a block; every row is in one of the fields.

    Attributes:
        records: a batch of `RECORDS`.
        joined: number of rows that are the second part of a request.
        left_out: number of rows that a Trace cannot represent, by reason.
        unreadable: line and reason of rows that could not be read.
        escaped: number of rows with bytes that are not UTF-8.
        doubts: number of records that may be something else, by what is to be said of them.
        repeated_ns: how much later a record's time may be as well, as its local time occurs twice; 0 if it does not,
            shape (records,); None if no time occurs twice.
    """

    records: pa.RecordBatch
    joined: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unreadable: tuple[tuple[int, str], ...] = ()
    escaped: int = 0
    doubts: Counter[str] = field(default_factory=Counter)
    repeated_ns: NDArray[np.int64] | None = None


def unread(*troubles: tuple[int, str]) -> Parsed:
    """Return a result without records, with line and reason of rows that could not be read."""
    return Parsed(_EMPTY, unreadable=troubles)


_EMPTY = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in RECORDS], schema=RECORDS)
