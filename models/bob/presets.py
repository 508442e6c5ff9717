"""Presets of Bob's hosts and drives."""

from __future__ import annotations

from models.devices.drive_times import drive_presets
from models.devices.presets import Preset, Presets

_BLOCK = 1 << 20

HOST = Preset(
    "bob-2.1-host",
    "Bob 2.1 alpha in docker on one host with an NVMe drive, 2024, fitted to published medians of criterion: GET of 1 "
    "and 50 KiB and 100 MiB, PUT of 1 KiB, with 1 and 2 nodes. HEAD and DELETE: estimates.",
    {
        "cpu": {
            "GET": {"constant": 0.215e-3, "per_byte": 7.4e-9, "block": _BLOCK, "later_byte_factor": 1.35},
            "PUT": {"constant": 0.245e-3, "per_byte": 7.4e-9, "block": _BLOCK, "later_byte_factor": 1.35},
            "HEAD": {"constant": 0.215e-3},
            "DELETE": {"constant": 0.245e-3},
        },
        "internode": {
            "call": {"constant": 0.175e-3, "per_byte": 3.7e-9, "block": _BLOCK, "later_byte_factor": 1.35},
        },
    },
    measured_on="one host with one client",
)


def drives() -> Presets:
    """Return the presets of the section `drives`: one for each device."""
    return drive_presets(("queue_depth", "read", "write", "read_latency", "disk"))
