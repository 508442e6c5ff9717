"""rados bench: what it prints, as text or as JSON.

Layout: ceph/ceph, src/common/obj_bencher.cc (write_bench, seq_read_bench, rand_read_bench, status_printer), in several
releases. Both read benchmarks print the same, and no concurrency. MB are MiB; ``Average IOPS`` is rounded down, so
rates are computed from counts and the time. Only a JSON of writes has the settings. Several runs may follow each other
in a file. The latency is that of one read or write of ``op_size`` bytes.
"""

from __future__ import annotations

import re

from traces.errors import InputError
from traces.results.formats.format import ResultFormat
from traces.results.schema import Latency, Result, Results, rate
from traces.results.values import Values, documents

TOOL = "rados bench"

_START = re.compile(
    r"Maintaining (\d+) concurrent writes of (\d+) bytes(?: to objects of size (\d+))?"
    r" for up to (\d+) seconds or (\d+) objects"
)
_END = re.compile(r"^.*Total time run:\s+\S+", re.MULTILINE)
_FIGURE = re.compile(
    r"^(?:.*\d )?([A-Z][A-Za-z]+(?: [A-Za-z]+)*)(?: ?\((?:MB/sec|s)\))?:?[ \t]+(\d\S*)[ \t]*$", re.MULTILINE
)
_BASIS = "requests of one read or write"
_MIB = 2**20


def _is_text(name: str, head: str) -> bool:
    if _START.search(head):
        return True
    return "Total time run:" in head and ("Total writes made:" in head or "Total reads made:" in head)


def _is_json(name: str, head: str) -> bool:
    begin = head[:4096]
    if "{" not in begin:
        return False
    write = all(f'"{key}"' in begin for key in ("concurrent_ios", "op_size", "seconds_to_run"))
    return write or ('"datas"' in begin and '"cur_ops"' in begin) or '"total_reads_made"' in begin


def _read_text(text: str, where: str) -> Results:
    rows, begin = [], 0
    ends = list(_END.finditer(text))
    if not ends:
        raise InputError(f"{where}: Total time run is missing: the benchmark did not end")
    for i, end in enumerate(ends):
        before = list(_START.finditer(text, begin, end.start()))
        until = ends[i + 1].start() if i + 1 < len(ends) else len(text)
        summary = text[end.start() : until]
        if later := _START.search(summary):
            summary = summary[: later.start()]
        figures = Values(dict(reversed(_FIGURE.findall(summary))), f"{where}: run {i + 1}")
        rows.append(_of_text(figures, i + 1, _settings(before[-1]) if before else {}))
        begin = end.end()
    return Results(tuple(rows))


def _settings(start: re.Match[str]) -> dict[str, str]:
    names = ("concurrent_ios", "op_size", "object_size", "seconds_to_run", "max_objects")
    return {name: value for name, value in zip(names, start.groups(), strict=True) if value is not None}


def _of_text(figures: Values, run: int, settings: dict[str, str]) -> Result:
    names = {
        "Total time run": "total_time_run", "Total writes made": "total_writes_made",
        "Total reads made": "total_reads_made", "Write size": "write_size", "Read size": "read_size",
        "Object size": "object_size", "Average Latency": "average_latency", "Stddev Latency": "stddev_latency",
        "Max latency": "max_latency", "Min latency": "min_latency", "Stddev Bandwidth": "stddev_bandwidth",
        "Max bandwidth": "max_bandwidth", "Min bandwidth": "min_bandwidth", "Stddev IOPS": "stddev_iops",
        "Max IOPS": "max_iops", "Min IOPS": "min_iops",
    }  # fmt: skip
    known = {names[name]: value for name, value in figures.data.items() if name in names}
    return _row(Values(settings | known, figures.where), run)


def _read_json(text: str, where: str) -> Results:
    rows = []
    for number, run in enumerate(documents(text, where), 1):
        # Ceph before Nautilus writes the key with a colon.
        known = {name.rstrip(":"): value for name, value in run.data.items()}
        inner = known.get("bench")
        rows.append(_row(Values(inner if isinstance(inner, dict) else known, run.where), number))
    return Results(tuple(rows))


def _row(run: Values, number: int) -> Result:
    writes, reads = run.count("total_writes_made"), run.count("total_reads_made")
    done = writes if writes is not None else reads
    Values({"total_writes_made or total_reads_made": done, **run.data}, run.where).need(
        "total_time_run", "total_writes_made or total_reads_made"
    )
    op = "write" if writes is not None else "read"
    took_s = run.number("total_time_run")
    size = next((size for name in ("op_size", f"{op}_size") if (size := run.count(name)) is not None), None)
    whole = run.count("object_size")
    return Result(
        tool=TOOL,
        run=number,
        op=op,
        clients=run.count("concurrent_ios"),
        object_size_bytes=whole if whole is not None else size,
        part_size_bytes=size if size and whole and size < whole else None,
        duration_s=took_s,
        requests=done,
        ops_per_s=rate(done, took_s),
        bytes_per_s=rate(done * size, took_s) if done is not None and size is not None else None,
        latency=Latency(
            mean_s=run.number("average_latency"),
            stddev_s=run.number("stddev_latency"),
            min_s=run.number("min_latency") if done else None,
            max_s=run.number("max_latency") if done else None,
        ),
        latency_basis=_BASIS if run.number("average_latency") is not None else None,
        settings={name: run.count(name) for name in ("seconds_to_run", "max_objects")},
        more_figures={
            **{f"{name}_bytes_per_s": run.number(f"{name}_bandwidth", _MIB) for name in ("stddev", "max", "min")},
            **{f"{name}_ops_per_s": run.number(f"{name}_iops") for name in ("stddev", "max", "min")},
        },
    )


TEXT = ResultFormat("results of rados bench", _is_text, _read_text)
JSON = ResultFormat("results of rados bench (JSON)", _is_json, _read_json)
