"""Remedies for a MinIO host: changes of its spec after which it may meet its objectives."""

from __future__ import annotations

from collections.abc import Iterator

from models.capabilities import Remedies, SpecChange, larger
from models.hosts.speed_groups import renewed
from models.minio.growth import knob
from models.minio.spec.spec import MinioSpec

_GBIT = 1e9 / 8  # in bytes

_LINKS_GBIT = (10, 25, 40, 50, 100, 200, 400)
"""Rates of Ethernet (IEEE 802.3) that servers have."""


def changes(spec: MinioSpec, at_end: MinioSpec) -> Iterator[SpecChange]:
    """Yield more cores, more drives in whole erasure sets, faster links of hosts, and more hosts in whole sets.

    Slower hosts may become as fast as the others.

    One host is the only one: with a second one, drives are read and written over links that the spec does not describe.
    """
    yield from larger(spec, "hosts.cores.count")
    yield from ({"drives.count": n * spec.drives.count} for n in (2, 4))
    if spec.hosts.nic:
        faster = [rate for rate in _LINKS_GBIT if rate * _GBIT > 1.01 * spec.hosts.nic]
        yield from ({"hosts.nic": f"{rate}Gbit/s"} for rate in faster[:2])
    groups = spec.hosts.groups
    yield from renewed(groups)
    if spec.hosts.count > 1 and groups:
        yield from ({f"hosts.groups.{name}.count": n * group.count for name, group in groups.items()} for n in (2, 4))
    elif spec.hosts.count > 1:
        yield from ({"hosts.count": n * spec.hosts.count} for n in (2, 4))


REMEDIES = Remedies(changes, knob=knob)
