"""Ranges of what a JuiceFS spec takes from presets, with what spans them; values over the preset's."""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread
from models.spec.spreads import CPU_TIMES, DURABLE_WRITES

MEMORY_SPREADS: Mapping[str, Spread] = {
    "file_memory": Spread(
        0.7, 1.65,
        "181 to 278 B with names of 8 and 60 B, in folders of 25 and of 6,000 files (Redis 7, 6,000 keys written as "
        "JuiceFS does); JuiceFS's documentation: about 300 B without Redis's own tables, 30 % of the memory there",
    ),
    "chunk_memory": Spread(0.9, 1.3, "195 B measured, 219 to 223 B with inodes of six digits; larger tables of keys"),
    "slice_memory": Spread(0.9, 1.3, "24 B of data; 26 B measured for few, 30 B for nine more of each chunk"),
}  # fmt: skip
"""Those of what metadata take in Redis, by the name in the section `metadata`."""
SPREADS: Mapping[str, Spread] = {
    "mounts.cpu": CPU_TIMES,
    "metadata.command": Spread(0.5, 2.0, "redis-benchmark and pgbench on server processors of 2012 to 2022"),
    "metadata.commit": DURABLE_WRITES,
    **{f"metadata.{name}": spread for name, spread in MEMORY_SPREADS.items()},
}
