"""Operation logs of s3dlio and sai3-bench (``.tsv.zst``): warp's columns, with objects named by URI.

Layout: russfellows/s3dlio src/s3_logger.rs (columns) and src/object_store_logger.rs (operations): `endpoint` is the
scheme with the bucket, such as ``s3://bucket`` (``file://`` has none), `file` the URI without its scheme. Nothing is
quoted; `first_byte` is empty, or the start of a PUT and the end of a GET. `thread` is the runtime's, which does several
operations at a time. Where a GET_RANGE's range begins is not logged: it is taken to begin at 0.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from traces.readers import warp
from traces.readers.columns import by_value
from traces.readers.formats import Format, Head
from traces.readers.spans import Spans

_OPERATIONS = {
    "GET": "GET",
    "GET_RANGE": "GET",
    "PUT": "PUT",
    "HEAD": "HEAD",
    "STAT": "HEAD",
    "DELETE": "DELETE",
    "LIST": "LIST",
}


def _places(endpoint: Spans | None, file: Spans) -> dict[str, Any]:
    path = pc.replace_substring_regex(file.texts(), "^[a-z][a-z0-9+.-]*://", "")
    if endpoint is None:
        return {"key": path}
    bucket = by_value(endpoint.texts(), _bucket, pa.string())
    parts = pc.extract_regex(path, r"(?s)^(?P<first>[^/]*)/?(?P<rest>.*)$")
    within = pc.fill_null(pc.equal(pc.struct_field(parts, "first"), bucket), False)
    return {"bucket": bucket, "key": pc.if_else(within, pc.struct_field(parts, "rest"), path)}


def _bucket(endpoint: str) -> str | None:
    uri = warp.URI.match(endpoint)
    return (uri and uri["bucket"]) or None


def _recognises(head: Head) -> bool:
    return set(warp.NEEDED) <= set(warp.header_of(head.data)) and warp.named_by_uri(head)


FORMAT = Format(
    "s3dlio",
    "s3dlio and sai3-bench operation log (.tsv.zst)",
    True,
    _recognises,
    warp.table_reader(warp.Dialect(_OPERATIONS, _places, first_byte=False)),
)
