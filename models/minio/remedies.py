"""Remedies for a MinIO host: changes of its spec after which it may meet its objectives."""

from __future__ import annotations

from collections.abc import Iterator

from models.capabilities import Remedies, SpecChange, faster_links, larger
from models.hosts.growth import memory_or_drives
from models.hosts.speed_groups import renewed
from models.minio.spec.spec import MinioSpec


def changes(spec: MinioSpec, at_end: MinioSpec) -> Iterator[SpecChange]:
    """Yield more cores, more drives in whole erasure sets, faster links of hosts, and more hosts in whole sets.

    Slower hosts may become as fast as the others.

    One host is the only one: with a second one, drives are read and written over links that the spec does not describe.
    """
    yield from larger(spec, "hosts.cores.count")
    yield from ({"drives.count": n * spec.drives.count} for n in (2, 4))
    yield from faster_links(spec, "hosts.nic")
    groups = spec.hosts.groups
    yield from renewed(groups)
    if spec.hosts.count > 1 and groups:
        yield from ({f"hosts.groups.{name}.count": n * group.count for name, group in groups.items()} for n in (2, 4))
    elif spec.hosts.count > 1:
        yield from ({"hosts.count": n * spec.hosts.count} for n in (2, 4))


REMEDIES = Remedies(changes, knob=memory_or_drives)
