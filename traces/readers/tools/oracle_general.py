"""Traces in libCacheSim's binary format oracleGeneral.

Layout: libCacheSim libCacheSim/traceReader/customizedReader/oracle/oracleGeneralBin.h: consecutive little-endian
records of 24 bytes: time in seconds, object number, object size, and the next request for the object (-1 or the largest
number: none). Such traces contain the reads of a cache: each request is a GET of the whole object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from traces.operations import GET
from traces.readers.blocks import by_block
from traces.readers.formats import Format, Head
from traces.readers.layout import Layout, parser, refuse
from traces.readers.source import Lines, Source

RECORD = np.dtype([("time_s", "<u4"), ("object", "<u8"), ("size_bytes", "<u4"), ("next", "<i8")])
"""A record."""

_BLOCK_BYTES = RECORD.itemsize << 16
_NOT_KNOWN = -2  # request.h: next_access_vtime of a trace without it
_FEWEST, _SURE = 1, 8


@dataclass(frozen=True)
class _Records(Lines):
    """Records in the place of lines."""

    @property
    def count(self) -> int:
        return len(self.data) // RECORD.itemsize

    def halves(self) -> tuple[Lines, Lines]:
        middle = self.count // 2
        cut = middle * RECORD.itemsize
        head = _Records(self.path, self.first, self.data[:cut])
        return head, _Records(self.path, self.first + middle, self.data[cut:])


def _blocks(source: Source) -> Iterator[Lines]:
    """Yield the content in blocks of whole records; the file may end within a record."""
    held, first, size = bytearray(), 1, RECORD.itemsize
    for piece in source.pieces():
        held += piece
        if len(held) >= _BLOCK_BYTES:
            whole = len(held) // size * size
            yield _Records(source.name, first, bytes(held[:whole]))
            first += whole // size
            del held[:whole]
    whole = len(held) // size * size
    cut = (first + whole // size, f"is an incomplete record: {len(held) - whole} of {size} bytes")
    yield _Records(source.name, first, bytes(held[:whole]), unreadable=(cut,) if len(held) > whole else ())


def _divide(block: _Records) -> pl.DataFrame:
    records = np.frombuffer(block.data, RECORD)
    numbers = np.arange(block.first, block.first + len(records))
    return pl.DataFrame(
        {"line": numbers, **{name: np.ascontiguousarray(records[name]) for name in RECORD.fields or ()}}
    )


LAYOUT = Layout(
    divide=_divide,
    steps=(),
    verdicts=(refuse(pl.col("next") < _NOT_KNOWN, "is no record: its next access is negative"),),
    columns={
        "time_ns": pl.col("time_s").cast(pl.Int64) * 10**9,
        "op": pl.lit(GET, pl.Int8),
        "key": pl.col("object").cast(pl.String),
        "size_bytes": pl.col("size_bytes").cast(pl.Int64),
    },
)


def _recognises(head: Head) -> bool:
    records = np.frombuffer(head.data, RECORD, len(head.data) // RECORD.itemsize)
    named = "oraclegeneral" in head.name.lower()
    if len(records) < (_FEWEST if named else _SURE) or not records["size_bytes"].any():  # a file of zeros is none
        return False
    # Text has no byte 0; of a time or a size below 2^24 one byte is 0.
    ordered = bool((np.diff(records["time_s"].astype(np.int64)) >= 0).all())
    soon = (records["next"] >= _NOT_KNOWN) & ((records["next"] < 1 << 48) | (records["next"] == np.iinfo(np.int64).max))
    return b"\0" in head.data and ordered and bool(soon.all())


FORMAT = Format(
    "oracle-general",
    "libCacheSim oracleGeneral (binary)",
    False,
    _recognises,
    by_block(parser(LAYOUT), _blocks),
    binary=True,
)
