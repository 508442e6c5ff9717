"""Interpret HTTP requests and responses, for logs that contain the request line."""

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
    """Parts of lines such as ``GET /bucket/key?versionId=1 HTTP/1.1``; the path begins with the bucket."""

    method: Spans
    path: Spans
    query: Spans

    @staticmethod
    def of(lines: Spans) -> RequestLines:
        """Split request lines."""
        cuts = np.empty((4, len(lines)), np.int64)
        http_kernels.divide(lines.data, lines.start, lines.end, cuts)
        method_end, path, path_end, query_end = cuts
        return RequestLines(
            Spans(lines.data, lines.start, method_end),
            Spans(lines.data, path, path_end),
            Spans(lines.data, np.minimum(path_end + 1, query_end), query_end),
        )


def prefixes(query: Spans, lists: Mask) -> pa.Array:
    """Return the prefix in the query of each LIST, "" if it has none; null for other requests."""
    if not lists.any():
        return pa.nulls(len(lists), pa.string())
    texts = pc.if_else(pa.array(lists), pc.fill_null(query.texts(), ""), None)
    return by_value(texts, prefix, pa.string())


def prefix(query: str) -> str:
    """Return the prefix of a query such as ``list-type=2&prefix=a%2Fb``, "" if it has none."""
    return parse_qs(query).get("prefix", [""])[0]


def volumes(op: NDArray[np.int8], status: Column, moved: Column, size: Column) -> dict[str, pa.Array]:
    """Return the columns of sizes, transfers and ranges, from body sizes; ranges are assumed to start at 0.

    Args:
        op: index into `OPS`.
        status: HTTP status.
        moved: bytes of the request or response body.
        size: size of the object that was read.
    """
    gets, puts, heads, lists = (pa.array(op == code) for code in (GET, PUT, HEAD, LIST))
    well, part = (pc.fill_null(pc.equal(status, code), False) for code in (200, 206))
    read = pc.and_(gets, pc.or_(well, part))
    ranged = pc.and_(gets, part)
    known = pc.or_(read, pc.and_(heads, well))
    nothing = pa.scalar(0, pa.int64())
    return {
        "size_bytes": pc.case_when(pc.make_struct(puts, known, lists), moved, size, nothing),
        "transfer_bytes": pc.case_when(pc.make_struct(pc.or_(puts, read)), moved, nothing),
        "range_start_bytes": pc.if_else(ranged, nothing, None),
        "range_bytes": pc.if_else(ranged, moved, None),
    }


def statuses(rows: Rows, spans: Spans, null: str = "-") -> pa.Array:
    """Return HTTP statuses; rows with anything else are unreadable."""
    values = spans.integers()
    return numbers(rows, spans, np.where(values > LAST_STATUS, -1, values), "HTTP status", null)


def is_error(status: Column) -> pa.Array:
    """Return whether each status is that of an error; a missing one is not."""
    return pc.fill_null(pc.greater_equal(status, FIRST_ERROR), False)


def errors(status: pa.Array) -> pa.Array:
    """Return the name of each HTTP status from 400 on, such as ``Not Found``; null below."""
    return by_value(status, error_of, pa.string())
