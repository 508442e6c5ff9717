"""Starts and stops a file system on the store of the lab that is up; it ends with that store.

One at a time runs, as two would disturb each other's measurements. As for stores, what is to be made is written down
before, and processes are marked, so that the next command finds all that a broken-off one has left.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
from botocore.exceptions import BotoCoreError, ClientError

from traces.errors import InputError
from traces.tables import atomic_file
from validate.lab import lab, processes
from validate.lab.credentials import write_credentials
from validate.lab.file_systems import fuse, recorder
from validate.lab.file_systems.file_system import (
    METADATA_RECORDER,
    STORE_RECORDER,
    FileSystem,
    FileSystemForm,
    FileSystemKind,
    environment,
    port_of,
)
from validate.lab.file_systems.redis import REDIS
from validate.lab.file_systems.registry import FILE_SYSTEMS, checked, kind_of
from validate.lab.file_systems.removal import folder_of, remove
from validate.lab.folder import free_ports, last_lines, locked
from validate.lab.mounts import end_all, unmount
from validate.lab.store import Progress, Store
from validate.replay.bucket_record import empty_and_delete
from validate.s3.account import Account

_READY_WITHIN_S = 60.0
_POLL_S = 0.1
_ROOT = Path(recorder.__file__).parents[3]


def up(
    name: str,
    store: Store,
    form: FileSystemForm | None = None,
    options: Mapping[str, str] | None = None,
    progress: Progress = lambda line: None,
) -> FileSystem:
    """Start a file system on a store that is up, or return the one that runs; installs programs that are missing.

    What has died of it is started again, with its metadata if they are still there.

    Args:
        name: of a file system of the registry.
        form: with or without gateway and recorders (default: a mount without recorders).
        options: of its own configuration (default: none).
        progress: called with a line now and then.

    Raises:
        InputError: there is no such file system, it cannot have the form or an option, another one or another form is
            up, a program cannot be installed, FUSE is missing, or it does not become ready.
    """
    kind, options = kind_of(name), options or {}
    form = checked(kind, form or FileSystemForm(), options)
    if not form.gateway:
        fuse.require()
    program = kind.find() or kind.install(progress)
    with locked():
        other = running()
        if other is not None and other.name != name:
            raise InputError(f"{other.name} is up; first stop it: tailcast lab down {other.name}")
        fs = _state(name)
        if fs is not None and _can_go_on(kind, fs, store):
            if (fs.form, dict(fs.options)) != (form, dict(options)):
                raise InputError(f"{name} is up in another form or with other options; "
                                 f"first stop it: tailcast lab down {name}")  # fmt: skip
            return fs if _is_whole(kind, fs) else _start(kind, fs, program)
        return _begin(kind, store, form, options, program)


def _can_go_on(kind: FileSystemKind, fs: FileSystem, store: Store) -> bool:
    """Whether a file system was on this very store, and its metadata are still there."""
    same = fs.ready and (fs.store, fs.store_url) == (store.name, store.endpoint_url)
    return same and (kind.metadata_port(fs) is None or REDIS in fs.running)


def _is_whole(kind: FileSystemKind, fs: FileSystem) -> bool:
    recorders = [each for each in (STORE_RECORDER, METADATA_RECORDER) if each in fs.ports]
    return fs.alive and {*kind.ports(fs.form), *recorders} <= {*fs.running}


def down(name: str) -> bool:
    """Stop a file system and remove its bucket and all else of it; whether anything of it ran.

    Raises:
        InputError: there is no such file system, or something of it stays.
    """
    kind_of(name)
    with locked():
        fs = _state(name)
        ran = fs is not None and bool(fs.running)
        end_all(folder_of(name))
        if fs is not None and (store := lab.status(fs.store)) is not None and store.endpoint_url == fs.store_url:
            _remove_bucket(fs)
        remove(name)
        return ran


def _remove_bucket(fs: FileSystem) -> None:
    account = Account(fs.store_target)
    try:
        empty_and_delete(account, fs.bucket)
    except (BotoCoreError, ClientError) as error:
        raise InputError(f"bucket {fs.bucket} could not be removed: {account.explain(error)}") from error


def status(name: str) -> FileSystem | None:
    """Return the file system; None where no process of it runs.

    Raises:
        InputError: there is no such file system.
    """
    kind_of(name)
    fs = _state(name)
    return fs if fs is not None and fs.running else None


def running() -> FileSystem | None:
    """Return the file system that is up, whichever it is; None where none is."""
    return next((fs for name in FILE_SYSTEMS if (fs := status(name)) is not None), None)


def around(folder: Path) -> FileSystem | None:
    """Return the file system of the lab in whose mount a folder is; None if it is in another one."""
    fs = running()
    inside = fs is not None and not fs.form.gateway and folder.resolve().is_relative_to(fs.mount_point.resolve())
    return fs if inside else None


def is_left(name: str) -> bool:
    """Whether there is anything of a file system, be it only what a crash has left."""
    return folder_of(name).exists()


def _state(name: str) -> FileSystem | None:
    try:
        return FileSystem.from_json(json.loads((folder_of(name) / "state.json").read_text()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write_state(fs: FileSystem) -> None:
    with atomic_file(fs.folder / "state.json") as temporary:
        temporary.write_text(json.dumps(fs.to_json(), indent=1) + "\n")


def _begin(
    kind: FileSystemKind, store: Store, form: FileSystemForm, options: Mapping[str, str], program: Path
) -> FileSystem:
    """Start a new file system; if it does not become ready, nothing is left of it."""
    folder = folder_of(kind.name)
    remove(kind.name)
    folder.mkdir(mode=0o700, parents=True)
    listening = list(kind.ports(form))
    if form.recorded:
        listening += [STORE_RECORDER, *([METADATA_RECORDER] if form.meta == "redis" else [])]
    ports = dict(zip(listening, free_ports(len(listening)), strict=True))
    fs = FileSystem(
        kind.name, kind.version(program), folder, form, store.name, store.endpoint_url,
        f"tailcast-lab-{kind.name}", ports, options,
    )  # fmt: skip
    _write_state(fs)
    write_credentials(folder)
    try:
        _make_bucket(fs)
        return _start(kind, fs, program)
    except BaseException:
        remove(kind.name)
        raise


def _make_bucket(fs: FileSystem) -> None:
    """Make its bucket, anew if a former file system has left one.

    Raises:
        InputError: the store refuses.
    """
    account = Account(fs.store_target)
    try:
        empty_and_delete(account, fs.bucket)
        account.buckets.create_bucket(Bucket=fs.bucket)
    except (BotoCoreError, ClientError) as error:
        raise InputError(f"{fs.store}: bucket {fs.bucket} cannot be made: {account.explain(error)}") from error


def _start(kind: FileSystemKind, fs: FileSystem, program: Path) -> FileSystem:
    """Start those servers that do not run, and wait until all can be used.

    Raises:
        InputError: one ended, or it took too long; with the last lines of its log.
    """
    running = fs.running
    started: dict[str, psutil.Process | None] = {}
    if fs.front not in running:
        unmount(fs.mount_point)  # of a mount that was killed

    def spawn(server: str, command: Sequence[str], further: Mapping[str, str] | None = None) -> None:
        if server not in running:
            started[server] = processes.start(fs.mark(server), command, environment(**(further or {})), fs.log(server))

    def record(server: str, protocol: str, to: tuple[str, int], delay_s: float) -> None:
        where = [str(fs.ports[server]), f"{to[0]}:{to[1]}", protocol, repr(delay_s), str(fs.record(server))]
        spawn(server, [sys.executable, "-m", recorder.__name__, *where], {"PYTHONPATH": str(_ROOT)})

    if fs.form.recorded:
        record(STORE_RECORDER, "http", port_of(fs.store_url), fs.form.store_delay_s)
        if (port := kind.metadata_port(fs)) is not None:
            record(METADATA_RECORDER, "redis", ("127.0.0.1", port), fs.form.metadata_delay_s)
        _await_connections([fs.ports[each] for each in (STORE_RECORDER, METADATA_RECORDER) if each in fs.ports])
    kind.start(program, fs, spawn)
    limit_s = time.monotonic() + _READY_WITHIN_S
    while (server := kind.unready(fs) or (None if fs.alive else fs.front)) is not None:
        found = fs.running
        ended = [each for each, first in started.items() if each not in found and not _is_alive(first)]
        if ended or time.monotonic() > limit_s:
            what = "ended at once" if ended else f"was not ready within {_READY_WITHIN_S:.0f} s"
            raise InputError(f"{fs.name} {what}; its log ends: {last_lines(fs.log(ended[0] if ended else server))}")
        time.sleep(_POLL_S)
    if not fs.ready:
        fs = fs.as_ready()
        _write_state(fs)
    return fs


def _is_alive(process: psutil.Process | None) -> bool:
    return process is not None and processes.is_alive(process)


def _await_connections(ports: Sequence[int]) -> None:
    """Wait until servers of loopback take connections.

    Raises:
        InputError: one does not.
    """
    limit_s = time.monotonic() + _READY_WITHIN_S
    for port in ports:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
                break
            if time.monotonic() > limit_s:
                raise InputError(f"nothing listens at port {port} within {_READY_WITHIN_S:.0f} s")
            time.sleep(_POLL_S)
