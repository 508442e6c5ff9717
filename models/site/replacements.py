"""What would replace an assumed value of a spec: a file of the site, or a measurement."""

from __future__ import annotations

import re

_RULES = (
    (r"cores(\.count)?$|threads", "lscpu -J of a host"),
    (r"cpu|garbage", "Runs of light loads"),
    (r"(^|\.)(nic|bandwidth|cluster_nic|connection_rate|payload_fraction)$", "ethtool or iperf3 -J of a host"),
    (r"(^|\.)(network|internode)\.latency", "ping between two hosts"),
    (r"(^|\.)(drives|device|db|index|temporary)\.", "JSON of fio on a drive"),
    (r"memory|cache", "the memory of a host and its configuration"),
    (r"stored|objects|buckets|pools|ring", "statistics of the store's own commands"),
)
"""Patterns of paths, and what says their values; the first that fits counts."""


def replacement(path: str) -> str:
    """Return the file or the measurement that would replace an assumed value."""
    return next((source for pattern, source in _RULES if re.search(pattern, path)), "Runs of light loads")
