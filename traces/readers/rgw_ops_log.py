"""Ceph RADOS gateway's operations log, as it goes to a file, to a socket, or to RADOS, from where ``radosgw-admin log
show`` prints it.

Layout: ceph src/rgw/rgw_log.cc, rgw_format_ops_log_entry. In the file objects follow each other with or without line
breaks; the socket gives an array that never ends; ``log show`` (src/rgw/rgw_admin.cc) wraps the entries of a
bucket and an hour in an object, with their sums behind them, and several of these may follow each other. `time` is when
the gateway began with the request, `total_time` whole milliseconds from there (both of a coarse clock: steps of 4 ms at
250 Hz). Releases before Reef do not name the object, only the request's path. It is all key where the bucket is in the
host's name: where it does not begin with the bucket that the entry names. Before Octopus `operation` may be the HTTP
method (ceph pull request 30539; 32834 for Nautilus): such entries are left out, as up to Luminous their times are of
another unit (17541). Where a range begins is not logged: it is taken to begin at 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers.blocks import by_block
from traces.readers.columns import durations, missing, numbers, operations, unquoted
from traces.readers.formats import Format, Head
from traces.readers.http_requests import RequestLines, errors, is_error, prefixes, statuses, volumes
from traces.readers.json_objects import objects
from traces.readers.json_rows import json_rows
from traces.readers.kernels import COMMA, QUESTION, SLASH
from traces.readers.records import NO_OBJECT, Parsed, Rows
from traces.readers.source import Lines, Source
from traces.readers.spans import Spans
from traces.tables import GET, HEAD, LIST, PUT

_TEXTS = ("bucket", "object", "time", "remote_addr", "operation", "uri", "http_status", "error_code")
_BYTES = ("bytes_sent", "bytes_received", "object_size")
_SCHEMA = pa.schema([
    *(pa.field(name, pa.string()) for name in _TEXTS),
    *(pa.field(name, pa.int64()) for name in (*_BYTES, "total_time")),
])  # fmt: skip

_OPERATIONS = {"get_obj": "GET", "put_obj": "PUT", "delete_obj": "DELETE", "list_bucket": "LIST"}
"""The name of an operation (src/rgw/rgw_op.h); a HEAD is a get_obj, an upload's part a put_obj."""


def _convert(table: pa.Table, line: NDArray[np.int64]) -> Parsed:
    rows = Rows(line)
    log = {name: table[name].combine_chunks() for name in table.column_names}
    when = Spans.of(log["time"])
    time = numbers(rows, when, when.iso_ns(), "time", null=None)
    status = statuses(rows, Spans.of(log["http_status"]), null="")
    for name in ("time", "operation"):
        rows.refuse(missing(log[name]), f"has no {name}")
    latency = durations(rows, pc.multiply_checked(log["total_time"], 10**6), "total_time")
    request = RequestLines.of(Spans.of(log["uri"]))
    named = operations(log["operation"], _OPERATIONS)
    op = np.where((named == GET) & request.method.is_text("HEAD"), np.int8(HEAD), named)
    rows.leave_out(op < 0, NO_OBJECT)
    # Up to Pacific the gateway logs the query twice: "/b?acl?acl".
    prefix = prefixes(request.query.partition(QUESTION)[0], op == LIST)
    key = pc.coalesce(prefix, _named(log["object"]), _key(request.path, log["bucket"]))
    rows.refuse((op != LIST) & pc.fill_null(pc.equal(key, ""), True).to_numpy(zero_copy_only=False), "has no key")
    written = pc.if_else(pc.greater(log["object_size"], 0), log["object_size"], log["bytes_received"])
    moved = pc.if_else(pa.array(op == PUT), written, log["bytes_sent"])
    failed = is_error(status)
    return rows.parsed(
        time_ns=time,
        latency_ns=latency,
        op=op,
        bucket=_named(log["bucket"]),
        key=key,
        client=_named(Spans.of(log["remote_addr"]).partition(COMMA)[0].texts()),  # proxies follow, if they are logged
        status=status,
        error=pc.if_else(failed, pc.coalesce(_named(log["error_code"]), errors(status)), None),
        **volumes(op, status, moved, size=log["object_size"]),
    )


def _named(column: pa.Array) -> pa.Array:
    """Texts; null where they stand for nothing."""
    return pc.if_else(pc.is_in(column, pa.array(["", "-"])), None, column)


def _key(path: Spans, bucket: pa.Array) -> pa.Array:
    """The key in a path. Where the bucket is not in the path, it is in the host's name, and the path is all key."""
    first, below = path.partition(SLASH)
    named = first.texts()
    here = pc.equal(named, bucket)
    if pc.any(pc.match_substring(bucket, "/")).as_py():  # "tenant/bucket"; in a path "tenant:bucket" or "bucket"
        for form in (pc.replace_substring(bucket, "/", ":"), pc.replace_substring_regex(bucket, "^.*/", "")):
            here = pc.or_kleene(here, pc.equal(named, form))
    return unquoted(pc.if_else(pc.fill_null(here, False), below.texts(), path.texts()))


def entries(source: Source) -> Iterator[Lines]:
    """The log's entries in blocks, as `objects` gives them."""
    return objects(source, array="log_entries", behind="log_sum")


def _recognises(head: Head) -> bool:
    return all(f'"{name}"'.encode() in head.data for name in ("operation", "uri", "http_status", "total_time"))


FORMAT = Format(
    "rgw-ops-log",
    "Ceph RADOS gateway operations log (file, socket, radosgw-admin log show)",
    True,
    _recognises,
    by_block(json_rows(_SCHEMA, _convert), entries),
)
