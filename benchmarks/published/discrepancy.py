"""Estimates the model discrepancy from published figures that were not used in a fit.

    python benchmarks/published/discrepancy.py [--level F]

`discrepancy.csv` has these figures with the bands of the ranges of values alone: a scoreboard that was made with the
deviations of `sim.experiments.discrepancy` at 0. A band of a fraction F contains F of the figures, each case counting
equally, if its width is that of two independent deviations: that of the values, and a normal one of the logarithm with
the standard deviation that is printed. Each case is then left out, and its figures counted in bands with the estimate
of the other cases.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import ndtri

from sim.experiments.discrepancy import LEVEL, TAIL

Floats = NDArray[np.float64]

DATA = Path(__file__).with_suffix(".csv")
LARGEST, STEP = 1.5, 0.005  # of the standard deviations that are tried


class Rows(NamedTuple):
    """Figures of one kind: their cases, and as logarithms of the ratio to the forecast the figures and band ends."""

    case: NDArray[np.str_]
    measured: Floats
    low: Floats
    high: Floats

    def of(self, mine: NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(*(column[mine] for column in self))

    def covered(self, deviation: float, level: float) -> float:
        """Return the fraction of figures in bands with a deviation, the mean over the cases."""
        z = float(ndtri((1 + level) / 2))
        width = np.where(self.measured > 0, self.high, -self.low)
        inside = np.abs(self.measured) <= np.hypot(width, z * deviation) + 1e-12
        return float(np.mean([inside[self.case == case].mean() for case in np.unique(self.case)]))

    def estimate(self, level: float, known: float = 0.0) -> float:
        """Return the least standard deviation, in addition to a known one, with which bands contain enough figures."""
        tried = np.arange(0, LARGEST, STEP)
        return float(
            next((each for each in tried if self.covered(float(np.hypot(each, known)), level) >= level), np.nan)
        )


def rows_of(table: pl.DataFrame, figures: Sequence[str]) -> Rows:
    """Return the rows of figures whose names begin with one of these."""
    mine = table.filter(pl.any_horizontal(pl.col("figure").str.starts_with(figure) for figure in figures))
    ratio = [np.log(mine[name].to_numpy() / mine["predicted"].to_numpy()) for name in ("measured", "low", "high")]
    return Rows(mine["case"].to_numpy(), ratio[0], np.minimum(ratio[1], 0), np.maximum(ratio[2], 0))


def main() -> None:
    """Print the estimates, those in use, and the coverage with and without them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", type=float, default=0.8, help="fraction that a band contains (default: 0.8)")
    level = parser.parse_args().level
    table = pl.read_csv(DATA)
    kinds = {
        "latencies: mean, median": (rows_of(table, ("latency_mean", "latency_p50")), 0.0, LEVEL),
        "throughput of closed loops": (rows_of(table, ("throughput",)), 0.0, LEVEL),
        "p90": (rows_of(table, ("latency_p90",)), LEVEL, TAIL / 2),
        "p99": (rows_of(table, ("latency_p99_ms",)), LEVEL, TAIL),
    }
    shown = Table(title=f"Deviation with which {level:.0%} bands contain {level:.0%} of the figures")
    for name in ("figures", "rows", "cases", "covered by values alone", "estimate", "in use", "covered", "left out"):
        shown.add_column(name, justify="left" if name == "figures" else "right")
    for name, (rows, known, used) in kinds.items():
        cases = np.unique(rows.case)
        left_out = [
            rows.of(rows.case == case).covered(
                float(np.hypot(rows.of(rows.case != case).estimate(level, known), known)), level
            )
            for case in cases
        ]
        shown.add_row(
            name,
            str(len(rows.case)),
            str(len(cases)),
            f"{rows.covered(0.0, level):.0%}",
            f"{rows.estimate(level, known):.3f}",
            f"{used:.3f}",
            f"{rows.covered(float(np.hypot(known, used)), level):.0%}",
            f"{np.mean(left_out):.0%}",
        )
    Console(width=140).print(shown)


if __name__ == "__main__":
    main()
