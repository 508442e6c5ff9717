"""Notes on a band over draws."""

from __future__ import annotations

import math
from dataclasses import replace

from cli.tables.forecast.uncertainty import band_notes
from sim.experiments.uncertainty import FigureBand, UncertaintyBand

BAND = FigureBand(1.0, 1.1, 0.9, 1.3)
NAMES = ("throughput_ops", "mean", "p50", "p90", "p99")


def test_figures_outside_of_their_band_are_named() -> None:
    ops = {op: dict.fromkeys(NAMES, BAND) for op in ("GET", "PUT")}
    inside = UncertaintyBand(0.8, 10, 0, None, ops, ())
    assert band_notes(inside) == []
    unknown = FigureBand(math.nan, math.nan, math.nan, math.nan)
    outside = ops | {"PUT": ops["PUT"] | {"mean": FigureBand(0.8, 1.1, 0.9, 1.3), "p99": unknown}}
    (note,) = band_notes(replace(inside, ops=outside))
    assert note.startswith("As assumed, PUT mean lies outside of the band")
    assert len(band_notes(replace(inside, ops=outside, impossible=2))) == 2
