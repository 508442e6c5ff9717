"""The registry entry of Ceph."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from models.capabilities import Evidence
from models.ceph.compile import compile
from models.ceph.demands.given import demands, unused
from models.ceph.doubts import CONDITIONS, doubts, object_limits
from models.ceph.durability import durability
from models.ceph.faults.failures import FAULTS
from models.ceph.figures import FIGURES
from models.ceph.growth import GROWTH
from models.ceph.remedies import REMEDIES
from models.ceph.site.metrics import METRICS
from models.ceph.site.one_machine import one_machine
from models.ceph.site.setup import SETUP
from models.ceph.spec.spec import CephSpec
from models.ceph.spec.spreads import SPREADS
from models.store import OPERATIONS, Store

STORE = Store(
    "ceph",
    CephSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    operations=OPERATIONS | {"COPY"},
    faults=FAULTS,
    growth=GROWTH,
    remedies=REMEDIES,
    demands=demands,
    unused=unused,
    figures=FIGURES,
    doubts=doubts,
    conditions=CONDITIONS,
    object_limits=object_limits,
    spreads=SPREADS,
    durability=durability,
    evidence=Evidence("box", "docs/ceph-box.md"),
    setup=replace(SETUP, one_machine=one_machine),
    metrics=METRICS,
)
