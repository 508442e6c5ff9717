"""MinIO's request trace, as ``mc admin trace --json`` prints it.

Layout: minio/mc cmd/admin-trace.go, shortTraceMsg and (with ``-v``) verboseTrace; one line an object, or indented over
several where mc writes to a terminal. Objects come in the order of completion, their time is that of
arrival. The short form knows no header fields: a PUT's size is what came with the request, which counts the header's
names too (some 200 bytes more than the object).

Addresses are taken to name the bucket in the path. Where the host's name does (MINIO_DOMAIN), the path is all key, and
which part of the host is the domain the trace does not say; of several servers the short form has no host either. Then
a key's first part is taken for the bucket, and a listing or a key of one part is refused. MinIO's audit log names
bucket and key in any case.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers.blocks import by_block
from traces.readers.columns import by_value, durations, missing, numbers, operations
from traces.readers.formats import Format, Head
from traces.readers.http_requests import errors, prefix
from traces.readers.json_objects import objects
from traces.readers.json_rows import json_rows
from traces.readers.minio_request import HANDLERS, REQUEST_HEADERS, RESPONSE_HEADERS, first_byte, volumes, within
from traces.readers.records import NO_OBJECT, Parsed, Rows
from traces.readers.spans import Spans
from traces.tables import LIST

_NUMBERS = ("rx", "tx", "duration", "timeToFirstByte")
_SCHEMA = pa.schema({
    "time": pa.string(),
    "api": pa.string(),
    "path": pa.string(),
    "query": pa.string(),
    "client": pa.string(),
    "duration": pa.int64(),
    "statusCode": pa.int64(),
    "callStats": pa.struct([pa.field(name, pa.int64()) for name in _NUMBERS]),
    "request": pa.struct([pa.field("rawQuery", pa.string()), pa.field("headers", REQUEST_HEADERS)]),
    "response": pa.struct([pa.field("statusCode", pa.int64()), pa.field("headers", RESPONSE_HEADERS)]),
})  # fmt: skip

_OPERATIONS = {f"s3.{handler}": op for handler, op in HANDLERS.items()}
_PATH = r"(?s)^/(?P<bucket>[^/]+)(?:/(?P<key>.*))?$"
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_KEPT_BY_GO = "$&+,/:;=@-_.~"


def _convert(table: pa.Table, line: NDArray[np.int64]) -> Parsed:
    rows = Rows(line)
    api = within(table, "api")
    rows.refuse(missing(api), "has no api")
    served = pc.fill_null(pc.starts_with(api, "s3."), False).to_numpy(zero_copy_only=False)
    rows.leave_out(~served, "not a request to the S3 API")
    op = operations(api, _OPERATIONS)
    rows.leave_out(op < 0, NO_OBJECT)
    when = Spans.of(within(table, "time"))
    time = numbers(rows, when, when.iso_ns(), "time", null=None)
    rows.refuse(missing(time), "has no time")
    latency = pc.coalesce(within(table, "callStats", "duration"), within(table, "duration"))
    status = pc.coalesce(within(table, "statusCode"), within(table, "response", "statusCode"))
    request, response = within(table, "request", "headers"), within(table, "response", "headers")
    place = pc.extract_regex(by_value(within(table, "path"), _decoded, pa.string()), _PATH)
    query = pc.coalesce(within(table, "query"), within(table, "request", "rawQuery"), "")
    key = pc.struct_field(place, "key")
    if (op == LIST).any():
        key = pc.if_else(pa.array(op == LIST), by_value(query, prefix, pa.string()), key)
    rows.refuse(missing(pc.struct_field(place, "bucket")), "has no bucket in its path")
    rows.refuse(pc.fill_null(pc.equal(key, ""), True).to_numpy(zero_copy_only=False) & (op != LIST), "has no key")
    forwarded = pc.struct_field(pc.extract_regex(pc.struct_field(request, "X-Forwarded-For"), "^(?P<first>[^, ]+)"), 0)
    return rows.parsed(
        time_ns=time,
        latency_ns=durations(rows, latency, "duration"),
        first_byte_ns=first_byte(op, within(table, "callStats", "timeToFirstByte")),
        op=op,
        bucket=pc.struct_field(place, "bucket"),
        key=key,
        client=pc.coalesce(within(table, "client"), forwarded, pc.struct_field(request, "X-Real-Ip")),
        status=status,
        error=errors(status),
        **volumes(
            rows, op, status, within(table, "callStats", "rx"), within(table, "callStats", "tx"), request, response
        ),
    )


def _decoded(path: str) -> str:
    """A path without percent escapes.

    Go's net/url keeps a path as it came only where its own escaping would differ (URL.RawPath), else without escapes;
    MinIO logs whichever there is. So ``%20`` stands for itself and ``%2B`` for a plus sign; and as no client escapes
    letters or digits, ``%41`` stands for itself too. A path with a blank or beyond ASCII is not escaped at all.
    """
    if "%" not in path or " " in path or not path.isascii():
        return path
    if any(chr(int(code, 16)).isalnum() for code in _ESCAPE.findall(path)):
        return path
    plain = unquote(path)
    return path if quote(plain, safe=_KEPT_BY_GO) == path else plain


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
    by_block(json_rows(_SCHEMA, _convert), objects),
)
