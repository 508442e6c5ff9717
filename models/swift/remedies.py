"""Remedies for a Swift cluster: changes of its spec after which it may meet its objectives."""

from __future__ import annotations

from collections.abc import Iterator

from models.capabilities import Remedies, SpecChange, faster_links, larger
from models.hosts.growth import memory_or_drives
from models.hosts.speed_groups import renewed
from models.swift.spec.spec import SwiftSpec


def changes(spec: SwiftSpec, at_end: SwiftSpec) -> Iterator[SpecChange]:
    """Yield hedged reads, more proxies and drives, faster links, and slower hosts as fast as the others."""
    if not spec.proxies.concurrent_gets:
        yield {"proxies.concurrent_gets": True}
    yield from larger(spec, "proxies.count")
    anew: SpecChange = {"ring.weights": []} if spec.ring.weights else {}  # a ring of other drives has other weights
    yield from ({**change, **anew} for change in larger(spec, "drives.count"))
    yield from faster_links(spec, "proxies.nic", "hosts.nic")
    yield from renewed(spec.hosts.groups)


REMEDIES = Remedies(changes, knob=memory_or_drives)
"""Changes of a Swift cluster; moving partitions to new drives costs nothing."""
