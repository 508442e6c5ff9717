"""Export a Run in formats of other tools.

- ``.csv.zst``: benchmark data of MinIO's warp (pkg/bench/ops.go; separated by TABs despite its name). HEADs are STATs,
  only GETs and LISTs have a first byte, and there is no column for the bucket.
- ``.hgrm``: percentile table of HdrHistogram, in milliseconds (AbstractHistogram.outputPercentileDistribution), of the
  successful requests; its values are exact samples, not histogram buckets.
- ``.csv``: all columns of the Run. An apostrophe is put before names that spreadsheets would execute.

In all formats a request starts at its intended start, as everywhere in tailcast, so latencies are the same.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from traces.errors import InputError
from traces.operations import OPS, rows_that
from traces.provenance import code_version
from traces.run import RUN_SCHEMA, Run
from traces.tables import LABEL, atomic_file, with_column
from traces.trace import with_optional

HALVING_STEPS = 5
"""Rows of a percentile table per halving of the distance to 100 % (the default of HdrHistogram)."""

_ROWS = 1 << 16  # per write
_WARP_COLUMNS = (
    *("idx", "thread", "op", "client_id", "n_objects", "bytes", "endpoint", "file", "error", "start", "first_byte"),
    *("end", "duration_ns"),
)
_WARP_NAMES = {"HEAD": "STAT"}  # of operations that warp calls otherwise
_MOST_THREADS = 1 << 16  # warp stores the thread in 16 bits


def export(run: Run, out: Path, op: str | None = None) -> int:
    """Write a Run, or its requests of one operation, atomically in the format given by the file name.

    Returns:
        Number of requests written.

    Raises:
        InputError: the ending of the name is not a known format, the operation is unknown or has no (successful)
            request, or the file cannot be written.
    """
    ending = next((ending for ending in _WRITERS if out.name.endswith(ending)), None)
    if ending is None:
        raise InputError(f"{out}: the ending determines the format; allowed endings are {', '.join(_WRITERS)}")
    if op is not None and op not in OPS:
        raise InputError(f"op is {op!r}; allowed are {', '.join(OPS)}")
    wanted = np.ones(len(run), bool) if op is None else run.op == OPS.index(op)
    if ending == ".hgrm":
        wanted &= ~run.failed
    if not wanted.any():
        raise InputError(f"the Run has no {'successful ' * (ending == '.hgrm')}{op or 'request'} to export")
    part = Run(run.requests.filter(pa.array(wanted)), run.info)
    with atomic_file(out) as temporary:
        _WRITERS[ending](part, temporary)
    return len(part)


def _write_csv(run: Run, path: Path) -> None:
    schema = with_optional(RUN_SCHEMA, run.requests.column_names)
    plain = [pa.field(f.name, pa.string() if f.type == LABEL else f.type) for f in schema]
    table = run.requests.cast(pa.schema(plain))
    for name in [name for name in _TEXTS if name in table.column_names]:
        table = with_column(table, name, _inert(table.column(name)))
    pacsv.write_csv(table, path)


_TEXTS = ("bucket", "key", "target", "error")
"""Columns with texts of others."""


def _inert(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put an apostrophe before texts that spreadsheets would execute as formulas (OWASP, "CSV Injection")."""
    formulas = pc.match_substring_regex(column, r"^[=+\-@\t\r\n＝＋－＠]")
    return pc.if_else(pc.fill_null(formulas, False), pc.binary_join_element_wise("'", column, ""), column)


def _write_warp(run: Run, path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        for first, part in _parts(run):
            text = io.StringIO()
            writer = csv.writer(text, delimiter="\t", lineterminator="\n")
            if first == 0:
                writer.writerow(_WARP_COLUMNS)
            writer.writerows(zip(*_warp_columns(part, first), strict=True))
            file.write(text.getvalue().encode())
        file.write(f"# written by tailcast {code_version()}\n".encode())


def _parts(run: Run) -> Iterator[tuple[int, Run]]:
    """Yield parts of the Run in order of time, each with the index of its first request."""
    order = np.argsort(run.column("arrival_s"), kind="stable")
    for first in range(0, len(order), _ROWS):
        yield first, Run(run.requests.take(order[first : first + _ROWS]), run.info)


def _warp_columns(run: Run, first: int) -> list[list[object]]:
    """Return the columns `_WARP_COLUMNS`; `first` is the index of the first row."""
    n, op = len(run), run.op
    zero_ns = _zero_ns(run)
    start, end = (_nanoseconds(run.column(name), zero_ns) for name in ("arrival_s", "end_s"))
    has_body = rows_that(op, "reads") | ~rows_that(op, "names_object")
    has_first_byte = has_body & np.isfinite(run.column("first_byte_s"))
    first_byte = np.where(has_first_byte, run.column("first_byte_s"), 0.0)
    first_byte_text = np.where(has_first_byte, _stamps(_nanoseconds(first_byte, zero_ns)), "")
    payload = np.where(rows_that(op, "reads"), run.column("transfer_bytes"), run.column("size_bytes"))
    payload = np.where(run.failed, run.column("size_bytes"), payload)
    payload = np.where(rows_that(op, "moves_bytes"), payload, 0)
    url = str((run.info.get("endpoint") or {}).get("url", ""))
    return [
        list(range(first, first + n)),
        (run.column("client") % _MOST_THREADS).tolist(),
        [_WARP_NAMES.get(OPS[i], OPS[i]) for i in op],
        ["tailcast"] * n,
        [1] * n,
        payload.tolist(),
        [url] * n,
        run.requests.column("key").to_pylist(),
        [" ".join(error.split()) if error else "" for error in run.requests.column("error").to_pylist()],
        _stamps(start).tolist(),
        first_byte_text.tolist(),
        _stamps(end).tolist(),
        (end - start).tolist(),
    ]


def _zero_ns(run: Run) -> int:
    """Return the calendar time of second 0 of the Run, nanoseconds since 1970; 0 if the Run does not record it."""
    try:
        return int(pa.scalar(run.info["started_at"]).cast(pa.timestamp("ns", "UTC")).value)
    except (KeyError, pa.ArrowInvalid):
        return 0


def _nanoseconds(seconds: NDArray[np.float64], zero_ns: int) -> NDArray[np.int64]:
    return np.rint(seconds * 1e9).astype(np.int64) + zero_ns


def _stamps(time_ns: NDArray[np.int64]) -> NDArray[np.str_]:
    """Format times as in RFC 3339."""
    return np.char.add(np.datetime_as_string(time_ns.view("datetime64[ns]")), "Z")


def _write_hgrm(run: Run, path: Path) -> None:
    latency_ms = np.sort(np.rint(run.latency_s * 1e9)) / 1e6
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    for fraction, value_ms, count in percentiles(latency_ms):
        beyond = f" {1 / (1 - fraction):14.2f}" if fraction < 1 else ""
        lines.append(f"{value_ms:12.3f} {fraction:2.12f} {count:10d}{beyond}")
    lines += [
        f"#[Mean    = {latency_ms.mean():12.3f}, StdDeviation   = {latency_ms.std():12.3f}]",
        f"#[Max     = {latency_ms[-1]:12.3f}, Total count    = {len(latency_ms):12d}]",
    ]
    path.write_text("\n".join(lines) + "\n")


def percentiles(samples: NDArray[np.float64]) -> Iterator[tuple[float, float, int]]:
    """Yield the rows of a percentile table: fraction, its quantile, and the number of samples up to that quantile.

    Args:
        samples: ascending, not empty.

    Fractions increase in `HALVING_STEPS` steps per halving of the distance to 1 (PercentileIterator of HdrHistogram).
    """
    percent, count = 0.0, 0
    while count < len(samples):
        value = samples[max(math.ceil(percent * len(samples) / 100 - 1e-6) - 1, 0)]
        count = int(np.searchsorted(samples, value, side="right"))
        yield percent / 100, float(value), count
        halvings = int(math.log2(100 / (100 - percent))) + 1
        percent += 100 / (HALVING_STEPS * 2**halvings)
    yield 1.0, float(samples[-1]), len(samples)


_WRITERS: Mapping[str, Callable[[Run, Path], None]] = {
    ".csv.zst": _write_warp,
    ".hgrm": _write_hgrm,
    ".csv": _write_csv,
}
