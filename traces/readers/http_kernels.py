"""What an HTTP request asks of an object store, and what its answer says: for logs that hold the request's line."""

from __future__ import annotations

from traces.readers.compiling import compiled, find
from traces.readers.drafts import error
from traces.readers.escape_kernels import resolve
from traces.readers.kernels import (
    AMPERSAND,
    EQUALS,
    PLUS,
    QUESTION,
    SLASH,
    SPACE,
    begins,
    digits,
    is_dash,
    is_text,
    operation,
    operations,
    text,
    word,
    words,
)
from traces.readers.records import LAST_STATUS
from traces.tables import GET, LIST, PUT

_METHODS = operations({op: op for op in ("GET", "PUT", "HEAD", "DELETE")})

_SUBRESOURCES = words([
    "accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "intelligent-tiering",
    "inventory", "layout", "legal-hold", "lifecycle", "location", "logging", "mdsearch", "metrics", "notification",
    "object-lock", "ownershipControls", "policy", "policyStatus", "publicAccessBlock", "replication",
    "requestPayment", "restore", "retention", "select", "tagging", "torrent", "uploads", "versioning", "website",
])  # fmt: skip
"""Parameters that make a request one about an object or bucket, not for it (Amazon S3 API reference; of RADOS gateway:
src/rgw/rgw_rest_s3.cc)."""

_SWIFT, _V1, _V1_0, _ACCOUNT = text("swift"), text("v1"), text("v1.0"), text("AUTH_")
_PREFIX, _UPLOAD, _MANIFEST = text("prefix"), text("uploadId"), text("multipart-manifest")

NOTHING, ABOUT_RESOURCE, ABOUT_UPLOAD, ABOUT_SEGMENTS = 0, 1, 2, 3


@compiled
def target(data, at, stop):  # type: ignore[no-untyped-def]
    """Of a line such as ``GET /bucket/key?versionId=1 HTTP/1.1``: bounds of the path, and the query's end; without a
    query that is the path's."""
    at = min(find(data, at, stop, SPACE) + 1, stop)
    stop = find(data, at, stop, SPACE)
    return at, find(data, at, stop, QUESTION), stop


@compiled
def below_swift(data, at, stop):  # type: ignore[no-untyped-def]
    """Where a path begins without its first slash, and without what RADOS gateway's Swift API has before the container.

    That is ``/swift/v1/`` (rgw_swift_url_prefix) and, if it is there (rgw_swift_account_in_url), the account.
    """
    at = min(at + 1, stop)
    cut = find(data, at, stop, SLASH)
    if not is_text(data, at, cut, _SWIFT):
        return at
    version = cut + 1
    cut = find(data, version, stop, SLASH)
    if not is_text(data, version, cut, _V1) and not is_text(data, version, cut, _V1_0):
        return at
    below = min(cut + 1, stop)
    return min(find(data, below, stop, SLASH) + 1, stop) if begins(data, below, stop, _ACCOUNT) else below


@compiled
def divide(data, start, end, cuts):  # type: ignore[no-untyped-def]
    """Where in each line of a column the method ends, the path below Swift's begins, that and the query end: fills
    `cuts`, shape (4, lines)."""
    for i in range(len(start)):
        cuts[0, i] = find(data, start[i], end[i], SPACE)
        path, cuts[2, i], cuts[3, i] = target(data, start[i], end[i])
        cuts[1, i] = below_swift(data, path, cuts[2, i])


@compiled
def about(data, at, stop):  # type: ignore[no-untyped-def]
    """What a query makes a request: one about a resource of S3, about an upload, about a manifest of segments (Swift's
    SLO), or none of these."""
    found = NOTHING
    while at < stop:
        end = find(data, at, stop, AMPERSAND)
        cut = find(data, at, end, EQUALS)
        if word(data, at, cut, _SUBRESOURCES) >= 0:
            return ABOUT_RESOURCE
        if is_text(data, at, cut, _UPLOAD):
            found = ABOUT_UPLOAD
        elif found == NOTHING and is_text(data, at, cut, _MANIFEST):
            found = ABOUT_SEGMENTS
        at = end + 1
    return found


@compiled
def asked(data, method, method_end, bucket_bytes, key_bytes, query, query_end):  # type: ignore[no-untyped-def]
    """The index in `OPS` of what a request asks for; -1: nothing that a Trace has a place for."""
    op = operation(data, method, method_end, _METHODS)
    if op < 0 or bucket_bytes <= 0:
        return -1
    if key_bytes <= 0:
        if op != GET:
            return -1
        op = LIST
    subject = about(data, query, query_end)
    # An upload's part is an object's PUT; other requests with its number list or abort it.
    none = (
        subject == ABOUT_RESOURCE
        or (subject == ABOUT_UPLOAD and op != PUT)
        or (subject == ABOUT_SEGMENTS and op == PUT)
    )
    return -1 if none else op


@compiled
def prefix(data, at, stop):  # type: ignore[no-untyped-def]
    """The bounds of the prefix that a LIST's query such as ``list-type=2&prefix=a%2Fb`` asks for, "" if none; the query
    is changed where it stands."""
    while at < stop:
        end = find(data, at, stop, AMPERSAND)
        cut = find(data, at, end, EQUALS)
        if cut + 1 < end and is_text(data, at, resolve(data, at, cut, PLUS, data, at), _PREFIX):
            return cut + 1, resolve(data, cut + 1, end, PLUS, data, cut + 1)
        at = end + 1
    return stop, stop


@compiled
def status(data, at, stop):  # type: ignore[no-untyped-def]
    """An HTTP status; -1: it is ``-`` or missing; -2: it is something else."""
    code = digits(data, at, stop)
    if 0 <= code <= LAST_STATUS:
        return code
    return -1 if is_dash(data, at, stop) else -2


@compiled
def set_answer(row, moved, start):  # type: ignore[no-untyped-def]
    """Set error, size, transfer and range of a record with operation and status, from the bytes of bodies.

    Args:
        row: the record.
        moved: bytes of the request's body or of the answer's; -1: not known.
        start: where a range begins; below 0: not known, taken to be 0.
    """
    row.error_from, row.error_to = error(row.status) if row.status > 0 else (0, -1)
    whole, ranged = row.op == GET and row.status == 200, row.op == GET and row.status == 206
    if row.op == PUT or whole:
        row.size_bytes = moved
    elif row.op == LIST:
        row.size_bytes = 0
    row.transfer_bytes = moved if row.op == PUT or whole or ranged else 0
    if ranged:
        row.range_start_bytes, row.range_bytes = max(start, 0), moved
