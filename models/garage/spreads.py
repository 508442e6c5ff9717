"""Ranges of what a Garage spec takes from presets, with what spans them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.spec.spreads import DRIVE_TIMES, DURABLE_WRITES, PROCESSORS

_CPUS = Spread(
    0.5, 1.8, f"{PROCESSORS}; one small run on two cores, in which a call and a transaction were not told apart"
)

SPREADS: Mapping[str, Spread] = {
    "hosts.cpu": _CPUS,
    "hosts.internode.call": _CPUS,
    "drives.read": DRIVE_TIMES,
    "drives.write": DRIVE_TIMES,
    "drives.read_latency": DRIVE_TIMES,
    "drives.sync": DURABLE_WRITES,
}
