"""Remedies for a Swift cluster: changes of its spec after which it may meet its objectives."""

from __future__ import annotations

from collections.abc import Iterator

from models.capabilities import Remedies, SpecChange, larger
from models.swift.spec.spec import SwiftSpec


def changes(spec: SwiftSpec, at_end: SwiftSpec) -> Iterator[SpecChange]:
    """Yield hedged reads, more proxies, and more drives on each host."""
    if not spec.proxies.concurrent_gets:
        yield {"proxies.concurrent_gets": True}
    yield from larger(spec, "proxies.count", "drives.count")


REMEDIES = Remedies(changes)
"""Changes of a Swift cluster; moving partitions to new drives costs nothing."""
