"""Predicts published clusters that no value was fitted to, row by row.

    python benchmarks/published/unseen_clusters.py [CASE ...] [--uncertainty 80%] [--out FILE] [--before FILE]

Prints predicted over published of each row, and how many rows of each case are within a limit: 20 % of a
throughput, 25 % of a mean latency and of cores, 50 % of a quantile (no aim is set for those). `--before` names the
output of an earlier version, whose ratios and counts are printed next to the present ones; by default it is
`unseen_before.csv`, of the models before they had seen any of these clusters.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from traces.units import parse_fraction
from validate.reference.cases import case_named
from validate.reference.forecast import forecast

CASES = (
    "ceph-nvme-squid",
    "ceph-hdd-quincy",
    "ceph-filestore-firefly",
    "ceph-rbd-ec-squid",
    "ceph-rbd-reef-cpu",
    "ceph-3vm-tentacle",
    "ceph-rocksdb-pacific",
)
BEFORE = Path(__file__).with_name("unseen_before.csv")
COLUMNS = ("case", "row", "table", "op", "set", "used_in_fit", "figure", "published", "predicted", "low", "high")
Line = dict[str, Any]


def limit(figure: str) -> float:
    """The error within which a figure counts as predicted."""
    return 0.2 if figure.startswith("throughput") else 0.25 if figure.endswith(("mean_ms", "_cores")) else 0.5


def kind(figure: str) -> str:
    """The kind of a figure, over whose names rows are counted together."""
    return "throughput" if figure.startswith("throughput") else figure


def error(line: Mapping[str, Any]) -> float:
    """Predicted over published minus 1, of the larger one over the smaller one."""
    return math.expm1(abs(math.log(float(line["predicted"]) / float(line["published"]))))


def lines_of(case: str, uncertainty: float | None, workers: int) -> list[Line]:
    """Predict a case; a line for each figure of each row."""
    result = forecast(case_named(case), uncertainty=uncertainty, workers=workers)
    lines = []
    for number, row in enumerate(result["rows"], 1):
        settings = " ".join(f"{path.rpartition('.')[2]}={value}" for path, value in row["set"].items())
        for figure, published in row["measured"].items():
            low, high = row["band"][figure] if "band" in row else ("", "")
            of_row = (case, number, row["table"], row["op"], settings, "yes" if row["used_in_fit"] else "no")
            values = (*of_row, figure, published, float(f"{row['predicted'][figure]:.5g}"), low, high)
            lines.append(dict(zip(COLUMNS, values, strict=True)))
    return lines


def read(path: Path) -> dict[tuple[str, int, str], Line]:
    """The lines of an earlier output, by case, row and figure."""
    with path.open(newline="") as file:
        return {(line["case"], int(line["row"]), line["figure"]): line for line in csv.DictReader(file)}


def write(path: Path, lines: list[Line]) -> None:
    """Write lines as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def counted(lines: list[Line]) -> str:
    """Say how many lines are within their limit."""
    found = []
    for name in dict.fromkeys(kind(line["figure"]) for line in lines):
        mine = [line for line in lines if kind(line["figure"]) == name]
        within = sum(error(line) <= limit(line["figure"]) for line in mine)
        found.append(f"{name} {within} of {len(mine)} within {limit(mine[0]['figure']):.0%}")
    return "; ".join(found)


def report(out: Console, lines: list[Line], before: Mapping[tuple[str, int, str], Line]) -> None:
    """Print the lines of a case, and the counts."""
    for line in lines:
        earlier = before.get((line["case"], line["row"], line["figure"]))
        ratio = float(line["predicted"]) / float(line["published"])
        was = "" if earlier is None else f" (before {float(earlier['predicted']) / float(earlier['published']):.2f})"
        band = ""
        if line["low"] != "":
            inside = float(line["low"]) <= line["published"] <= float(line["high"])
            band = f"  band {line['low']:.4g} to {line['high']:.4g}{'' if inside else ', outside'}"
        about = f"{line['row']:3} {line['table']}, {line['op']}, {line['set']}: {line['figure']}"
        fitted = " *" if line["used_in_fit"] == "yes" else ""
        out.print(f"{about} {line['published']:g} / {line['predicted']:g} = {ratio:.2f}{fitted}{was}{band}")
    earlier = [before[key] for line in lines if (key := (line["case"], line["row"], line["figure"])) in before]
    if earlier:
        out.print(f"  before: {counted(earlier)}")
    out.print(f"  now: {counted([line for line in lines if line['used_in_fit'] == 'no'])}")
    banded = [line for line in lines if line["low"] != "" and line["used_in_fit"] == "no"]
    if banded:
        inside = sum(float(line["low"]) <= line["published"] <= float(line["high"]) for line in banded)
        out.print(f"  bands: {inside} of {len(banded)} published figures are inside")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"(default: {', '.join(CASES)})")
    parser.add_argument("--uncertainty", type=parse_fraction, help="bands, such as 80%% (default: none)")
    parser.add_argument("--out", type=Path, help="CSV file with all figures (default: none)")
    parser.add_argument("--before", type=Path, default=BEFORE, help="CSV file of an earlier version")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    given = parser.parse_args()
    out, before, lines = Console(highlight=False, soft_wrap=True), {}, []
    if given.before.is_file():
        before = read(given.before)
    for case in given.cases or CASES:
        of_case = lines_of(case, given.uncertainty, given.workers)
        out.print(f"{case}:", style="bold")
        report(out, of_case, before)
        lines += of_case
        if given.out is not None:  # after each case: all of them take long
            write(given.out, lines)
    out.print("all:", style="bold")
    if before:
        out.print(f"  before: {counted(list(before.values()))}")
    out.print(f"  now: {counted([line for line in lines if line['used_in_fit'] == 'no'])}")


if __name__ == "__main__":
    main()
