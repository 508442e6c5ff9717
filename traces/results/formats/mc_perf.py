"""MinIO's ``mc support perf object``: what it prints.

Layout: minio/mc cmd/speedtest-spinner.go: a line each for PUT and GET with throughput and rate, then ``Speedtest: MinIO
VERSION, N servers, N drives, SIZE objects, N threads``. Each server is its own client, with that number of threads.
Rates are printed as whole numbers: small ones are computed from the throughput. There are no latencies.
"""

from __future__ import annotations

import re

from traces.results.formats.format import ResultFormat
from traces.results.schema import Result, Results, rate
from traces.results.values import Values, size_bytes

TOOL = "mc support perf"

_LINE = re.compile(r"^ *(PUT|GET)\s+([\d.]+ [KMGT]?i?B)/s\s+([\d,]+) objs?/s", re.MULTILINE)
_SUMMARY = re.compile(
    r"Speedtest: MinIO ([^,\s]+), (\d+) servers?, (\d+) drives?, ([\d.]+ [KMGT]?i?B) objects?, (\d+) threads?"
)
_FEW = 100  # of a rate that is printed as a whole number


def _is_printed(name: str, head: str) -> bool:
    return _LINE.search(head) is not None and "objs/s" in head


def _read(text: str, where: str) -> Results:
    rows: list[Result] = []
    for line in _LINE.finditer(text):
        summary = _SUMMARY.search(text, line.end())
        version, servers, drives, size, threads = summary.groups() if summary else (None,) * 5
        given = Values({"servers": servers, "drives": drives, "threads": threads}, f"{where}: {line[1]}")
        hosts, each, object_size = given.count("servers"), given.count("threads"), size_bytes(size)
        bytes_per_s = size_bytes(line[2])
        printed = Values({"rate": line[3].replace(",", "")}, given.where).number("rate")
        exact = rate(bytes_per_s, object_size)
        rows.append(
            Result(
                tool=TOOL,
                tool_version=version,
                run=1 + sum(row.op == line[1] for row in rows),
                phase=line[1],
                op=line[1],
                clients=hosts * each if hosts and each else None,
                client_hosts=hosts,
                object_size_bytes=object_size,
                ops_per_s=printed if exact is None or (printed or 0) >= _FEW else exact,
                bytes_per_s=bytes_per_s,
                settings={"drives": drives},
            )
        )
    return Results(tuple(rows))


FORMAT = ResultFormat("results of mc support perf (printed)", _is_printed, _read)
