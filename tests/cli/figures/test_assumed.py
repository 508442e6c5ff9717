"""Figures of values that are not known: those that no value moves are left out, and said."""

from __future__ import annotations

import pytest

from cli.figures.assumed import ranges, unmoved
from cli.pages.find import assumed_page
from sim.experiments.uncertainty import RangeEffect, RangeEffects
from tests.cli.tables.test_uncertainty import READ


@pytest.mark.parametrize(
    ("throughput", "still", "drawn"), [((0.9999, 1.0001), ["throughput_ops"], 1), ((0.8, 1.0), [], 2)]
)
def test_a_figure_that_nothing_moves_is_left_out(throughput: tuple[float, float], still: list[str], drawn: int) -> None:
    ops = {"GET": {"throughput_ops": throughput, "p99": (0.9, 1.9)}}
    effects = RangeEffects(0, 1, None, [RangeEffect(READ, ops)])
    assert unmoved(effects) == still and len(ranges(effects)) == drawn
    paragraphs = assumed_page(effects, "a.yaml").sections[0].paragraphs
    assert ("No value changes throughput by 0.5% or more." in paragraphs) == bool(still)
    low, high = ranges(effects)[0].layout.xaxis.range
    assert 10**low < 0.9 and 10**high > 1.9, "lines end within the axis"
