"""Ranges of what a JuiceFS spec takes from presets, with what spans them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.spec.spreads import CPU_TIMES, DURABLE_WRITES

SPREADS: Mapping[str, Spread] = {
    "mounts.cpu": CPU_TIMES,
    "metadata.command": Spread(0.5, 2.0, "redis-benchmark and pgbench on server processors of 2012 to 2022"),
    "metadata.commit": DURABLE_WRITES,
}
