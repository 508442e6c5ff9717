"""Counts the accesses of drives for each operation of the stores of the comparison, next to the visits of their models.

    python benchmarks/box/accesses.py --out RUNS [--only ENTRY] [--csv TABLE.csv]

Stores, drives and links are those of `examples/campaigns/comparison/stores.yaml`, of the entries that sync. Each store
takes three minutes; Runs that are in the folder are not measured again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cli.common import print_shown
from cli.tables.measured.stores import accesses_grid
from traces.run import Run
from validate.campaign.accesses import accesses_of, trace_of_steps, write_accesses
from validate.campaign.comparison import Entry, read_comparison
from validate.lab import lab
from validate.lab.box.set_up import with_accesses
from validate.replay.plan import Options
from validate.replay.replay import replay

FILE = Path(__file__).parents[2] / "examples" / "campaigns" / "comparison" / "stores.yaml"


def main() -> int:
    """Measure what is missing, and print the table of all that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="RUNS", help="folder of the Runs")
    parser.add_argument("--only", action="append", metavar="ENTRY", help="store to measure (default: all)")
    parser.add_argument("--predict-only", action="store_true", help="measure nothing")
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="file for the rows, replaced if it exists (default: none)"
    )
    options = parser.parse_args()
    rows = []
    for entry in read_comparison(FILE).entries.values():
        folder = options.out / entry.name
        if entry.promise != "synced" or (options.only and entry.name not in options.only):
            continue
        if not (folder / "run.json").is_file():
            if options.predict_only:
                continue
            _measure(entry, folder)
        rows += accesses_of(entry, Run.read(folder))
    if options.csv:
        write_accesses(rows, options.csv)
    print_shown([accesses_grid(rows)])
    return 0


def _measure(entry: Entry, folder: Path) -> None:
    """Issue the requests of all steps to a new store, and write their Run."""
    campaign = entry.campaign
    options = dict(campaign.file.options)
    store = lab.up(campaign.file.store, campaign.form, _say, campaign.shape, options=options)
    try:
        run = replay(trace_of_steps(), store.target, Options(timeout_s=120, keep=True, verify=0))
        assert store.box is not None
        folder.parent.mkdir(parents=True, exist_ok=True)
        with_accesses(store.box, run).write(folder)
        _say(f"{entry.name}: {len(run)} requests, {int(run.failed.sum())} errors")
    finally:
        lab.down(campaign.file.store)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
