"""Presets of a Garage host and its drives."""

from __future__ import annotations

from models.devices.presets import Preset

HOST = Preset(
    "garage-2.5-host",
    "Garage 2.5.0 on loopback with two cores: CPU per operation of one node (PUT of 1 KiB 0.5 ms, 64 KiB 1.65, 1 MiB "
    "6.7; GET of 1 KiB 0.12, 1 MiB 1.8), divided into requests, bytes and transactions by the number of transactions; "
    "calls: from three nodes (PUT of 64 KiB 5.4 ms, 1 MiB 18 to 23 ms). HEAD, DELETE and LIST: estimates.",
    {
        "cpu": {
            "GET": {"constant": 0.12e-3, "per_byte": 1.6e-9},
            "PUT": {"constant": 0.15e-3, "per_byte": 4.9e-9},
            "HEAD": {"constant": 0.1e-3},
            "DELETE": {"constant": 0.15e-3},
            "LIST": {"constant": 2e-3},
        },
        "internode": {"call": {"constant": 0.04e-3, "per_byte": 2.3e-9}},
    },
    measured_on="two cores with all services on loopback",
)  # fmt: skip
