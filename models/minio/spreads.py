"""Ranges of what a MinIO spec takes from presets, with the measurements that span them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread

_CPUS = Spread(
    0.7,
    1.8,
    "PassMark's single-thread scores of server processors of 2012 to 2022 (January 2026), and clocks under load",
)
_DRIVES = Spread(0.5, 1.8, "data sheets of drives of one class, at different fills")

SPREADS: Mapping[str, Spread] = {
    "hosts.cpu": _CPUS,
    "hosts.inline_cpu": _CPUS,
    "drives.read": _DRIVES,
    "drives.write": _DRIVES,
    "drives.commit": Spread(0.3, 3, "durable writes of drives of one class, with and without power-loss protection"),
    "drives.read_latency": _DRIVES,
    "drives.write_latency": _DRIVES,
}
