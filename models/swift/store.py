"""The registry entry of OpenStack Swift."""

from __future__ import annotations

from models.store import Store
from models.swift.compile import compile
from models.swift.demands import demands, unused
from models.swift.faults import FAULTS
from models.swift.remedies import REMEDIES
from models.swift.spec import SwiftSpec

STORE = Store("swift", SwiftSpec, compile, faults=FAULTS, remedies=REMEDIES, demands=demands, unused=unused)
