"""What an HTTP request asks of an object store, and what its answer says: for logs that hold the request's line."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers import http_kernels
from traces.readers.columns import Column, by_value, numbers
from traces.readers.records import FIRST_ERROR, LAST_STATUS, Rows, error_of
from traces.readers.spans import Mask, Spans
from traces.tables import GET, HEAD, LIST, PUT


@dataclass(frozen=True)
class RequestLines:
    """Lines such as ``GET /bucket/key?versionId=1 HTTP/1.1``, divided; the path begins with the bucket."""

    method: Spans
    path: Spans
    query: Spans

    @staticmethod
    def of(lines: Spans) -> RequestLines:
        """Divide the lines."""
        cuts = np.empty((4, len(lines)), np.int64)
        http_kernels.divide(lines.data, lines.start, lines.end, cuts)
        method_end, path, path_end, query_end = cuts
        return RequestLines(
            Spans(lines.data, lines.start, method_end),
            Spans(lines.data, path, path_end),
            Spans(lines.data, np.minimum(path_end + 1, query_end), query_end),
        )


def prefixes(query: Spans, lists: Mask) -> pa.Array:
    """The prefix that a LIST's query asks for, "" if none; null for other requests."""
    if not lists.any():
        return pa.nulls(len(lists), pa.string())
    texts = pc.if_else(pa.array(lists), pc.fill_null(query.texts(), ""), None)
    return by_value(texts, prefix, pa.string())


def prefix(query: str) -> str:
    """The prefix that a query such as ``list-type=2&prefix=a%2Fb`` asks for, "" if none."""
    return parse_qs(query).get("prefix", [""])[0]


def volumes(op: NDArray[np.int8], status: Column, moved: Column, size: Column) -> dict[str, pa.Array]:
    """The columns of sizes, transfers and ranges, from the bytes of bodies; a range is taken to begin at 0.

    Args:
        op: index in `OPS`.
        status: HTTP status.
        moved: bytes of the request's body or of the answer's.
        size: of the object that was read.
    """
    gets, puts, heads, lists = (pa.array(op == code) for code in (GET, PUT, HEAD, LIST))
    well, part = (pc.fill_null(pc.equal(status, code), False) for code in (200, 206))
    read = pc.and_(gets, pc.or_(well, part))
    ranged = pc.and_(gets, part)
    told = pc.or_(read, pc.and_(heads, well))
    nothing = pa.scalar(0, pa.int64())
    return {
        "size_bytes": pc.case_when(pc.make_struct(puts, told, lists), moved, size, nothing),
        "transfer_bytes": pc.case_when(pc.make_struct(pc.or_(puts, read)), moved, nothing),
        "range_start_bytes": pc.if_else(ranged, nothing, None),
        "range_bytes": pc.if_else(ranged, moved, None),
    }


def statuses(rows: Rows, spans: Spans, null: str = "-") -> pa.Array:
    """HTTP statuses; a row where one is something else is refused."""
    values = spans.integers()
    return numbers(rows, spans, np.where(values > LAST_STATUS, -1, values), "HTTP status", null)


def is_error(status: Column) -> pa.Array:
    """Whether a status is an error's; one that is missing is not."""
    return pc.fill_null(pc.greater_equal(status, FIRST_ERROR), False)


def errors(status: pa.Array) -> pa.Array:
    """The name of an HTTP status from 400 on, such as ``Not Found``; null below."""
    return by_value(status, error_of, pa.string())
