"""Drives for tests: shapes with short times, and a way to mount them that leaves nothing behind."""

from __future__ import annotations

import csv
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from traces.spec.spec_file import validated
from validate.lab.box.drives import Drive
from validate.lab.box.shape import DriveShape

Mount = Callable[..., Drive]


def shape_of(**fields: Any) -> DriveShape:
    """A shape whose reads and writes take 2 ms and whose other accesses are free, with other fields."""
    return validated(DriveShape, {"read": "2ms", "write": "2ms"} | fields, "shape")


@contextmanager
def mounting(folder: Path) -> Iterator[Mount]:
    """Mounts drives below a folder, and unmounts them in the end, whatever state they are in."""
    mounted: list[Drive] = []

    def mount(shape: DriveShape, seed: int = 5) -> Drive:
        name = f"d{len(mounted) + 1}"
        drive = Drive(folder / "backing" / name, folder / name, folder / "run", name, shape, seed)
        mounted.append(drive)
        drive.start(mark_of(drive))
        return drive

    try:
        yield mount
    finally:
        for drive in mounted:
            drive.end(mark_of(drive))


_RUN = uuid.uuid4().hex


def mark_of(drive: Drive) -> str:
    """The mark of a drive's process."""
    return f"test {_RUN} {drive.mount_point}"


def accesses(drive: Drive, *kinds: str) -> list[dict[str, Any]]:
    """The drive's log, or the accesses of some kinds in it, in the order of their start."""
    with drive.log.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    read = [
        {name: value if name in ("kind", "path", "to") else int(value) for name, value in row.items()} for row in rows
    ]
    return sorted((row for row in read if not kinds or row["kind"] in kinds), key=lambda row: row["start_ns"])
