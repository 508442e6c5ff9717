"""Makes a box, and removes all that is left of one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from traces.run import Run
from validate.lab import processes
from validate.lab.box import drives, network, proxy
from validate.lab.box.accesses import DriveLog, drive_accesses
from validate.lab.box.box import Box
from validate.lab.box.drives import Drive
from validate.lab.box.network import PORT
from validate.lab.mounts import end_all

_AT_ONCE = 8
_FAST = 1e-3
"""Factor on the service times of drives while the store starts, which writes and reads a lot."""


def drives_of(box: Box) -> list[Drive]:
    """Return the drives of a box: those for data host by host, then those for databases."""
    result = []
    for number, place in enumerate(box.places):
        mount_point = box.mount_point(*place)
        seed = box.seed * len(box.places) + number
        backing, control = box.backing(mount_point), box.control_folder
        result.append(Drive(backing, mount_point, control, f"drive-{number}", box.shape_of(place[1]), seed))
    return result


def logs_of(box: Box) -> list[DriveLog]:
    """Return the access logs of the drives."""
    return [DriveLog(*place, drive.log) for place, drive in zip(box.places, drives_of(box), strict=True)]


def with_accesses(box: Box, run: Run, file_name: Callable[[str], str] | None = None) -> Run:
    """Return a Run that was measured on a box, with the accesses of its drives.

    Args:
        file_name: the name of a file without what differs between objects, if files are not named by objects.

    Raises:
        InputError: a log cannot be read, or the Run does not record its time 0.
    """
    return replace(run, drive_accesses=drive_accesses(logs_of(box), run, file_name))


def make(box: Box) -> Box:
    """Make the links and drives of a box whose state has been written down; return it with what delays its links.

    Raises:
        InputError: the system refuses.
        FileExistsError: another lab has taken the addresses meanwhile.
    """
    in_kernel = network.set_up(box.network, box.shape)
    delays = ("netem" if in_kernel else "proxy") if box.shape.delay else ""
    box = replace(box, delays=delays)
    mend(box)
    return box


def mend(box: Box) -> None:
    """Start the drives and proxies that do not run; these drives are fast until `end_start`.

    Raises:
        InputError: one cannot be started.
    """

    def start(drive: Drive) -> None:
        drive.start(_drive_mark(box, drive))
        drive.control(f"slower {_FAST!r}")

    running = processes.marked([_drive_mark(box, d) for d in drives_of(box)] + list(_proxy_marks(box)))
    dead = [drive for drive in drives_of(box) if not running[_drive_mark(box, drive)]]
    drives.build()  # once, before several threads need it
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(start, dead))
    if box.proxied:
        for host, mark in enumerate(_proxy_marks(box)):
            if not running[mark]:
                where = [f"{box.network.address(host)}:{PORT}", box.bind_address, repr(box.shape.delay)]
                command = box.network.entered(host, [sys.executable, "-I", str(proxy.__file__), *where])
                processes.start(mark, command, os.environ, box.folder / "proxy.log")


def replace_drive(box: Box, number: int) -> None:
    """Unmount a drive, and mount an empty one in its place, with the same service times and access log.

    Raises:
        InputError: it stays mounted, or the new one cannot be mounted.
    """
    drive = drives_of(box)[number]
    drive.end(_drive_mark(box, drive))
    shutil.rmtree(drive.backing)
    drive.start(_drive_mark(box, drive))


def end_start(box: Box) -> None:
    """Give the drives that have been started their own service times.

    Raises:
        InputError: one does not respond.
    """
    for drive in drives_of(box):
        if drive.control("status").slower == _FAST:
            drive.control("slower 1")


def _drive_mark(box: Box, drive: Drive) -> str:
    return f"{box.folder} {drive.name}"


def _proxy_marks(box: Box) -> list[str]:
    return [f"{box.folder} proxy-{host}" for host in range(box.network.hosts)]


def remove(folder: Path) -> None:
    """End all processes of a store's folder, unmount its drives, and remove its namespaces, whatever was made of it.

    Raises:
        InputError: something of it stays.
    """
    end_all(folder)
    network.remove(folder)
