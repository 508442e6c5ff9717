"""Traces in libCacheSim's binary format oracleGeneral.

Layout: libCacheSim libCacheSim/traceReader/customizedReader/oracle/oracleGeneralBin.h: consecutive little-endian
records of 24 bytes: time in seconds, object number, object size, and the next request for the object (-1 or the largest
number: none). Such traces contain the reads of a cache: each request is a GET of the whole object.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.readers.blocks import by_block
from traces.readers.formats import Format, Head
from traces.readers.records import Parsed, Rows, unread
from traces.readers.source import Lines, Source
from traces.tables import GET

RECORD = np.dtype([("time_s", "<u4"), ("object", "<u8"), ("size_bytes", "<u4"), ("next", "<i8")])
"""A record."""

_BLOCK_BYTES = RECORD.itemsize << 15
_NOT_KNOWN = -2  # request.h: next_access_vtime of a trace without it
_FEWEST, _SURE = 1, 8


def _blocks(source: Source) -> Iterator[Lines]:
    """The content in blocks of whole records, in the place of lines; the last one may end within a record."""
    held, first = bytearray(), 1
    for piece in source.pieces():
        held += piece
        while len(held) >= _BLOCK_BYTES:
            with memoryview(held) as view:
                block = bytes(view[:_BLOCK_BYTES])
            yield Lines(source.path, first, block)
            first += _BLOCK_BYTES // RECORD.itemsize
            del held[:_BLOCK_BYTES]
    yield Lines(source.path, first, bytes(held))


def _parse(block: Lines) -> Iterator[Parsed]:
    records = np.frombuffer(block.data, RECORD, len(block.data) // RECORD.itemsize)
    yield _parsed(records, block.first)
    if over := len(block.data) % RECORD.itemsize:
        cut = f"is an incomplete record: {over} of {RECORD.itemsize} bytes"
        yield unread((block.first + len(records), cut))


def _parsed(records: NDArray[np.void], first: int) -> Parsed:
    rows = Rows(np.arange(first, first + len(records), dtype=np.int64))
    rows.refuse(records["next"] < _NOT_KNOWN, "is no record: its next access is negative")
    return rows.parsed(
        time_ns=records["time_s"].astype(np.int64) * 10**9,
        op=np.full(len(records), GET, np.int8),
        key=pa.array(np.ascontiguousarray(records["object"])).cast(pa.string()),
        size_bytes=records["size_bytes"].astype(np.int64),
    )


def _recognises(head: Head) -> bool:
    records = np.frombuffer(head.data, RECORD, len(head.data) // RECORD.itemsize)
    named = "oraclegeneral" in head.name.lower()
    if len(records) < (_FEWEST if named else _SURE):
        return False
    # Text has no byte 0; of a time or a size below 2^24 one byte is 0.
    ordered = bool((np.diff(records["time_s"].astype(np.int64)) >= 0).all())
    soon = (records["next"] >= _NOT_KNOWN) & ((records["next"] < 1 << 48) | (records["next"] == np.iinfo(np.int64).max))
    return b"\0" in head.data and ordered and bool(soon.all())


FORMAT = Format("oracle-general", "libCacheSim oracleGeneral (binary)", False, _recognises, by_block(_parse, _blocks))
