"""How many objects MinIO's own work processes."""

from __future__ import annotations

from models.minio.spec.spec import MinioSpec


def objects_of_set(spec: MinioSpec, pool: int, sets: int) -> float:
    """Return the number of objects in each erasure set of a pool: pools have them by free space."""
    assert spec.stored is not None
    weights = [1.0, *(each.weight for each in spec.pools)]
    return spec.stored.objects * weights[pool] / sum(weights) / sets
