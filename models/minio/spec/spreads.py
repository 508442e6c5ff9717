"""Ranges of what a MinIO spec takes from presets, with the measurements that span them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.spec.spreads import CPU_TIMES, DRIVE_TIMES, DURABLE_WRITES

SPREADS: Mapping[str, Spread] = {
    "hosts.cpu": CPU_TIMES,
    "hosts.inline_cpu": CPU_TIMES,
    "hosts.missing_cpu": CPU_TIMES,
    "hosts.entry_cpu": CPU_TIMES,
    "hosts.entry_read_cpu": CPU_TIMES,
    "hosts.cpu_caches.cold_penalty": Spread(0.3, 2, "assumed: fitted to one machine, whose caches other work shares"),
    "hosts.garbage_collector.mark_work": Spread(
        0.3, 3, "assumed: marking takes time in proportion to the live heap, of a third to three times the measured one"
    ),
    "drives.read": DRIVE_TIMES,
    "drives.write": DRIVE_TIMES,
    "drives.commit": DURABLE_WRITES,
    "drives.read_latency": DRIVE_TIMES,
    "drives.write_latency": DRIVE_TIMES,
}
