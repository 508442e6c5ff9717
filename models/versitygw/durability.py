"""What the objects of a versitygw survive: files of the file system below, on drives or arrays of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from models.devices.raid import Raid
from models.durability.durability import Durability, Rebuild
from models.network.service_demand import NOTHING
from models.site.options import Hardware, Option, Values
from models.versitygw.spec import VersitygwSpec
from traces.errors import InputError

_SOURCE = "backend/posix/posix.go, with_otmpfile.go; close-to-open consistency of NFS, RFC 7530 10.3.1"
_REBUILT = "the array rewrites the whole member, at its bandwidth and without load, once the drive is replaced"
_LOST = "nothing can be rebuilt without an array"


def durability(spec: VersitygwSpec) -> Durability:
    """Return how files are kept: all by one host, that of the drives."""
    raid, remote = spec.drives.raid, spec.is_remote
    width, data, fatal = _stripe(raid)
    synced = remote and spec.file_system.synced
    where = "a file is on a drive when it is closed" if synced else "a PUT ends with files in the page cache"
    return Durability(
        width=width,
        data=data,
        acknowledged=width,
        synced=synced,
        on_host=width,
        on_rack=None,
        hosts=1,
        fatal=fatal * spec.drives.count,
        rebuild=_rebuild(spec, width > data),
        is_disk=spec.drives.disk is not None,
        reason=f"{where}, as versitygw itself syncs nothing",
        source=_SOURCE,
        settings="one drive for each file" if raid is None else f"RAID {raid.level} of {raid.members}",
    )


def _stripe(raid: Raid | None) -> tuple[int, int, float]:
    """Return the parts of a stripe, those that restore it, and an array's sets of drives whose loss loses files."""
    if raid is None:
        return 1, 1, 1.0
    members = raid.members
    parity = {0: 0, 1: members - 1, 5: 1, 6: 2, 10: 1}[raid.level]
    if raid.level == 10:
        return 2, 1, members / 2
    return members, members - parity, float(math.comb(members, parity + 1))


def _rebuild(spec: VersitygwSpec, has_parity: bool) -> Rebuild:
    if not has_parity:
        return Rebuild(0.0, None, _LOST)
    write, raid = spec.drives.write or NOTHING, spec.drives.raid
    assert raid is not None
    width, data, _ = _stripe(raid)
    stripes = raid.members / width
    return Rebuild(spec.drives.capacity / (stripes * data) * write.per_byte, None, _REBUILT)


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield arrays of one host's drives, then the drives alone.

    Raises:
        InputError: there are several hosts, which would need a file system that is not on their own drives.
    """
    if hardware.hosts > 1:
        raise InputError("several gateways need a file system in common, such as NFS or CephFS, on drives of others")
    drives = hardware.drives
    cached = hardware.cached(1)
    known: Values = {} if cached is None else {"cached": f"{cached:.3g}"}
    for level in _levels(drives):
        raid = Raid(level=level, members=drives)
        width, data, _ = _stripe(raid)
        sets = {"drives.raid": {"level": level, "members": drives},
                "drives.capacity": hardware.drive_bytes * drives * data // width}  # fmt: skip
        yield Option(f"RAID {level} of {drives} drives", {"drives": 1, **known}, sets)
    yield Option("one drive for each file", known, {"drives.capacity": hardware.drive_bytes})


def _levels(drives: int) -> list[Literal[1, 5, 6, 10]]:
    """Return the levels of one array with all drives that survives one of them."""
    if drives in (1, 2, 3) or drives > _MOST_MEMBERS:
        return [1] if drives == 2 else [5] if drives == 3 else []
    return [6, 5] if drives % 2 else [6, 10, 5]


_MOST_MEMBERS = 24  # of an array that is not divided further (assumed)
