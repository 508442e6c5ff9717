"""Predicted next to measured for the loads of a MinIO in boxes, as a table.

    python benchmarks/box/minio_box_table.py RUNS [--forms '4x2-*'] [--seeds N] [--csv FILE] [--out FILE] [--specs DIR]

RUNS has a folder for each box, with the Runs of `tailcast lab campaign examples/campaigns/minio-box.yaml`:
``RUNS/BOX/LOAD/REPEAT``. The spec of each form and shape
follows from what its Runs record of the box: hosts, drives, links. Only the CPU is calibrated, on the light
configurations of the same box (`minio_box.calibrated`); everything else is predicted.

Errors are greater / lesser - 1. The tail is p99 if 10 requests of each repetition are beyond it, otherwise p95, or
nothing. Rows in which the store and its client used half of the CPU or more are marked and left out of the medians.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from minio_box import LIGHT, Box, busy_fraction, calibrated, spec_data

from sim.json_form import to_json
from sim.replication.replicate import seed_of
from sim.simulate import simulate
from traces.run import Run
from traces.statistics.summary import Floats, latencies, ops_of, quantiles
from validate.campaign.campaign import read_campaign
from validate.campaign.cells import cells_of
from validate.compare.compare import distances
from validate.forecast.configurations import requested_trace
from validate.replay.recorded_policies import as_recorded, recorded_policies

AIMS = {"throughput": 0.05, "p50": 0.05, "tail": 0.10, "w1": 0.07}
"""Aims of the medians."""
WORST = 0.25
"""Aim of the worst row."""
BUSY = 0.5
"""Rows from this fraction of the CPU on are left out of the medians."""
_BEYOND = 10
CAMPAIGN = Path(__file__).parents[2] / "examples" / "campaigns" / "minio-box.yaml"


@dataclass(frozen=True)
class Figures:
    """Throughput in op/s and latencies in s of an operation; the tail is at the quantile `Row.tail`."""

    throughput: float
    p50: float
    tail: float | None


@dataclass(frozen=True)
class Row:
    """An operation of a configuration.

    Attributes:
        box, cell, op: form and shape, configuration, operation.
        requests: of the repetition with the fewest.
        busy: fraction of the CPU used by store, drives and client; the mean of all repetitions.
        tail: the quantile of the tail; None: too few requests.
        measured: the mean of all repetitions.
        errors: of the prediction, by figure.
        repeatability: difference of the repetitions, by figure; empty if there is only one.
    """

    box: str
    cell: str
    op: str
    requests: int
    busy: float
    tail: float | None
    measured: Figures
    predicted: Figures
    errors: dict[str, float]
    repeatability: dict[str, float]

    @property
    def counts(self) -> bool:
        """Whether the row is in the medians: its configuration was not calibrated, and is not bound by the CPU."""
        return self.busy < BUSY and self.cell not in LIGHT


def main() -> int:
    """Print the table and its summary."""
    given = _arguments()
    rows: list[Row] = []
    found: list[Box] = []
    for folder in sorted(path for path in given.runs.iterdir() if fnmatch.fnmatchcase(path.name, given.forms)):
        measured = _runs(folder)
        if not measured.keys() >= LIGHT.keys():
            print(f"{folder.name}: left out, {' and '.join(LIGHT)} are needed", file=sys.stderr)
            continue
        box = calibrated(folder.name, measured)
        found.append(box)
        print(f"{folder.name}: {box.notes}", file=sys.stderr, flush=True)
        for cell, runs in measured.items():
            if fnmatch.fnmatchcase(cell, given.cells) and (cell not in LIGHT or given.light):
                new = rows_of(box, cell, runs, given.seeds)
                rows += new
                _show(new, given.verbose)
        if given.out:
            given.out.write_text(report(rows, found))
    print(report(rows, found))
    if given.specs:
        given.specs.mkdir(parents=True, exist_ok=True)
        for box in found:
            (given.specs / f"{box.name}.yaml").write_text(
                yaml.safe_dump(spec_data(box.run, box.cpu, box.refused), sort_keys=False)
            )
    if given.csv:
        _write_csv(given.csv, rows)
    if given.json:
        given.json.write_text(json.dumps([to_json(row) for row in rows], indent=1))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="folder with a folder of Runs for each box")
    parser.add_argument("--forms", default="*", help="forms and shapes, such as '4x2-*' (default: all)")
    parser.add_argument("--cells", default="*", help="configurations, such as 'GET-*' (default: all)")
    parser.add_argument("--light", action="store_true", help="also show the configurations of the calibration")
    parser.add_argument("--seeds", type=int, default=3, help="simulations per configuration (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="file for the tables in Markdown (default: none)")
    parser.add_argument("--specs", type=Path, help="folder for the spec of each form and shape (default: none)")
    parser.add_argument("--csv", type=Path, help="file for the rows as in minio_box.csv (default: none)")
    parser.add_argument("--json", type=Path, help="file for the rows as JSON (default: none)")
    parser.add_argument("--verbose", action="store_true", help="print each row as soon as it is known")
    return parser.parse_args()


def _runs(folder: Path) -> dict[str, list[Run]]:
    """Return the Runs of each configuration, in the order of the campaign."""
    order = list(cells_of(read_campaign(CAMPAIGN)))
    names = sorted((path.name for path in folder.iterdir() if path.name in order), key=order.index)
    found = {
        name: [Run.read(path) for path in sorted((folder / name).iterdir()) if (path / "run.json").is_file()]
        for name in names
    }
    return {name: runs for name, runs in found.items() if runs}


def rows_of(box: Box, cell: str, runs: Sequence[Run], seeds: int) -> list[Row]:
    """Return a row for each operation of a configuration."""
    traces = [requested_trace(run) for run in runs]
    spec = as_recorded(box.spec_for(traces[0]), recorded_policies(runs[0], cell))
    simulated = [simulate(spec, traces[n % len(runs)], seed=seed_of(0, n)) for n in range(max(seeds, len(runs)))]
    busy = statistics.mean(busy_fraction(run) for run in runs)
    return [_row(box.name, cell, op, busy, runs, simulated) for op in ops_of(runs[0])]


def _row(box: str, cell: str, op: str, busy: float, runs: Sequence[Run], simulated: Sequence[Run]) -> Row:
    fewest = min(len(latencies(run, op)) for run in runs)
    tail = next((q for q in (0.99, 0.95) if fewest * (1 - q) >= _BEYOND - 1e-9), None)
    measured, predicted = _figures(runs, op, tail), _figures(simulated, op, tail)
    errors = _errors(predicted, measured, _merged(simulated, op), _merged(runs, op))
    again: dict[str, float] = {}
    if len(runs) > 1:
        one, other = ([run] for run in runs[:2])
        again = _errors(_figures(one, op, tail), _figures(other, op, tail), _merged(one, op), _merged(other, op))
    if "open" in cell:
        errors.pop("throughput")
        again.pop("throughput", None)
    return Row(box, cell, op, fewest, busy, tail, measured, predicted, errors, again)


def _merged(runs: Sequence[Run], op: str) -> Floats:
    return np.concatenate([latencies(run, op) for run in runs])


def _figures(runs: Sequence[Run], op: str, tail: float | None) -> Figures:
    samples = _merged(runs, op)
    rate = statistics.mean(len(latencies(run, op)) / run.duration_s for run in runs)
    p50, at_tail = quantiles(samples, [0.5, tail or 0.5])
    return Figures(rate, float(p50), float(at_tail) if tail else None)


def _errors(a: Figures, b: Figures, samples: Floats, others: Floats) -> dict[str, float]:
    pairs = {name: (getattr(a, name), getattr(b, name)) for name in ("throughput", "p50", "tail")}
    errors = {name: max(x / y, y / x) - 1 for name, (x, y) in pairs.items() if x is not None and y is not None}
    return errors | {"w1": distances(samples, others)[1]}


def report(rows: Sequence[Row], boxes: Sequence[Box]) -> str:
    """Return the page: summary, then a table for each form and shape."""
    lines = ["## Summary", ""]
    lines += ["| figure | rows | aim | median | worst | median difference of two repetitions |"]
    lines += ["|---|---:|---:|---:|---|---:|"]
    counted = [row for row in rows if row.counts]
    for name, aim in AIMS.items():
        of = sorted((row.errors[name], n) for n, row in enumerate(counted) if name in row.errors)
        if not of:
            continue
        worst = counted[of[-1][1]]
        again = [row.repeatability[name] for row in counted if name in row.repeatability]
        lines.append(
            f"| {_TITLES[name]} | {len(of)} | {aim:.0%} | {statistics.median(e for e, _ in of):.1%} | "
            f"{of[-1][0]:.0%} ({worst.box}, {worst.cell} {worst.op}) | "
            f"{f'{statistics.median(again):.1%}' if again else '-'} |"
        )
    marked = sum(row.busy >= BUSY for row in rows)
    lines += ["", f"{len(counted)} rows; {marked} further ones are marked (CPU busy {BUSY:.0%} or more).", ""]
    for box in boxes:
        lines += [f"## {box.name}", "", box.notes, "", *_HEAD]
        lines += [_line(row) for row in rows if row.box == box.name]
        lines.append("")
    return "\n".join(lines)


_TITLES = {"throughput": "throughput", "p50": "p50", "tail": "p99 or p95", "w1": "Wasserstein distance / mean"}
_COLUMNS = (
    "box", "configuration", "calibrated", "op", "requests", "cpu_percent", "ops_per_s", "predicted_ops_per_s",
    "p50_ms", "predicted_p50_ms", "tail", "tail_ms", "predicted_tail_ms",
)  # fmt: skip
_HEAD = (
    "| configuration | op | requests | CPU | op/s | predicted | p50 ms | predicted | tail | ms | predicted "
    "| error of op/s, p50, tail, W1 | repetitions differ |",
    "|---|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---|---|",
)


def _line(row: Row) -> str:
    measured, predicted = row.measured, row.predicted
    tail = [f"p{100 * row.tail:.0f}", _ms(measured.tail), _ms(predicted.tail)] if row.tail else ["-", "", ""]
    name = row.cell + " \\*" * (row.busy >= BUSY) + " (calibrated)" * (row.cell in LIGHT)
    cells = [
        name, row.op, str(row.requests), f"{row.busy:.0%}",
        f"{measured.throughput:.1f}", f"{predicted.throughput:.1f}", _ms(measured.p50), _ms(predicted.p50), *tail,
        _percent(row.errors), _percent(row.repeatability),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.4g}"


def _percent(errors: dict[str, float]) -> str:
    return " / ".join(f"{errors[name]:.0%}" if name in errors else "-" for name in AIMS) if errors else ""


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write a line for each row, with errors in percent."""
    figures = [f"{of}_{name}_percent" for of in ("error", "repetitions") for name in ("ops", "p50", "tail", "w1")]
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*_COLUMNS, *figures])
        for row in rows:
            measured, predicted = row.measured, row.predicted
            tail = [f"p{100 * row.tail:.0f}", _ms(measured.tail), _ms(predicted.tail)] if row.tail else ["", "", ""]
            light, busy = "yes" if row.cell in LIGHT else "no", f"{100 * row.busy:.0f}"
            rates = [f"{measured.throughput:.1f}", f"{predicted.throughput:.1f}"]
            found = [of.get(name) for of in (row.errors, row.repeatability) for name in AIMS]
            percents = ["" if each is None else f"{100 * each:.0f}" for each in found]
            medians = [_ms(measured.p50), _ms(predicted.p50)]
            table.writerow([row.box, row.cell, light, row.op, row.requests, busy, *rates, *medians, *tail, *percents])


def _show(rows: Sequence[Row], verbose: bool) -> None:
    for row in rows if verbose else ():
        print(_line(row), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
