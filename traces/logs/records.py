"""Collect the records of log files: sorted on disk, with the names, sizes and clock resolution found in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from traces.errors import InputError
from traces.logs.clock import LogClock
from traces.logs.external_sort import ExternalSort
from traces.logs.import_report import ImportReport
from traces.logs.object_sizes import Recorded, Sizes
from traces.logs.pseudonyms import Numbering, ObjectNumbers
from traces.logs.tables import NUMBERED
from traces.readers.formats import Format
from traces.readers.source import Source

Progress = Callable[[str, float, float], None]
"""Called with the stage (``read`` or ``write``), the work done and the total work."""

_LATENCY_SLACK_NS = 1000  # some logs print binary fractions of a second: 0.012000001


class LogRecords:
    """The records of one or more logs.

    Attributes:
        records: rows of `NUMBERED`, sorted by time.
        objects, clients, errors: numbered names.
        sizes: known object sizes.
        clock, latency_clock: resolution of times and of latencies.
        rows, with_latency: number of records, and of records with a latency.
        zero_ns: earliest time, nanoseconds.
        optional: columns of `traces.trace.OPTIONAL_FIELDS` of which there are values.
    """

    def __init__(self, folder: Path) -> None:
        self.records = ExternalSort(folder, "time_ns")
        self.objects, self.clients, self.errors = ObjectNumbers(), Numbering(), Numbering()
        self.sizes = Sizes()
        self.clock, self.latency_clock = LogClock(), LogClock(_LATENCY_SLACK_NS)
        self.rows, self.with_latency = 0, 0
        self.zero_ns = int(np.iinfo(np.int64).max)
        self.optional: set[str] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch of `traces.readers.records.RECORDS`."""
        numbers = {
            "object": self.objects.of(batch.column("bucket"), batch.column("key")),
            "client": self.clients.of(batch.column("client")),
            "error": self.errors.of(batch.column("error")),
            "target": self.objects.of(batch.column("bucket"), batch.column("target")),
        }
        self.optional |= {name for name in ("target", "handle") if batch.column(name).null_count < len(batch)}
        columns = [numbers[name] if name in numbers else batch.column(name) for name in NUMBERED.names]
        self.records.add(pa.RecordBatch.from_arrays(columns, schema=NUMBERED))
        time, latency = batch.column("time_ns").to_numpy(), batch.column("latency_ns").drop_null().to_numpy()
        self.clock.see(time)
        self.latency_clock.see(latency)
        self.rows += len(time)
        self.with_latency += len(latency)
        self.zero_ns = min(self.zero_ns, int(time.min()))
        sizes, named = Recorded.of(batch, numbers["object"])
        self.sizes.learn(sizes, time[named])

    def learn_sizes(self) -> None:
        """Learn from all records in order of time how large objects are; needed if objects are written."""
        if self.sizes.any_writes:
            self.sizes.begin()
            self.sizes.forget_reads()
            for rows in self.records.blocks(Recorded.COLUMNS):
                self.sizes.compare(Recorded.of(rows, rows.column("object"))[0])
        self.sizes.begin()


def read_logs(
    sources: Sequence[Source], formats: Sequence[Format | None], log: LogRecords, strict: bool, progress: Progress
) -> ImportReport:
    """Read all files into `log` and return the report of their rows.

    Raises:
        InputError: no row is a request.
    """
    report, before = ImportReport(strict), 0
    sizes = [source.path.stat().st_size for source in sources]
    for source, format, size in zip(sources, formats, sizes, strict=True):
        if format is None:  # the file has no content
            report.end(source.name, source.truncated)
        for batch in format.read(source, report) if format else ():
            log.add(batch)
            progress("read", before + source.position_bytes, sum(sizes))
        before += size
        progress("read", before, sum(sizes))
    for format in dict.fromkeys(formats):
        for batch in format.read_across(report) if format else ():
            log.add(batch)
    for why, count in report.doubts.items():
        report.note(f"{count:,} {why}")
    if report.escaped:
        report.note(
            f"{report.escaped:,} rows have bytes that are not UTF-8 (Latin-1?); in names they are written like \\xe9"
        )
    if not log.rows:
        named = str(sources[0].name) if len(sources) == 1 else f"{len(sources)} files"
        raise InputError(f"{named}: contains no requests: {_nothing(report)}")
    return report


def _nothing(report: ImportReport) -> str:
    if not report.rows:
        return "; ".join(report.truncated.values()) or "it is empty"
    if report.unreadable:
        return f"{report.unreadable.total():,} of {report.rows:,} rows cannot be read, first {report.where[0]}"
    reasons = ", ".join(f"{why} ({count:,})" for why, count in report.left_out.most_common(3))
    return f"all {report.rows:,} rows are left out: {reasons}"
