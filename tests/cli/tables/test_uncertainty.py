"""Notes on a band over draws."""

from __future__ import annotations

import math
from dataclasses import replace

from cli.tables.forecast.uncertainty import band_notes
from sim.experiments.uncertainty import FigureBand, UncertaintyBand

BAND = FigureBand(1.0, 1.1, 0.9, 1.3)
NAMES = ("throughput_ops", "mean", "p50", "p90", "p99")


def test_bands_that_are_extended_are_named() -> None:
    ops = {op: dict.fromkeys(NAMES, BAND) for op in ("GET", "PUT")}
    inside = UncertaintyBand(0.8, 10, 0, None, ops, ())
    assert band_notes(inside) == []
    unknown = FigureBand(math.nan, math.nan, math.nan, math.nan, is_extended=True)
    extended = ops | {"PUT": ops["PUT"] | {"mean": FigureBand(0.8, 1.1, 0.8, 1.3, is_extended=True), "p99": unknown}}
    (note,) = band_notes(replace(inside, ops=extended))
    assert note.startswith("The band of PUT mean ends at the value as assumed")
    assert len(band_notes(replace(inside, ops=extended, impossible=2))) == 2
