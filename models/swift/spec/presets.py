"""Presets of Swift's proxies, storage hosts and drives."""

from __future__ import annotations

from models.devices.drive_times import drive_presets
from models.devices.presets import Preset, Presets

_SOURCE = (
    "Swift 2.30.1 (Debian 12) on two cores of an AMD EPYC (virtual machine), measured: CPU time of each process for "
    "requests of 4 KiB and 1 MiB. DELETE and LIST: estimates."
)

_PROXY = Preset(
    "swift-2.30-proxy",
    _SOURCE,
    {
        "cpu": {
            "GET": {"constant": 3.7e-3, "per_byte": 5e-9},
            "PUT": {"constant": 6.5e-3, "per_byte": 11e-9},
            "HEAD": {"constant": 2.9e-3},
            "DELETE": {"constant": 6e-3},
            "LIST": {"constant": 4e-3},
        }
    },
    measured_on="a virtual machine with two cores",
)
_HOST = Preset(
    "swift-2.30-host",
    _SOURCE,
    {
        "cpu": {
            "GET": {"constant": 2.9e-3, "per_byte": 4e-9},
            "PUT": {"constant": 5e-3, "per_byte": 5.7e-9},
            "HEAD": {"constant": 2e-3},
            "DELETE": {"constant": 4e-3},
            "LIST": {"constant": 4e-3},
        },
        "update_cpu": {"constant": 2e-3},
    },
    measured_on="a virtual machine with two cores",
)


def proxies() -> Presets:
    """Return the presets of the section `proxies`."""
    return {_PROXY.name: _PROXY}


def hosts() -> Presets:
    """Return the presets of the section `hosts`."""
    return {_HOST.name: _HOST}


def drives() -> Presets:
    """Return the presets of the section `drives`: one for each device."""
    fields = ("queue_depth", "read", "write", "read_latency", "write_latency", "disk", "capacity")
    return drive_presets(fields, durable="sync")
