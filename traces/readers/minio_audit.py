"""MinIO's audit log: JSON objects as an audit webhook or Kafka target receives them.

Layout: minio/madmin-go logger/audit/entry.go, version "1"; filled by minio internal/logger/audit.go. The time is that
of the end of the response: a request starts `timeToResponse` earlier. Bucket and object have fields of their own,
wherever the request named them.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers.blocks import by_block
from traces.readers.columns import durations, missing, numbers, operations, whole
from traces.readers.formats import Format, Head
from traces.readers.http_requests import errors
from traces.readers.json_objects import objects
from traces.readers.json_rows import json_rows
from traces.readers.minio_request import HANDLERS, REQUEST_HEADERS, RESPONSE_HEADERS, first_byte, texts, volumes, within
from traces.readers.records import NO_OBJECT, Parsed, Rows
from traces.readers.spans import Spans
from traces.tables import LIST

_API = pa.struct([
    *texts("name", "bucket", "object"),
    *texts("timeToFirstByte", "timeToFirstByteInNS", "timeToResponse", "timeToResponseInNS"),
    *(pa.field(name, pa.int64()) for name in ("statusCode", "rx", "tx")),
])  # fmt: skip
_SCHEMA = pa.schema({
    "time": pa.string(),
    "api": _API,
    "remotehost": pa.string(),
    "requestQuery": texts("prefix"),
    "requestHeader": REQUEST_HEADERS,
    "responseHeader": RESPONSE_HEADERS,
})  # fmt: skip


def _convert(table: pa.Table, line: NDArray[np.int64]) -> Parsed:
    rows = Rows(line)
    rows.refuse(missing(within(table, "api")), "has no api")
    op = operations(within(table, "api", "name"), HANDLERS)
    rows.leave_out(op < 0, NO_OBJECT)
    when = Spans.of(within(table, "time"))
    ended = numbers(rows, when, when.iso_ns(), "time", null=None)
    rows.refuse(missing(ended), "has no time")
    latency = durations(rows, _time_to(rows, table, "Response"), "timeToResponse")
    key = within(table, "api", "object")
    if (op == LIST).any():
        key = pc.if_else(pa.array(op == LIST), pc.coalesce(within(table, "requestQuery", "prefix"), ""), key)
    rows.refuse(pc.fill_null(pc.equal(key, ""), True).to_numpy(zero_copy_only=False) & (op != LIST), "has no key")
    status = within(table, "api", "statusCode")
    received, sent = within(table, "api", "rx"), within(table, "api", "tx")
    request, response = within(table, "requestHeader"), within(table, "responseHeader")
    return rows.parsed(
        time_ns=pc.subtract(ended, pc.coalesce(latency, 0)),
        latency_ns=latency,
        first_byte_ns=first_byte(op, _time_to(rows, table, "FirstByte")),
        op=op,
        bucket=within(table, "api", "bucket"),
        key=key,
        client=within(table, "remotehost"),
        status=status,
        error=errors(status),
        **volumes(rows, op, status, received, sent, request, response),
    )


def _time_to(rows: Rows, table: pa.Table, what: str) -> pa.Array:
    """A duration in ns, from ``timeTo…InNS`` or, as older versions have it alone, ``timeTo…``: ``13309747ns``."""
    labelled = pc.replace_substring_regex(within(table, "api", f"timeTo{what}"), "ns$", "")
    field = Spans.of(pc.coalesce(within(table, "api", f"timeTo{what}InNS"), labelled))
    return whole(rows, field, f"timeTo{what}", null="")


_SIGNS = tuple(
    re.compile(sign) for sign in (rb'"version"\s*:\s*"', rb'"api"\s*:\s*\{', rb'"trigger"\s*:', rb'"time"\s*:')
)


def _recognises(head: Head) -> bool:
    return all(sign.search(head.data) for sign in _SIGNS)


FORMAT = Format("minio-audit", "MinIO audit log", True, _recognises, by_block(json_rows(_SCHEMA, _convert), objects))
