"""The page of a trace: its axes, and its figures in words."""

from __future__ import annotations

import numpy as np
import pytest

from cli.pages.trace import trace_page
from models.store import load_spec
from tests.paths import EXAMPLES
from traces.statistics.characteristics import figures
from traces.workload.generate import generate


@pytest.fixture(scope="module")
def page():
    spec = load_spec(EXAMPLES / "minio.yaml", ["workload.rate=300/s", "workload.duration=4s"])
    trace = generate(spec.workload, 1)
    return trace_page(trace, figures(trace), "Trace")


def test_fractions_are_percentages_and_no_size_is_written_as_zero_bytes(page) -> None:
    assert "GET " in page.header.requested and "%" in page.header.requested
    texts = [str(text) for row in page.sections[-1].grids[0].rows for text in row]
    assert not any(text.startswith("0.0") for text in texts)


def test_labels_of_logarithmic_axes_are_numbers(page) -> None:
    axes = [axis for figure in page.sections[0].charts for axis in (figure.layout.xaxis, figure.layout.yaxis)]
    logarithmic = [axis for axis in axes if axis.type == "log"]
    assert logarithmic and all(axis.tickformat and axis.dtick in ("D2", 1) for axis in logarithmic)


def test_chance_does_not_look_like_a_trend(page) -> None:
    (dispersion,) = [each for each in page.sections[0].charts if "Burstiness" in each.layout.title.text]
    low, high = dispersion.layout.yaxis.range
    assert low <= np.log10(0.5) and high >= np.log10(2)
