"""The registry entry of MinIO."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from models.capabilities import Evidence
from models.minio.background.maintenance import MAINTENANCE
from models.minio.compile import compile
from models.minio.cpu import cpu_s
from models.minio.demands import demands, unused
from models.minio.doubts import OBJECT_LIMITS, doubts
from models.minio.durability import durability
from models.minio.growth import GROWTH
from models.minio.moved_bytes import FIGURES
from models.minio.remedies import REMEDIES
from models.minio.server_part import SERVER_PART
from models.minio.site.metrics import METRICS
from models.minio.site.one_machine import one_machine
from models.minio.site.setup import SETUP
from models.minio.spec.faults import FAULTS
from models.minio.spec.spec import MinioSpec
from models.minio.spec.spreads import SPREADS
from models.store import OPERATIONS, Store

STORE = Store(
    "minio",
    MinioSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    operations=OPERATIONS | {"COPY"},
    faults={**FAULTS, **MAINTENANCE},
    growth=GROWTH,
    remedies=REMEDIES,
    demands=demands,
    unused=unused,
    cpu=cpu_s,
    server_part=SERVER_PART,
    inline_limit_bytes=lambda spec: max(spec.inline_bytes, 0) * spec.data_shards,
    figures=FIGURES,
    doubts=doubts,
    object_limits=lambda spec: OBJECT_LIMITS,
    spreads=SPREADS,
    durability=durability,
    evidence=Evidence("box", "docs/minio-box.md"),
    setup=replace(SETUP, one_machine=one_machine),
    metrics=METRICS,
)
