"""Sort rows in bounded memory: sorted runs on disk, merged block by block (external merge sort)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

PIECE_ROWS = 1 << 18
"""Number of rows sorted in memory."""

BLOCK_ROWS = 1 << 14
"""Number of rows of a piece in memory during a merge."""

FAN_IN = 64
"""Number of pieces merged at a time; more are merged in several passes."""


class ExternalSort:
    """A stable external sort of rows by an int64 column."""

    def __init__(self, folder: Path, by: str, piece_rows: int = PIECE_ROWS, block_rows: int = BLOCK_ROWS) -> None:
        """Start without rows.

        Args:
            folder: empty folder for the pieces; the caller removes it.
            by: name of the column, which must not have nulls.
            piece_rows, block_rows: see `PIECE_ROWS` and `BLOCK_ROWS`.
        """
        self._folder, self._by, self._piece_rows, self._block_rows = folder, by, piece_rows, block_rows
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self._written = 0
        self._pieces: list[tuple[int, Path]] = []  # number of merge passes and file, in input order

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._held.append(batch)
        self._held_rows += batch.num_rows
        if self._held_rows >= self._piece_rows:
            self._spill()

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Return all rows in order, in blocks; may be called repeatedly, but no rows may be added afterwards.

        Args:
            columns: names of the columns to read, in the order of the rows' schema (default: all).
        """
        if self._held:
            self._spill()
        while len(self._pieces) > FAN_IN:
            self._merge_last()
        return _merged([path for _, path in self._pieces], self._by, columns)

    def _spill(self) -> None:
        table = pa.Table.from_batches(self._held)
        self._held, self._held_rows = [], 0
        self._write(0, iter([_sorted(table, self._by)]))
        while len(self._pieces) >= FAN_IN and self._pieces[-FAN_IN][0] == self._pieces[-1][0]:
            self._merge_last()

    def _merge_last(self) -> None:
        last = self._pieces[-FAN_IN:]
        del self._pieces[-FAN_IN:]
        self._write(last[0][0] + 1, _merged([path for _, path in last], self._by))
        for _, path in last:
            path.unlink()

    def _write(self, passes: int, tables: Iterator[pa.Table]) -> None:
        path = self._folder / f"{self._written}.arrow"
        self._written += 1
        first = next(tables)
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(path, first.schema, options=options) as writer:
            writer.write_table(first, max_chunksize=self._block_rows)
            for table in tables:
                writer.write_table(table, max_chunksize=self._block_rows)
        self._pieces.append((passes, path))


def _sorted(table: pa.Table, by: str) -> pa.Table:
    """Sort the rows (stable)."""
    values = table.column(by).to_numpy()
    if (values[1:] >= values[:-1]).all():
        return table.combine_chunks()
    return table.take(np.argsort(values, kind="stable")).combine_chunks()


class _Piece:
    """A sorted file during a merge: the rows in memory, and whether more are on disk."""

    def __init__(self, path: Path, by: str, columns: Sequence[str] | None) -> None:
        self._file = pa.ipc.open_file(pa.OSFile(str(path)))
        if columns is not None:
            places = [self._file.schema.get_field_index(name) for name in {by, *columns}]
            options = pa.ipc.IpcReadOptions(included_fields=sorted(places))
            self._file = pa.ipc.open_file(pa.OSFile(str(path)), options=options)
        self._by, self._next = by, 0
        self._load()

    def _load(self) -> None:
        self._rows = pa.Table.from_batches([self._file.get_batch(self._next)])
        self._values = self._rows.column(self._by).to_numpy()
        self._next += 1

    @property
    def more(self) -> bool:
        """Whether rows are left on disk."""
        return bool(self._next < self._file.num_record_batches)

    @property
    def first(self) -> int:
        """Sort value of the first row in memory; the largest number if there is none."""
        return int(self._values[0]) if len(self._values) else int(np.iinfo(np.int64).max)

    @property
    def last(self) -> int:
        """Sort value of the last row in memory."""
        return int(self._values[-1])

    def taken(self, bound: int, side: str) -> pa.Table:
        """Remove and return the rows in memory below the bound (`side` left) or up to it (right)."""
        cut = int(np.searchsorted(self._values, bound, side=side))  # type: ignore[call-overload]
        rows, self._rows, self._values = self._rows.slice(0, cut), self._rows.slice(cut), self._values[cut:]
        if not len(self._values) and self.more:
            self._load()
        return rows


def _merged(paths: list[Path], by: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Merge sorted files; of equal rows, those of the earlier file come first."""
    pieces = [_Piece(path, by, columns) for path in paths]
    while limits := [(piece.last, i) for i, piece in enumerate(pieces) if piece.more]:
        bound, owner = min(limits)
        # Rows still on disk sort after the owner's last row in memory: by value or, if equal, by file.
        rows = [p.taken(bound, "right" if i <= owner else "left") for i, p in enumerate(pieces) if p.first <= bound]
        yield _sorted(pa.concat_tables(rows), by)
    if pieces:
        yield _sorted(pa.concat_tables([piece.taken(np.iinfo(np.int64).max, "right") for piece in pieces]), by)
