"""Requests that a log has twice: delivered twice, in two files, or repeated after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

RETRY_NS = 60 * 10**9
"""The longest time from a failed request to another attempt; assumed."""

_SAME = ("time_ns", "request_id", "op", "object")
_FIRST_OF_SERVER = 500  # the lowest status of an error that is not the client's
_FINE_NS = 10**6  # with coarser clocks, different requests are often equal


@dataclass
class Duplicates:
    """Counts of rows that are equal to others.

    Attributes:
        tick_ns: tick of the log's clock.
        dropped: rows with the request ID, time, operation and object of another row, which alone is kept.
        dropped_with_latency: those of them that have a latency.
        alike: rows without a request ID that are equal to another one in all columns; they are kept.
    """

    tick_ns: int
    dropped: int = 0
    dropped_with_latency: int = 0
    alike: int = 0

    def removed(self, blocks: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Yield the rows without those that have the request ID of another one.

        Args:
            blocks: rows of `traces.logs.tables.NUMBERED` in order of time.
        """
        held: pa.Table | None = None
        for block in blocks:
            rows = block if held is None else pa.concat_tables([held, block])
            time = rows.column("time_ns").to_numpy()
            cut = int(np.searchsorted(time, time[-1])) if len(time) else 0
            held = rows.slice(cut)  # rows with the last time may go on in the next block
            if cut:
                yield self._of_whole_times(rows.slice(0, cut))
        if held is not None and len(held):
            yield self._of_whole_times(held)

    def _of_whole_times(self, rows: pa.Table) -> pa.Table:
        identity = rows.column("request_id")
        if identity.null_count == len(rows):
            if self.tick_ns <= _FINE_NS:
                self.alike += int(_again(rows, rows.schema.names).sum())
            return rows
        again = _again(rows, _SAME) & identity.is_valid().to_numpy()
        if not again.any():
            return rows
        self.dropped += int(again.sum())
        self.dropped_with_latency += int((again & rows.column("latency_ns").is_valid().to_numpy()).sum())
        return rows.filter(pa.array(~again))

    def notes(self) -> list[str]:
        """Return what to say of them."""
        found = []
        if self.dropped:
            found.append(
                f"{self.dropped:,} rows are left out: request ID, time, operation and object are those of another row "
                "(a log that was delivered twice, or is in two files)"
            )
        if self.alike:
            found.append(
                f"{self.alike:,} rows are equal to another one in time, operation, object and all else; they are kept, "
                "but a log that was delivered twice, or is in two files, looks like this"
            )
        return found


def retries(rows: pa.Table) -> int:
    """Return how many requests repeat a failed one: of the same client, operation and object, within `RETRY_NS`.

    Args:
        rows: of `traces.logs.tables.NUMBERED` in order of time.
    """
    status = rows.column("status").fill_null(200).to_numpy()
    failed = (status >= _FIRST_OF_SERVER) | (status == 0)
    if not failed.any() or rows.column("client").null_count:
        return 0
    client, op, object_ = (rows.column(name).to_numpy() for name in ("client", "op", "object"))
    time_ns = rows.column("time_ns").to_numpy()
    order = np.lexsort((time_ns, object_, op, client))
    same = np.ones(len(order) - 1, bool)
    for column in (client, op, object_):
        same &= column[order][1:] == column[order][:-1]
    soon = np.diff(time_ns[order]) <= RETRY_NS
    return int((same & soon & failed[order][:-1]).sum())


def _again(rows: pa.Table, names: list[str] | tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which rows are equal to one above them in the columns of those names; rows are in order of time."""
    time = rows.column("time_ns").to_numpy()
    again = np.zeros(len(rows), bool)
    close = np.zeros(len(rows), bool)
    equal = time[1:] == time[:-1]
    close[1:] |= equal
    close[:-1] |= equal
    at = np.flatnonzero(close)
    if not len(at):
        return again
    some = rows.take(pa.array(at))
    columns = [some.column(name).fill_null(_NULL.get(name, -1)).to_numpy() for name in names]
    order = np.lexsort([np.arange(len(at)), *columns[::-1]])
    same = np.ones(len(at) - 1, bool)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    again[at[order[1:]]] = same
    return again


_NULL = {"request_id": np.iinfo(np.int64).min}
