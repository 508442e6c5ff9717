"""Drives of known service time: folders behind a FUSE file system, started, changed while they run, and unmounted."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from traces.errors import InputError
from validate.lab import processes
from validate.lab.box.packages import install_packages
from validate.lab.box.quantile_table import demand_line
from validate.lab.box.shape import DriveShape
from validate.lab.mounts import is_mounted, unmount
from validate.lab.store import Progress

SOURCES = Path(__file__).parent / "drive"
_PACKAGES = ("fuse3", "libfuse3-dev", "pkg-config", "gcc", "libc6-dev")
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra")
_MOUNTED_WITHIN_S = 10.0
_GONE_WITHIN_S = 5.0
_RESPONDS_WITHIN_S = 5.0
_POLL_S = 0.01


def missing() -> tuple[str, ...]:
    """Return what drives need and this machine lacks; empty if they can be mounted."""
    lacking = []
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        lacking.append("/dev/fuse (the FUSE device, with permission to use it)")
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        lacking.append("fusermount3 (apt: fuse3)")
    if _program().is_file():
        return tuple(lacking)
    if shutil.which("cc") is None:
        lacking.append("cc (apt: gcc)")
    if shutil.which("pkg-config") is None:
        lacking.append("pkg-config")
    elif subprocess.run(["pkg-config", "--exists", "fuse3"], check=False).returncode != 0:
        lacking.append("libfuse 3 with its headers (apt: libfuse3-dev)")
    return tuple(lacking)


def install(progress: Progress = lambda line: None) -> Path:
    """Build the drive's program; missing packages are installed with apt-get if this is root's Debian or Ubuntu.

    Raises:
        InputError: something is missing that cannot be installed, or the program does not compile.
    """
    install_packages(_PACKAGES, missing, progress)
    if lacking := missing():
        raise InputError(f"drives of known service time need {'; '.join(lacking)}")
    return build()


def build() -> Path:
    """Return the drive's program, compiled from its sources if that has not been done before.

    Raises:
        InputError: the compiler or libfuse is missing, or the program does not compile.
    """
    program = _program()
    if program.is_file():
        return program
    if lacking := missing():
        raise InputError(f"drives of known service time need {'; '.join(lacking)}")
    program.parent.mkdir(parents=True, exist_ok=True)
    with program.with_suffix(".lock").open("w") as lock:  # drives of a box start at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.is_file():
            _compile(program)
    return program


def _compile(program: Path) -> None:
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        built = Path(scratch) / program.name
        sources = map(str, sorted(SOURCES.glob("*.c")))
        command = ["cc", *_FLAGS, *sources, "-o", str(built), *found.stdout.split(), "-lm", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
            raise InputError(f"the drive's program does not compile: {first}")
        built.replace(program)


def _program() -> Path:
    """Where the program of these very sources is."""
    texts = (path.name.encode() + b"\0" + path.read_bytes() for path in sorted(SOURCES.glob("*.[ch]")))
    digest = hashlib.sha256(b"".join(texts)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "tailcast" / f"drive-{digest}"


@dataclass(frozen=True)
class DriveStatus:
    """A drive at an instant; after a command, the instant at which it took effect.

    Attributes:
        monotonic_ns, realtime_ns: the instant by both clocks.
        slower: factor on the service times.
        frozen, errors, full: whether it serves nothing, fails everything, or has no room for new data.
        waiting, in_service: number of accesses.
        served: number of accesses that took time, since it was mounted.
    """

    monotonic_ns: int
    realtime_ns: int
    slower: float
    frozen: bool
    errors: bool
    full: bool
    waiting: int
    in_service: int
    served: int


@dataclass(frozen=True)
class Drive:
    """A drive: a folder behind a file system that takes the times of a shape.

    Attributes:
        backing: folder that has its data; best on a file system in memory, as its own times add to those of the shape.
        mount_point: folder at which the store finds it.
        folder: has its configuration, control socket, messages and, by default, its access log; kept by the caller.
        name: unique within the folder.
        seed: selects its random numbers; each drive of a box needs another one.
    """

    backing: Path
    mount_point: Path
    folder: Path
    name: str
    shape: DriveShape
    seed: int

    @property
    def socket(self) -> Path:
        """The control socket."""
        return self.folder / f"{self.name}.socket"

    @property
    def log(self) -> Path:
        """The access log."""
        return self.folder / f"{self.name}.accesses.tsv"

    @property
    def messages(self) -> Path:
        """What its process prints."""
        return self.folder / f"{self.name}.log"

    def start(self, mark: str) -> None:
        """Mount the drive; its process is marked (`validate.lab.processes`). An earlier mount is removed first.

        Raises:
            InputError: something is missing, or it cannot be mounted.
        """
        program = build()
        unmount(self.mount_point)
        for folder in (self.backing, self.mount_point, self.folder):
            folder.mkdir(parents=True, exist_ok=True)
        configuration = self.folder / f"{self.name}.conf"
        configuration.write_text(configuration_of(self))
        command = [str(program), str(configuration), str(self.mount_point.resolve())]
        processes.start(mark, command, os.environ, self.messages)
        limit_s = time.monotonic() + _MOUNTED_WITHIN_S
        while not (is_mounted(self.mount_point) and self.status() is not None):
            if time.monotonic() > limit_s or not processes.marked([mark])[mark]:
                said = self.messages.read_text(errors="replace").strip().splitlines()
                raise InputError(f"{self.mount_point}: the drive is not mounted: {said[-1] if said else 'no message'}")
            time.sleep(_POLL_S)

    def control(self, command: str) -> DriveStatus:
        """Carry out a command: ``slower 5``, ``frozen``, ``errors``, ``full``, ``normal`` or ``status``.

        `frozen`, `errors` and `full` are ended by ``off`` after them, and all by `normal`.

        Returns:
            the drive's state after it.

        Raises:
            InputError: there is no such command, or the drive does not respond.
        """
        try:
            response = self._response(command)
        except OSError as error:
            raise InputError(f"drive {self.name} does not respond: {error.strerror or error}") from error
        if "error" in response:
            raise InputError(f"drive {self.name}: {command!r}: {response['error']}")
        return DriveStatus(**response)

    def status(self) -> DriveStatus | None:
        """Return the state of the drive; None if it does not run."""
        try:
            return DriveStatus(**self._response("status"))
        except OSError:
            return None

    def _response(self, command: str) -> dict[str, Any]:
        folder = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)  # addresses of sockets have at most 107 bytes
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_RESPONDS_WITHIN_S)
                connection.connect(f"/proc/self/fd/{folder}/{self.socket.name}")
                connection.sendall(f"{command}\n".encode())
                with connection.makefile() as lines:
                    line = lines.readline()
        finally:
            os.close(folder)
        if not line:
            raise OSError("it has ended")
        response: dict[str, Any] = json.loads(line)
        return response

    def end(self, mark: str) -> None:
        """Unmount the drive and end its process; harmless if it does not run. Waiting accesses fail.

        Raises:
            InputError: it stays mounted.
        """
        with contextlib.suppress(OSError):
            self._response("end")
        end([self.mount_point], processes.marked([mark])[mark])
        self.socket.unlink(missing_ok=True)


def end(mount_points: Iterable[Path], of_drives: Iterable[psutil.Process]) -> None:
    """End processes of drives and unmount what they have mounted, also if they were killed before.

    A server that waits for a frozen drive cannot be killed before this has been done.

    Raises:
        InputError: a process does not end, or a drive stays mounted.
    """
    left = processes.end(list(of_drives), _GONE_WITHIN_S)
    if left:
        raise InputError(f"drives do not end: PID {', '.join(str(process.pid) for process in left)}")
    for mount_point in mount_points:
        unmount(mount_point)


def configuration_of(drive: Drive) -> str:
    """Return the configuration that the drive's program reads; see its ``main.c``."""
    shape = drive.shape
    lines = [
        f"backing {drive.backing.resolve()}",
        f"log {drive.log.resolve()}",
        f"socket {drive.socket.parent.resolve() / drive.socket.name}",
        f"seed {drive.seed}",
        f"queue_depth {shape.queue_depth}",
        f"max_read {shape.max_read}",
        f"max_write {shape.max_write}",
        f"page_cache {shape.page_cache}",
    ]
    lines += [demand_line(kind, demand) for kind, demand in shape.demands().items() if demand.takes_time]
    if (disk := shape.disk) is not None:
        seeks = [(seek.track, seek.root, seek.linear) for seek in (disk.read_seek, disk.write_seek)]
        figures = [disk.turn_s, disk.outer, disk.inner, disk.overhead, float(disk.capacity), disk.at, disk.span]
        numbers = [*map(repr, figures), str(int(disk.depth)), *(repr(value) for seek in seeks for value in seek)]
        lines.append(" ".join(["disk", *numbers]))
    return "\n".join(lines) + "\n"
