"""Ranges of what a Swift spec takes from presets, with the measurements that span them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.spec.spreads import CPU_TIMES, DRIVE_TIMES, DURABLE_WRITES, PROCESSORS

SPREADS: Mapping[str, Spread] = {
    "proxies.cpu": Spread(
        0.7, 3, f"{PROCESSORS}; with s3api and tempauth 2 to 3 times (examples/swift/criterion.yaml, fitted)"
    ),
    "hosts.cpu": Spread(
        0.7, 2.1, f"{PROCESSORS}; GETs of an object server on slow drives (examples/recorded-swift/swift.yaml, fitted)"
    ),
    "hosts.update_cpu": CPU_TIMES,
    "drives.read": DRIVE_TIMES,
    "drives.write": DRIVE_TIMES,
    "drives.sync": DURABLE_WRITES,
    "drives.read_latency": DRIVE_TIMES,
    "drives.write_latency": DRIVE_TIMES,
}
