"""Import logs as a Trace and, if they have latencies, a measured Run, in bounded memory.

All files are read once. Records are sorted by time on disk (`traces.logs.external_sort`), because logs are in order of
completion and each host of a store has its own. Only the data kept per distinct object grows with the log.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
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
from traces.logs.files import files_in, formats_of
from traces.logs.pseudonyms import Hashed, anonymous_error, plain_error
from traces.logs.records import LogRecords, Progress, read_logs
from traces.logs.run_writer import imported_info, run_writer
from traces.logs.tables import Names, run_table, trace_table
from traces.origin import Origin
from traces.readers.formats import Format
from traces.readers.source import Source
from traces.tables import LIST, OPS, check_folder
from traces.trace import Pacing, trace_writer


def import_logs(
    files: Sequence[Path],
    out: Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
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

    Missing sizes are taken from the previous request for the same object that has a size, else from the next one, else
    they are 0. Rows without a latency are in the Trace but not in the Run.

    Args:
        files: log files, or folders of log files; their formats may differ.
        out: file of the Trace: CSV if the name ends in ``.csv``, else parquet.
        format: name of the format of all files (default: detected for each file).
        columns: columns of the format ``csv``, see `traces.readers.generic_csv`.
        zone: time zone of times without one: ``UTC``, ``Europe/Berlin``, ``+02:00``.
        strict: whether a row that cannot be read is an error.
        anonymise: whether to replace buckets and keys by keyed hashes, and to drop file names and error texts.
        salt: key of the hashes, for reproducible hashes (default: a random key, which is discarded).
        spread: whether to spread arrivals uniformly over the tick of the clock, in their order.
        seed: seed of the random numbers for spreading.
        run_out: folder of the Run (default: no Run).
        progress: called with the progress.

    Returns:
        ``trace``, ``run`` (None if no row has a latency), ``format`` by file, the fields of `ImportReport.figures`,
        ``without_latency``, ``sizes_filled`` and ``sizes_unknown`` (rows), ``requests``, ``errors``, ``ops`` (requests
        by operation), ``span_s``, ``objects``, ``clients`` and ``origin``.

    Raises:
        InputError: a file is missing or has no known format, an option is invalid, no row is a request, or a row cannot
            be read and `strict` is set.
    """
    _check(zone, run_out)
    sources = [Source(path, zone) for path in files_in(files)]
    formats = formats_of(sources, format, columns)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            log = LogRecords(Path(folder))
            report = read_logs(sources, formats, log, strict, progress)
            origin = replace(_origin(log, sources, formats, zone), anonymised=anonymise, spread=spread)
            if anonymise:
                origin = replace(origin, files=())
            run_out = run_out if log.with_latency else None
            hashed = Hashed(secrets.token_bytes(64) if salt is None else salt.encode()) if anonymise else None
            written = _write(log, out, run_out, origin, hashed, seed, progress)
    except OSError as error:
        raise InputError(f"{_at_fault(error, out, files)}: {error.strerror or error}") from error
    return {
        "trace": str(out),
        "run": None if run_out is None else str(run_out),
        "format": {str(s.path): f.name if f else None for s, f in zip(sources, formats, strict=True)},
        **report.figures(),
        "without_latency": log.rows - log.with_latency,
        **asdict(written),
        "objects": len(log.objects),
        "clients": len(log.clients),
        "origin": asdict(origin),
    }


def _at_fault(error: OSError, out: Path, files: Sequence[Path]) -> str:
    """Return the file that an error is about, and what cannot be done with it."""
    named = None if error.filename is None else Path(os.fsdecode(error.filename))
    if named is not None and any(named == path or path in named.parents for path in files):
        return f"{named}: cannot be read"
    return f"{out}: cannot be written"


def _origin(log: LogRecords, sources: Sequence[Source], formats: Sequence[Format | None], zone: str) -> Origin:
    return Origin(
        formats=tuple(dict.fromkeys(format.name for format in formats if format)),
        files=tuple(source.path.name for source in sources),
        started_at=_calendar(log.zero_ns) if any(format and format.dated for format in formats) else None,
        clock_s=log.clock.tick_ns / 1e9,
        latency_clock_s=log.latency_clock.tick_ns / 1e9 if log.with_latency else None,
        zone=zone,
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

    def see(self, rows: pa.Table, trace: pa.Table) -> None:
        self.requests += len(rows)
        self.errors += len(rows) - rows.column("error").null_count
        counts = np.bincount(rows.column("op").to_numpy(), minlength=len(OPS)).tolist()
        self.ops = {op: n for op, count in zip(OPS, counts, strict=True) if (n := self.ops.get(op, 0) + count)}
        self.span_s = trace.column("arrival_s")[-1].as_py()

    def filled(self, log: LogRecords, rows: pa.Table) -> NDArray[np.int64]:
        """Return the object size of each row: 0 for LISTs; at least the end of the range, which is 0 without one."""
        size = rows.column("size_bytes").fill_null(-1).to_numpy().copy()
        names = rows.column("op").to_numpy() != LIST
        without = names & (size < 0)
        size[names] = log.sizes.filled(rows.column("object").to_numpy()[names], size[names])
        unknown = int((size[without] < 0).sum())
        self.sizes_unknown += unknown
        self.sizes_filled += int(without.sum()) - unknown
        start, length = (rows.column(f"range_{part}").fill_null(0).to_numpy() for part in ("start_bytes", "bytes"))
        result: NDArray[np.int64] = np.maximum(size, start + length)  # an object includes every range read from it
        return result


def _write(
    log: LogRecords,
    out: Path,
    run_out: Path | None,
    origin: Origin,
    hashed: Hashed | None,
    seed: int,
    progress: Progress,
) -> _Written:
    """Write the Trace and, if `run_out` is given, the Run."""
    names = Names(*log.objects.texts(hashed), log.errors.texts(anonymous_error if hashed else plain_error))
    blocks = log.records.blocks()
    if origin.spread:
        blocks = spread(blocks, log.clock.tick_ns, seed)
    written, pacing = _Written(), Pacing()
    with ExitStack() as stack:
        write_trace = stack.enter_context(trace_writer(out, pacing, origin))
        write_run = None
        if run_out is not None:
            info = imported_info(origin, pacing, log.rows - log.with_latency)
            write_run = stack.enter_context(run_writer(run_out, info, pacing, origin))
        for rows in blocks:
            size_bytes = written.filled(log, rows)
            trace = trace_table(rows, size_bytes, log.zero_ns, names)
            write_trace(trace)
            if write_run is not None:
                timed = rows.column("latency_ns").is_valid()
                run = run_table(rows.filter(timed), size_bytes[timed.to_numpy()], log.zero_ns, names)
                write_run(run, trace)
            written.see(rows, trace)
            progress("write", written.requests, log.rows)
    return written


def _calendar(time_ns: int) -> str:
    """Format nanoseconds since 1970 as ISO 8601 in UTC, with as many decimal places as needed."""
    seconds, part_ns = divmod(time_ns, 10**9)
    places = f".{part_ns:09d}".rstrip("0") if part_ns else ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}{places}+00:00"
