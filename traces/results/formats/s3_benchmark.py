"""s3-benchmark (of Wasabi, and its forks): what it prints.

Layout: wasabi-tech/s3-benchmark, s3-benchmark.go (``Loop 1: PUT time 60.1 secs, objects = 5484, speed = 91.3MB/sec,
91.3 operations/sec.``; forks add the slowdowns). MB are MiB. There are no latencies. A slowdown is a request that
failed.
"""

from __future__ import annotations

import re

from traces.results.formats.format import ResultFormat
from traces.results.schema import Result, Results, rate
from traces.results.values import Values, size_bytes

TOOL = "s3-benchmark"

_LINE = re.compile(
    r"Loop (\d+): (PUT|GET|DELETE) time[ =]([\d.]+) secs,"
    r"(?: objects(?: =)? (\d+), speed(?: =)? ([\d.]+ ?[KMGT]?) ?B/sec,)?"
    r" ([\d.]+) (?:operations|deletes)/sec\.?(?:,? Slowdowns ?= ?(\d+))?"
)
_PARAMETERS = re.compile(r"Parameters:? *\{? *([^\n}]*)")
_PARAMETER = re.compile(r"(\w+)=([^,\s}]+)")


def _is_printed(name: str, head: str) -> bool:
    return _LINE.search(head) is not None


def _read(text: str, where: str) -> Results:
    rows = []
    for line in _LINE.finditer(text):
        before = list(_PARAMETERS.finditer(text, 0, line.start()))
        given = dict(_PARAMETER.findall(before[-1][1])) if before else {}
        rows.append(_row(line, Values(given, f"{where}: parameters"), where))
    return Results(tuple(rows))


def _row(line: re.Match[str], given: Values, where: str) -> Result:
    loop, mode, took, objects, speed, printed, slowdowns = line.groups()
    figures = Values(
        {"loop": loop, "time": took, "objects": objects, "rate": printed, "slowdowns": slowdowns},
        f"{where}: loop {loop}, {mode}",
    )
    took_s, done, failed = figures.number("time"), figures.count("objects"), figures.count("slowdowns")
    size = size_bytes(given.text("size"))
    exact = rate(done, took_s)
    return Result(
        tool=TOOL,
        run=figures.count("loop") or 0,
        phase=f"loop {figures.count('loop')}, {mode}",
        op=mode,
        clients=given.count("threads"),
        object_size_bytes=size,
        duration_s=took_s,
        requests=None if done is None else done + (failed or 0),
        errors=failed,
        ops_per_s=exact if exact is not None else figures.number("rate"),
        bytes_per_s=size_bytes(f"{speed}B") if speed else None,
        settings=given.data,
    )


FORMAT = ResultFormat("results of s3-benchmark (printed)", _is_printed, _read)
