"""Presets of a MinIO host and its drives."""

from __future__ import annotations

from functools import cache

from models.devices.hdd import Hdd
from models.network.service_demand import ServiceDemand
from models.presets import Preset, Presets

_JOURNAL_BYTES = 4096  # of a commit (assumed): the inode and the block of the journal

_EPYC = Preset(
    "epyc-2-cores",
    "MinIO 7aac2a2c on two cores of an AMD EPYC (virtual machine, ext4, one drive), measured and fitted by calibrate "
    "(examples/recorded/profile.yaml; GET and PUT of 4 KiB and 1 MiB, 1 and 4 clients). HEAD, DELETE and LIST: "
    "estimates. Garbage collector: measured (GODEBUG=gctrace=1).",
    {
        "cpu": {
            "GET": {
                "constant": 0.361e-3, "per_byte": 0.972e-9, "block": 131072, "later_byte_factor": 0.5,
                "distribution": {"kind": "lognormal", "cv": 1.88},
            },
            "PUT": {
                "constant": 1.95e-3, "per_byte": 12.2e-9, "block": 131072, "later_byte_factor": 0.45,
                "distribution": {"kind": "lognormal", "cv": 0.131},
            },
            "HEAD": {"constant": 0.35e-3},
            "DELETE": {"constant": 1.2e-3},
            "LIST": {"constant": 3e-3},
        },
        "cpu_caches": {"cold_penalty": 2.74e-3, "warm_up": 3e-3, "decay": 3e-3},
        "age_bias": 0.5,
        "after_commit": 0.396,
        "after_response": 0.926,
        "garbage_collector": {
            "mark_work": 70e-3,
            "allocation_interval": 210_000_000,
            "allocations": {
                "GET": {"constant": 50_000, "per_byte": 0.95, "up_to": 1 << 20},
                "PUT": {"constant": 80_000},
                "HEAD": {"constant": 60_000},
                "DELETE": {"constant": 170_000},
                "LIST": {"constant": 160_000},
            },
            "inline_allocations": {
                "GET": {"constant": 60_000, "per_byte": 2.2},
                "PUT": {"constant": 60_000, "per_byte": 9.0},
            },
        },
    },
)  # fmt: skip

_HOSTS = {_EPYC.name: _EPYC}


def hosts() -> Presets:
    """Return the presets of the section `hosts`."""
    return _HOSTS


def times_of(disk: Hdd) -> dict[str, ServiceDemand]:
    """Return the times of reads, writes and commits that follow from the mechanism of a hard disk.

    A commit is a write of the journal, and a turn until the block after it is under the head again.
    """
    read, write = disk.access("read"), disk.access("write")
    constant_s = write.constant + write.per_byte * _JOURNAL_BYTES + disk.turn_s
    return {
        "read": read,
        "write": write,
        "commit": ServiceDemand(constant=constant_s, distribution=write.distribution),
    }


@cache
def drives() -> Presets:
    """Return the presets of the section `drives`: one for each device."""
    from models.devices.devices import DEVICE_PRESETS, Device  # imports scipy; few specs need it

    def commit(device: Device) -> ServiceDemand:
        if device.disk is not None:
            return times_of(device.disk)["commit"]
        block, latency = device.write, device.write_latency
        varies = device.write_latency if latency.takes_time else block
        constant_s = block.constant + block.per_byte * _JOURNAL_BYTES + latency.constant + device.flush
        return ServiceDemand(constant=constant_s, distribution=varies.distribution)

    return {
        name: Preset(
            name,
            f"{preset.source} A commit: one durable write of 4 KiB (assumed).",
            {
                "queue_depth": preset.device.queue_depth,
                "read": preset.device.read,
                "write": preset.device.write,
                "read_latency": preset.device.read_latency,
                "write_latency": preset.device.write_latency,
                "commit": commit(preset.device),
                "disk": preset.device.disk,
            },
        )
        for name, preset in DEVICE_PRESETS.items()
    }
