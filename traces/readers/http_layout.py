"""The layout of rows with an HTTP request, its status and the sizes of its bodies, as in the logs of proxies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from traces.operations import LIST, PUT
from traces.readers.expressions import number, unescaped
from traces.readers.http_requests import (
    HEALTH_CHECK,
    below_swift,
    divided,
    error_of,
    for_server,
    http_status,
    is_error,
    prefix,
    requested,
    volumes,
    without_body,
)
from traces.readers.layout import RowVerdict, if_invalid, leave_out
from traces.readers.records import SEVERAL_OBJECTS

REQUEST_LINE = r"(?<method>[A-Z]+) (?<path>[^ ?\"]*)(?:\?(?<query>[^ \"]*))?(?: (?:HTTP/|-)[^\" ]*)?"
"""A request line such as ``GET /bucket/key?versionId=1 HTTP/1.1``, as a regular expression."""

_ADDRESS = r"^[a-z][a-z0-9+.-]*://(?:[^/@]*@)?([^/]*)"
_S3_LABEL = r"^([a-z0-9][a-z0-9.-]*)\.s3(?:-[a-z0-9-]+)?\.[a-z0-9.-]+(?::\d+)?$"
_CLUSTER = r"\.svc(?:\.|:|$)|\.cluster\.local(?::|$)"

_no_bytes = pl.when(pl.col("http_sent_text") == "-").then(0)
"""The bytes of an answer without a body, as the common log format writes them."""


@dataclass(frozen=True)
class HttpFields:
    """The names of the columns of texts with the parts of a request, null or ``-`` where a row has none.

    Attributes:
        method, path, query: of the request line; the path may be an address with scheme and host.
        status: of the response; 0 if there was none.
        sent: bytes of the response's body.
        received: bytes of the request's body; None if the format has no such column.
        host: the name that the request was for, with or without a port; None if the format has no such column.
        agent: the client's User-Agent; None if the format has no such column.
        domain: the name below which a host's name begins with the bucket's ("" for ``s3.…``).
    """

    method: str = "method"
    path: str = "path"
    query: str = "query"
    status: str = "status"
    sent: str = "sent"
    received: str | None = None
    host: str | None = None
    agent: str | None = None
    domain: str = ""


_BARE = (
    "listings have a path of one part and no query; if they are GETs of objects whose bucket is in the host's name, "
    "name the columns of the log instead: request=…,host=COLUMN:DOMAIN"
)
_TEXTS = {f"http_{name}": f"http_{name}_text" for name in ("status", "sent", "received")}

_op, _status, _sent, _received = (pl.col(name) for name in ("op", "http_status", "http_sent", "http_received"))
_path, _query, _host = (pl.col(name) for name in ("http_path", "http_query", "http_host"))


def http_steps(http: HttpFields) -> tuple[Mapping[str, pl.Expr], ...]:
    """Return the steps of a layout that find operation, bucket, key and sizes."""
    path, address = pl.col(http.path), pl.col(http.path).str.extract(_ADDRESS)
    received, host = (pl.col(name) if name else pl.lit(None, pl.String) for name in (http.received, http.host))
    bucket, key = divided(below_swift(_path))
    of_host = bucket_of(_host, http.domain)
    return (
        {
            "http_method": pl.col(http.method),
            "http_path": path.str.replace(_ADDRESS, ""),
            "http_query": pl.col(http.query),
            "http_host": pl.coalesce(address, host),
            "http_status_text": pl.col(http.status),
            "http_sent_text": pl.col(http.sent),
            "http_received_text": received,
        },
        {
            "http_status": http_status(pl.col("http_status_text")),
            "http_sent": number(pl.col("http_sent_text")),
            "http_received": number(pl.col("http_received_text")),
            "host_bucket": of_host,
            "bucket": bucket,
            "key": key,
            "for_server": for_server(_path, _query, pl.col(http.agent) if http.agent else None),
        },
        {
            "bucket": pl.coalesce("host_bucket", "bucket"),
            "key": pl.when(pl.col("host_bucket").is_null())
            .then("key")
            .otherwise(unescaped(_path.str.strip_prefix("/"))),
        },
        {"op": without_body(requested(pl.col("http_method"), pl.col("bucket"), pl.col("key"), _query), _status)},
        {
            # The answer to a copy is a document; to an upload it has no body.
            "copied": ((_op == PUT) & (_received == 0) & (_sent > 0) & (_status == 200)).fill_null(False),
            "key": pl.when(_op == LIST).then(prefix(_query)).otherwise("key"),
        },
        {
            "moved": pl.when(~is_error(_status) & ~pl.col("copied")).then(
                pl.when(_op == PUT).then(_received).otherwise(pl.coalesce(_sent, _no_bytes))
            )
        },
    )


def bucket_of(host: pl.Expr, domain: str = "") -> pl.Expr:
    """Return the bucket that a host's name begins with; null if it names none.

    Args:
        domain: what follows the bucket. "": ``s3.…`` or ``s3-….…``, as of Amazon, but not the name ``s3`` of a
            namespace in Kubernetes.
    """
    if domain:
        escaped = domain.replace(".", r"\.")
        return host.str.extract(rf"^(.+)\.{escaped}(?::\d+)?$")
    return pl.when(~host.str.contains(_CLUSTER)).then(host.str.extract(_S3_LABEL))


def http_verdicts() -> tuple[RowVerdict, ...]:
    """Return the verdicts on rows that are no requests for an object or a listing, or have values that are none."""
    deletes = (pl.col("http_method") == "POST") & _query.str.contains("(?:^|&)delete(?:=|&|$)")
    return (
        *if_invalid(_TEXTS, {text: text.removeprefix("http_").removesuffix("_text") for text in _TEXTS.values()}),
        leave_out(pl.col("for_server"), HEALTH_CHECK),
        leave_out(deletes, SEVERAL_OBJECTS),
    )


def http_doubts() -> tuple[tuple[pl.Expr, str], ...]:
    """Return which requests may be something else: a key of one part, where the host's name names the bucket."""
    bare = (_op == LIST) & (_query.fill_null("") == "") & pl.col("host_bucket").is_null()
    return ((bare, _BARE),)


def http_columns() -> dict[str, pl.Expr]:
    """Return the columns of records that follow from the request."""
    moved = pl.col("moved")
    return {
        "op": _op,
        "bucket": pl.col("bucket"),
        "key": pl.col("key"),
        **volumes(_op, _status, moved, pl.when(_status == 200).then(moved)),
        "status": _status,
        "error": error_of(_status),
    }
