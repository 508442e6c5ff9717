"""Ranges of what an OpenIO spec takes from presets, with what spans them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.spec.spreads import DRIVE_TIMES, PROCESSORS

_ASSUMED = Spread(0.3, 3, "assumed: the presets are estimates, not measured")

SPREADS: Mapping[str, Spread] = {
    "gateways.cpu": Spread(0.5, 3, f"{PROCESSORS}; measured of Swift's proxy, with s3api and tempauth 2 to 3 times"),
    "hosts.cpu": _ASSUMED,
    "directory.proxy": _ASSUMED,
    "directory.read": _ASSUMED,
    "directory.write": _ASSUMED,
    "directory.replicate": _ASSUMED,
    "directory.list": _ASSUMED,
    "drives.read": DRIVE_TIMES,
    "drives.write": DRIVE_TIMES,
    "drives.read_latency": DRIVE_TIMES,
}
