"""The order of times in a log file: clocks that were set back, and the hour that summer time repeats at its end."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.logs.import_report import ImportReport
from traces.tables import with_column

_SLACK_NS = 60 * 10**9  # rows of one clock are not further out of order; assumed
_WINDOW = 8  # rows above and below a step that are compared
_MOST_STEPS = 100  # with more, rows are in no order at all
_DAY_NS = 86400 * 10**9


class TimeOrder:
    """The times of one file, in the order of its rows; rows are taken to be in order of the ends of requests."""

    def __init__(self) -> None:
        self._rows = 0
        self._above = np.empty(0, np.int64)
        self._steps: list[tuple[int, int]] = []  # size and time of each step back
        self._again = False  # whether times have gone back within the repeated hour
        self._latest_twice_ns: int | None = None
        self._twice, self._moved = 0, 0

    def resolved(self, records: pa.RecordBatch, repeated_ns: NDArray[np.int64] | None) -> pa.RecordBatch:
        """Return the next rows of the file with the times of those that are in the second of two equal hours.

        Args:
            records: of `traces.readers.records.RECORDS`.
            repeated_ns: see `traces.readers.records.Parsed`.
        """
        if not records.num_rows:
            return records
        time_ns = records.column("time_ns").to_numpy()
        end_ns = time_ns + records.column("latency_ns").fill_null(0).to_numpy()
        if repeated_ns is not None:
            later_ns = self._repeated(end_ns, repeated_ns)
            records = with_column(records, "time_ns", pa.array(time_ns + later_ns))
            end_ns = end_ns + later_ns
        self._see(end_ns)
        return records

    def _repeated(self, end_ns: NDArray[np.int64], repeated_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return by how much each time is later than the first of the two that it may be."""
        later_ns = np.zeros(len(end_ns), np.int64)
        twice = np.flatnonzero(repeated_ns)
        years = np.flatnonzero(np.abs(np.diff(end_ns[twice])) > _DAY_NS) + 1
        for rows in np.split(twice, years):
            if len(rows):
                second = rows[self._first_of_second_hour(end_ns[rows]) :]
                later_ns[second] = repeated_ns[second]
                self._twice += len(rows)
                self._moved += len(second)
        return later_ns

    def _first_of_second_hour(self, ends_ns: NDArray[np.int64]) -> int:
        """Return the first of the next times of the repeated hour that is in the second one."""
        known = self._latest_twice_ns
        if known is None or abs(int(ends_ns[0]) - known) > _DAY_NS:
            known, self._again = int(ends_ns[0]), False  # of another year
        latest = np.maximum.accumulate(np.append(known, ends_ns))
        self._latest_twice_ns = int(latest[-1])
        back = latest[:-1] - ends_ns > _SLACK_NS
        first = 0 if self._again else int(np.argmax(back)) if back.any() else len(ends_ns)
        self._again = first < len(ends_ns)
        return first

    def _see(self, end_ns: NDArray[np.int64]) -> None:
        """Find where times go back, and most of the rows below are before most of those above."""
        self._rows += len(end_ns)
        if len(self._steps) > _MOST_STEPS:
            return
        times = np.concatenate([self._above, end_ns])
        last = -_WINDOW
        for i in np.flatnonzero(times[:-1] - times[1:] > _SLACK_NS) + 1:
            if i < len(self._above) or i - last < _WINDOW or len(self._steps) > _MOST_STEPS:
                continue
            above, below = (
                float(np.median(times[part])) for part in (slice(max(0, i - _WINDOW), i), slice(i, i + _WINDOW))
            )
            if above - below > _SLACK_NS and len(times) - i > 1:
                self._steps.append((int(times[i - 1] - times[i]), int(times[i])))
                last = int(i)
        self._above = times[-_WINDOW:]

    def report(self, name: Path, report: ImportReport) -> None:
        """Note what was found in the file."""
        if self._steps and len(self._steps) <= 1 + self._rows // 1000:
            size_ns, at_ns = self._steps[0]
            when = (
                f"{datetime.fromtimestamp(at_ns / 1e9, UTC):%Y-%m-%dT%H:%M:%SZ}" if 0 <= at_ns < 2**62 else "the time"
            )
            more = f", and {len(self._steps) - 1:,} times more" if len(self._steps) > 1 else ""
            report.note(
                f"{name}: times go back by {size_ns / 1e9:,.6g} s to {when}{more}: a clock was set back, "
                "or parts of the file are not in order; the requests are in order of these times"
            )
        if self._twice:
            taken = (
                f"{self._moved:,} of them are in the second hour, as times go back"
                if self._moved
                else "all are taken to be in the first hour, as times do not go back"
            )
            report.note(f"{name}: {self._twice:,} times occur twice, at the end of summer time; {taken}")
