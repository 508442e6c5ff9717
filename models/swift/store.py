"""The registry entry of OpenStack Swift."""

from __future__ import annotations

import math
from functools import partial

from models.store import Store
from models.swift.compile import compile
from models.swift.demands import demands, unused
from models.swift.faults import FAULTS
from models.swift.remedies import REMEDIES
from models.swift.spec import SwiftSpec

STORE = Store(
    "swift",
    SwiftSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    faults=FAULTS,
    remedies=REMEDIES,
    demands=demands,
    unused=unused,
)
