"""Compares stores of the lab on the same drives and links: measured in the box, next to their predictions.

    python benchmarks/box/stores.py --out RUNS [--sample] [--csv TABLE.csv]

Stores, loads and promises are in examples/campaigns/comparison/stores.yaml. Each store is measured in boxes of its own,
one store after the other; Runs that are in the folder are not measured again, so an interrupted comparison continues.
CPU times are fitted to the loads of one client and 4 KiB, mostly without syncs, as the file says.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cli.common import print_shown
from cli.tables.measured.stores import stores_shown
from traces.errors import InputError
from validate.campaign.compared import Compared, compared, write_rows
from validate.campaign.comparison import Comparison, read_comparison, sampled
from validate.campaign.measure import measure, measured, windows_of
from validate.campaign.predict import fitted_values

FILE = Path(__file__).parents[2] / "examples" / "campaigns" / "comparison" / "stores.yaml"


def main() -> int:
    """Measure what is missing, predict all that is there, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="RUNS", help="folder of the Runs")
    parser.add_argument("--file", type=Path, default=FILE, metavar="FILE", help="the comparison (default: %(default)s)")
    parser.add_argument("--sample", action="store_true", help="measure the loads of the file's sample only")
    parser.add_argument("--only", action="append", metavar="ENTRY", help="store to measure (default: all)")
    parser.add_argument("--load", action="append", metavar="GLOB", help="load to measure (default: all)")
    parser.add_argument("--measure-only", action="store_true", help="predict nothing")
    parser.add_argument("--predict-only", action="store_true", help="measure nothing")
    parser.add_argument("--seeds", type=int, default=3, help="simulations of each load (default: %(default)s)")
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="file for the rows, replaced if it exists (default: none)"
    )
    options = parser.parse_args()
    comparison = read_comparison(options.file)
    missing = 0 if options.predict_only else _measured(comparison, options)
    if options.measure_only:
        return 1 if missing else 0
    rows = _predicted(comparison, options.out, options.seeds)
    if options.csv:
        write_rows(rows, options.csv)
    print_shown(stores_shown(rows, "minio", comparison.causes))
    return 1 if missing else 0


def _measured(comparison: Comparison, options: argparse.Namespace) -> int:
    """Measure what is missing, and return how many loads or stores were left out."""
    missing = 0
    for entry in comparison.entries.values():
        if options.only and entry.name not in options.only:
            continue
        names = sampled(entry, options.load or (comparison.sample if options.sample else ()))
        out = options.out / entry.name
        windows = windows_of([entry.cells[name] for name in names], 1, out)
        try:
            missing += measure(entry.campaign, windows, out, 1.0, lambda line: print(line, file=sys.stderr, flush=True))
        except InputError as error:
            print(f"{entry.name}: left out: {error}", file=sys.stderr, flush=True)
            missing += 1
    return missing


def _predicted(comparison: Comparison, out: Path, seeds: int) -> list[Compared]:
    """Return the rows of all Runs that are there; values are fitted once for each store."""
    runs = {
        name: {load: found for load in entry.names if (found := measured(out / name, load))}
        for name, entry in comparison.entries.items()
    }
    fitted: dict[str, dict[str, float]] = {}
    for name in {entry.fitted_to for entry in comparison.entries.values()}:
        entry = comparison.entries[name]
        light = {load: found[0] for load, found in runs[name].items()}
        fitted[name] = fitted_values(entry.campaign, entry.cells, light)
    return [
        row
        for name, entry in comparison.entries.items()
        for load, found in runs[name].items()
        for row in compared(entry, load, found, fitted[entry.fitted_to], seeds)
    ]


if __name__ == "__main__":
    sys.exit(main())
