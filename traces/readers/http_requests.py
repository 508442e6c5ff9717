"""What an HTTP request asks of an object store, and what its answer says: for logs that hold the request's line."""

from __future__ import annotations

import http
from dataclasses import dataclass
from urllib.parse import parse_qs

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers.columns import Column, by_value, numbers, operations
from traces.readers.records import Rows
from traces.readers.spans import Mask, Spans
from traces.tables import GET, HEAD, LIST, PUT

_PHRASES = {status.value: status.phrase for status in http.HTTPStatus}

_METHODS = {op: op for op in ("GET", "PUT", "HEAD", "DELETE")}

_SUBRESOURCES = frozenset([
    "accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "intelligent-tiering",
    "inventory", "layout", "legal-hold", "lifecycle", "location", "logging", "mdsearch", "metrics", "notification",
    "object-lock", "ownershipControls", "policy", "policyStatus", "publicAccessBlock", "replication",
    "requestPayment", "restore", "retention", "select", "tagging", "torrent", "uploads", "versioning", "website",
])  # fmt: skip
"""Parameters that make a request one about an object or bucket, not for it (Amazon S3 API reference; of RADOS gateway:
src/rgw/rgw_rest_s3.cc)."""


@dataclass(frozen=True)
class RequestLines:
    """Lines such as ``GET /bucket/key?versionId=1 HTTP/1.1``, divided; without a query there is none."""

    method: Spans
    path: Spans
    query: Spans

    @staticmethod
    def of(lines: Spans) -> RequestLines:
        """Divide the lines."""
        method, rest = lines.partition(" ")
        path, query = rest.partition(" ")[0].partition("?")
        return RequestLines(method, path, query)


def below_swift(path: Spans) -> Spans:
    """Paths without their first slash, and without what RADOS gateway's Swift API has before the container.

    That is ``/swift/v1/`` (rgw_swift_url_prefix) and, if it is there (rgw_swift_account_in_url), the account.
    """
    whole = path.within(before=1)
    first, rest = whole.partition("/")
    swift = first.is_text("swift")
    if not swift.any():
        return whole
    version, below = rest.partition("/")
    swift &= version.is_text("v1") | version.is_text("v1.0")
    account, container = below.partition("/")
    start = np.where(account.begins_with("AUTH_"), container.start, below.start)
    end = np.where(account.begins_with("AUTH_"), container.end, below.end)
    return Spans(path.data, np.where(swift, start, whole.start), np.where(swift, end, whole.end))


def asked(method: Spans, bucket: Spans, key: Spans, query: Spans) -> NDArray[np.int8]:
    """The index in `OPS` of what each request asks for; -1: nothing that a Trace has a place for."""
    named = operations(method, _METHODS)
    keyless = key.end <= key.start
    op = np.where(keyless, np.where(named == GET, np.int8(LIST), np.int8(-1)), named)
    about = np.zeros(len(op), np.int8)
    if query.there.any():
        about = by_value(query.texts(), _about, pa.int8()).fill_null(0).to_numpy(zero_copy_only=False)
    # An upload's part is an object's PUT; other requests with its number list or abort it.
    none = (about == 1) | ((about == 2) & (op != PUT)) | ((about == 3) & (op == PUT))
    return np.where(none | (bucket.end <= bucket.start), np.int8(-1), op)


def _about(query: str) -> int:
    """1: about a subresource; 2: about an upload; 3: a manifest of segments (Swift's SLO); 0: none of these."""
    names = {part.partition("=")[0] for part in query.split("&")}
    if names & _SUBRESOURCES:
        return 1
    if "uploadId" in names:
        return 2
    return 3 if "multipart-manifest" in names else 0


def prefixes(query: Spans, lists: Mask) -> pa.Array:
    """The prefix that a LIST's query asks for, "" if none; null for other requests."""
    if not lists.any():
        return pa.nulls(len(lists), pa.string())
    texts = pc.if_else(pa.array(lists), pc.fill_null(query.texts(), ""), None)
    return by_value(texts, prefix, pa.string())


def prefix(query: str) -> str:
    """The prefix that a query such as ``list-type=2&prefix=a%2Fb`` asks for, "" if none."""
    return parse_qs(query).get("prefix", [""])[0]


def volumes(
    op: NDArray[np.int8], status: Column, moved: Column, size: Column | None = None, start: Column | None = None
) -> dict[str, pa.Array]:
    """The columns of sizes, transfers and ranges, from the bytes of bodies.

    Args:
        op: index in `OPS`.
        status: HTTP status.
        moved: bytes of the request's body or of the answer's.
        size: of the object that was read; None: not logged.
        start: where a range begins; null, as without it: taken to be 0.
    """
    gets, puts, heads, lists = (pa.array(op == code) for code in (GET, PUT, HEAD, LIST))
    well, part = (pc.fill_null(pc.equal(status, code), False) for code in (200, 206))
    read = pc.and_(gets, pc.or_(well, part))
    ranged = pc.and_(gets, part)
    nothing = pa.scalar(0, pa.int64())
    if size is None:
        told, size = pc.and_(gets, well), moved
    else:
        told = pc.or_(read, pc.and_(heads, well))
    return {
        "size_bytes": pc.case_when(pc.make_struct(puts, told, lists), moved, size, nothing),
        "transfer_bytes": pc.case_when(pc.make_struct(pc.or_(puts, read)), moved, nothing),
        "range_start_bytes": pc.if_else(ranged, nothing if start is None else pc.fill_null(start, 0), None),
        "range_bytes": pc.if_else(ranged, moved, None),
    }


def statuses(rows: Rows, spans: Spans, null: str = "-") -> pa.Array:
    """HTTP statuses; a row where one is something else is refused."""
    values = spans.integers()
    return numbers(rows, spans, np.where(values > 999, -1, values), "HTTP status", null)


def is_error(status: Column) -> pa.Array:
    """Whether a status is an error's; one that is missing is not."""
    return pc.fill_null(pc.greater_equal(status, 400), False)


def errors(status: pa.Array) -> pa.Array:
    """The name of an HTTP status from 400 on, such as ``Not Found``; null below."""
    return by_value(status.cast(pa.string()), _error, pa.string())


def _error(status: str) -> str | None:
    if int(status) < 400:
        return None
    return _PHRASES.get(int(status), f"HTTP {status}")
