"""Operation logs of s3dlio and sai3-bench (``.tsv.zst``): warp's columns, with objects named by URI.

Layout: russfellows/s3dlio src/s3_logger.rs (columns) and src/object_store_logger.rs (operations): `endpoint` is the
scheme with the bucket, such as ``s3://bucket`` (``file://`` has none), `file` the URI without its scheme. Nothing is
quoted; `first_byte` is empty, or the start of a PUT and the end of a GET. `thread` is the runtime's, which does several
operations at a time. Where a GET_RANGE's range begins is not logged: it is taken to begin at 0.
"""

from __future__ import annotations

from traces.readers.formats import Format, Head
from traces.readers.tools import warp

_OPERATIONS = {
    "GET": "GET",
    "GET_RANGE": "GET",
    "PUT": "PUT",
    "HEAD": "HEAD",
    "STAT": "HEAD",
    "DELETE": "DELETE",
    "LIST": "LIST",
}


def _recognises(head: Head) -> bool:
    return set(warp.NEEDED) <= set(warp.header_of(head.data)) and warp.named_by_uri(head)


FORMAT = Format(
    "s3dlio",
    "s3dlio and sai3-bench operation log (.tsv.zst)",
    True,
    _recognises,
    warp.table_reader(warp.Dialect(_OPERATIONS, uris=True, first_byte=False, prepares=False)),
    waits=True,
)
