"""Compares the log readers with a bare loop over the same file, and measures the memory of an import.

    python benchmarks/readers/readers.py [FORMAT…] [--requests N] [--repeat N] [--json]

For each format a log of N requests is made from a sample of the tests (unpacked; JSON one object a line). The reader
and the loop, ``json.loads`` or ``str.split`` of each line, take turns, each time in a process of its own that has read
a sample before. Printed are the medians of the wall-clock time, how many times faster than the loop the reader is by
that and by CPU time (the reader uses two cores where they are free), the reader's peak resident memory, and time and
peak of a whole import: reading, sorting, a Trace and a Run in parquet.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import log_files

from traces.logs.import_report import ImportReport
from traces.logs.importing import import_logs
from traces.readers.formats import Format
from traces.readers.registry import FORMATS
from traces.readers.source import Source

TARGETS = {"json.loads": 1.0, "str.split": 2.0, "struct.unpack": 2.0}
"""How many times faster than the loop a reader should be."""


def named(name: str) -> Format:
    """The format of that name."""
    return next(format for format in FORMATS if format.name == name)


def loop_of(format: Format, sample: bytes) -> str:
    """What the bare loop over the format's files does with each line."""
    if format.name == "oracle-general":
        return "struct.unpack"
    return "json.loads" if log_files.is_json(sample) else "str.split"


def read(format: Format, path: Path) -> int:
    """Read a file; how many records it gives."""
    return sum(batch.num_rows for batch in format.read(Source(path), ImportReport()))


def loop(format: Format, path: Path) -> int:
    """The bare loop over the file."""
    sample = log_files.content(log_files.samples(format)[0])
    kind = loop_of(format, sample)
    rows = 0
    if kind == "struct.unpack":
        with path.open("rb") as file:
            rows = sum(1 for _ in struct.iter_unpack("<IQIq", file.read()))
    elif kind == "json.loads":
        with path.open("rb") as file:
            for line in file:
                json.loads(line)
                rows += 1
    else:
        middle = sample.decode().splitlines()[len(sample.splitlines()) // 2]
        delimiter = max("\t, ", key=middle.count)
        with path.open(encoding="utf-8") as text:
            for row in text:
                row.split(delimiter)
                rows += 1
    return rows


def whole_import(format: Format, path: Path) -> int:
    """Import the file."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        out = Path(folder) / "trace.parquet"
        done = import_logs([path], out, format=format.name, run_out=Path(folder) / "trace.run")
    return int(done["requests"])


WAYS: dict[str, Callable[[Format, Path], int]] = {"read": read, "loop": loop, "import": whole_import}


def one(way: str, format: Format, path: Path) -> dict[str, float]:
    """One measurement, in this process."""
    sample = log_files.samples(format)[0]
    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder) / sample.name
        warm.write_bytes(sample.read_bytes())
        WAYS[way](format, warm) if way != "loop" else None
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    rows = WAYS[way](format, path)
    return {
        "rows": rows,
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "idle_bytes": idle * 1024,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def measured(way: str, format: Format, path: Path) -> dict[str, float]:
    """One measurement, in a process of its own."""
    command = [sys.executable, __file__, "--one", way, format.name, str(path)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, float] = json.loads(told)
    return result


def benchmark(format: Format, requests: int, repeat: int, folder: Path) -> dict[str, Any]:
    """The reader beside the loop, and an import."""
    path = folder / "log"
    log_files.write(format, requests, path)
    turns: dict[str, list[dict[str, float]]] = {"read": [], "loop": []}
    for _ in range(repeat):
        for way, results in turns.items():
            results.append(measured(way, format, path))
    imported = measured("import", format, path)
    size = path.stat().st_size
    path.unlink()
    median = {
        (way, clock): statistics.median(result[clock] for result in results)
        for way, results in turns.items()
        for clock in ("wall_s", "cpu_s")
    }
    kind = loop_of(format, log_files.content(log_files.samples(format)[0]))
    return {
        "format": format.name,
        "rows": turns["loop"][0]["rows"],
        "records": turns["read"][0]["rows"],
        "bytes": size,
        "loop": kind,
        "loop_s": median["loop", "wall_s"],
        "reader_s": median["read", "wall_s"],
        "reader_cpu_s": median["read", "cpu_s"],
        "ratio": median["loop", "wall_s"] / median["read", "wall_s"],
        "cpu_ratio": median["loop", "cpu_s"] / median["read", "cpu_s"],
        "target": TARGETS[kind],
        "reader_peak_bytes": max(result["peak_bytes"] for result in turns["read"]),
        "import_s": imported["wall_s"],
        "import_peak_bytes": imported["peak_bytes"],
        "import_idle_bytes": imported["idle_bytes"],
    }


def main() -> None:
    names = [format.name for format in FORMATS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--requests", type=int, default=1_000_000, help="rows of each log (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="number of measurements of each (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    requested = parser.parse_args()
    if requested.one:
        name, path = requested.formats
        print(json.dumps(one(requested.one, named(name), Path(path))))
        return
    if unknown := set(requested.formats) - set(names):
        parser.error(f"no format {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    results = []
    if not requested.json:
        print(f"{'format':22}{'loop':>14}{'loop s':>8}{'read s':>8}{'ratio':>7}{'of CPU':>7}{'goal':>6}", end="")
        print(f"{'MiB/s':>7}{'peak MiB':>9}{'import s':>9}{'peak MiB':>9}{'idle':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name in requested.formats or names:
            row = benchmark(named(name), requested.requests, requested.repeat, Path(folder))
            results.append(row)
            if not requested.json:
                print(line(row), flush=True)
    if requested.json:
        print(json.dumps(results))


def line(row: dict[str, Any]) -> str:
    """A result as a line of the table."""
    mib = 1 << 20
    return (
        f"{row['format']:22}{row['loop']:>14}{row['loop_s']:8.2f}{row['reader_s']:8.2f}{row['ratio']:7.2f}"
        f"{row['cpu_ratio']:7.2f}{row['target']:6.0f}{row['bytes'] / mib / row['reader_s']:7.0f}"
        f"{row['reader_peak_bytes'] / mib:9.0f}{row['import_s']:9.1f}{row['import_peak_bytes'] / mib:9.0f}"
        f"{row['import_idle_bytes'] / mib:6.0f}"
    )


if __name__ == "__main__":
    main()
