"""What the table of metrics next to a forecast says."""

from __future__ import annotations

import pytest

from cli.tables.measured.metrics import agreement_line, compared_grid
from validate.metrics.utilisation import Compared


def rows(*figures: tuple[float | None, float | None]) -> list[Compared]:
    return [
        Compared(f"part {i}", "utilisation", "%", measured, forecast) for i, (measured, forecast) in enumerate(figures)
    ]


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        ([(0.5, 0.55), (0.0, None)], "The forecast agrees with all 1 measured figures within 25%."),
        ([(None, 0.2)], "No figure is both measured and forecast."),
        (
            [(0.5, 0.5), (0.9, 0.3), (0.2, 0.1)],
            "2 of 3 measured figures by more than 25%, most from part 1",
        ),
        ([(0.029, 0.0), (0.5, 0.5)], "The forecast agrees with all 2 measured figures within 25%."),
        ([(0.5, 0.1), (0.9, 0.0)], "most from part 1 utilisation: 90.0% measured, 0.0% forecast."),
    ],
)
def test_the_first_line_says_whether_the_forecast_agrees(figures, line: str) -> None:
    assert line in agreement_line(rows(*figures))


def test_a_forecast_of_nothing_differs_by_all() -> None:
    differences = [row[-1] for row in compared_grid(rows((0.5, 0.0), (0.0, 0.1), (0.4, 0.2))).rows]
    assert differences == ["-100%", "", "-50.0%"]
