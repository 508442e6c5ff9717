"""Specs for tests that need to know what is in them."""

from __future__ import annotations

from typing import Any

from traces.spec.spec_file import override

_MINIO: dict[str, Any] = {
    "store": "minio",
    "workload": {
        "clients": 1,
        "operations": 4000,
        "object_size": "4KiB",
        "mix": {"GET": 1},
        "keys": {"kind": "uniform", "count": 50},
    },
    "client": {
        "placement": "storage_hosts",
        "cpu": {
            "GET": {"constant": "0.24ms", "per_byte": "0.3ns"},
            "PUT": {"constant": "0.24ms", "per_byte": "2ns"},
            "HEAD": "0.2ms",
        },
    },
    "hosts": {
        "cores": {"count": 2},
        "cpu": {
            "GET": {"constant": "0.38ms", "per_byte": "0.8ns", "distribution": {"kind": "lognormal", "cv": 0.5}},
            "PUT": {"constant": "1.9ms", "per_byte": "6ns", "distribution": {"kind": "lognormal", "cv": 0.3}},
            "HEAD": "0.35ms",
            "DELETE": "0s",
            "LIST": "3ms",
        },
    },
    "drives": {
        "count": 1,
        "read": "0s",
        "write": "0s",
        "commit": {
            "constant": "0.4ms",
            "distribution": {"kind": "slow_mode", "probability": 0.01, "factor": 10},
        },
    },
}


def minio(*assignments: str) -> dict[str, Any]:
    """A MinIO with one drive and its clients on the same two cores, with overrides as for ``--set``."""
    return override(_MINIO, assignments)
