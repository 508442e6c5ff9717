"""The shape of a box: service times of its drives, rate and delay of its links."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from models.devices.hdd import Hdd
from models.network.service_demand import DRIVE_BANDWIDTH, Demand, ServiceDemand
from traces.spec.spec_file import load_mapping, validated
from traces.spec.units import Bytes, BytesPerSecond, Seconds
from traces.workload.distributions import Strict

MOST_PER_REQUEST_BYTES = 1 << 20
"""The kernel splits larger requests to a FUSE file system: at 256 pages."""

_PAGE_BYTES = 4096
_FREE = ServiceDemand()


class MetadataOperations(Strict):
    """Service demands of metadata operations; those that take no time do not wait in the drive's queue either."""

    create: Demand = Field(_FREE, description="Time to create a file.")
    open: Demand = Field(_FREE, description="Time to open a file.")
    stat: Demand = Field(_FREE, description="Time to look up a name or to read attributes, if the kernel has them not.")
    readdir: Demand = Field(_FREE, description="Time to list a folder.")
    mkdir: Demand = Field(_FREE, description="Time to create a folder.")
    rmdir: Demand = Field(_FREE, description="Time to remove a folder.")
    unlink: Demand = Field(_FREE, description="Time to remove a file.")
    rename: Demand = Field(_FREE, description="Time to rename a file or folder.")
    link: Demand = Field(_FREE, description="Time to create a hard or symbolic link.")
    truncate: Demand = Field(_FREE, description="Time to change the length of a file.")
    allocate: Demand = Field(_FREE, description="Time to allocate blocks of a file (fallocate).")
    setattr: Demand = Field(_FREE, description="Time to change mode, owner or times of a file.")
    getxattr: Demand = Field(_FREE, description="Time to read or list extended attributes.")
    setxattr: Demand = Field(_FREE, description="Time to set or remove an extended attribute.")


class Disk(Hdd):
    """A hard disk with a place for each file.

    A file has a random place within the blocks in use, and its bytes follow each other. Of the first `depth` waiting
    accesses the disk serves the one that its head reaches first. An access that begins where the last one ended takes
    the transfer only.
    """

    capacity: Bytes = Field(gt=0, description="Capacity of the disk, which a byte's place on it is a fraction of.")


class DriveShape(Strict):
    """One drive: the time of each kind of access, and how many it serves at the same time.

    Either `read` and `write` or `disk` is needed. The fixed part of `read` and `write` is per request of the store.
    """

    read: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(None, description="Service time of a read.")
    write: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(None, description="Service time of a write.")
    fsync: Demand = Field(
        _FREE,
        description="Service time of fsync and fdatasync, and of what follows a write to a file opened with O_SYNC or "
        "O_DSYNC.",
    )
    metadata: MetadataOperations = Field(
        MetadataOperations(), description="Service times of metadata operations (default: none)."
    )
    disk: Disk | None = Field(None, description="Mechanism of a hard disk, in place of `read` and `write`.")
    queue_depth: int = Field(1, ge=1, le=1024, description="Number of accesses served at the same time.")
    max_read: Bytes = Field(
        MOST_PER_REQUEST_BYTES, description="Largest read in one access; longer ones are split into several."
    )
    max_write: Bytes = Field(
        MOST_PER_REQUEST_BYTES, description="Largest write in one access; longer ones are split into several."
    )

    page_cache: Bytes = Field(
        0, ge=0, description="Size of the page cache before each drive, LRU by pages of 4 KiB; 0: none."
    )

    @model_validator(mode="after")
    def _is_complete(self) -> DriveShape:
        given = [name for name in ("read", "write") if getattr(self, name) is not None]
        if self.disk is not None and given:
            raise ValueError(f"{' and '.join(given)} follow from disk; give either one or the other")
        if self.disk is not None and self.queue_depth > 1:
            raise ValueError("a disk has one arm: queue_depth must be 1; disk.depth is how many it chooses from")
        if self.disk is not None and self.disk.depth % 1:
            raise ValueError(f"disk.depth is {self.disk.depth:g}; a box needs a whole number")
        if self.disk is None and len(given) < 2:
            raise ValueError("read and write are needed, or disk")
        for name in ("max_read", "max_write"):
            size = getattr(self, name)
            if not _PAGE_BYTES <= size <= MOST_PER_REQUEST_BYTES or size % _PAGE_BYTES:
                raise ValueError(f"{name} is {size} B; allowed are multiples of 4 KiB from 4 KiB to 1 MiB")
        return self

    def demands(self) -> Mapping[str, ServiceDemand]:
        """Return the service demand of each kind of access; `read` and `write` are missing if `disk` gives them."""
        data = {name: demand for name in ("read", "write") if (demand := getattr(self, name)) is not None}
        metadata = {name: getattr(self.metadata, name) for name in MetadataOperations.model_fields}
        return {**data, "fsync": self.fsync, **metadata}


class NicShape(Strict):
    """The network interface of a host, in each direction."""

    rate: BytesPerSecond = Field(gt=0, description="Rate in each direction.")
    burst: Bytes = Field(1 << 16, gt=0, description="Bytes that may pass at once after a pause (token bucket).")


class Shape(Strict):
    """What a box is made of; all hosts and drives are identical."""

    drives: DriveShape = Field(description="Each of the drives.")
    db_drives: DriveShape | None = Field(
        None,
        description="A further drive for each of them, with the database of a store that has one (Ceph: block.db); "
        "absent: it is on the drive itself.",
    )
    nic: NicShape | None = Field(None, description="The network interface of each host; absent: as fast as memory.")
    client_nic: NicShape | None = Field(None, description="The network interface of the client; absent: as a host's.")
    delay: Seconds = Field(0.0, description="One-way delay between two hosts, and between the client and a host.")


def read_shape(path: Path) -> Shape:
    """Read a shape from a YAML file.

    Raises:
        InputError: the file is missing or is not YAML, or a field is wrong; one line for each.
    """
    data: dict[str, Any] = load_mapping(path)
    return validated(Shape, data, str(path), named="a shape")
