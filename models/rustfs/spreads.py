"""Ranges of what a RustFS spec takes from presets, with what spans them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.minio.spec.spreads import SPREADS as MINIO

_CPUS = Spread(
    0.15, 1.5, "virtual machines whose CPU per PUT fell to a third with more clients; a PUT of 4 KiB took 13.6 ms "
    "elsewhere (rustfs issue 7011)",
)  # fmt: skip

SPREADS: Mapping[str, Spread] = {
    **{path: spread for path, spread in MINIO.items() if path.startswith("drives.")},
    "hosts.cpu": _CPUS,
    "hosts.internode.call": _CPUS,
}
