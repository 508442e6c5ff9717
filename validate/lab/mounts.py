"""Mounts of FUSE file systems below folders of the lab: found in the table of mounts, and removed."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from traces.errors import InputError
from validate.lab import processes

_TYPE = "fuse"
_GONE_WITHIN_S = 5.0
_KILLED_WITHIN_S = 10.0


def end_all(folder: Path) -> None:
    """Kill all processes that are marked by a folder, and unmount what is mounted below it.

    Raises:
        InputError: a process does not end, or something stays mounted.
    """
    left = processes.of_folder(folder)
    left = processes.end(left, _KILLED_WITHIN_S, at_once=True)  # all at once: servers may wait for a frozen drive
    for mount_point in mounted_below(folder):
        unmount(mount_point)
    if left:
        raise InputError(f"{folder.name} (PID {', '.join(str(process.pid) for process in left)}) does not end")


def unmount(mount_point: Path) -> None:
    """Unmount at once, whoever uses the mount and whether or not its process still runs; harmless if there is none.

    Raises:
        InputError: it stays mounted.
    """
    limit_s = time.monotonic() + _GONE_WITHIN_S
    while is_mounted(mount_point):
        command = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
        done = subprocess.run([*command, str(mount_point)], capture_output=True, text=True, check=False)
        if time.monotonic() > limit_s:
            raise InputError(f"{mount_point}: stays mounted: {done.stderr.strip()}")


def is_mounted(mount_point: Path) -> bool:
    """Whether a FUSE file system is mounted there, be it that its process has died."""
    where = os.path.realpath(mount_point.parent) + "/" + mount_point.name
    return where in map(str, mounted_below(mount_point.parent))


def mounted_below(folder: Path) -> tuple[Path, ...]:
    """Return where FUSE file systems are mounted at or below a folder, whoever mounted them, also dead ones."""
    top = Path(os.path.realpath(folder))
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        where = Path(fields[4].encode("latin-1", "backslashreplace").decode("unicode_escape"))
        kind = fields[fields.index("-") + 1]
        if kind.partition(".")[0] == _TYPE and where.is_relative_to(top):
            found.append(where)
    return tuple(found)
