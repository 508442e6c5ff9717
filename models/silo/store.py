"""The registry entry of Silo: MinIO's, with Silo's specs."""

from __future__ import annotations

from dataclasses import replace

from models.minio.store import STORE as MINIO
from models.silo.spec import SiloSpec

STORE = replace(MINIO, name="silo", Spec=SiloSpec)
