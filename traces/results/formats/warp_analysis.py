"""warp before 1.0: the JSON of its analysis, also that of all requests by later versions.

Layout: minio/warp, pkg/aggregate/aggregate.go (Aggregated, Operation), requests.go, ttfb.go; throughput.go before
commit 483f844 (2025-01-30) has rates (``average_ops``), later amounts. Statistics are of all requests in the time in
which all threads ran, without failed ones; durations before that commit are rounded to milliseconds.
"""

from __future__ import annotations

from traces.results.formats.format import ResultFormat
from traces.results.formats.warp import OPS, TOOL
from traces.results.formats.windows import LatencyWindow, pooled
from traces.results.schema import Latency, Result, Results, rate
from traces.results.values import Values, documents

_MS = 1e-3
_PERCENTS = {"p25": 25, "p50": 50, "p60": 60, "p75": 75, "p80": 80, "p90": 90, "p95": 95, "p99": 99}
_NAMED = {"p50": "median", "p90": "90", "p99": "99"}


def _is_analysis(name: str, head: str) -> bool:
    return all(f'"{key}"' in head for key in ("operations", "objects_per_operation", "throughput", "concurrency")) or (
        '"mixed_server_stats"' in head and '"operations"' in head
    )


def _read(text: str, where: str) -> Results:
    rows: list[Result] = []
    notes: list[str] = []
    for run, analysis in enumerate(documents(text, where), 1):
        analysis.need("operations")
        for operation in analysis.listed("operations"):
            operation.need("type")
            if operation.data.get("skipped"):
                notes.append(f"{operation.text('type')}: warp had too few samples for figures")
            else:
                rows.append(_row(operation, run, analysis.text("type")))
    return Results(tuple(rows), tuple(notes))


def _row(operation: Values, run: int, kind: str | None) -> Result:
    operation.need("throughput")
    name = operation.text("type") or ""
    throughput, single = operation.part("throughput"), operation.part("single_sized_requests")
    several = operation.part("multi_sized_requests")
    ranges = [each for each in several.listed("by_size") if each.count("requests")]
    latency, basis = _single(single), "successful requests"
    if not single.data and ranges:
        means = [
            LatencyWindow(each.count("requests") or 0, Latency(mean_s=each.number("avg_duration_millis", _MS)))
            for each in ranges
        ]
        latency, basis = pooled(means)[0], "successful requests; objects of several sizes have no quantiles"
    first_byte = single.part("first_byte")
    per_request = operation.number("objects_per_operation")
    return Result(
        tool=TOOL,
        run=run,
        phase=kind if kind == "mixed" else name,
        started_at=operation.text("start_time"),
        op=OPS.get(name, name),
        clients=operation.count("concurrency") or None,
        client_hosts=operation.count("clients") or None,
        object_size_bytes=single.count("obj_size") or several.count("avg_obj_size") or None,
        objects_per_request=per_request if per_request is not None and per_request > 1 else None,
        duration_s=throughput.number("measure_duration_millis", _MS),
        requests=operation.count("n"),
        errors=operation.count("errors"),
        ops_per_s=_ops_per_s(throughput, per_request),
        bytes_per_s=_bytes_per_s(throughput),
        latency=latency,
        latency_basis=basis if single.data or ranges else None,
        first_byte=_first_byte(first_byte),
        settings={"hosts": operation.data.get("host_names")},
    )


def _ops_per_s(throughput: Values, per_request: float | None) -> float | None:
    """Return requests per second. Earlier versions have a rate of objects; a batch of them is a request."""
    objects_per_s = throughput.number("average_ops")
    if objects_per_s is not None:
        return objects_per_s / per_request if per_request else objects_per_s
    done = throughput.number("objects" if per_request in (None, 1) else "ops")
    return rate(done, throughput.number("measure_duration_millis", _MS))


def _bytes_per_s(throughput: Values) -> float | None:
    given = throughput.number("average_bps")
    amount, measured_s = throughput.number("bytes"), throughput.number("measure_duration_millis", _MS)
    return given if given is not None else rate(amount, measured_s)


def _single(figures: Values) -> Latency:
    if not figures.data or figures.data.get("skipped"):
        return Latency()
    percentiles = _listed(figures, "dur_percentiles_millis")
    named = {name: figures.number(f"dur_{part}_millis", _MS) for name, part in _NAMED.items()}
    return Latency(
        mean_s=figures.number("dur_avg_millis", _MS),
        stddev_s=figures.number("std_dev_millis", _MS),
        min_s=figures.number("fastest_millis", _MS),
        max_s=figures.number("slowest_millis", _MS),
        quantiles_s=percentiles | {name: value for name, value in named.items() if value is not None},
    )


def _first_byte(figures: Values) -> Latency:
    named = {"p25": "p25", "p50": "median", "p75": "p75", "p90": "p90", "p99": "p99"}
    quantiles = {name: figures.number(f"{part}_millis", _MS) for name, part in named.items()}
    return Latency(
        mean_s=figures.number("average_millis", _MS),
        stddev_s=figures.number("std_dev_millis", _MS),
        min_s=figures.number("fastest_millis", _MS),
        max_s=figures.number("slowest_millis", _MS),
        quantiles_s=_listed(figures, "percentiles_millis") | {n: v for n, v in quantiles.items() if v is not None},
    )


def _listed(figures: Values, name: str) -> dict[str, float | None]:
    """Return the quantiles in a list with one for each percent from 0 to 100; empty if there is none."""
    values = figures.data.get(name)
    if not isinstance(values, list) or len(values) != 101:
        return {}
    each = Values({str(i): value for i, value in enumerate(values)}, f"{figures.where}: {name}")
    return {quantile: each.number(str(percent), _MS) for quantile, percent in _PERCENTS.items()}


FORMAT = ResultFormat("analysis of warp", _is_analysis, _read)
