"""Presets of a RustFS host."""

from __future__ import annotations

from models.devices.presets import Preset, Presets

_VM = Preset(
    "rustfs-1.0-vm",
    "RustFS 1.0.1 on three virtual machines, fitted to throughput and latency of published PUTs of 50 KiB to 100 MiB "
    "(github.com/Maaz-Ali-Baig/masters-thesis-s3-evaluation, perf-rustfs-vm-3node-20261010); objects of several "
    "blocks take another path. GET: a third of the PUT's constant time, as it has fewer calls and no writes, and half "
    "of its bytes' (assumed). HEAD, DELETE and LIST: MinIO's times over its PUT's, times this PUT (assumed).",
    {
        "cpu": {
            "PUT": {"constant": 35e-3, "per_byte": 6e-9, "later_byte_factor": 3.7},
            "GET": {"constant": 12e-3, "per_byte": 3e-9},
            "HEAD": {"constant": 7e-3},
            "DELETE": {"constant": 23e-3},
            "LIST": {"constant": 58e-3},
        },
        "internode": {"call": {"constant": 0.15e-3, "per_byte": 2e-9}},
    },
    measured_on="virtual machines that seem to have shared seven cores",
)


def hosts() -> Presets:
    """Return the presets of the section `hosts`."""
    return {_VM.name: _VM}
