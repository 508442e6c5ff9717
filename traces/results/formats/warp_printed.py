"""warp: what it prints.

Layout: minio/warp, cli/analyze.go (``Report: PUT. Concurrency: 20. Ran: 4m57s``, since 1.0; ``Operation: …`` before)
and pkg/aggregate. Rates are those of whole seconds; quantiles are means of those of windows of 10 s. ``Total`` is left
out: it is the sum of the operations.
"""

from __future__ import annotations

import re

from traces.results.formats.format import ResultFormat
from traces.results.formats.warp import OPS, TOOL
from traces.results.schema import Latency, Result, Results, mean_size
from traces.results.values import Values, go_seconds, size_bytes

_REPORT = re.compile(r"^(?:Report|Operation): ([A-Za-z]+)\b[^\n]*$", re.MULTILINE)
_CLIENTS = re.compile(r"Concurrency: (\d+)")
_RAN = re.compile(r"Ran:? (?:Duration: )?((?:\d+h)?(?:\d+m)?[\d.]+m?s)")
_AVERAGE = re.compile(
    r"^ \* (?:Average|Throughput): (?:([\d.]+ ?[KMGT]?i?B)/s, )?([\d.]+) (?:obj|ops?|requests?)/s", re.MULTILINE
)
_REQUESTS = re.compile(r"^ \* (?:Reqs: )?Avg: [^\n]*$", re.MULTILINE)
_FIRST_BYTE = re.compile(r"^ \* TTFB: [^\n]*$", re.MULTILINE)
_COUNTS = re.compile(r"^ \* Reqs: (\d+), Errs: (\d+)", re.MULTILINE)
_FIGURE = re.compile(r"([A-Za-z]+|\d+%|\d+th): ((?:[\d.]+(?:h|ms|m|s|us|µs|ns))+)")
_QUANTILES = {
    "25th": "p25", "50%": "p50", "Median": "p50", "75th": "p75", "90%": "p90", "90th": "p90", "99%": "p99",
    "99th": "p99",
}  # fmt: skip
_TOTAL = "total"
_BASIS = "requests, as printed: quantiles are means of those of windows of 10 s"


def _is_printed(name: str, head: str) -> bool:
    return _REPORT.search(head) is not None and _AVERAGE.search(head) is not None


def _read(text: str, where: str) -> Results:
    reports = list(_REPORT.finditer(text))
    mixed = any(report[1].lower() == _TOTAL for report in reports)
    rows = []
    for i, report in enumerate(reports):
        until = reports[i + 1].start() if i + 1 < len(reports) else len(text)
        if report[1].lower() != _TOTAL:
            part = text[report.start() : until]
            rows.append(_row(report, part, "mixed" if mixed else report[1], f"{where}: report of {report[1]}"))
    return Results(tuple(rows))


def _row(report: re.Match[str], text: str, phase: str, where: str) -> Result:
    average, counts = _AVERAGE.search(text), _COUNTS.search(text)
    Values({"Average": average}, where).need("Average")
    assert average is not None
    clients, ran = _CLIENTS.search(text), _RAN.search(report[0])
    values = Values({"clients": clients and clients[1], "ops": average[2]}, where)
    ops_per_s, bytes_per_s = values.number("ops"), size_bytes(average[1])
    latency = _latency(_REQUESTS.search(text), where)
    found = Values({"requests": counts and counts[1], "errors": counts and counts[2]}, where)
    return Result(
        tool=TOOL,
        phase=phase,
        op=OPS.get(report[1], report[1]),
        clients=values.count("clients"),
        object_size_bytes=mean_size(bytes_per_s, ops_per_s),
        duration_s=None if ran is None else go_seconds(ran[1], where),
        requests=found.count("requests"),
        errors=found.count("errors"),
        ops_per_s=ops_per_s,
        bytes_per_s=bytes_per_s,
        latency=latency,
        latency_basis=_BASIS if latency.mean_s is not None else None,
        first_byte=_latency(_FIRST_BYTE.search(text), where),
    )


def _latency(line: re.Match[str] | None, where: str) -> Latency:
    if line is None:
        return Latency()
    figures = {name: go_seconds(value, where) for name, value in _FIGURE.findall(line[0])}
    return Latency(
        mean_s=figures.get("Avg"),
        stddev_s=figures.get("StdDev"),
        min_s=figures.get("Fastest", figures.get("Best")),
        max_s=figures.get("Slowest", figures.get("Worst")),
        quantiles_s={_QUANTILES[name]: value for name, value in figures.items() if name in _QUANTILES},
    )


FORMAT = ResultFormat("results of warp (printed)", _is_printed, _read)
