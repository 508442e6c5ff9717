"""Ceph RADOS gateway's operations log, as it goes to a file, to a socket, or to RADOS, from where ``radosgw-admin log
show`` prints it; and as Elasticsearch exports it.

Layout: ceph src/rgw/rgw_log.cc, rgw_format_ops_log_entry. In the file objects follow each other with or without line
breaks; the socket gives an array that never ends; ``log show`` (src/rgw/rgw_admin.cc) wraps the entries of a
bucket and an hour in an object, with their sums behind them, and several of these may follow each other. `time` is when
the gateway began with the request, `total_time` whole milliseconds from there (both of a coarse clock: steps of 4 ms at
250 Hz). Releases before Reef do not name the object, only the request's path. It is all key where the bucket is in the
host's name: where it does not begin with the bucket that the entry names. Before Octopus `operation` may be the HTTP
method (ceph pull request 30539; 32834 for Nautilus): such entries are left out, as up to Luminous their times are of
another unit (17541). Where a range begins is not logged: it is taken to begin at 0.

An uploaded part is a PUT of its size, and the upload's completion a further row of it. A copy is a PUT of which nothing
passes the network. A delete of several objects is one row for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from traces.operations import DELETE, GET, HEAD, LIST, PUT
from traces.readers.blocks import by_block
from traces.readers.expressions import identity, iso_time, operation, text_or_null, unescaped
from traces.readers.formats import Format, Head
from traces.readers.http_requests import below_swift, error_of, http_status, is_error, prefix, volumes, without_body
from traces.readers.json_objects import objects
from traces.readers.json_rows import AGGREGATIONS, HITS, json_fields
from traces.readers.layout import Layout, join, leave_out, nothing, parser, refuse
from traces.readers.operations import RGW_OPERATIONS
from traces.readers.records import LONGEST_NS, NO_OBJECT, NO_OBJECT_NAMED, SEVERAL_OBJECTS
from traces.readers.source import Lines, Source

_TEXTS = ("bucket", "object", "time", "remote_addr", "operation", "uri", "http_status", "error_code", "trans_id")
_BYTES = ("bytes_sent", "bytes_received", "object_size")
_DELETED = pa.struct([("objects", pa.list_(pa.struct([("key", pa.string())])))])
_SCHEMA = pa.schema([
    *(pa.field(name, pa.string()) for name in _TEXTS),
    *(pa.field(name, pa.int64()) for name in (*_BYTES, "total_time")),
    pa.field("op_data", _DELETED),
])  # fmt: skip

_operation, _op, _status, _key = pl.col("operation"), pl.col("op"), pl.col("status"), pl.col("key")
_uri, _bucket, _size = pl.col("uri"), pl.col("bucket"), pl.col("object_size")
_copied = _operation == "copy_obj"
_deleted = pl.col("op_data").struct.field("objects").list
_one = (_operation == "multi_object_delete") & (_deleted.len() == 1)


# A bucket of a tenant is "tenant/bucket" in the log, and "tenant:bucket" or "bucket" in a path.
_names = (_bucket, _bucket.str.replace("/", ":", literal=True), _bucket.str.replace("^.*/", ""))
_named = pl.any_horizontal(*(pl.col("first") == name for name in _names)).fill_null(False)
_target = pl.when(pl.col("object").is_null()).then(_uri).str.splitn(" ", 3).struct.field("field_1")
_place = pl.col("path").str.splitn("/", 2).struct
_volumes = volumes(
    _op,
    _status,
    pl.when(_op == PUT)
    .then(pl.when(_size > 0).then(_size).when(~_copied).then("bytes_received"))
    .otherwise("bytes_sent"),
    _size,
)

LAYOUT = Layout(
    divide=json_fields(_SCHEMA),
    steps=(
        {
            "begin": iso_time(pl.col("time")),
            "status": http_status(pl.col("http_status")),
            "op": operation(_operation, RGW_OPERATIONS),
            "object": text_or_null(pl.col("object")),
        },
        {
            "op": pl.when((_op == GET) & _uri.str.starts_with("HEAD "))
            .then(pl.lit(HEAD, pl.Int8))
            .when(_one)
            .then(pl.lit(DELETE, pl.Int8))
            .otherwise(without_body(_op, _status)),
        },
        {"path": below_swift(_target.str.splitn("?", 2).struct.field("field_0"))},
        {"first": _place.field("field_0"), "below": _place.field("field_1").fill_null("")},
        {
            # Up to Pacific the gateway logs the query twice: "/b?acl?acl".
            "key": pl.when(_op == LIST)
            .then(prefix(pl.when(_op == LIST).then(_uri).str.extract(r"\?([^ ?]*)").fill_null("")))
            .when(_one)
            .then(_deleted.first().struct.field("key"))
            .otherwise(pl.coalesce("object", unescaped(pl.when(_named).then("below").otherwise("path")))),
        },
    ),
    verdicts=(
        refuse(pl.col("time").is_not_null() & pl.col("begin").struct.field("ns").is_null(), "time cannot be read"),
        refuse(_status.is_null() & ~nothing(pl.col("http_status")), "HTTP status cannot be read"),
        *(refuse(pl.col(name).is_null(), f"has no {name}") for name in ("time", "operation")),
        refuse(~pl.col("total_time").is_between(0, LONGEST_NS // 10**6), "total_time is not a duration"),
        join(_operation == "complete_multipart"),
        leave_out((_operation == "multi_object_delete") & _op.is_null(), SEVERAL_OBJECTS),
        leave_out(_op.is_null(), NO_OBJECT),
        leave_out((_operation == "post_obj") & (_key == ""), NO_OBJECT_NAMED),
    ),
    columns={
        "time_ns": pl.col("begin").struct.field("ns"),
        "local": pl.col("begin").struct.field("local"),
        "latency_ns": pl.col("total_time") * 10**6,
        "op": _op,
        "bucket": text_or_null(_bucket),
        "key": _key,
        "client": text_or_null(
            pl.col("remote_addr").str.splitn(",", 2).struct.field("field_0")
        ),  # before those of proxies
        "status": _status,
        "request_id": identity(text_or_null(pl.col("trans_id"))),
        "error": pl.when(is_error(_status)).then(pl.coalesce(text_or_null(pl.col("error_code")), error_of(_status))),
        **_volumes,
        "transfer_bytes": pl.when(_copied).then(0).otherwise(_volumes["transfer_bytes"]),
    },
)


def entries(source: Source) -> Iterator[Lines]:
    """Yield the log's entries in blocks, as `objects` does."""
    return objects(source, arrays=("log_entries", HITS), behind=("log_sum", AGGREGATIONS))


def _recognises(head: Head) -> bool:
    return all(f'"{name}"'.encode() in head.data for name in ("operation", "uri", "http_status", "total_time"))


FORMAT = Format(
    "rgw-ops-log",
    "Ceph RADOS gateway operations log (file, socket, radosgw-admin log show)",
    True,
    _recognises,
    by_block(parser(LAYOUT), entries),
)
