"""warp 1.0 and later: its default result (``.json.zst``, version 2).

Layout: minio/warp, pkg/aggregate/live.go (Realtime, LiveAggregate, RequestSegment), requests.go, ttfb.go,
throughput.go; cli/benchmark.go writes it, and prints the same with its option for JSON. The throughput is that without
the first and last two seconds. Durations are of windows of 10 s of each client; `traces.results.formats.windows` says
what follows for all requests; warp itself prints the means of the windows' quantiles, which are in ``more_figures``.
The duration of a failed request counts, too.

The benchmarks below first upload objects; these PUTs are in the file if warp had no display (its options for JSON or
silence).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from traces.errors import InputError
from traces.results.formats.format import ResultFormat
from traces.results.formats.windows import LatencyWindow, pooled
from traces.results.schema import Latency, Result, Results, mean_size, rate
from traces.results.values import Values, documents, size_bytes

TOOL = "warp"
OPS = {"GET": "GET", "PUT": "PUT", "DELETE": "DELETE", "LIST": "LIST", "STAT": "HEAD"}
PREPARED_BY_PUT = ("get", "stat", "list", "delete", "retention", "multipart")
"""Benchmarks that record the uploads of their preparation (pkg/bench)."""

PREPARATION = "preparation"

_MS = 1e-3
_VERSION = 2
_FLAG = re.compile(r"--([\w.-]+)=(\S*)")
_DURATIONS = {"p50": "dur_median_millis", "p90": "dur_90_millis", "p99": "dur_99_millis"}
_FIRST_BYTES = {
    "p25": "p25_millis", "p50": "median_millis", "p75": "p75_millis", "p90": "p90_millis", "p99": "p99_millis",
}  # fmt: skip
_ONE_WINDOW = "requests, with failed ones"
_POOLED = f"{_ONE_WINDOW}; quantiles estimated from windows of 10 s"
_SIZES = f"{_ONE_WINDOW}; objects of several sizes have no quantiles"


def _is_warp(name: str, head: str) -> bool:
    return bool(re.search(r'"v"\s*:\s*\d', head)) and '"total_requests"' in head and '"total_objects"' in head


def _read(text: str, where: str) -> Results:
    rows: list[Result] = []
    notes: list[str] = []
    for number, run in enumerate(documents(text, where), 1):
        run.need("v", "total", "by_op_type")
        if (version := run.count("v")) != _VERSION:
            raise InputError(f"{run.where}: v is {version}; only version {_VERSION} of warp's results is known")
        command = run.text("commandline") or ""
        words = command.split()
        verb = words[1] if len(words) > 1 else ""
        for name, figures in run.parts("by_op_type"):
            rows.append(_row(name, figures, run, number, verb, dict(_FLAG.findall(command)), notes))
        if not run.data.get("final", True):
            notes.append("the benchmark was in progress when this was written")
    return Results(tuple(rows), tuple(notes))


def _row(
    name: str, figures: Values, run: Values, number: int, verb: str, flags: Mapping[str, str], notes: list[str]
) -> Result:
    figures.need("total_requests", "throughput")
    requests, objects = figures.count("total_requests"), figures.count("total_objects")
    per_request = objects / requests if objects and requests else None
    prepared = name == "PUT" and verb in PREPARED_BY_PUT
    throughput, windows = figures.part("throughput"), list(_windows(figures))
    counted = sum(_requests_in(window) for window in windows)
    if requests and counted and counted < requests:
        notes.append(f"{name}: the durations are of {counted:,} of {requests:,} requests")
    latency, basis, more = _latency(windows)
    first_byte, more_first = _first_byte(windows)
    took_s = _between(figures, "start_time", "end_time")
    return Result(
        tool=TOOL,
        tool_version=run.text("warp_version"),
        name=verb or None,
        run=number,
        phase=PREPARATION if prepared else verb or None,
        started_at=figures.text("start_time"),
        op=OPS.get(name, name),
        clients=figures.count("concurrency") or None,
        client_hosts=_length(figures, "clients"),
        object_size_bytes=mean_size(figures.number("total_bytes"), objects),
        part_size_bytes=size_bytes(flags.get("part.size"), 1000) or None,
        object_count=_objects(flags),
        objects_per_request=per_request if per_request is not None and per_request != 1 else None,
        duration_s=took_s,
        requests=requests,
        errors=figures.count("total_errors"),
        ops_per_s=_ops_per_s(throughput, per_request),
        bytes_per_s=rate(throughput.number("bytes"), throughput.number("measure_duration_millis", _MS)),
        latency=latency,
        latency_basis=basis,
        first_byte=first_byte,
        settings={"commandline": run.text("commandline"), "hosts": figures.data.get("hosts")},
        more_figures=more | more_first | _segments(throughput),
    )


def _ops_per_s(throughput: Values, per_request: float | None) -> float | None:
    """Return the rate that warp prints: of objects, if a request has one, else of the requests that began."""
    objects, begun = throughput.number("objects"), throughput.number("ops")
    done = objects if per_request == 1 and objects is not None else begun
    return rate(done, throughput.number("measure_duration_millis", _MS))


def _segments(throughput: Values) -> dict[str, float | None]:
    segmented = throughput.part("segmented")
    figures: dict[str, float | None] = {"throughput_duration_s": throughput.number("measure_duration_millis", _MS)}
    for name in ("fastest", "median", "slowest"):
        figures[f"{name}_second_ops_per_s"] = segmented.number(f"{name}_ops")
        figures[f"{name}_second_bytes_per_s"] = segmented.number(f"{name}_bps")
    return figures


def _windows(figures: Values) -> Iterator[Values]:
    """Yield the statistics of each window of each client, of one size or of several."""
    requests = figures.part("requests_by_client")
    for client in requests.data:
        for window in requests.listed(client):
            for kind in ("single_sized_requests", "multi_sized_requests"):
                found = window.part(kind)
                if found.data and not found.data.get("skipped"):
                    yield found


def _requests_in(window: Values) -> int:
    return window.count("requests") or 0


def _latency(windows: Sequence[Values]) -> tuple[Latency, str | None, dict[str, Any]]:
    single = [
        LatencyWindow(_requests_in(one), _statistics(one, "dur_avg_millis", _DURATIONS))
        for one in windows
        if "dur_avg_millis" in one.data and _requests_in(one)
    ]
    if single:
        latency, more = _of_all(single, "latency")
        return latency, _POOLED if len(single) > 1 else _ONE_WINDOW, more
    ranges = [each for one in windows for each in one.listed("by_size") if _requests_in(each)]
    of_sizes = [
        LatencyWindow(_requests_in(each), Latency(mean_s=each.number("avg_duration_millis", _MS))) for each in ranges
    ]
    if not of_sizes:
        return Latency(), None, {}
    return pooled(of_sizes)[0], _SIZES, {}


def _first_byte(windows: Sequence[Values]) -> tuple[Latency, dict[str, Any]]:
    parts = [
        one for window in windows for one in ([window] if "by_size" not in window.data else window.listed("by_size"))
    ]
    found = [
        LatencyWindow(_requests_in(one), _statistics(one.part("first_byte"), "average_millis", _FIRST_BYTES))
        for one in parts
        if one.part("first_byte").data and _requests_in(one)
    ]
    return _of_all(found, "first_byte") if found else (Latency(), {})


def _statistics(figures: Values, mean: str, quantiles: Mapping[str, str]) -> Latency:
    return Latency(
        mean_s=figures.number(mean, _MS),
        stddev_s=figures.number("std_dev_millis", _MS),
        min_s=figures.number("fastest_millis", _MS),
        max_s=figures.number("slowest_millis", _MS),
        quantiles_s={name: figures.number(field, _MS) for name, field in quantiles.items()},
    )


def _of_all(windows: Sequence[LatencyWindow], prefix: str) -> tuple[Latency, dict[str, Any]]:
    """Return the statistics of all requests; bounds of the quantiles, and the means of the windows that warp prints."""
    latency, bounds = pooled(windows)
    more: dict[str, Any] = {f"{prefix}_{name}_s_between": between for name, between in bounds.items()}
    for name in bounds:
        values = [window.latency.quantiles_s[name] or 0.0 for window in windows]
        more[f"{prefix}_{name}_s_mean_of_windows"] = sum(values) / len(values)
    return latency, more


def _between(figures: Values, begin: str, end: str) -> float | None:
    """Return the time between two calendar times, seconds; None if one is absent.

    Raises:
        InputError: one is no time, or the end is before the begin.
    """
    times = []
    for name in (begin, end):
        text = figures.text(name)
        if text is None:
            return None
        try:
            times.append(datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text)))
        except ValueError as error:
            raise InputError(f"{figures.where}: {name} is {text!r}; a time is needed") from error
    try:
        took_s = (times[1] - times[0]).total_seconds()
    except TypeError as error:
        raise InputError(f"{figures.where}: one of {begin} and {end} has no time zone") from error
    if took_s < 0:
        raise InputError(f"{figures.where}: {end} is before {begin}")
    return took_s


def _length(figures: Values, name: str) -> int | None:
    value = figures.data.get(name)
    return len(value) if isinstance(value, list) and value else None


def _objects(flags: Mapping[str, str]) -> int | None:
    text = flags.get("objects", "")
    return int(text) if text.isdecimal() and len(text) < 18 else None


FORMAT = ResultFormat("results of warp", _is_warp, _read)
