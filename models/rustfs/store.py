"""The registry entry of RustFS: MinIO's capabilities, with what differs."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

from models.capabilities import Evidence
from models.minio.compile import compile as compile_with
from models.minio.demands import demands as minio_demands
from models.minio.demands import unused as minio_unused
from models.minio.spec.faults import FAULTS
from models.minio.store import STORE as MINIO
from models.network.service_demand import ServiceDemand
from models.rustfs.durability import durability
from models.rustfs.routes import BUILDERS
from models.rustfs.setup import SETUP
from models.rustfs.spec import RustfsSpec
from models.rustfs.spreads import SPREADS
from models.store import Store
from traces.operations import Op

compile = partial(compile_with, builders=BUILDERS)
"""Return the Network of a RustFS cluster, and the requests of a Trace on it."""


def demands(spec: RustfsSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path."""
    found = minio_demands(spec, ops)
    if spec.durability == "none":
        found.pop("drives.commit", None)
    return found


def unused(spec: RustfsSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    more = {"reads": "GET" not in ops, "hosts.internode.lock_conflict_fraction": True}
    return [*minio_unused(spec, ops), *(path for path, is_unused in more.items() if is_unused)]


_MINIO: Store[Any] = MINIO
STORE = replace(
    _MINIO, name="rustfs", Spec=RustfsSpec, compile=compile, compile_saturated=partial(compile, waiting=math.inf),
    faults=FAULTS, demands=demands, unused=unused, doubts=None, object_limits=None, spreads=SPREADS, setup=SETUP,
    durability=durability, evidence=Evidence("rows", "docs/rustfs.md"),
)  # fmt: skip
