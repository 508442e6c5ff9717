"""Presets of a host with versitygw, and of its drives; the CPU times have not been measured."""

from __future__ import annotations

from models.devices.presets import Preset

HOST = Preset(
    "versitygw-host",
    "Assumed, not measured: an HTTP server in Go that checks signatures, as MinIO's GET of 4 KiB (0.36 ms of a core), "
    "and takes the MD5 of what it stores (600 MB/s on a core).",
    {
        "cpu": {
            "GET": {"constant": 0.3e-3, "per_byte": 0.3e-9},
            "PUT": {"constant": 0.4e-3, "per_byte": 2.0e-9},
            "HEAD": {"constant": 0.3e-3},
            "DELETE": {"constant": 0.3e-3},
            "LIST": {"constant": 3e-3},
        },
    },
)
