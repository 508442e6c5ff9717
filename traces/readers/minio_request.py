"""What MinIO's trace and its audit log have in common: handlers, header fields and what follows from them.

Source: MinIO 7aac2a2c5b7c (2026-02-12), cmd/api-router.go (handlers), cmd/http-tracer.go,
internal/http/response-recorder.go (`tx` counts bytes of the body), internal/logger/audit.go (`rx` is the request's
Content-Length).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers.columns import numbers
from traces.readers.http_requests import is_error
from traces.readers.records import Rows
from traces.readers.spans import Spans
from traces.tables import GET, HEAD, LIST, PUT

HANDLERS = {
    "GetObject": "GET",
    "PutObject": "PUT",
    "PutObjectPart": "PUT",
    "HeadObject": "HEAD",
    "DeleteObject": "DELETE",
    "ListObjectsV1": "LIST",
    "ListObjectsV2": "LIST",
    "ListObjectsV2M": "LIST",
    "ListObjectVersions": "LIST",
    "ListObjectVersionsM": "LIST",
}
"""The handlers that do what a Trace has a word for."""

_CONTENT_RANGE = r"^bytes (?P<first>\d{1,18})-(?P<last>\d{1,18})/(?P<size>\d{1,18})$"


def texts(*names: str) -> pa.DataType:
    """An object whose fields of those names are texts."""
    return pa.struct([pa.field(name, pa.string()) for name in names])


REQUEST_HEADERS = texts("Content-Length", "X-Amz-Decoded-Content-Length", "X-Forwarded-For", "X-Real-Ip")
RESPONSE_HEADERS = texts("Content-Length", "Content-Range")


def within(table: pa.Table, column: str, *path: str) -> pa.Array:
    """A field of a nested object; null where the object or the field is missing."""
    combined = table.column(column).combine_chunks()
    for name in path:
        combined = pc.struct_field(combined, name)
    return combined


def volumes(
    rows: Rows,
    op: NDArray[np.int8],
    status: pa.Array,
    received: pa.Array,
    sent: pa.Array,
    request: pa.Array | None,
    response: pa.Array | None,
) -> dict[str, Any]:
    """The columns of sizes, transfers and ranges, from bodies and from header fields where they are logged.

    If a 206 response names no range, the range is assumed to start at 0.

    Args:
        rows: the rows of the block.
        op: their operations.
        status: HTTP status.
        received: bytes that came with the request.
        sent: bytes of the response body.
        request, response: header fields of request and response; None if not logged.
    """
    gets, puts, heads, lists = (pa.array(op == code) for code in (GET, PUT, HEAD, LIST))
    well, part = (pc.fill_null(pc.equal(status, code), False) for code in (200, 206))
    body, length = received, None
    if request is not None and response is not None:
        chunked, plain = (
            _length(rows, request, name) for name in ("X-Amz-Decoded-Content-Length", "Content-Length")
        )  # a signed chunked body is longer than the object
        body, length = pc.coalesce(chunked, plain, received), _length(rows, response, "Content-Length")
        text = pc.struct_field(response, "Content-Range")
    else:
        text = pa.nulls(len(op), pa.string())
    found = pc.extract_regex(text, _CONTENT_RANGE)
    first, last, total = (pc.struct_field(found, name).cast(pa.int64()) for name in ("first", "last", "size"))
    whole = pc.and_(gets, well)
    ranged = pc.and_(gets, part)
    known = pc.coalesce(length, sent) if length is not None else sent
    told = pc.and_(heads, well) if length is not None else pa.array(np.zeros(len(op), bool))
    size = pc.case_when(
        pc.make_struct(puts, whole, ranged, told, lists), body, known, total, length, pa.scalar(0, pa.int64())
    )
    failed = is_error(status)
    return {
        "size_bytes": size,
        "transfer_bytes": pc.case_when(pc.make_struct(puts, failed, gets), body, 0, sent, 0),
        "range_start_bytes": pc.if_else(ranged, pc.coalesce(first, 0), None),
        "range_bytes": pc.if_else(ranged, pc.coalesce(pc.add(pc.subtract(last, first), 1), sent), None),
    }


def _length(rows: Rows, headers: pa.Array, name: str) -> pa.Array:
    field = Spans.of(pc.struct_field(headers, name))
    return numbers(rows, field, field.integers(), name, null="-1")


def first_byte(op: NDArray[np.int8], values: pa.Array) -> pa.Array:
    """Return the time to the first byte of a response body, or of the header of a HEAD; 0 stands for none."""
    return pc.if_else(pc.and_(pa.array(np.isin(op, (GET, HEAD, LIST))), pc.greater(values, 0)), values, None)
