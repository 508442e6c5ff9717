"""Ranges of what a SeaweedFS spec takes from presets, with what spans them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.spec.spreads import DRIVE_TIMES, DURABLE_WRITES, PROCESSORS

_CPUS = Spread(
    0.3, 1.8, f"{PROCESSORS}; a loaded machine with two cores, while another one made 4,000 to 5,400 PUTs a second "
    "(seaweedfs issue 9085)",
)  # fmt: skip

SPREADS: Mapping[str, Spread] = {
    "hosts.cpu": _CPUS,
    "gateways.cpu": _CPUS,
    "filer.read": _CPUS,
    "filer.write": _CPUS,
    "filer.list": _CPUS,
    "filer.assign": _CPUS,
    "drives.read": DRIVE_TIMES,
    "drives.write": DRIVE_TIMES,
    "drives.read_latency": DRIVE_TIMES,
    "drives.sync": DURABLE_WRITES,
}
