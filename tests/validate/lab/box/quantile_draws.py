"""What a drive draws from its tables of quantiles, written in Python to compare the drive's program with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.network.service_demand import ServiceDemand
from traces.random_streams import mixed
from validate.lab.box.quantile_table import Floats, quantile_table, stream_of


def interpolated(table: Floats, u: Floats) -> Floats:
    """Return the values of a table at the probabilities `u`, same shape."""
    x = np.arccos(1 - 2 * u) / np.pi
    values: Floats = np.interp(x * (len(table) - 1), np.arange(len(table)), table)
    return values


def drawn_s(demand: ServiceDemand, kind: str, seed: int, sizes_bytes: NDArray[np.int64]) -> Floats:
    """Return the service times of the first accesses of a kind that a drive serves, in the order of their arrival.

    Args:
        demand: of the kind.
        kind: as in the access log.
        seed: of the drive.
        sizes_bytes: of the accesses.
    """
    words = np.array([mixed(seed, stream_of(kind), i) for i in range(len(sizes_bytes))], np.uint64)
    u = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return demand.mean_s(sizes_bytes) * interpolated(quantile_table(demand.distribution), u)
