"""s3bench: what it prints.

Layout: igneous-systems/s3bench, s3bench.go (``Params.String``, ``Result.String``); its forks add lines. A run repeats
its parameters before the summaries of writes and reads. MB are MiB, printed with four digits (object size), three
(transferred) and two (throughput), so rates are computed from the numbers of requests and the duration. Only successful
requests have latencies. The quantile p of n latencies is the one of rank floor(p n), counted from 0.
"""

from __future__ import annotations

import re

from traces.results.formats.format import ResultFormat
from traces.results.schema import Latency, Result, Results, rate
from traces.results.values import Values

TOOL = "s3bench"
OPS = {"Write": "PUT", "Read": "GET"}

_MIB = 2**20
_SUMMARY = re.compile(r"^Results Summary for (\w+) Operation\(s\)", re.MULTILINE)
_PARAMETERS = re.compile(r"^(endpoint\(s\)|\w+): +(.*\S)", re.MULTILINE)
_TIME = re.compile(r"^\w+ times (Max|Min|\d+(?:\.\d+)?th %ile): +(\S+) s", re.MULTILINE)
_FIGURE = re.compile(r"^(Total Transferred|Total Throughput|Total Duration|Number of Errors): +(\S+)", re.MULTILINE)
_COLUMNS = {"25th %ile": "p25", "50th %ile": "p50", "75th %ile": "p75", "90th %ile": "p90", "99th %ile": "p99"}
_HALF_DIGIT = 0.00005  # of a MiB: the rounding of the printed object size
_KIB = 1024


def _is_s3bench(name: str, head: str) -> bool:
    return bool(_SUMMARY.search(head)) or (
        "Test parameters" in head and "numSamples:" in head and "numClients:" in head
    )


def _read(text: str, where: str) -> Results:
    rows, at, parameters = [], 0, Values({}, where)
    summaries = list(_SUMMARY.finditer(text))
    Values({"the summary (Results Summary for …)": summaries or None}, where).need(
        "the summary (Results Summary for …)"
    )
    for i, summary in enumerate(summaries):
        given = dict(_PARAMETERS.findall(text, at, summary.start()))
        if "numSamples" in given:
            parameters = Values(given, f"{where}: test parameters")
        end = summaries[i + 1].start() if i + 1 < len(summaries) else len(text)
        run = 1 + sum(earlier[1] == summary[1] for earlier in summaries[:i])
        rows.append(_row(summary[1], text[summary.end() : end], parameters, where, run))
        at = summary.end()
    return Results(tuple(rows))


def _row(what: str, text: str, parameters: Values, where: str, run: int) -> Result:
    figures = Values(dict(reversed(_FIGURE.findall(text))), f"{where}: summary of {what}")
    figures.need("Total Transferred", "Total Duration", "Number of Errors")
    times = Values(dict(reversed(_TIME.findall(text))), figures.where)
    samples, errors, took_s = (
        parameters.count("numSamples"),
        figures.count("Number of Errors"),
        figures.number("Total Duration"),
    )
    size = _object_size(parameters)
    done = None if samples is None or errors is None else max(samples - errors, 0)
    moved = figures.number("Total Transferred", _MIB) if done is None or size is None else done * size
    others = {name: times.number(name) for name in times.data if name not in ("Max", "Min", *_COLUMNS)}
    return Result(
        tool=TOOL,
        run=run,
        phase=what,
        op=OPS.get(what, what),
        clients=parameters.count("numClients"),
        object_size_bytes=size,
        object_count=samples,
        duration_s=took_s,
        requests=samples,
        errors=errors,
        ops_per_s=rate(done, took_s),
        bytes_per_s=rate(moved, took_s) if what in OPS else None,
        latency=Latency(
            min_s=times.number("Min"),
            max_s=times.number("Max"),
            quantiles_s={column: times.number(name) for name, column in _COLUMNS.items()},
        ),
        latency_basis="successful requests" if times.data else None,
        settings=parameters.data,
        more_figures={f"latency_p{name.split('th')[0]}_s": value for name, value in others.items()},
    )


def _object_size(parameters: Values) -> int | None:
    """Return the object size: the whole number of KiB that is printed like this, if there is one."""
    printed = parameters.text("objectSize")
    if printed is None:
        return None
    mib = Values({"objectSize": printed.removesuffix("MB").strip()}, parameters.where).number("objectSize")
    if mib is None or mib * _MIB >= 2**63:
        return None
    whole = round(mib * _MIB / _KIB) * _KIB
    return whole if abs(whole - mib * _MIB) <= _HALF_DIGIT * _MIB else round(mib * _MIB)


FORMAT = ResultFormat("results of s3bench", _is_s3bench, _read)
