"""elbencho: its CSV and JSON result files.

Layout: breuner/elbencho, source/Statistics.cpp (printPhaseResultsToStringVec, printPhaseResultsAsJSON),
source/ProgArgs.cpp (getAsStringVec), source/LatencyHistogram.cpp (getAsPropertyTreeForJSONFile), docs/csv-docs.md. Each
phase has a row or a JSON object. An *entry* is an object or a file, an *IO* one of its blocks or parts. Figures *last*
are of the whole phase, those *first* until the fastest thread was done. Threads are per host, directories per thread,
files per directory. Entries of listings and batch deletes are keys, so their requests are not known. With a mix, reads
are in fields of their own. Rates are rounded down to whole numbers, so low ones are computed from counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from traces.errors import InputError
from traces.results.formats.format import ResultFormat
from traces.results.open_bins import note_of_open, without_open
from traces.results.schema import QUANTILES, Latency, Result, Results, percent_of
from traces.results.values import Values, documents, header_of, table

TOOL = "elbencho"
OPS = {
    "WRITE": "PUT",
    "READ": "GET",
    "RMOBJECTS": "DELETE",
    "HEADOBJ": "HEAD",
    "LISTOBJ": "LIST",
    "LISTOBJ_P": "LIST",
}
"""Phases of a benchmark of S3 that are operations of an object store."""

_OF_KEYS = ("LISTOBJ", "LISTOBJ_P", "MULTIDEL")
_OF_S3 = ("bucket", "object")  # path types
_US = 1e-6
_MIB = 2**20
_MIX = re.compile(r"RWMIX(\d{1,3})")
_RANGE = re.compile(r"([\d.]+)-([\d.]+)us")
_PLAIN = "whole entries"
_BLOCKS = "blocks (IOs)"
_ROUNDING = 1 + 1e-9
_BINS = "; quantiles: upper ends of bins, four to a doubling"


def _is_csv(name: str, head: str) -> bool:
    return {"operation", "path type", "time ms [last]", "entries/s [last]", "IOPS [last]"} <= set(header_of(head))


def _is_json(name: str, head: str) -> bool:
    return '"phase_type"' in head[:4096] and '"phase_id"' in head[:4096]


def _entry_rate(printed: float | None, done: int | None, duration_s: float | None) -> float | None:
    """Return entries per second: as printed, a whole number, unless the count over the milliseconds is more precise."""
    if printed is None or done is None or not duration_s or printed >= duration_s * 1000:
        return printed
    return done / duration_s


# CSV


def _read_csv(text: str, where: str) -> Results:
    rows = []
    for run, line in enumerate(table(text, where), 1):
        line.need("operation", "path type", "time ms [last]")
        rows += [row for row in (_csv_row(line, run, ""), _csv_row(line, run, "rwmix read ")) if row is not None]
    return Results(tuple(rows))


def _csv_row(line: Values, run: int, prefix: str) -> Result | None:
    """Return the row of a phase, or of the reads of its mix; None if it has none."""
    done, took_s = line.count(f"{prefix}entries [last]"), line.number("time ms [last]", 1e-3)
    entries = _entry_rate(line.number(f"{prefix}entries/s [last]"), done, took_s)
    ios = line.number(f"{prefix}IOPS [last]")
    if prefix and entries is None and ios is None:
        return None
    size, mib_per_s = line.count("file size"), line.number(f"{prefix}MiB/s [last]", _MIB)
    unit = "Ent" if entries is not None else "IO"
    exact = mib_per_s is not None and mib_per_s < 100 * _MIB and entries is not None and size is not None
    return _phase(
        line,
        names=_CSV,
        run=run,
        mixed_read=bool(prefix),
        has_mix=line.number("rwmix read IOPS [last]") is not None
        or line.number("rwmix read entries/s [last]") is not None,
        duration_s=took_s,
        requests=done,
        ops_per_s=entries if entries is not None else ios,
        bytes_per_s=entries * size if exact and entries is not None and size is not None else mib_per_s,
        latency=_csv_latency(line, f"{prefix}{unit}"),
        latency_basis=_PLAIN if unit == "Ent" else _BLOCKS,
        more={
            "io_latency_mean_s": line.number(f"{prefix}IO lat us [avg]", _US),
            "ios_per_s": ios,
            "first_done_s": line.number("time ms [first]", 1e-3),
            "first_done_ops_per_s": line.number(f"{prefix}entries/s [first]"),
            "first_done_bytes_per_s": line.number(f"{prefix}MiB/s [first]", _MIB),
            "client_cpu_percent": line.number("CPU% [last]"),
        },
    )


def _csv_latency(line: Values, unit: str) -> Latency:
    mean, least, most = (line.number(f"{unit} lat us [{name}]", _US) for name in ("avg", "min", "max"))
    return Latency(mean_s=mean, min_s=least, max_s=most)


_CSV = {
    "started_at": "ISO date", "name": "label", "type": "path type", "op": "operation", "hosts": "hosts",
    "threads": "threads", "dirs": "dirs", "files": "files", "size": "file size", "block": "block size",
    "depth": "IO depth", "version": "version",
    "settings": ("paths", "direct IO", "random", "random aligned", "shared paths", "truncate", "path type", "command"),
}  # fmt: skip


# JSON


def _read_json(text: str, where: str) -> Results:
    rows = []
    for run, phase in enumerate(documents(text, where), 1):
        phase.need("phase_type", "config", "last_done")
        rows += [row for row in (_json_row(phase, run, False), _json_row(phase, run, True)) if row is not None]
    return Results(tuple(rows), tuple(note for row in rows if (note := note_of_open(row, f"{row.phase}, {row.op}"))))


def _json_row(phase: Values, run: int, mixed_read: bool) -> Result | None:
    last, first = phase.part("last_done"), phase.part("first_done")
    own = last.part("rwmix_read") if mixed_read else last
    if mixed_read and not own.data:
        return None
    took_s = last.number("elapsed_time_ms", 1e-3)
    entries, ios = _entry_rate(own.number("entries/s"), own.count("entries"), took_s), own.number("iops")
    latencies = last.part("latency")
    config = phase.part("config")
    top = {"op": phase.data["phase_type"], "label": phase.data.get("label"), "date": phase.data.get("iso_start_date")}
    per_entry = entries is not None
    latency, at_least = _json_latency(latencies, "entries" if per_entry else "IO", mixed_read)
    basis = _PLAIN if per_entry else _BLOCKS
    return _phase(
        Values({**config.data, **top}, phase.where),
        names=_JSON,
        run=run,
        mixed_read=mixed_read,
        has_mix=bool(last.part("rwmix_read").data),
        duration_s=took_s,
        requests=own.count("entries" if per_entry else "ios"),
        ops_per_s=entries if per_entry else ios,
        bytes_per_s=own.number("bytes/s"),
        latency=latency,
        latency_basis=basis + (_BINS if any(latency.quantiles_s.values()) else ""),
        more={
            **at_least,
            "io_latency_mean_s": _json_latency(latencies, "IO", mixed_read)[0].mean_s,
            "ios_per_s": ios,
            "first_done_s": first.number("elapsed_time_ms", 1e-3),
            "first_done_ops_per_s": first.number("entries/s"),
            "first_done_bytes_per_s": first.number("bytes/s"),
            "client_cpu_percent": last.number("cpu%"),
        },
        errors=None if last.part("rwmix_read").data else last.part("errors").count("total"),  # of the whole phase
    )


def _json_latency(latencies: Values, unit: str, mixed_read: bool) -> tuple[Latency, dict[str, float | None]]:
    """Return a latency, and the quantiles that are in an open last bin."""
    own = latencies.part(unit)
    histogram = own.part("histogram")
    if mixed_read:
        own, histogram = own.part("rwmix_read"), histogram.part("rwmix_read")
    quantiles, beyond = _quantiles(histogram, own.number("max_us", _US))
    latency = Latency(
        mean_s=own.number("avg_us", _US),
        min_s=own.number("min_us", _US),
        max_s=own.number("max_us", _US),
        quantiles_s=quantiles,
    )
    return without_open(latency, beyond)


def _quantiles(histogram: Values, most_s: float | None) -> tuple[Mapping[str, float | None], list[str]]:
    """Return the upper ends of the bins that have the quantiles, at most the maximum, and which are in an open bin.

    The last bin is open if the maximum is beyond its end; of quantiles in it the lower end is returned. Without a
    histogram there are none.
    """
    bins = []
    for each in histogram.listed("buckets"):
        found = _RANGE.fullmatch(each.text("range") or "")
        count = each.count("count")
        if found is None or count is None:
            raise InputError(f"{each.where}: a range such as 1024-1218us and a count are needed")
        begin_s, end_s = (Values({"range": part}, each.where).number("range", _US) or 0.0 for part in found.groups())
        bins.append((end_s, count))
    total = sum(count for _, count in bins)
    is_open = bool(bins) and most_s is not None and most_s > bins[-1][0] * _ROUNDING
    quantiles: dict[str, float | None] = {}
    beyond = []
    for name in QUANTILES if total else ():
        reached = 0
        for place, (end_s, count) in enumerate(bins, 1):
            reached += count
            if reached * 100 >= total * percent_of(name):
                if is_open and place == len(bins):
                    beyond.append(name)
                    end_s = begin_s
                quantiles[name] = end_s if most_s is None else min(end_s, most_s)
                break
    return quantiles, beyond


_JSON = {
    "started_at": "date", "name": "label", "type": "path_type", "op": "op", "hosts": "hosts", "threads": "threads",
    "dirs": "dirs", "files": "files", "size": "file_size", "block": "block_size", "depth": "io_depth",
    "version": "version",
    "settings": (
        "paths", "direct_io", "random_offsets", "random_aligned", "shared_service_paths", "path_type", "command",
    ),
}  # fmt: skip


# Both


def _phase(
    given: Values,
    *,
    names: Mapping[str, Any],
    mixed_read: bool,
    has_mix: bool,
    more: Mapping[str, Any],
    **figures: Any,
) -> Result:
    """Return the row of a phase from its settings, by their names in the format, and its figures."""
    phase = given.text(names["op"]) or ""
    if phase in _OF_KEYS:
        more = {name.replace("done_ops", "done_keys"): value for name, value in more.items()}
        more |= {"keys": figures.pop("requests"), "keys_per_s": figures.pop("ops_per_s")}
    hosts, threads, dirs, files = (given.count(names[name]) for name in ("hosts", "threads", "dirs", "files"))
    size, block = given.count(names["size"]), given.count(names["block"])
    of_s3 = given.text(names["type"]) in _OF_S3
    clients = hosts * threads if hosts and threads else threads
    objects = clients * (dirs or 1) * files if clients and files else None
    mix = _MIX.match(phase)
    return Result(
        tool=TOOL,
        tool_version=given.text(names["version"]),
        name=given.text(names["name"]),
        phase=phase,
        started_at=given.text(names["started_at"]),
        op=_op(phase, of_s3, mixed_read, has_mix),
        clients=clients,
        client_hosts=hosts,
        queue_depth=given.count(names["depth"]),
        object_size_bytes=size or None,
        part_size_bytes=block if block and size and block < size else None,
        object_count=objects,
        read_fraction=int(mix[1]) / 100 if mix and int(mix[1]) <= 100 else None,
        settings={name: given.data.get(name) for name in names["settings"]},
        more_figures=more,
        **figures,
    )


def _op(phase: str, of_s3: bool, mixed_read: bool, has_mix: bool) -> str:
    plain = phase.split("+", 1)[0]
    if has_mix:
        plain = "READ" if mixed_read else "WRITE"
    return OPS.get(plain, plain) if of_s3 else plain


CSV = ResultFormat("results of elbencho (CSV)", _is_csv, _read_csv)
JSON = ResultFormat("results of elbencho (JSON)", _is_json, _read_json)
