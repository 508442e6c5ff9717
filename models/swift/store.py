"""The registry entry of OpenStack Swift."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from models.capabilities import Evidence, ObjectLimits
from models.store import OPERATIONS, Store
from models.swift.compile import compile
from models.swift.demands import demands, unused
from models.swift.durability import durability
from models.swift.growth import GROWTH
from models.swift.remedies import REMEDIES
from models.swift.site.one_machine import one_machine
from models.swift.site.setup import SETUP
from models.swift.spec.faults import FAULTS
from models.swift.spec.spec import SwiftSpec
from models.swift.spec.spreads import SPREADS

_MAX_FILE_BYTES = 5 * 2**30 + 2  # default in etc/swift.conf-sample and swift/common/constraints.py
_OBJECT_LIMITS = ObjectLimits(
    _MAX_FILE_BYTES,
    1000 * _MAX_FILE_BYTES,  # default of the slo filter, etc/proxy-server.conf-sample
    "max_file_size in swift.conf; 1,000 segments: max_manifest_segments",
)

STORE = Store(
    "swift",
    SwiftSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    operations=OPERATIONS | {"COPY"},
    faults=FAULTS,
    growth=GROWTH,
    remedies=REMEDIES,
    demands=demands,
    unused=unused,
    object_limits=lambda spec: _OBJECT_LIMITS,
    spreads=SPREADS,
    durability=durability,
    evidence=Evidence("box", "docs/swift-box.md"),
    setup=replace(SETUP, one_machine=one_machine),
)
