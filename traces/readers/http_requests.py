"""Interpret HTTP requests and responses, for logs that contain the request line, as Polars expressions."""

from __future__ import annotations

import polars as pl

from traces.operations import GET, HEAD, LIST, PUT
from traces.readers.expressions import number, operation, unescaped
from traces.readers.records import ERRORS, FIRST_ERROR, LAST_STATUS

HEALTH_CHECK = "a health check, or a page of the server itself"
"""The reason for leaving out requests that are for the server and not for what it stores."""

NO_RESPONSE = "no response"
"""The error of requests with the status 0, as proxies log it for connections that end before a response."""

NOT_MODIFIED = 304

_METHODS = {op: op for op in ("GET", "PUT", "HEAD", "DELETE")}

_SUBRESOURCES = (
    "accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "intelligent-tiering",
    "inventory", "layout", "legal-hold", "lifecycle", "location", "logging", "mdsearch", "metrics", "notification",
    "object-lock", "ownershipControls", "policy", "policyStatus", "publicAccessBlock", "replication",
    "requestPayment", "restore", "retention", "select", "tagging", "torrent", "uploads", "versioning", "website",
)  # fmt: skip
"""Parameters that make a request one about an object or bucket, not for it (Amazon S3 API reference; of RADOS gateway:
src/rgw/rgw_rest_s3.cc)."""


def _has(query: pl.Expr, *names: str) -> pl.Expr:
    """Return whether a query has one of the parameters."""
    return query.str.contains(f"(?:^|&)(?:{'|'.join(names)})(?:=|&|$)").fill_null(False)


def requested(method: pl.Expr, bucket: pl.Expr, key: pl.Expr, query: pl.Expr) -> pl.Expr:
    """Return the index in `OPS` of a request by its method, path and query; null if a Trace cannot represent it."""
    op = operation(method, _METHODS)
    named = (bucket.fill_null("") != "") & ((key.fill_null("") != "") | (op == GET))
    return pl.when(named & ~of_subresource(op, query)).then(
        pl.when((key.fill_null("") == "") & (op == GET)).then(pl.lit(LIST, pl.Int8)).otherwise(op)
    )


def of_subresource(op: pl.Expr, query: pl.Expr) -> pl.Expr:
    """Return whether a query makes a request one about an object or bucket, or about an upload, and not for it."""
    # A part of an upload is a PUT of an object; other requests with the upload's id list or abort it.
    part, manifest = _has(query, "uploadId"), _has(query, "multipart-manifest")
    return _has(query, *_SUBRESOURCES) | (part & (op != PUT)) | (~part & manifest & (op == PUT))


def without_body(op: pl.Expr, status: pl.Expr) -> pl.Expr:
    """Return the operation, HEAD for a GET whose object was not modified: its response has no body."""
    return pl.when((op == GET) & (status == NOT_MODIFIED)).then(pl.lit(HEAD, pl.Int8)).otherwise(op)


def prefix(query: pl.Expr) -> pl.Expr:
    """Return the prefix in a query such as ``list-type=2&prefix=a%2Fb``, "" if it has none."""
    found = query.str.extract("(?:^|&)prefix=([^&]*)").str.replace_all("+", " ", literal=True)
    return unescaped(found).fill_null("")


def below_swift(path: pl.Expr) -> pl.Expr:
    """Return a path without its first slash and without what the Swift API has before the container.

    That is ``/swift/v1/`` of RADOS gateway (rgw_swift_url_prefix) and, if it is there (rgw_swift_account_in_url), the
    account; of Swift ``/v1/`` and the account.
    """
    return path.str.replace(r"^/(?:(?:swift/v1(?:\.0)?(?:/AUTH_[^/]*)?|v1(?:\.0)?/AUTH_[^/]*)(?:/|$))?", "")


_OWN_PATHS = (
    r"^/(?:swift/(?:healthcheck|info)|minio/(?:health|v[23]/metrics|metrics|prometheus|admin|kms|sts|storage|peer|grid|"
    r"bootstrap|lock|login|console|ui|webrpc)|auth/v\d[^/]*|admin/(?:account|bucket|caps|config|info|key|log|metadata|"
    r"metrics|opstate|otp|ratelimit|realm|replica_log|role|usage|user|zone|zonegroup))(?:/|$)"
)
_OWN_PAGES = (
    r"^/(?:healthz?|healthcheck|livez|readyz|ready|alive|ping|status|metrics|stats|info|nginx_status|stub_status|"
    r"server-status|haproxy|favicon\.ico|robots\.txt|-/(?:healthy|ready))/?$"
)
_PROBES = r"^(?:kube-probe/|ELB-HealthChecker/|GoogleHC/|Consul Health Check|Amazon-Route53-Health-Check|haproxy-check)"


def for_server(path: pl.Expr, query: pl.Expr, agent: pl.Expr | None = None) -> pl.Expr:
    """Return whether a request asks about the server: health checks, metrics, administration.

    These are the reserved paths of RADOS gateway (rgw_rest.cc, rgw_admin_entry), MinIO (cmd/generic-handlers.go,
    ``/minio``) and Swift (healthcheck, info), pages with usual names, if no query makes them a listing of a bucket, and
    whatever the health checkers of Kubernetes, load balancers and Consul ask for.

    Args:
        path: begins with a slash.
        query: without the question mark.
        agent: of the client, if it is logged.
    """
    own = path.str.contains(_OWN_PATHS) | (path.str.contains(_OWN_PAGES) & (query.fill_null("") == ""))
    asked = own.fill_null(False)
    return asked if agent is None else asked | agent.str.contains(_PROBES).fill_null(False)


def divided(path: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return bucket and key, both with percent escapes resolved, of a path without its first slash."""
    parts = path.str.splitn("/", 2)
    return unescaped(parts.struct.field("field_0")), unescaped(parts.struct.field("field_1").fill_null(""))


def http_status(field: pl.Expr) -> pl.Expr:
    """Return an HTTP status; null if the field is none."""
    code = number(field)
    return pl.when(code <= LAST_STATUS).then(code).cast(pl.Int16)


def is_error(status: pl.Expr) -> pl.Expr:
    """Return whether a status is that of an error; a missing one is not."""
    return (status >= FIRST_ERROR).fill_null(False)


def error_of(status: pl.Expr) -> pl.Expr:
    """Return the name of each HTTP status from 400 on, such as ``Not Found``, and `NO_RESPONSE` for 0; else null."""
    other = pl.concat_str(pl.lit("HTTP "), status.cast(pl.String))
    name = status.replace_strict(list(ERRORS), list(ERRORS.values()), default=None, return_dtype=pl.String)
    found = pl.when(is_error(status)).then(pl.coalesce(name, other))
    return pl.when(status == 0).then(pl.lit(NO_RESPONSE)).otherwise(found)


def volumes(
    op: pl.Expr, status: pl.Expr, moved: pl.Expr, size: pl.Expr, range_start: pl.Expr | int = 0
) -> dict[str, pl.Expr]:
    """Return the columns of sizes, transfers and ranges, from body sizes.

    Args:
        op: index in `OPS`.
        status: HTTP status.
        moved: bytes of the request or response body.
        size: size of an object that was read; null if the log has none.
        range_start: first byte of a range; null is taken to be 0.
    """
    whole, part = (op == GET) & (status == 200), (op == GET) & (status == 206)
    known = whole | part | ((op == HEAD) & (status == 200))
    start = range_start if isinstance(range_start, pl.Expr) else pl.lit(range_start)
    return {
        "size_bytes": pl.when(op == PUT).then(moved).when(known).then(size).when(op == LIST).then(0),
        "transfer_bytes": pl.when((op == PUT) | whole | part).then(moved).otherwise(0),
        "range_start_bytes": pl.when(part).then(start.fill_null(0)),
        "range_bytes": pl.when(part).then(moved),
    }
