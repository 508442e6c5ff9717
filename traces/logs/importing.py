"""Import logs as a Trace and, if they have latencies, a measured Run, in bounded memory.

All files are read once. Records are sorted by time on disk (`traces.logs.external_sort`), because logs are in order of
completion and each host of a store has its own. Only the data kept per distinct object grows with the log.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.errors import InputError
from traces.logs.clock import spread
from traces.logs.columns import Columns
from traces.logs.duplicates import Duplicates, retries
from traces.logs.files import formats_of, inputs
from traces.logs.object_sizes import Recorded
from traces.logs.pseudonyms import Hashed, anonymous_error, plain_error
from traces.logs.records import LogRecords, Progress, read_logs
from traces.logs.run_writer import imported_info, run_writer
from traces.logs.tables import Names, run_table, trace_table
from traces.logs.waiting import ThinkTimes, waiting_clients
from traces.operations import OPS, rows_that
from traces.origin import Origin
from traces.readers.formats import Format
from traces.readers.source import Source
from traces.run import RUN_SCHEMA
from traces.tables import check_folder, with_column
from traces.trace import TRACE_SCHEMA, Pacing, trace_writer, with_optional

_WAITING = (
    "requests wait for each other: {clients:,} client{s} in a closed loop, each of which waits for a response before "
    "its next request; times of requests repeat the pauses of the store, and trace fit gives the closed loop"
)

_OWN = ("phase", "smaller", "retries")
"""Counts that are only said."""


def import_logs(
    files: Sequence[Path],
    out: Path,
    *,
    format: str | None = None,
    columns: Columns | None = None,
    below: str | None = None,
    zone: str = "UTC",
    strict: bool = False,
    anonymise: bool = False,
    salt: str | None = None,
    spread: bool = False,
    seed: int = 0,
    run_out: Path | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Read logs, merge them by time, and write their requests as a Trace and the outcomes as a Run.

    Between two PUTs, an object has one size (`traces.logs.object_sizes`); an unknown size is 0. Rows without a latency
    are in the Trace but not in the Run.

    Args:
        files: log files, folders and tar archives of log files, and streams (``-``: the standard input), all of them
            packed or not; their formats may differ.
        out: file of the Trace: CSV if the name ends in ``.csv``, else parquet.
        format: name of the format of all files (default: detected for each file).
        columns: layout of the format ``csv``.
        below: directory whose files are read of the format ``strace`` (default: all but those of the system).
        zone: time zone of times without one: ``UTC``, ``Europe/Berlin``, ``+02:00``.
        strict: whether a row that cannot be read is an error.
        anonymise: whether to replace buckets and keys by keyed hashes, and to drop file names and error texts.
        salt: key of the hashes, for reproducible hashes (default: a random key, which is discarded).
        spread: whether to spread arrivals uniformly over the tick of the clock, in their order.
        seed: seed of the random numbers for spreading.
        run_out: folder of the Run (default: no Run).
        progress: called with the progress.

    Returns:
        ``trace``, ``run`` (None if no row has a latency), ``skipped`` (why files are not read, by name), ``format`` by
        file, the fields of `ImportReport.figures`, ``without_latency``, ``duplicates``, ``sizes_filled`` and
        ``sizes_unknown`` (rows), ``requests``, ``errors``, ``ops`` (requests by operation), ``span_s``, ``objects``,
        ``clients`` and ``origin``.

    Raises:
        InputError: a file is missing or has no known format, an option is invalid, no row is a request, or a row cannot
            be read and `strict` is set.
    """
    _check(zone, run_out)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            scratch = Path(folder)
            found = inputs(files, scratch, zone)
            sources = found.sources
            formats = formats_of(sources, format, columns, below)
            log = LogRecords(scratch)
            report = read_logs(sources, formats, log, strict, progress)
            origin = replace(_origin(log, sources, formats, zone), anonymised=anonymise, spread=spread)
            if origin.waiting_clients is not None:
                report.note(_WAITING.format(clients=origin.waiting_clients, s="s" * (origin.waiting_clients > 1)))
            if anonymise:
                origin = replace(origin, files=())
            run_out = run_out if log.with_latency else None
            hashed = Hashed(secrets.token_bytes(64) if salt is None else salt.encode()) if anonymise else None
            duplicates = Duplicates(log.clock.tick_ns)
            written = _write(log, out, run_out, origin, hashed, seed, duplicates, progress)
            for note in (*duplicates.notes(), *written.notes()):
                report.note(note)
    except OSError as error:
        raise InputError(f"{_at_fault(error, out, files)}: {error.strerror or error}") from error
    return {
        "trace": str(out),
        "run": None if run_out is None else str(run_out),
        "skipped": found.skipped,
        "format": {str(s.name): f.name if f else None for s, f in zip(sources, formats, strict=True)},
        **report.figures(),
        "duplicates": duplicates.dropped,
        "without_latency": _without_latency(log, duplicates),
        **{name: count for name, count in asdict(written).items() if name not in _OWN},
        "objects": len(log.objects),
        "clients": len(log.clients),
        "origin": asdict(origin),
    }


def _without_latency(log: LogRecords, duplicates: Duplicates) -> int:
    return log.rows - duplicates.dropped - (log.with_latency - duplicates.dropped_with_latency)


def _at_fault(error: OSError, out: Path, files: Sequence[Path]) -> str:
    """Return the file that an error is about, and what cannot be done with it."""
    named = None if error.filename is None else Path(os.fsdecode(error.filename))
    if named is not None and any(named == path or path in named.parents for path in files):
        return f"{named}: cannot be read"
    return f"{out}: cannot be written"


def _origin(log: LogRecords, sources: Sequence[Source], formats: Sequence[Format | None], zone: str) -> Origin:
    loop = waiting_clients(log.records, all(format.waits for format in formats if format))
    return Origin(
        formats=tuple(dict.fromkeys(format.name for format in formats if format)),
        files=tuple(source.name.name for source in sources),
        started_at=_calendar(log.zero_ns) if any(format and format.dated for format in formats) else None,
        clock_s=log.clock.tick_ns / 1e9,
        latency_clock_s=log.latency_clock.tick_ns / 1e9 if log.with_latency else None,
        zone=zone,
        waiting_clients=None if loop is None else loop.clients,
    )


def _check(zone: str, run_out: Path | None) -> None:
    try:
        pc.assume_timezone(pa.scalar(0, pa.timestamp("ns")), zone)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"the time zone {zone!r} is unknown; allowed are names such as Europe/Berlin and offsets such as +02:00"
        ) from error
    if run_out is not None:
        check_folder(run_out)


@dataclass
class _Written:
    """Counts of the rows written."""

    sizes_filled: int = 0
    sizes_unknown: int = 0
    requests: int = 0
    errors: int = 0
    ops: dict[str, int] = field(default_factory=dict)
    span_s: float = 0.0
    phase: int = 0
    smaller: int = 0
    retries: int = 0

    def see(self, rows: pa.Table, trace: pa.Table) -> None:
        self.requests += len(rows)
        self.retries += retries(rows)
        self.errors += len(rows) - rows.column("error").null_count
        counts = np.bincount(rows.column("op").to_numpy(), minlength=len(OPS)).tolist()
        self.ops = {op: n for op, count in zip(OPS, counts, strict=True) if (n := self.ops.get(op, 0) + count)}
        self.span_s = trace.column("arrival_s")[-1].as_py()

    def notes(self) -> list[str]:
        """Return what is noteworthy of the requests."""
        found = []
        if self.smaller:
            found.append(
                f"{self.smaller:,} GETs moved less than their object has at that time (versions of one key with "
                "different sizes, or responses that were cut): they are read as ranges"
            )
        if self.retries:
            found.append(
                f"at least {self.retries:,} requests repeat a failed one of the same client within a minute (retries); "
                "each attempt is a request"
            )
        return found

    def sized(self, log: LogRecords, rows: pa.Table) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return the rows and the object size of each: 0 for LISTs.

        A GET that moved less than the object has become one of a range.
        """
        recorded, named = Recorded.of(rows, rows.column("object"))
        size = np.zeros(len(rows), np.int64)
        found = log.sizes.filled(recorded)
        without = recorded.size < 0
        unknown = int((without & (found < 0)).sum())
        self.sizes_unknown += unknown
        self.sizes_filled += int(without.sum()) - unknown
        size[named] = np.maximum(np.maximum(found, recorded.least), 0)
        own = np.zeros(len(rows), np.int64)
        own[named] = recorded.size
        whole = rows.column("range_bytes").is_null().to_numpy() & rows_that(rows.column("op").to_numpy(), "reads")
        part = whole & (own > 0) & (own < size)
        self.smaller += int(part.sum())
        for name, value in (("range_start_bytes", np.zeros_like(own)), ("range_bytes", own)):
            if part.any():
                rows = with_column(rows, name, pc.if_else(pa.array(part), value, rows.column(name)))
        return rows, size

    def phases(self, rows: pa.Table) -> NDArray[np.int32]:
        """Return the phase of each row, which does not descend: of several benchmarks, the one that is ahead counts."""
        phase = np.maximum.accumulate(rows.column("phase").fill_null(0).to_numpy())
        phase = np.maximum(phase, self.phase).astype(np.int32)
        self.phase = int(phase[-1]) if len(phase) else self.phase
        return phase


def _write(
    log: LogRecords,
    out: Path,
    run_out: Path | None,
    origin: Origin,
    hashed: Hashed | None,
    seed: int,
    duplicates: Duplicates,
    progress: Progress,
) -> _Written:
    """Write the Trace and, if `run_out` is given, the Run."""
    log.learn_sizes()
    names = Names(*log.objects.texts(hashed), log.errors.texts(anonymous_error if hashed else plain_error))
    blocks = duplicates.removed(log.records.blocks())
    if origin.spread:
        blocks = spread(blocks, log.clock.tick_ns, seed)
    written, pacing, think_times = _Written(), Pacing(), ThinkTimes()
    of_trace, of_run = (with_optional(schema, log.optional) for schema in (TRACE_SCHEMA, RUN_SCHEMA))
    with ExitStack() as stack:
        write_run, run_trace = None, None
        if run_out is not None:
            info = imported_info(origin, pacing, 0)
            write_run, run_trace = stack.enter_context(run_writer(run_out, info, of_run))
        traces = [out, run_trace] if run_trace and out.suffix == ".csv" else [out]
        with ExitStack() as writers:
            write_trace = [writers.enter_context(trace_writer(path, pacing, origin, of_trace)) for path in traces]
            for rows in blocks:
                rows, size_bytes = written.sized(log, rows)
                think_s = think_times.of(rows) if origin.waiting_clients else np.zeros(len(rows))
                phases = written.phases(rows)
                trace = trace_table(rows, size_bytes, log.zero_ns, names, phases, think_s, of_trace)
                for write in write_trace:
                    write(trace)
                if write_run is not None:
                    timed = rows.column("latency_ns").is_valid()
                    sizes = size_bytes[timed.to_numpy()]
                    run = run_table(rows.filter(timed), sizes, log.zero_ns, names, of_run)
                    write_run(run)
                written.see(rows, trace)
                progress("write", written.requests, log.rows)
        if run_out is not None:
            info["without_latency"] = _without_latency(log, duplicates)
        if run_trace is not None and run_trace not in traces:
            shutil.copyfile(out, run_trace)
    return written


def _calendar(time_ns: int) -> str:
    """Format nanoseconds since 1970 as ISO 8601 in UTC, with as many decimal places as needed."""
    seconds, part_ns = divmod(time_ns, 10**9)
    places = f".{part_ns:09d}".rstrip("0") if part_ns else ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}{places}+00:00"
