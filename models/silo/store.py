"""The registry entry of Silo: MinIO's, with Silo's specs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from models.capabilities import Doubt, Evidence
from models.minio.doubts import doubts as minio_doubts
from models.minio.store import STORE as MINIO
from models.silo.spec import SiloSpec
from models.store import Store


def doubts(spec: SiloSpec) -> Iterator[Doubt]:
    """Yield those of MinIO, but that a release is later than MinIO's last."""
    return (doubt for doubt in minio_doubts(spec) if doubt.path != "release")


_MINIO: Store[Any] = MINIO
STORE = replace(_MINIO, name="silo", Spec=SiloSpec, doubts=doubts, evidence=Evidence("fork", "docs/silo.md"))
