"""Estimates the model discrepancy of each kind of figure from published figures that were not used in a fit.

    python benchmarks/published/discrepancy.py [--level F]

`discrepancy.csv` has these figures of the scoreboard, with the bands of the ranges of values alone. Those of smaller
cases are of draws without deviations. Those of larger Ceph clusters follow from the bands of the scoreboard: the
deviations with which it was made are taken from their widths as independent ones. A figure that was rounded is inside a
band that reaches what it may have been.

A band of a fraction F contains F of the figures if its width is that of two independent deviations: that of the values,
and a normal one of the logarithm, whose standard deviation is printed. Then each table of a case is left out, and its
figures counted in bands with the estimate of all others; and each whole case. A binomial test says whether as many are
inside as the bands claim. Rows of a case are not independent, so its p-values are too small rather than too large.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import ndtri
from scipy.stats import binomtest

from sim.experiments.discrepancy import DISCREPANCY

Floats = NDArray[np.float64]
Names = NDArray[np.str_]

DATA = Path(__file__).with_suffix(".csv")
LARGEST, STEP = 1.5, 0.005  # of the standard deviations that are tried
_QUANTILES = {"min": 0.0, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "max": 1.0}
KINDS = {
    "throughput of closed loops": ("throughput_", DISCREPANCY.rate),
    "duration": ("duration_s", DISCREPANCY.duration),
    "mean": ("latency_mean", DISCREPANCY.mean),
    **{name: (f"latency_{name}_", DISCREPANCY.of_quantile(q)) for name, q in _QUANTILES.items()},
}
"""Kinds of figures: how their names begin, and the deviation in use."""


class Rows(NamedTuple):
    """Figures of one kind: their cases and tables, and as logarithms of the ratio to the forecast figure and band ends.

    The figure is that nearest to the forecast among those that are rounded to the published one.
    """

    case: Names
    table: Names
    measured: Floats
    low: Floats
    high: Floats

    def of(self, mine: NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(*(column[mine] for column in self))

    def inside(self, deviation: float, level: float) -> int:
        """Return the number of figures in bands with a deviation."""
        z = float(ndtri((1 + level) / 2))
        width = np.where(self.measured > 0, self.high, -self.low)
        return int((np.abs(self.measured) <= np.hypot(width, z * deviation) + 1e-12).sum())

    def estimate(self, level: float) -> float:
        """Return the least standard deviation with which bands contain enough figures."""
        tried = np.arange(0, LARGEST, STEP)
        return float(next((each for each in tried if self.inside(each, level) >= level * len(self.case)), LARGEST))

    def left_out(self, parts: Names, level: float) -> int:
        """Return the number of figures in bands with the estimate of the rows of other parts."""
        return sum(
            self.of(parts == part).inside(self.of(parts != part).estimate(level), level) for part in np.unique(parts)
        )

    def width(self, deviation: float, level: float) -> float:
        """Return the median over the bands of their half-width: the logarithm of high over low, halved."""
        z = float(ndtri((1 + level) / 2))
        return float(np.median((np.hypot(self.high, z * deviation) + np.hypot(self.low, z * deviation)) / 2))


def rows_of(table: pl.DataFrame, begin: str) -> Rows:
    """Return the rows of figures whose names begin like this."""
    mine = table.filter(pl.col("figure").str.starts_with(begin))
    measured, predicted = mine["measured"].to_numpy(), mine["predicted"].to_numpy()
    half = mine["resolution"].fill_null(0.0).to_numpy() / 2
    nearest = np.clip(predicted, measured - half, measured + half)
    low, high = (np.log(mine[name].to_numpy() / predicted) for name in ("low", "high"))
    names = mine["case"].to_numpy(), (mine["case"] + "/" + mine["table"]).to_numpy()
    return Rows(*names, np.log(nearest / predicted), np.minimum(low, 0), np.maximum(high, 0))


def main() -> None:
    """Print the estimates, those in use, and the coverage with and without them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", type=float, default=0.8, help="fraction that a band contains (default: 0.8)")
    level = parser.parse_args().level
    table = pl.read_csv(DATA)
    shown = Table(title=f"Deviation with which {level:.0%} bands contain {level:.0%} of the figures")
    columns = (
        "figures", "rows", "cases", "by values alone", "estimate", "in use", "inside", "half-width",
        "tables left out", "p", "cases left out", "p",
    )  # fmt: skip
    for name in columns:
        shown.add_column(name, justify="left" if name == "figures" else "right")
    for name, (begin, used) in KINDS.items():
        rows = rows_of(table, begin)
        count = len(rows.case)
        left_out = [rows.left_out(parts, level) for parts in (rows.table, rows.case)]
        tested = [[str(found), f"{binomtest(found, count, level).pvalue:.3f}"] for found in left_out]
        shown.add_row(
            name,
            str(count),
            str(len(np.unique(rows.case))),
            str(rows.inside(0.0, level)),
            f"{rows.estimate(level):.3f}",
            f"{used:.3f}",
            str(rows.inside(used, level)),
            f"{rows.width(used, level):.3f}",
            *tested[0],
            *tested[1],
        )
    Console(width=150).print(shown)


if __name__ == "__main__":
    main()
