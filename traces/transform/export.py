"""A Run written in formats that other tools read.

- ``.csv.zst``: benchmark data as MinIO's warp writes it (pkg/bench/ops.go: TAB-separated in spite of its name). A HEAD
  is a STAT; only GETs and LISTs have a first byte; of a bucket warp knows nothing.
- ``.hgrm``: HdrHistogram's percentile table, in milliseconds (AbstractHistogram.outputPercentileDistribution), of the
  successful requests; its values are those of the samples and not of buckets.
- ``.csv``: all columns of the Run.

In each a request begins when it was meant to, as everywhere in tailcast: so latencies are the same.
"""

from __future__ import annotations

import csv
import importlib.metadata
import io
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from traces.errors import InputError
from traces.run import RUN_SCHEMA, Run
from traces.tables import GET, LABEL, LIST, OPS, PUT, whole_file

HALVING_STEPS = 5
"""Rows of a percentile table for each halving of the distance to 100 % (HdrHistogram's usual)."""

_ROWS = 1 << 16  # written at a time
_WARP_COLUMNS = (
    *("idx", "thread", "op", "client_id", "n_objects", "bytes", "endpoint", "file", "error", "start", "first_byte"),
    *("end", "duration_ns"),
)
_WARP_OPS = {op: "STAT" if op == "HEAD" else op for op in OPS}
_MOST_THREADS = 1 << 16  # warp keeps a thread in 16 bits


def export(run: Run, out: Path, op: str | None = None) -> int:
    """Write a Run, or its requests of one operation, in the format that the name asks for; whole or not at all.

    Returns:
        how many requests were written.

    Raises:
        InputError: the name ends in none of the formats, the operation is not known or has no (successful) request,
            or the file cannot be written.
    """
    ending = next((ending for ending in _WRITERS if out.name.endswith(ending)), None)
    if ending is None:
        raise InputError(f"{out}: the name says the format; allowed endings are {', '.join(_WRITERS)}")
    if op is not None and op not in OPS:
        raise InputError(f"op is {op!r}; allowed are {', '.join(OPS)}")
    wanted = np.ones(len(run), bool) if op is None else run.op == OPS.index(op)
    if ending == ".hgrm":
        wanted &= ~run.failed
    if not wanted.any():
        raise InputError(f"the Run has no {'successful ' * (ending == '.hgrm')}{op or 'request'} to export")
    part = Run(run.requests.filter(pa.array(wanted)), run.info)
    with whole_file(out) as temporary:
        _WRITERS[ending](part, temporary)
    return len(part)


def _write_csv(run: Run, path: Path) -> None:
    plain = [pa.field(f.name, pa.string() if f.type == LABEL else f.type) for f in RUN_SCHEMA]
    pacsv.write_csv(run.requests.cast(pa.schema(plain)), path)


def _write_warp(run: Run, path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        for first, part in _parts(run):
            text = io.StringIO()
            writer = csv.writer(text, delimiter="\t", lineterminator="\n")
            if first == 0:
                writer.writerow(_WARP_COLUMNS)
            writer.writerows(zip(*_warp_columns(part, first), strict=True))
            file.write(text.getvalue().encode())
        file.write(f"# written by tailcast {importlib.metadata.version('tailcast')}\n".encode())


def _parts(run: Run) -> Iterator[tuple[int, Run]]:
    """The Run in parts, in order of time, each with the number of its first request."""
    order = np.argsort(run.column("arrival_s"), kind="stable")
    for first in range(0, len(order), _ROWS):
        yield first, Run(run.requests.take(order[first : first + _ROWS]), run.info)


def _warp_columns(run: Run, first: int) -> list[list[object]]:
    """The columns of `_WARP_COLUMNS`."""
    n, op = len(run), run.op
    zero_ns = _zero_ns(run)
    start, end = (_nanoseconds(run.column(name), zero_ns) for name in ("arrival_s", "end_s"))
    answered = np.isin(op, (GET, LIST)) & np.isfinite(run.column("first_byte_s"))
    first_byte = np.where(answered, run.column("first_byte_s"), 0.0)
    first_byte_text = np.where(answered, _stamps(_nanoseconds(first_byte, zero_ns)), "")
    payload = np.where(op == GET, run.column("transfer_bytes"), run.column("size_bytes"))
    payload = np.where(run.failed, run.column("size_bytes"), payload)
    payload = np.where(np.isin(op, (GET, PUT)), payload, 0)
    url = str((run.info.get("endpoint") or {}).get("url", ""))
    return [
        list(range(first, first + n)),
        (run.column("client") % _MOST_THREADS).tolist(),
        [_WARP_OPS[OPS[i]] for i in op],
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
    """The calendar time of the Run's second 0; 1970 where it does not say."""
    try:
        return int(pa.scalar(run.info["started_at"]).cast(pa.timestamp("ns", "UTC")).value)
    except (KeyError, pa.ArrowInvalid):
        return 0


def _nanoseconds(seconds: NDArray[np.float64], zero_ns: int) -> NDArray[np.int64]:
    return np.rint(seconds * 1e9).astype(np.int64) + zero_ns


def _stamps(time_ns: NDArray[np.int64]) -> NDArray[np.str_]:
    """RFC 3339."""
    return np.char.add(np.datetime_as_string(time_ns.view("datetime64[ns]")), "Z")


def _write_hgrm(run: Run, path: Path) -> None:
    latency_ms = np.sort(np.rint(run.latency_s * 1e9)) / 1e6
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    for share, value_ms, count in percentiles(latency_ms):
        beyond = f" {1 / (1 - share):14.2f}" if share < 1 else ""
        lines.append(f"{value_ms:12.3f} {share:2.12f} {count:10d}{beyond}")
    lines += [
        f"#[Mean    = {latency_ms.mean():12.3f}, StdDeviation   = {latency_ms.std():12.3f}]",
        f"#[Max     = {latency_ms[-1]:12.3f}, Total count    = {len(latency_ms):12d}]",
    ]
    path.write_text("\n".join(lines) + "\n")


def percentiles(samples: NDArray[np.float64]) -> Iterator[tuple[float, float, int]]:
    """The rows of a percentile table: share, the least sample that so many are not above, and how many those are.

    Args:
        samples: ascending, at least one.

    Shares go up in `HALVING_STEPS` steps for each halving of the distance to 1 (HdrHistogram's PercentileIterator).
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
