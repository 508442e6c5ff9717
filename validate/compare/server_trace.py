"""The server times of a Run's requests, from the server's own trace of its requests.

The time of a request is its arrival at the server, the duration lasts until its handler has finished. Times are by the
clock of the server, and buckets have the generated names of a replay. Requests are therefore first matched by
operation, key and order, which gives the clock offset and the bucket, and then by time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from traces.errors import InputError
from traces.operations import OPERATIONS, OPS
from traces.run import Run
from traces.statistics.summary import Floats

IN_RUN = "server_trace.jsonl"
"""The file name of a server trace in the folder of its Run."""

_SLACK_S = 0.005
"""Accuracy of the clock offset: how far a request may seem to lie outside the interval measured by the client."""


class Handled(NamedTuple):
    """A request as the server saw it: seconds since 1970 by the server's clock, and its duration there in seconds."""

    op: str
    bucket: str
    key: str
    time_s: float
    duration_s: float


def read_server_trace(path: Path) -> list[Handled]:
    """Read the requests for objects from a store's own trace of its requests; other lines are left out.

    Raises:
        InputError: the file cannot be read, is in the format of no store of the lab, or a line is unreadable.
    """
    # The readers take a quarter of a second to import, and few Runs have such a trace.
    from traces.logs.import_report import ImportReport
    from traces.readers.formats import Head
    from traces.readers.registry import FORMATS
    from traces.readers.source import Source
    from validate.lab.registry import STORES

    found: list[Handled] = []
    source = Source(path)
    formats = {known.name: known for known in FORMATS}
    told = [formats[kind.trace_format] for kind in STORES.values() if kind.trace_format]
    head = Head(source.name.name, source.head(), source.path)
    # A file that none recognises is read like the first store's, so that the error names the line.
    its_format = next((known for known in told if known.recognises(head)), told[0])
    for records in its_format.read(source, ImportReport(strict=True)):
        names = ("op", "bucket", "key", "time_ns", "latency_ns")
        found += [
            Handled(OPS[op], bucket, key, time_ns * 1e-9, latency_ns * 1e-9)
            for op, bucket, key, time_ns, latency_ns in zip(*(records[name].to_pylist() for name in names), strict=True)
            if OPERATIONS[op].names_object and latency_ns is not None
        ]
    return found


def server_times(run: Run, handled: Iterable[Handled]) -> Floats:
    """Return the seconds that each request of a Run took at the server, shape (requests,); NaN if unknown.

    They are unknown for a request with several attempts, because the server's record may be of any of them, and for one
    that would have taken longer at the server than at the client.
    """
    result = np.full(len(run), np.nan)
    if not len(run):
        return result
    by_bucket: dict[str, _ByName] = defaultdict(lambda: defaultdict(list))
    for one in sorted(handled, key=lambda one: one.time_s):
        by_bucket[one.bucket][one.op, one.key].append(one)
    rows_of: dict[str, dict[tuple[str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    names = [run.requests.column(name).to_pylist() for name in ("bucket", "op", "key")]
    for row in np.argsort(run.column("start_s"), kind="stable").tolist():
        bucket, op, key = (name[row] for name in names)
        rows_of[bucket][op, key].append(row)
    for rows in rows_of.values():
        found = [_matches(run, rows, of_name) for of_name in by_bucket.values()]
        enough = [one for one in found if 2 * len(one.took_s) >= sum(map(len, rows.values()))]
        if enough:
            best = min(enough, key=lambda one: one.off_s)
            result[list(best.took_s)] = list(best.took_s.values())
    took_s = run.column("end_s") - run.column("start_s")
    result[(run.column("attempts") > 1) | run.failed | (result > took_s)] = np.nan
    return result


_ByName = dict[tuple[str, str], list[Handled]]
"""By operation and key, the requests in order of time."""


class _Matches(NamedTuple):
    """Seconds at the server by row of a Run, and the distance of its matched time 0 from its recorded start."""

    took_s: dict[int, float]
    off_s: float


def _matches(run: Run, rows_of: dict[tuple[str, str], list[int]], of_name: _ByName) -> _Matches:
    """Match the rows of a Run's bucket with the requests of a bucket on the server, both by operation and key."""
    start_s, end_s, found = run.column("start_s"), run.column("end_s"), {}
    # Match from the end: objects that are read were written before the Run.
    pairs = [
        one.time_s - start_s[row]
        for name, rows in rows_of.items()
        for row, one in zip(reversed(rows), reversed(of_name.get(name, ())), strict=False)
    ]
    zero_s = float(np.median(pairs)) if pairs else 0.0
    for name, rows in rows_of.items():
        waiting = iter(of_name.get(name, ()))
        one = next(waiting, None)
        for row in rows:
            while one is not None and one.time_s - zero_s < start_s[row] - _SLACK_S:
                one = next(waiting, None)
            if one is not None and one.time_s - zero_s <= end_s[row] + _SLACK_S:
                found[row] = one.duration_s
                one = next(waiting, None)
    began_s = datetime.fromisoformat(run.info["started_at"]).timestamp()
    return _Matches(found, abs(zero_s - began_s))


def matched(runs: Sequence[tuple[str, Run]], traces: Sequence[Path]) -> dict[str, Floats]:
    """Return the `server_times` of the Runs that occur in the server traces, by name.

    Raises:
        InputError: a server trace cannot be read, or has no request of any Run.
    """
    found: dict[str, Floats] = {}
    for path in traces:
        handled = read_server_trace(path)
        times = {name: server_times(run, handled) for name, run in runs}
        known = {name: s for name, s in times.items() if np.isfinite(s).any()}
        if not known:
            raise InputError(f"{path}: has no request of {', '.join(name for name, _ in runs)}")
        for name, s in known.items():
            found[name] = np.fmax(found.get(name, s), s)
    return found
