"""What MinIO's trace and its audit log have in common: handlers, header fields and what follows from them.

Source: MinIO 7aac2a2c5b7c (2026-02-12), cmd/api-router.go (handlers), cmd/http-tracer.go,
internal/http/response-recorder.go (`tx` counts bytes of the body), internal/logger/audit.go (`rx` is the request's
Content-Length).

An uploaded part is a PUT of its size, and the upload's completion a further row of it. A copy is a PUT of which nothing
passes the network.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from traces.operations import GET, HEAD, LIST, PUT
from traces.readers.expressions import number
from traces.readers.http_requests import is_error
from traces.readers.layout import RowVerdict, refuse
from traces.readers.operations import API_OPERATIONS

HANDLERS = {
    **API_OPERATIONS,
    "CopyObjectPart": "PUT",
    "PostPolicyBucket": "PUT",
    "ListObjectsV2M": "LIST",
    "ListObjectVersionsM": "LIST",
}
"""The handlers of operations that a Trace can represent."""

COMPLETION, BATCH, FORM = "CompleteMultipartUpload", "DeleteMultipleObjects", "PostPolicyBucket"
"""The handlers that complete an upload in parts, delete several objects, and upload what a form has."""

COPIES = ["CopyObject", "CopyObjectPart"]

_CONTENT_RANGE = r"^bytes (\d{1,18})-(\d{1,18})/(\d{1,18})$"
_LENGTHS = {"decoded": "X-Amz-Decoded-Content-Length", "plain": "Content-Length", "length": "Content-Length"}


def texts(*names: str) -> pa.DataType:
    """Return the type of an object whose fields of those names are texts."""
    return pa.struct([pa.field(name, pa.string()) for name in names])


REQUEST_NAMES = ("Content-Length", "X-Amz-Decoded-Content-Length", "X-Forwarded-For", "X-Real-Ip")
RESPONSE_NAMES = ("Content-Length", "Content-Range")
"""The header fields that are read."""

REQUEST_HEADERS, RESPONSE_HEADERS = texts(*REQUEST_NAMES), texts(*RESPONSE_NAMES)


def header_fields(request: pl.Expr, response: pl.Expr) -> dict[str, pl.Expr]:
    """Return the lengths and the range that header fields tell, as a step of a layout; null where not logged."""
    headers = {"decoded": request, "plain": request, "length": response}
    range_ = response.struct.field("Content-Range")
    return {
        **{name: number(headers[name].struct.field(field)) for name, field in _LENGTHS.items()},
        **{f"{name}_text": headers[name].struct.field(field) for name, field in _LENGTHS.items()},
        **{f"range_{i}": range_.str.extract(_CONTENT_RANGE, i).cast(pl.Int64) for i in (1, 2, 3)},
    }


def if_lengths_invalid() -> Iterable[RowVerdict]:
    """Return the verdicts on lengths that are no numbers; -1 stands for none."""
    return (
        refuse(pl.col(name).is_null() & (pl.col(f"{name}_text") != "-1"), f"{field} cannot be read")
        for name, field in _LENGTHS.items()
    )


def volumes(op: pl.Expr, status: pl.Expr, received: pl.Expr, sent: pl.Expr, copied: pl.Expr) -> dict[str, pl.Expr]:
    """Return the columns of sizes, transfers and ranges, from bodies and from header fields where they are logged.

    If a 206 response names no range, the range is assumed to start at 0.

    Args:
        op: index in `OPS`.
        status: HTTP status.
        received: bytes that came with the request.
        sent: bytes of the response body.
        copied: whether the request is a copy.
    """
    part = (op == GET) & (status == 206)
    # A signed chunked body is longer than the object.
    body = pl.coalesce("decoded", "plain", received)
    first, last, total = (pl.col(f"range_{i}") for i in (1, 2, 3))
    return {
        "size_bytes": pl.when(copied)
        .then(None)
        .when(op == PUT)
        .then(body)
        .when((op == GET) & (status == 200))
        .then(pl.coalesce("length", sent))
        .when(part)
        .then(total)
        .when((op == HEAD) & (status == 200))
        .then(pl.col("length"))
        .when(op == LIST)
        .then(0),
        "transfer_bytes": pl.when((op == PUT) & ~copied)
        .then(body)
        .when((op == GET) & ~is_error(status))
        .then(sent)
        .otherwise(0),
        "range_start_bytes": pl.when(part).then(first.fill_null(0)),
        "range_bytes": pl.when(part).then(pl.coalesce(last - first + 1, sent)),
    }


def first_byte(op: pl.Expr, value: pl.Expr) -> pl.Expr:
    """Return the time to the first byte of a response body, or of the header of a HEAD; 0 stands for none."""
    return pl.when(op.is_in([GET, HEAD, LIST]) & (value > 0)).then(value)
