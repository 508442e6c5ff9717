"""fio 3: its output formats json and json+, also with text before or after, and of several hosts.

Layout: axboe/fio, stat.c (show_thread_status_json, add_ddir_status_json), client.c (client_stats with hostname, the sum
as ``All clients``), engines/http.c (GET, PUT, DELETE). A job has a row for each direction with requests. The quantiles
are of the completion latency (clat) by default, or of the total (lat); mean and extremes are of the same. A quantile in
the last bin of fio's histogram, from 17.1 s on, is left out. With group_reporting a row is a group, with the number of
its first job's processes as clients. The size of a request is the mean. fio 2 has no nanoseconds and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traces.errors import InputError
from traces.results.formats.format import ResultFormat
from traces.results.open_bins import note_of_open, without_open
from traces.results.schema import Latency, Result, Results, mean_size
from traces.results.values import Values, documents

TOOL = "fio"
OF_HTTP = {"read": "GET", "write": "PUT", "trim": "DELETE"}
"""Operations of the engine ``http``."""

_DIRECTIONS = ("read", "write", "trim", "mixed", "sync")
_NS = 1e-9
_LAST_BIN_S = 17.112760320
"""What fio reports for a quantile in the last, open bin of its histogram (stat.h: 29 groups of 64 bins)."""
_LAST_BIN_S = 17.112760320  # of fio's histograms, which have 29 groups of 64 bins (stat.h, FIO_IO_U_PLAT_GROUP_NR)
_KINDS = (("clat_ns", "completion latency (clat)"), ("lat_ns", "total latency (lat)"))
_QUANTILES = {
    "25.000000": "p25", "50.000000": "p50", "60.000000": "p60", "75.000000": "p75", "80.000000": "p80",
    "90.000000": "p90", "95.000000": "p95", "99.000000": "p99", "99.900000": "p99_9", "99.990000": "p99_99",
}  # fmt: skip


def _is_fio(name: str, head: str) -> bool:
    return '"fio version"' in head and ('"jobs"' in head or '"client_stats"' in head)


def _read(text: str, where: str) -> Results:
    rows, notes = [], []
    reports = list(documents(text, where))
    if len(reports) > 1:
        notes.append(f"{len(reports)} reports follow each other; those of a status interval are cumulative")
    for run, report in enumerate(reports, 1):
        if "fio version" not in report.data:
            raise InputError(f"{report.where}: fio version is missing")
        version = (report.text("fio version") or "").removeprefix("fio-")
        for job in [*report.listed("jobs"), *report.listed("client_stats")]:
            found = list(_job(job, version, report, run))
            rows += found
            name = job.text("jobname") or job.where
            notes += [note for row in found if (note := note_of_open(row, f"job {name}, {row.op}"))]
            if not found:
                notes.append(f"job {name} has no requests")
            if error := job.count("error"):
                notes.append(f"job {name} ended with the error {error}")
    return Results(tuple(rows), tuple(notes))


def _job(job: Values, version: str, report: Values, run: int) -> Iterator[Result]:
    options = {**report.part("global options").data, **job.part("job options").data}
    given = Values({name: "1" if value is None else value for name, value in options.items()}, f"{job.where}: options")
    for direction in _DIRECTIONS:
        figures = job.part(direction)
        if figures.number("total_ios"):
            yield _row(direction, figures, given, job, version, report, run)


def _row(
    direction: str, figures: Values, options: Values, job: Values, version: str, report: Values, run: int
) -> Result:
    if "clat_ns" not in figures.data and "lat_ns" not in figures.data:
        raise InputError(
            f"{figures.where}: clat_ns and lat_ns are missing; fio 3 or later is needed, this is {version}"
        )
    latency, basis, more = _latency(figures)
    beyond = [name for name, value in latency.quantiles_s.items() if (value or 0.0) > _LAST_BIN_S - _NS]
    latency, at_least = without_open(latency, beyond)
    grouped = "group_reporting" in options.data
    jobs, mix = options.count("numjobs") or 1, options.number("rwmixread", 0.01)
    engine, mode = options.text("ioengine"), (options.text("rw") or options.text("readwrite") or "").split(":")[0]
    done = figures.count("total_ios")
    return Result(
        tool=TOOL,
        tool_version=version or None,
        name=job.text("jobname"),
        run=run,
        phase=f"group {job.count('groupid')}" if job.count("groupid") is not None else None,
        started_at=report.text("time"),
        op=OF_HTTP.get(direction, direction) if engine == "http" else direction,
        clients=jobs if grouped else 1,
        queue_depth=options.count("iodepth"),
        object_size_bytes=mean_size(figures.number("io_bytes"), done),
        read_fraction=(0.5 if mix is None else min(mix, 1.0)) if mode in ("rw", "randrw", "readwrite") else None,
        duration_s=figures.number("runtime", 1e-3),
        requests=done,
        ops_per_s=figures.number("iops"),
        bytes_per_s=_bytes_per_s(figures),
        latency=latency,
        latency_basis=basis,
        settings={**options.data, "hostname": job.data.get("hostname"), "error": job.count("error") or None},
        more_figures=more | at_least | {f"{name}s": figures.number(name) or None for name in ("short_ios", "drop_ios")},
    )


def _latency(figures: Values) -> tuple[Latency, str, dict[str, Any]]:
    """Return the latency whose quantiles are there, what it is of, and the means of the others."""
    kinds = [(name, basis, figures.part(name)) for name, basis in _KINDS if name in figures.data]
    with_quantiles = [kind for kind in kinds if kind[2].part("percentile").data]
    name, basis, found = (with_quantiles or kinds[::-1])[0]
    percentiles = found.part("percentile")
    more: dict[str, Any] = {
        f"latency_p{percent.rstrip('0').rstrip('.').replace('.', '_')}_s": percentiles.number(percent, _NS)
        for percent in percentiles.data
        if percent not in _QUANTILES and (percentiles.number(percent, _NS) or 0.0) < _LAST_BIN_S
    }
    for other in ("slat_ns", "clat_ns", "lat_ns"):
        if other != name:
            more[f"{other.removesuffix('_ns')}_mean_s"] = figures.part(other).number("mean", _NS) or None
    latency = Latency(
        mean_s=found.number("mean", _NS),
        stddev_s=found.number("stddev", _NS),
        min_s=found.number("min", _NS),
        max_s=found.number("max", _NS),
        quantiles_s={_QUANTILES[p]: percentiles.number(p, _NS) for p in percentiles.data if p in _QUANTILES},
    )
    return latency, basis, more


def _bytes_per_s(figures: Values) -> float | None:
    exact = figures.number("bw_bytes")
    return exact if exact is not None else figures.number("bw", 1024)


FORMAT = ResultFormat("results of fio", _is_fio, _read)
