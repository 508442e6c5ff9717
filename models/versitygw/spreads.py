"""Ranges of what a versitygw spec takes from presets, with what spans them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.spec.spreads import DRIVE_TIMES, DURABLE_WRITES

SPREADS: Mapping[str, Spread] = {
    "hosts.cpu": Spread(0.3, 3, "assumed: no CPU time of versitygw has been measured"),
    "drives.read": DRIVE_TIMES,
    "drives.write": DRIVE_TIMES,
    "drives.read_latency": DRIVE_TIMES,
    "drives.sync": DURABLE_WRITES,
}
