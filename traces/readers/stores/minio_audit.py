"""MinIO's audit log: JSON objects as an audit webhook or Kafka target receives them, or as Elasticsearch exports them.

Layout: minio/madmin-go logger/audit/entry.go, version "1"; filled by minio internal/logger/audit.go. The time is that
of the end of the response: a request starts `timeToResponse` earlier. Bucket and object have fields of their own,
wherever the request named them; of a copy, these name the source (cmd/auth-handler.go, checkRequestAuthType), and the
path the target. The object of a form is in the tags (cmd/erasure-sets.go, auditObjectErasureSet). A delete of several
objects is one row for all of them.
"""

from __future__ import annotations

import re
from functools import partial

import polars as pl
import pyarrow as pa

from traces.operations import DELETE, LIST
from traces.readers.blocks import by_block
from traces.readers.expressions import identity, iso_time, number, operation, text_or_null
from traces.readers.formats import Format, Head
from traces.readers.http_requests import error_of, without_body
from traces.readers.json_objects import objects
from traces.readers.json_rows import AGGREGATIONS, HITS, json_fields
from traces.readers.layout import Layout, join, leave_out, parser, refuse
from traces.readers.records import NO_OBJECT, NO_OBJECT_NAMED, SEVERAL_OBJECTS
from traces.readers.stores import minio_request as minio

_API = pa.struct([
    *minio.texts("name", "bucket", "object"),
    *minio.texts("timeToFirstByte", "timeToFirstByteInNS", "timeToResponse", "timeToResponseInNS"),
    *(pa.field(name, pa.int64()) for name in ("statusCode", "rx", "tx")),
    pa.field("objects", pa.list_(minio.texts("objectName"))),
])  # fmt: skip
_SCHEMA = pa.schema({
    **{name: pa.string() for name in ("time", "remotehost", "requestPath", "requestHost", "requestID")},
    "api": _API,
    "requestQuery": minio.texts("prefix"),
    "requestHeader": minio.REQUEST_HEADERS,
    "responseHeader": minio.RESPONSE_HEADERS,
    "tags": pa.struct([("PutObject", pa.string()), ("objectLocation", minio.texts("name"))]),
})  # fmt: skip


def _time_to(what: str) -> pl.Expr:
    """Return a duration in ns, from ``timeTo…InNS`` or, in older versions, ``timeTo…``: ``13309747ns``."""
    return pl.coalesce(_api.field(f"timeTo{what}InNS"), _api.field(f"timeTo{what}").str.strip_suffix("ns"))


_api = pl.col("api").struct
_name, _op, _status, _key = pl.col("name"), pl.col("op"), pl.col("status"), pl.col("key")
_objects = _api.field("objects").list
_one = (_name == minio.BATCH) & (_objects.len() == 1)
_copied = _name.is_in(minio.COPIES)
_path = pl.col("requestPath").str.strip_prefix("/")
_in_path = _copied & ~pl.col("requestHost").str.starts_with(pl.concat_str("bucket", pl.lit("."))).fill_null(False)
_tags = pl.col("tags").struct
_tagged = pl.coalesce(
    _tags.field("PutObject").str.extract(r"(?s)^name=(.*),pool=\d+,set=\d+$"),
    _tags.field("objectLocation").struct.field("name"),
)
_place = _path.str.splitn("/", 2).struct

LAYOUT = Layout(
    divide=json_fields(_SCHEMA),
    steps=(
        {
            "name": _api.field("name"),
            "bucket": _api.field("bucket"),
            "object": _api.field("object"),
            "status": _api.field("statusCode"),
            "end": iso_time(pl.col("time")),
            **{f"{what}_text": _time_to(what) for what in ("FirstByte", "Response")},
            **minio.header_fields(pl.col("requestHeader"), pl.col("responseHeader")),
        },
        {
            "op": without_body(operation(_name, minio.HANDLERS), _status),
            **{what: number(pl.col(f"{what}_text")) for what in ("FirstByte", "Response")},
        },
        {"op": pl.when(_one).then(pl.lit(DELETE, pl.Int8)).otherwise(_op)},
        {
            "key": pl.when(_op == LIST)
            .then(pl.col("requestQuery").struct.field("prefix").fill_null(""))
            .when(_one)
            .then(_objects.first().struct.field("objectName"))
            .when(_in_path)
            .then(_place.field("field_1"))
            .when(_copied)
            .then(_path)
            .when((_name == minio.FORM) & (pl.col("object").fill_null("") == ""))
            .then(_tagged)
            .otherwise("object"),
            "bucket": pl.when(_in_path).then(_place.field("field_0")).otherwise("bucket"),
        },
    ),
    verdicts=(
        refuse(pl.col("api").is_null(), "has no api"),
        join(_name == minio.COMPLETION),
        leave_out((_name == minio.BATCH) & ~_one.fill_null(False), SEVERAL_OBJECTS),
        leave_out(_op.is_null(), NO_OBJECT),
        leave_out((_name == minio.FORM) & (_key.fill_null("") == ""), NO_OBJECT_NAMED),
        refuse(pl.col("time").is_null(), "has no time"),
        refuse(pl.col("end").struct.field("ns").is_null(), "time cannot be read"),
        *(
            refuse(pl.col(what).is_null() & (pl.col(f"{what}_text") != ""), f"timeTo{what} cannot be read")
            for what in ("Response", "FirstByte")
        ),
        *minio.if_lengths_invalid(),
    ),
    columns={
        "end_ns": pl.col("end").struct.field("ns"),
        "local": pl.col("end").struct.field("local"),
        "latency_ns": pl.col("Response"),
        "first_byte_ns": minio.first_byte(_op, pl.col("FirstByte")),
        "op": _op,
        "bucket": pl.col("bucket"),
        "key": _key,
        "client": pl.col("remotehost"),
        "status": _status,
        "request_id": identity(text_or_null(pl.col("requestID"))),
        "error": error_of(_status),
        **minio.volumes(_op, _status, _api.field("rx"), _api.field("tx"), _copied),
    },
)

_SIGNS = tuple(
    re.compile(sign) for sign in (rb'"version"\s*:\s*"', rb'"api"\s*:\s*\{', rb'"trigger"\s*:', rb'"time"\s*:')
)


def _recognises(head: Head) -> bool:
    return all(sign.search(head.data) for sign in _SIGNS)


FORMAT = Format(
    "minio-audit",
    "MinIO audit log",
    True,
    _recognises,
    by_block(parser(LAYOUT), partial(objects, arrays=(HITS,), behind=(AGGREGATIONS,))),
)
