"""Appends ratios of benchmarks to benchmarks/history.csv, with the commit, and prints how they have changed.

    python benchmarks/history.py [NAME ...] [--rounds N] [--size F] [--dirty]

Each ratio is of two measurements of one run, so it depends little on how fast the machine is: the kernel next to
idiomatic SimPy and to cimba, a visit in large networks next to one in small ones, the first output of a command next to
that of Python with NumPy, and readers of logs next to bare loops. Rows have the least, the median and the greatest of
the rounds; a change is printed as noise if the two ranges overlap. Sources with changes that are not committed are
refused, or their rows are marked as dirty; changes of the benchmarks themselves are not noticed.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import startup

from traces.provenance import CodeVersion, code_version

BENCHMARKS = Path(__file__).resolve().parent
HISTORY = BENCHMARKS / "history.csv"
READERS = ("rgw-beast-log", "rgw-ops-log", "oracle-general")
"""Formats whose bare loops are ``str.split``, ``json.loads`` and ``struct.unpack``."""

COMMAND = "from cli.main import main; main()"
"""What the console script runs."""


@dataclass(frozen=True)
class Row:
    """A ratio of a commit.

    Attributes:
        date: UTC, such as ``2026-11-25``.
        commit: its first 12 digits, with ``-dirty`` behind if the sources differ from it.
        benchmark: path of the program below `benchmarks/`.
        ratio: name of the ratio.
        low: the least of the rounds.
        value: their median.
        high: the greatest.
        rounds: their number.
        size: fraction of the full number of requests.
        machine: model of the CPU, in one word.
    """

    date: str
    commit: str
    benchmark: str
    ratio: str
    low: float
    value: float
    high: float
    rounds: int
    size: float
    machine: str

    @property
    def measured(self) -> tuple[str, str, float, str]:
        """What is measured: rows that agree in this can be compared."""
        return self.benchmark, self.ratio, self.size, self.machine


COLUMNS = tuple(field.name for field in fields(Row))
Ratios = dict[str, float]


def output_of(program: str, *arguments: str) -> Any:
    """Run a program below `benchmarks/`, and return its JSON."""
    command = [sys.executable, BENCHMARKS / program, *arguments, "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def engines(size: float) -> Ratios:
    """CPU time per request on idiomatic SimPy, on the reference engine and on cimba, over that on the kernel."""
    table = output_of("engine/engines.py", "--rounds", "1", "--size", f"{0.2 * size}")
    return {
        f"{network}: {other} / compiled": row[other] / row["compiled"]
        for network, row in table.items()
        for other in ("simpy_idiomatic", "simpy", "cimba")
        if other in row
    }


def scale(size: float) -> Ratios:
    """CPU time per visit in the largest size over that in the smallest."""
    table = output_of("engine/scale.py", "--rounds", "1", "--size", f"{0.1 * size}")
    ratios = {}
    for name, row in table.items():
        small, large = min(row, key=int), max(row, key=int)
        ratios[f"{name}: visit of {large} / {small}"] = row[large]["us_per_visit"] / row[small]["us_per_visit"]
    return ratios


def first_outputs(size: float) -> Ratios:
    """CPU time of commands over that of Python that imports NumPy."""
    python = Path(sys.executable)
    environment = {"PYTHONPATH": str(startup.ROOT)}
    bare_s = startup.cpu_s([python, "-c", "import numpy"], **environment)
    commands = {"--help": ["--help"], "simulate examples/minio.yaml": ["simulate", str(startup.EXAMPLE)]}
    return {
        f"{name} / import numpy": startup.cpu_s([python, "-c", COMMAND, *command], **environment) / bare_s
        for name, command in commands.items()
    }


def readers(size: float) -> Ratios:
    """CPU time of bare loops over that of readers."""
    rows = output_of("readers/readers.py", *READERS, "--requests", f"{max(1000, int(200_000 * size))}", "--repeat", "1")
    ratios = {f"{row['format']}: {row['loop']} / reader": row["cpu_ratio"] for row in rows}
    proxies = output_of(
        "readers/proxy_imports.py", "--requests", f"{max(1000, int(200_000 * size))}", "--repeat", "1", "--json"
    )
    return ratios | {"import: S3 lines / nginx lines": proxies["ratios"]["cpu_s"]}


MEASURED: dict[str, tuple[str, Callable[[float], Ratios]]] = {
    "engines": ("engine/engines.py", engines),
    "scale": ("engine/scale.py", scale),
    "startup": ("startup.py", first_outputs),
    "readers": ("readers/readers.py", readers),
}
"""By name: the program, and a function that takes a fraction of the requests and returns ratios of one round."""


def machine() -> str:
    """Return the model of the CPU in one word, such as ``Intel-Xeon-Platinum-8481C``."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", info.read_text(), re.MULTILINE) if info.is_file() else None
    name = found.group(1) if found else platform.processor() or platform.machine()
    return re.sub(r"[^A-Za-z0-9.]+", "-", re.sub(r"\((R|TM)\)|CPU|@.*", " ", name)).strip("-")


def commit_of(version: CodeVersion) -> str:
    """Return the first digits of the commit, and whether the sources differ from it."""
    return f"{(version.commit or version.sources)[:12]}{'-dirty' if version.dirty else ''}"


def rows_of(names: Sequence[str], rounds: int, size: float, commit: str) -> list[Row]:
    """Measure, round after round over all benchmarks."""
    taken: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds):
        for name in names:
            program, measure = MEASURED[name]
            for ratio, value in measure(size).items():
                taken.setdefault((program, ratio), []).append(value)
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    date = datetime.now(UTC).date().isoformat()
    return [
        Row(date, commit, program, ratio, min(values), statistics.median(values), max(values), rounds, size, machine())
        for (program, ratio), values in taken.items()
    ]


def read(path: Path) -> list[Row]:
    """Return the rows of a file in order; none if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        kinds = {"low": float, "value": float, "high": float, "rounds": int, "size": float}
        return [
            Row(**{name: kinds.get(name, str)(cell) for name, cell in line.items()}) for line in csv.DictReader(file)
        ]


def append(path: Path, rows: Sequence[Row]) -> None:
    """Add rows to a file, which is made if need be."""
    is_new = not path.is_file()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([f"{cell:.4g}" if isinstance(cell, float) else cell for cell in astuple(row)])


def change(row: Row, before: Sequence[Row]) -> str:
    """Return what a row has become since the last one of the same ratio on a machine of the same kind."""
    text = f"{row.benchmark:19} {row.ratio:47} {row.value:7.3g} ({row.low:.3g} to {row.high:.3g})"
    same = [old for old in before if old.measured == row.measured]
    if not same:
        return f"{text}  first on this machine"
    old = same[-1]
    is_noise = row.low <= old.high and old.low <= row.high
    return f"{text}  {row.value / old.value - 1:+.0%} since {old.commit}{', noise' if is_noise else ''}"


def main() -> None:
    """Measure, print, and append."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MEASURED)} (default: all)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of measurements of each ratio (default: %(default)s)"
    )
    parser.add_argument(
        "--size", type=float, default=1.0, help="fraction of the full number of requests (default: %(default)s)"
    )
    parser.add_argument("--dirty", action="store_true", help="measure sources that differ from the commit, too")
    parser.add_argument(
        "--history", type=Path, default=HISTORY, help="CSV file of the rows (default: benchmarks/history.csv)"
    )
    given = parser.parse_args()
    if unknown := set(given.names) - MEASURED.keys():
        parser.error(f"no ratios of {', '.join(sorted(unknown))}; there are {', '.join(MEASURED)}")
    version = code_version()
    if version.dirty and not given.dirty:
        parser.error("the sources differ from the commit; commit them, or give --dirty to mark the rows")
    before = read(given.history)
    rows = rows_of(given.names or list(MEASURED), given.rounds, given.size, commit_of(version))
    append(given.history, rows)
    print("\n".join(change(row, before) for row in rows))


if __name__ == "__main__":
    main()
