"""COSBench: the result CSV of a workload, its performance matrix, and its histogram of response times.

Layout: intel-cloud/cosbench, package com.intel.cosbench.exporter: CSVWorkloadExporter (``w1-name.csv``),
CSVMatrixExporter (``matrix.csv`` of the controller, with workers and configuration), CSVLatencyExporter
(``w1-name-rt-histogram.csv``); and com.intel.cosbench.bench: Metrics, Histogram, Counter. ``Op-Count`` has the
successful samples, and ``Succ-Ratio`` their fraction of all. Times are milliseconds; quantiles are upper ends of bins
of 10 ms; the bandwidth is bytes per second. ``Avg-ProcTime`` is the response time without the transfer of data.

The histogram has times up to 500 s; its last bin is open.
"""

from __future__ import annotations

from collections.abc import Sequence

from traces.errors import InputError
from traces.results.formats.format import ResultFormat
from traces.results.schema import QUANTILES, Latency, Result, Results, mean_size, percent_of
from traces.results.values import Values, header_of, table

TOOL = "COSBench"
OPS = {"read": "GET", "write": "PUT", "filewrite": "PUT", "delete": "DELETE", "list": "LIST", "head": "HEAD"}

_OF_CONTAINERS = ("init", "dispose")  # their writes and deletes are of buckets
_BEYOND_THE_BENCHMARK = {"init": "preparation", "prepare": "preparation", "cleanup": "cleanup", "dispose": "cleanup"}
_MS = 1e-3
_BASIS = "successful requests; quantiles: upper ends of bins of 10 ms"
_WORKLOAD = ("Stage", "Op-Name", "Op-Type", "Op-Count", "Byte-Count", "Avg-ResTime", "Throughput", "Bandwidth")
_MATRIX = ("Id", "Op-Name", "Op-Count", "Byte-Count", "Worker-Count", "Avg-ResTime", "Throughput", "Bandwidth")
_QUANTILES = {"p60": "60%-ResTime", "p80": "80%-ResTime", "p90": "90%-ResTime", "p95": "95%-ResTime"}


def _is_workload(name: str, head: str) -> bool:
    return set(_WORKLOAD) <= set(header_of(head))


def _is_matrix(name: str, head: str) -> bool:
    return set(_MATRIX) <= set(header_of(head))


def _is_histogram(name: str, head: str) -> bool:
    names = header_of(head)
    return names[:1] == ["ResTime"] and len(names) > 2 and set(names[2::2]) == {"(%)"}


def _read(text: str, where: str) -> Results:
    rows, empty = [], []
    for line in table(text, where):
        stage = line.text("Stage") or line.text("Id") or ""
        if line.text("Op-Name") is None and line.number("Op-Count") is None:
            empty.append(stage)
        else:
            rows.append(_row(line, stage))
    return Results(tuple(rows), tuple(f"stage {stage} has no operations" for stage in empty))


def _row(line: Values, stage: str) -> Result:
    line.need("Op-Name", "Op-Count", "Byte-Count", "Avg-ResTime", "Throughput", "Bandwidth")
    name, kind = line.text("Op-Name") or "", line.text("Op-Type") or ""
    done, moved, ratio = line.count("Op-Count"), line.number("Byte-Count"), _ratio(line)
    beyond = _BEYOND_THE_BENCHMARK.get(kind or name.partition("-")[0])
    requests = round(done / ratio) if done is not None and ratio else None
    return Result(
        tool=TOOL,
        name=name,
        phase=stage if beyond is None else f"{stage}, {beyond}",
        op=_op(name, kind),
        clients=line.count("Worker-Count"),
        object_size_bytes=mean_size(moved, done),
        requests=requests,
        errors=None if requests is None or done is None else requests - done,
        ops_per_s=line.number("Throughput"),
        bytes_per_s=line.number("Bandwidth"),
        latency=Latency(
            mean_s=line.number("Avg-ResTime", _MS),
            max_s=_time(line, "100%-ResTime"),
            quantiles_s={q: _time(line, column) for q, column in {**_QUANTILES, "p99": "99%-ResTime"}.items()},
        ),
        latency_basis=_BASIS if line.number("Avg-ResTime") is not None else None,
        settings={"status": line.text("Status"), "config": line.text("Config-Info")},
        more_figures={"processing_mean_s": line.number("Avg-ProcTime", _MS), "success_ratio": ratio},
    )


def _op(name: str, kind: str) -> str:
    """Return the operation; of containers, the name that COSBench gives it, such as ``init-write``."""
    if kind in _OF_CONTAINERS or name.startswith(tuple(f"{prefix}-" for prefix in _OF_CONTAINERS)):
        return name
    return OPS.get(name.rpartition("-")[2], name)


def _ratio(line: Values) -> float | None:
    """Return ``Succ-Ratio``, a percentage, as a fraction; None if it is absent."""
    text = line.text("Succ-Ratio")
    fraction = Values({"Succ-Ratio": None if text is None else text.rstrip("%")}, line.where).number("Succ-Ratio", 0.01)
    if fraction is not None and fraction > 1:
        raise InputError(f"{line.where}: Succ-Ratio is {text}; at most 100% is needed")
    return fraction


def _time(line: Values, column: str) -> float | None:
    """Return a time of the histogram; None if it is absent, or beyond the last bin."""
    value = line.number(column, _MS)
    return None if value is None or value > 1e12 else value


def _read_histogram(text: str, where: str) -> Results:
    lines = table(_with_distinct_names(text), where)
    names = header_of(text)[1::2]
    rows = []
    for i, name in enumerate(names):
        counts = [line.count(f"count {i}") or 0 for line in lines]
        if (total := sum(counts)) > 0:
            ends = [_upper_end(line) for line in lines]
            rows.append(_histogram_row(name, total, counts, ends))
    return Results(tuple(rows))


def _with_distinct_names(text: str) -> str:
    """Return the table with a name of its own for each column: operations of several works may have the same name."""
    first, _, rest = text.lstrip("\ufeff").partition("\n")
    count = len(header_of(first)) // 2
    return ",".join(["ResTime", *(f"count {i},ratio {i}" for i in range(count))]) + "\n" + rest


def _histogram_row(name: str, total: int, counts: Sequence[int], ends: Sequence[float | None]) -> Result:
    stage, _, op = name.rpartition("-")
    return Result(
        tool=TOOL,
        name=name,
        phase=stage,
        op=OPS.get(op, op),
        requests=total,
        latency=Latency(
            max_s=_quantile(counts, ends, total, 100),
            quantiles_s={q: _quantile(counts, ends, total, percent_of(q)) for q in QUANTILES},
        ),
        latency_basis=_BASIS,
    )


def _upper_end(line: Values) -> float | None:
    """Return the upper end of a bin such as ``10~20``; None for the open one."""
    low, sign, high = (line.text("ResTime") or "").partition("~")
    if not sign or not low:
        raise InputError(f"{line.where}: ResTime is {low!r}; a bin such as 10~20 is needed")
    return None if high == "+INF" else Values({"ResTime": high}, line.where).number("ResTime", _MS)


def _quantile(counts: Sequence[int], ends: Sequence[float | None], total: int, percent: float) -> float | None:
    """Return the upper end of the bin that has the quantile."""
    reached = 0
    for count, end in zip(counts, ends, strict=True):
        reached += count
        if count and reached * 100 >= total * percent:
            return end
    return None


WORKLOAD = ResultFormat("results of COSBench", _is_workload, _read)
MATRIX = ResultFormat("performance matrix of COSBench", _is_matrix, _read)
HISTOGRAM = ResultFormat("histogram of COSBench", _is_histogram, _read_histogram)
