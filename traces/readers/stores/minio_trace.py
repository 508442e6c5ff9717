"""MinIO's request trace, as ``mc admin trace --json`` prints it.

Layout: minio/mc cmd/admin-trace.go, shortTraceMsg and (with ``-v``) verboseTrace; one line an object, or indented over
several where mc writes to a terminal. Objects come in the order of completion, their time is that of
arrival. The short form knows no header fields: a PUT's size is what came with the request, which counts the header's
names too (some 200 bytes more than the object). Neither form names the objects of a form or of a delete of several.

Addresses are taken to name the bucket in the path. Where the host's name does (MINIO_DOMAIN), the path is all key, and
which part of the host is the domain the trace does not say; of several servers the short form has no host either. Then
a key's first part is taken for the bucket, and a listing or a key of one part is refused. MinIO's audit log names
bucket and key in any case.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import polars as pl
import pyarrow as pa

from traces.operations import LIST
from traces.readers.blocks import by_block
from traces.readers.expressions import by_batch, iso_time, operation
from traces.readers.formats import Format, Head
from traces.readers.http_requests import error_of, prefix, without_body
from traces.readers.json_objects import objects
from traces.readers.json_rows import json_fields
from traces.readers.layout import Layout, join, leave_out, parser, refuse
from traces.readers.records import NO_OBJECT, NO_OBJECT_NAMED, SEVERAL_OBJECTS
from traces.readers.stores import minio_request as minio

_SCHEMA = pa.schema({
    **{name: pa.string() for name in ("time", "api", "path", "query", "client")},
    **{name: pa.int64() for name in ("duration", "statusCode")},
    "callStats": pa.struct([(name, pa.int64()) for name in ("rx", "tx", "duration", "timeToFirstByte")]),
    "request": pa.struct([("rawQuery", pa.string()), ("headers", minio.REQUEST_HEADERS)]),
    "response": pa.struct([("statusCode", pa.int64()), ("headers", minio.RESPONSE_HEADERS)]),
})  # fmt: skip

NOT_S3 = "not a request to the S3 API"

_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_KEPT_BY_GO = "$&+,/:;=@-_.~"


def _decoded(path: str) -> str:
    """Return a path without percent escapes.

    Go's net/url keeps a path as it came only where its own escaping would differ (URL.RawPath), else without escapes;
    MinIO logs whichever there is. So ``%20`` stands for itself and ``%2B`` for a plus sign; and as no client escapes
    letters or digits, ``%41`` stands for itself too. A path with a blank or beyond ASCII is not escaped at all.
    """
    if " " in path or not path.isascii() or any(chr(int(code, 16)).isalnum() for code in _ESCAPE.findall(path)):
        return path
    plain = unquote(path, errors="backslashreplace")
    return path if quote(plain, safe=_KEPT_BY_GO) == path else plain


def _all_decoded(paths: pl.Series) -> pl.Series:
    escaped = paths.filter(paths.str.contains("%", literal=True)).unique()
    return paths.replace(escaped, [_decoded(path) for path in escaped]) if len(escaped) else paths


_request, _response = (pl.col(name).struct.field("headers") for name in ("request", "response"))
_stats = pl.col("callStats").struct
_op, _status, _key = pl.col("op"), pl.col("status"), pl.col("key")

LAYOUT = Layout(
    divide=json_fields(_SCHEMA),
    steps=(
        {
            "handler": pl.when(pl.col("api").str.starts_with("s3.")).then(pl.col("api").str.slice(3)),
            "time_": iso_time(pl.col("time")),
            "status": pl.coalesce("statusCode", pl.col("response").struct.field("statusCode")),
            "query": pl.coalesce("query", pl.col("request").struct.field("rawQuery"), pl.lit("")),
            "place": by_batch(_all_decoded, pl.col("path")).str.strip_prefix("/").str.splitn("/", 2),
            **minio.header_fields(_request, _response),
        },
        {
            "op": without_body(operation(pl.col("handler"), minio.HANDLERS), _status),
            "bucket": pl.col("place").struct.field("field_0"),
        },
        {
            "key": pl.when(_op == LIST)
            .then(prefix(pl.col("query")))
            .otherwise(pl.col("place").struct.field("field_1")),
        },
    ),
    verdicts=(
        refuse(pl.col("api").is_null(), "has no api"),
        leave_out(pl.col("handler").is_null(), NOT_S3),
        join(pl.col("handler") == minio.COMPLETION),
        leave_out(pl.col("handler") == minio.BATCH, SEVERAL_OBJECTS),
        leave_out(_op.is_null(), NO_OBJECT),
        leave_out((pl.col("handler") == minio.FORM) & (_key.fill_null("") == ""), NO_OBJECT_NAMED),
        refuse(pl.col("time").is_null(), "has no time"),
        refuse(pl.col("time_").struct.field("ns").is_null(), "time cannot be read"),
        refuse(pl.col("bucket").fill_null("") == "", "has no bucket in its path"),
        *minio.if_lengths_invalid(),
    ),
    columns={
        "time_ns": pl.col("time_").struct.field("ns"),
        "local": pl.col("time_").struct.field("local"),
        "latency_ns": pl.coalesce(_stats.field("duration"), "duration"),
        "first_byte_ns": minio.first_byte(_op, _stats.field("timeToFirstByte")),
        "op": _op,
        "bucket": pl.col("bucket"),
        "key": _key,
        "client": pl.coalesce(
            "client",
            _request.struct.field("X-Forwarded-For").str.extract("^([^, ]+)"),
            _request.struct.field("X-Real-Ip"),
        ),
        "status": _status,
        "error": error_of(_status),
        **minio.volumes(_op, _status, _stats.field("rx"), _stats.field("tx"), pl.col("handler").is_in(minio.COPIES)),
    },
)

_SIGNS = tuple(
    re.compile(sign) for sign in (rb'"api"\s*:\s*"', rb'"host"\s*:\s*"', rb'"duration"\s*:\s*\d', rb'"path"\s*:')
)


def _recognises(head: Head) -> bool:
    return all(sign.search(head.data) for sign in _SIGNS)


FORMAT = Format(
    "minio-trace",
    "MinIO request trace (mc admin trace --json)",
    True,
    _recognises,
    by_block(parser(LAYOUT), objects),
)
