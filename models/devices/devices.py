"""Storage devices that specs may name, with the figures of data sheets and reviews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from models.devices.data_sheet import exclusive, lognormal, read_shape, rest, write_shape
from models.devices.device import Device
from models.devices.hdd import Hdd, Seek
from models.devices.presets import PRESETS_OF, Preset, Presets
from traces.spec.suggestions import instead
from traces.workload.distributions import Empirical


def _by_sheet(capacity: str, **sheet: Any) -> Device:
    return Device.model_validate({"data_sheet": sheet, "capacity": capacity})


def _hdd(disk: Hdd, capacity: str) -> Device:
    # The block after the last one written has just passed under the head.
    return Device.model_validate({"disk": disk, "capacity": capacity, "flush": disk.turn_s})


@dataclass(frozen=True)
class DevicePreset:
    """A device by the name that specs give it.

    Attributes:
        name: value of `preset`, or of the field itself.
        source: data sheet, review or measurement that the figures are from.
        device: its times and capacity.
    """

    name: str
    source: str
    device: Device


_OVER_PROVISIONING = 0.145  # assumed: 4096 GiB of flash sold as 3.84 TB
_READ_SHAPE, _WRITE_SHAPE = read_shape(), write_shape()
_CONSUMER_FLUSH_S = 1.7e-3
_NO_PLP = (
    "No power-loss protection: a flush of 1.7 ms, as of a Samsung 980 with fsync after each write (574/s; igene.tw, "
    "2023); others take 1 to 5 ms (assumed)."
)
_EBS = "Reads and writes share both limits. Give data_sheet instead for a volume with others."
_OPTANE_READ_SHAPE = Empirical(
    probabilities=(0.0, 0.99, 0.99999, 1.0), values=tuple(t - 1.82e-6 for t in (7.5e-6, 10e-6, 37e-6, 60e-6))
)

_PRESETS = (
    DevicePreset(
        "hdd-7k2",
        "Average seek: HGST Ultrastar 7K4000 (SAS specification, table 6). Rotation and rates: Seagate "
        "Constellation ES.3. Single track: WD Ultrastar DC HC310 (OEM specification, table 6). Full stroke: "
        "2.3 times the average, as the Constellation.2's (assumed). Overhead: the Constellation.2's.",
        _hdd(
            Hdd(
                read_seek=Seek(track=0.23e-3, average=8.2e-3, full_stroke=18.9e-3),
                write_seek=Seek(track=0.32e-3, average=8.2e-3, full_stroke=18.9e-3),
                rpm=7200, outer=175e6, inner=83e6, overhead=0.2e-3,
            ),
            "4TB",
        ),
    ),
    DevicePreset(
        "hdd-7k2-2.5in",
        "Seagate Constellation.2 (product manual): all figures.",
        _hdd(
            Hdd(
                read_seek=Seek(track=0.23e-3, average=7.5e-3, full_stroke=17.26e-3),
                write_seek=Seek(track=0.44e-3, average=8.5e-3, full_stroke=18.28e-3),
                rpm=7200, outer=163e6, inner=84e6, overhead=0.2e-3,
            ),
            "1TB",
        ),
    ),
    DevicePreset(
        "hdd-5k4",
        "Hitachi 5K320 (specification): seeks and rotation. Rates and overhead: assumed.",
        _hdd(
            Hdd(
                read_seek=Seek(track=1.0e-3, average=12e-3, full_stroke=20e-3),
                write_seek=Seek(track=1.1e-3, average=13e-3, full_stroke=21e-3),
                rpm=5400, outer=80e6, inner=40e6, overhead=0.2e-3,
            ),
            "320GB",
        ),
    ),
    DevicePreset(
        "sata-ssd",
        "Intel SSD DC S4500 (product specification): 4 KB random at depth 32 over all blocks, typical and "
        "99.9 % latencies.",
        Device(
            read=exclusive(72_000, 500e6), read_latency=rest(110e-6, 72_000, _READ_SHAPE),
            write=exclusive(33_000, 490e6), write_latency=rest(52e-6, 33_000, _WRITE_SHAPE),
            capacity="3840GB", over_provisioning=_OVER_PROVISIONING,
        ),
    ),
    DevicePreset(
        "nvme",
        "Samsung PM983 3.84 TB (specification 1.0, January 2018): sustained random IOPS, typical latencies. "
        "Bandwidths: assumed.",
        Device(
            read=exclusive(540_000, 3.0e9), read_latency=rest(85e-6, 540_000, _READ_SHAPE),
            write=exclusive(50_000, 1.9e9), write_latency=rest(50e-6, 50_000, _WRITE_SHAPE),
            capacity="3840GB", over_provisioning=_OVER_PROVISIONING,
        ),
    ),
    DevicePreset(
        "nvme-p3700",
        "Intel SSD DC P3700 2 TB (product specification 330566-005): IOPS, bandwidths, and the sequential "
        "write latency, as writes go to its buffer. Read latency measured (AnandTech 11209). Its spare flash: "
        "assumed (10 writes a day).",
        Device(
            read=exclusive(460_000, 2.8e9), read_latency=rest(77.9e-6, 460_000, _READ_SHAPE),
            write=exclusive(175_000, 2.0e9), write_latency=rest(20e-6, 175_000, _WRITE_SHAPE),
            capacity="2TB", over_provisioning=0.28,
        ),
    ),
    DevicePreset(
        "optane",
        "Intel Optane SSD DC P4800X 375 GB (AnandTech 11209, 11930): IOPS and bandwidths by specification; "
        "reads one at a time as measured (mean 8.9 us, p99 10, p99.999 37; least and most: assumed); writes' "
        "mean assumed as reads', their p99.999 by specification.",
        Device(
            read=exclusive(550_000, 2.4e9), read_latency=rest(8.9e-6, 550_000, _OPTANE_READ_SHAPE),
            write=exclusive(500_000, 2.0e9),
            write_latency=rest(8.9e-6, 500_000, lognormal(8.9e-6, 500_000, 0.99999, 100e-6)),
            capacity="375GB",
        ),
    ),
    DevicePreset(
        "nl-sas",
        "WD Ultrastar DC HC310 (OEM specification, tables 5 to 7): seeks and rotation. Highest rate 255 MB/s (data "
        "sheet, from memory). Lowest rate and full stroke: in proportion to hdd-7k2's (assumed). SATA and SAS alike.",
        _hdd(
            Hdd(
                read_seek=Seek(track=0.23e-3, average=7.4e-3, full_stroke=17.0e-3),
                write_seek=Seek(track=0.32e-3, average=8.2e-3, full_stroke=18.9e-3),
                rpm=7200, outer=255e6, inner=121e6, overhead=0.2e-3,
            ),
            "6TB",
        ),
    ),
    DevicePreset(
        "sas-15k",
        "HGST Ultrastar C15K600 (specification, table 6): average seeks; other 15,000 rpm disks have 3.1 to 3.8 ms "
        "(15K450). Single track, full stroke (2.3 times the average) and rates: assumed.",
        _hdd(
            Hdd(
                read_seek=Seek(track=0.2e-3, average=2.9e-3, full_stroke=6.7e-3),
                write_seek=Seek(track=0.3e-3, average=3.1e-3, full_stroke=7.1e-3),
                rpm=15_000, outer=250e6, inner=150e6, overhead=0.2e-3,
            ),
            "600GB",
        ),
    ),
    DevicePreset(
        "hdd-smr",
        "A drive-managed shingled disk of 5,900 rpm (Seagate Archive 8 TB). A write is that of sustained random ones, "
        "once the persistent cache of some 20 GB is full: each rewrites a band of 15 to 40 MB (Aghayev and Desnoyers, "
        "Skylight, FAST 2015), here 30 MB at 150 MB/s. Before, or if many writes fall into a band, it is as fast as a "
        "hard disk: give write: {constant: 20ms} then. Seeks: assumed.",
        Device.model_validate({
            "disk": (shingled := Hdd(
                read_seek=Seek(track=0.5e-3, average=12e-3, full_stroke=27e-3),
                write_seek=Seek(track=0.6e-3, average=12e-3, full_stroke=27e-3),
                rpm=5900, outer=190e6, inner=90e6, overhead=0.2e-3,
            )),
            "write": shingled.access("write").model_copy(update={"constant": 2 * 30e6 / 150e6}),
            "capacity": "8TB",
        }),
    ),
    DevicePreset(
        "sata-ssd-consumer",
        "Samsung 870 EVO 1 TB (KitGuru's review: 98,000 and 88,000 IOPS at depth 32, 13,000 and 36,000 at depth 1, 560 "
        f"and 530 MB/s). {_NO_PLP} Writes are those of the SLC cache, some 42 GB; sustained random ones are fewer "
        "(assumed: 3,000 to 30,000 IOPS).",
        _by_sheet(
            "1TB", read_iops=98_000, write_iops=88_000, read_bandwidth=560e6, write_bandwidth=530e6,
            read_latency=1 / 13_000, write_latency=1 / 36_000, flush=_CONSUMER_FLUSH_S,
        ),
    ),
    DevicePreset(
        "sata-ssd-qlc",
        "Samsung 870 QVO after its SLC cache of 6 to 78 GB: 160 MB/s (KitGuru's review, 4 TB), random writes of 14 "
        f"MB/s when all blocks were written (CDRLabs' review, 1 TB). Reads: the 870 EVO's. {_NO_PLP}",
        _by_sheet(
            "4TB", read_iops=98_000, write_iops=3_400, read_bandwidth=560e6, write_bandwidth=160e6,
            read_latency=1 / 13_000, flush=_CONSUMER_FLUSH_S,
        ),
    ),
    DevicePreset(
        "nvme-consumer",
        "Samsung 970 EVO Plus 1 TB: writes of 60,000 IOPS at depth 1 (KitGuru's review), at depth 32 by bandwidth; "
        "reads of 600,000 and 19,000, 3.5 GB/s, and 1.7 GB/s of writes after the SLC cache of 42 GB (data sheet, from "
        f"memory). {_NO_PLP} Sustained random writes are fewer (assumed: 20,000 to 100,000 IOPS).",
        _by_sheet(
            "1TB", read_iops=600_000, write_iops=400_000, read_bandwidth=3.5e9, write_bandwidth=1.7e9,
            read_latency=1 / 19_000, write_latency=1 / 60_000, flush=_CONSUMER_FLUSH_S,
        ),
    ),
    DevicePreset(
        "nvme-qlc",
        "Intel SSD D5-P5316 15.36 TB (data sheet, from memory): reads of 800,000 IOPS; writes of 64 KiB, its unit of "
        "mapping, at 7,800/s: a smaller one rewrites as much (assumed). Latencies: assumed.",
        _by_sheet(
            "15.36TB", read_iops=800_000, write_iops=7_800, read_bandwidth=7.0e9, write_bandwidth=3.2e9,
            read_latency=120e-6,
        ),
    ),
    DevicePreset(
        "ebs-gp3",
        "Amazon EBS gp3 with its baseline of 3,000 IOPS and 125 MiB/s; up to 80,000 and 2,000 MiB/s can be bought "
        f"(AWS, September 2025). {_EBS} Latency: assumed 1 ms; AWS says single-digit milliseconds.",
        _by_sheet(
            "1TB", read_iops=3_000, write_iops=3_000, read_bandwidth=125 * 2**20, write_bandwidth=125 * 2**20,
            read_latency=1e-3, write_latency=1e-3,
        ),
    ),
    DevicePreset(
        "ebs-io2",
        "Amazon EBS io2 Block Express with 16,000 IOPS and 1,000 MiB/s; up to 256,000 and 4,000 MiB/s can be bought "
        f"(AWS). {_EBS} Latency: assumed 0.5 ms; AWS says below 1 ms.",
        _by_sheet(
            "1TB", read_iops=16_000, write_iops=16_000, read_bandwidth=1000 * 2**20, write_bandwidth=1000 * 2**20,
            read_latency=0.5e-3, write_latency=0.5e-3,
        ),
    ),
)  # fmt: skip

DEVICE_PRESETS = {preset.name: preset for preset in _PRESETS}
"""The devices that specs may name, with their sources."""

PRESETS: dict[str, Device] = {preset.name: preset.device for preset in _PRESETS}
"""The devices by name."""


def _as_device(value: Any) -> Any:
    """Read the name of a preset, or a mapping of fields that may start from a preset."""
    if not isinstance(value, str | Mapping):
        return value
    fields = {"preset": value} if isinstance(value, str) else dict(value)
    if "preset" not in fields:
        return fields
    name = fields.pop("preset")
    if not isinstance(name, str) or name not in PRESETS:
        allowed = [*PRESETS, "a mapping of a device's fields"]
        raise ValueError(f"{name!r} is not a device preset; {instead(str(name), allowed)}")
    preset = PRESETS[name]
    derived = {"read", "write"} if "disk" in fields else set()  # the preset's times are those of its own mechanism
    disk = fields.get("disk")
    if preset.disk is not None and isinstance(disk, Mapping):
        fields["disk"] = {**preset.disk.model_dump(), **disk}
    return {field: getattr(preset, field) for field in Device.model_fields if field not in derived} | fields


DeviceField = Annotated[Device, BeforeValidator(_as_device)]
"""A `Device` in a spec: a preset's name (``nvme``), or a mapping of fields; ``preset: nvme`` supplies the others."""


def _presets() -> Presets:
    return {
        name: Preset(name, preset.source, {field: getattr(preset.device, field) for field in Device.model_fields})
        for name, preset in DEVICE_PRESETS.items()
    }


PRESETS_OF[Device] = _presets
