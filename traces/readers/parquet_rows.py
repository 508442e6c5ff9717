"""Rows of Parquet files, in the place of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from traces.errors import InputError
from traces.readers.layout import Divide
from traces.readers.source import BLOCK_LINES, Lines, Source

MAGIC = b"PAR1"


@dataclass(frozen=True)
class ParquetRows(Lines):
    """Rows of a Parquet file.

    Attributes:
        rows: the rows.
    """

    rows: pa.RecordBatch = field(default_factory=lambda: pa.record_batch([]))

    @property
    def count(self) -> int:
        return int(self.rows.num_rows)

    def halves(self) -> tuple[Lines, Lines]:
        middle = self.count // 2
        tail = replace(self, rows=self.rows.slice(middle), first=self.first + middle)
        return replace(self, rows=self.rows.slice(0, middle)), tail


def column_names(source: Source) -> list[str]:
    """Return the names of a file's columns.

    Raises:
        InputError: the file is not Parquet.
    """
    return list(_opened(source).schema_arrow.names)


def _opened(source: Source) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(source.path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{source.name}: cannot be read as Parquet: {str(error).splitlines()[0]}") from error


def row_blocks(source: Source) -> Iterator[Lines]:
    """Yield the rows in blocks.

    Raises:
        InputError: the file is not Parquet.
    """
    first, size = 1, source.path.stat().st_size
    file = _opened(source)
    total = max(1, file.metadata.num_rows)
    for batch in file.iter_batches(BLOCK_LINES):
        yield ParquetRows(source.name, first, MAGIC, source.zone, rows=batch)
        first += batch.num_rows
        source.position_bytes = size * (first - 1) // total


def texts_of(columns: Sequence[str], names: Sequence[str]) -> Divide:
    """Return a function that gives columns of the rows as texts, in the order given and under other names."""

    def divide(block: ParquetRows) -> pl.DataFrame:
        rows = pl.DataFrame(pl.from_arrow(pa.table(block.rows).select(list(dict.fromkeys(columns)))))
        lines = pl.int_range(block.first, block.first + len(rows), eager=True).alias("line")
        found = [rows[column].cast(pl.String).alias(name) for column, name in zip(columns, names, strict=True)]
        return pl.DataFrame([lines, *found])

    return divide
