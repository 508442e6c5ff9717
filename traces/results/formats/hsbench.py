"""hsbench: its CSV, its JSON and what it prints.

Layout: markhpc/hsbench, hsbench.go (``OutputStats``, ``csv_header``, ``makeOutputStats``); commit of 2024-11-04. Loops,
modes and intervals of a second each have a row; the row ``TOTAL`` is the whole of a mode in a loop. ``MB/s`` is MiB/s
(bytefmt.MEGABYTE). A slowdown is a request that failed; it is in no other figure. The latency of a GET ends with the
headers of the response, before its body is read: it is a time to the first byte. Neither clients nor sizes are there.
"""

from __future__ import annotations

import re

from traces.results.formats.format import ResultFormat
from traces.results.schema import Latency, Result, Results, mean_size
from traces.results.values import Values, documents, header_of, table

TOOL = "hsbench"
OPS = {"PUT": "PUT", "GET": "GET", "DEL": "DELETE", "LIST": "LIST"}
"""Modes that are operations of an object store; BCLR, BDEL and BINIT are of buckets."""

_MIB = 2**20
_MS = 1e-3
_TOTAL = "TOTAL"
_WHOLE = "successful requests"
_TO_HEADERS = "successful requests, to the first byte"
_CSV_NAMES = {
    "Loop": "Loop",
    "Inteval": "IntervalName",  # sic
    "Interval": "IntervalName",
    "Duration(s)": "Seconds",
    "Mode": "Mode",
    "Ops": "Ops",
    "MB/s": "Mbps",
    "IO/s": "Iops",
    "Min Latency (ms)": "MinLat",
    "Avg Latency(ms)": "AvgLat",
    "99% Latency(ms)": "NinetyNineLat",
    "Max Latency(ms)": "MaxLat",
    "Slowdowns": "Slowdowns",
}


_PRINTED = re.compile(
    r"Loop: (?P<Loop>\d+), Int: (?P<IntervalName>\w+), Dur\(s\): (?P<Seconds>[\d.]+), Mode: (?P<Mode>\w+), "
    r"Ops: (?P<Ops>\d+), MB/s: (?P<Mbps>[\d.]+), IO/s: (?P<Iops>[\d.]+), Lat\(ms\): \[ min: (?P<MinLat>[\d.]+), "
    r"avg: (?P<AvgLat>[\d.]+), 99%: (?P<NinetyNineLat>[\d.]+), max: (?P<MaxLat>[\d.]+) \], "
    r"Slowdowns: (?P<Slowdowns>\d+)"
)


def _is_printed(name: str, head: str) -> bool:
    return _PRINTED.search(head) is not None


def _read_printed(text: str, where: str) -> Results:
    lines = _PRINTED.finditer(text)
    return _results(
        [Values(line.groupdict(), f"{where}: line {text.count(chr(10), 0, line.start()) + 1}") for line in lines]
    )


def _is_csv(name: str, head: str) -> bool:
    return {"Loop", "Mode", "IO/s", "99% Latency(ms)"} <= set(header_of(head))


def _is_json(name: str, head: str) -> bool:
    return all(f'"{key}"' in head[:4096] for key in ("IntervalName", "Mode", "Iops", "NinetyNineLat"))


def _read_csv(text: str, where: str) -> Results:
    rows = table(text, where)
    return _results([
        Values({_CSV_NAMES.get(name, name): value for name, value in row.data.items()}, row.where) for row in rows
    ])  # fmt: skip


def _read_json(text: str, where: str) -> Results:
    return _results(list(documents(text, where)), exact=True)


def _results(intervals: list[Values], exact: bool = False) -> Results:
    """Return the totals of each mode and loop.

    Args:
        exact: whether rates are not rounded, so that the object size follows from them.
    """
    rows: list[Result] = []
    for interval in intervals:
        interval.need("Mode", "IntervalName")
        if interval.text("IntervalName") == _TOTAL:
            rows.append(_row(interval, exact, len(rows) + 1))
    others = len(intervals) - len(rows)
    notes = (
        () if not others else (f"{others:,} row{'s' if others > 1 else ''} of intervals left out; the totals are kept",)
    )
    return Results(tuple(rows), notes)


def _row(total: Values, exact: bool, run: int) -> Result:
    total.need("Loop", "Seconds", "Ops", "Mbps", "Iops")
    mode, done, failed = total.text("Mode") or "", total.count("Ops"), total.count("Slowdowns")
    bytes_per_s, ops_per_s = total.number("Mbps", _MIB), total.number("Iops")
    some = bool(done)  # without requests, hsbench writes latencies of 0
    latency = Latency(
        mean_s=total.number("AvgLat", _MS),
        min_s=total.number("MinLat", _MS),
        max_s=total.number("MaxLat", _MS),
        quantiles_s={"p99": total.number("NinetyNineLat", _MS)},
    )
    return Result(
        tool=TOOL,
        run=run,
        phase=f"loop {total.count('Loop')}, {mode}",
        op=OPS.get(mode, mode),
        duration_s=total.number("Seconds"),
        requests=None if done is None else done + (failed or 0),
        errors=failed,
        ops_per_s=ops_per_s,
        bytes_per_s=bytes_per_s,
        object_size_bytes=mean_size(bytes_per_s, ops_per_s) if exact else None,
        latency=latency if some else Latency(),
        latency_basis=(_TO_HEADERS if mode == "GET" else _WHOLE) if some else None,
        first_byte=latency if some and mode == "GET" else Latency(),
    )


CSV = ResultFormat("results of hsbench (CSV)", _is_csv, _read_csv)
JSON = ResultFormat("results of hsbench (JSON)", _is_json, _read_json)
TEXT = ResultFormat("results of hsbench (printed)", _is_printed, _read_printed)
