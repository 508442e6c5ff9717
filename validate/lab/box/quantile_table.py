"""Tables of quantiles, from which a drive draws its service times: every distribution of the models has one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from models.network.service_demand import ServiceDemand
from traces.random_streams import stream_id
from traces.workload.distributions import Deterministic, Quantiles

Floats = NDArray[np.float64]

POINTS = 4097
_LEAST, _GREATEST = 2.0**-54, 1 - 2.0**-53  # where unbounded distributions still have values


def quantile_table(distribution: Quantiles, points: int = POINTS) -> Floats:
    """Return the quantiles at the probabilities ``(1 - cos(pi x)) / 2`` for equidistant x, dense at both ends.

    The last of 4097 points stands for 1.5e-7 of the draws, so tails are those of the distribution.
    """
    if isinstance(distribution, Deterministic):
        return np.ones(2)
    probabilities = (1 - np.cos(np.linspace(0, np.pi, points))) / 2
    return distribution.quantile(np.clip(probabilities, _LEAST, _GREATEST))


def stream_of(kind: str) -> int:
    """Return the number of the random stream of a kind of access."""
    return stream_id(f"drive/{kind}")


def demand_line(kind: str, demand: ServiceDemand) -> str:
    """Return the line of a drive's configuration that says how long a kind of access takes."""
    table = quantile_table(demand.distribution)
    assert math.isfinite(float(table[-1]))
    figures = (demand.constant, demand.per_byte, demand.later_byte_factor, demand.per_block)
    fields = [kind, *map(repr, map(float, figures)), str(demand.block), str(stream_of(kind))]
    return " ".join(["demand", *fields, *(repr(float(value)) for value in table)])
