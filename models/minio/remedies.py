"""Remedies for a MinIO host: changes of its spec after which it may meet its objectives."""

from __future__ import annotations

from collections.abc import Iterator

from models.capabilities import Remedies, SpecChange, more
from models.minio.growth import knob
from models.minio.spec.spec import MinioSpec


def changes(spec: MinioSpec, at_end: MinioSpec) -> Iterator[SpecChange]:
    """Yield more cores, and more drives in whole erasure sets."""
    yield from ({"hosts.cores.count": n} for n in more(spec.hosts.cores.count))
    yield from ({"drives.count": n * spec.drives.count} for n in (2, 4))


REMEDIES = Remedies(changes, knob=knob)
