"""Notes on a band over draws."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cli.tables.forecast.uncertainty import band_notes, one_way, one_way_lines
from models.basis.uncertainty import Unknown
from sim.experiments.uncertainty import FigureBand, RangeEffect, RangeEffects, UncertaintyBand

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


READ = Unknown("drives.read", "", 1.0, 0.5, 1.8, "data sheets", is_factor=True)


@pytest.mark.parametrize(
    ("ratios", "way"),
    [((1.7, 1.1), "raise"), ((0.8, 0.9), "lower"), ((0.8, 1.2), ""), ((1.7, 1.01), ""), ((math.nan, 1.2), "")],
)
def test_both_ends_of_a_range_that_move_a_figure_in_one_direction_are_noted(ratios, way) -> None:
    assert one_way(READ, ratios) == way
    assert one_way(replace(READ, values=(1, 2)), ratios) == ""
    effects = RangeEffects(0, 1, None, [RangeEffect(READ, {"GET": {"p99": ratios}})])
    assert bool(one_way_lines(effects)) == bool(way)
    assert all(line.startswith("GET p99 of drives.read: both ends") for line in one_way_lines(effects))
