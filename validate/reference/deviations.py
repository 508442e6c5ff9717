"""Deviations of the figures of published tables in the draws of a band."""

from __future__ import annotations

from collections.abc import Sequence

from sim.experiments.discrepancy import Deviation, deviations
from validate.reference.figures import is_mean, of_rate, quantile_of
from validate.reference.rows import DURATION


def with_deviations(name: str, values: Sequence[float], is_closed: bool, seed: int) -> list[float]:
    """Return a figure of each draw with its deviation.

    Args:
        name: of the figure.
        values: of each draw.
        is_closed: whether the clients are closed loops.
        seed: of all draws.
    """
    return [
        value * _factor(name, deviation, is_closed)
        for value, deviation in zip(values, deviations(len(values), seed), strict=True)
    ]


def _factor(name: str, deviation: Deviation, is_closed: bool) -> float:
    quantile = quantile_of(name)
    if quantile is not None:
        return deviation.quantile(quantile)
    if is_mean(name):
        return deviation.mean
    if not is_closed:
        return 1.0
    return deviation.rate if of_rate(name) else deviation.duration if name == DURATION else 1.0
