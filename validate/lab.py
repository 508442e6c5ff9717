"""The lab: a real store on loopback, started and stopped by tailcast, never by hand.

One store at a time runs in the state folder (`$TAILCAST_STATE`, else ``tailcast`` in the XDG state home): its data, its
log, a state file that names the process, and its credentials in a file that only its owner can read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from traces.errors import InputError
from validate import minio
from validate.machine import process_start_ticks
from validate.s3 import Target

PROFILE = "tailcast-lab"
_HEALTHY_WITHIN_S = 60.0
_STOPS_WITHIN_S = 15.0
_POLL_S = 0.1
_LOG_LINES = 5


@dataclass(frozen=True)
class Store:
    """A running store of the lab.

    Attributes:
        pid, started_ticks: the process; both together name it for good (a PID is used again).
        version: as the server's program says.
    """

    name: str
    pid: int
    started_ticks: int
    endpoint_url: str
    drives: int
    version: str

    @property
    def credentials_file(self) -> Path:
        """The AWS shared-credentials file with the profile ``tailcast-lab``."""
        return _folder() / "credentials"

    @property
    def target(self) -> Target:
        """The store as a target of requests, its CPU time included."""
        return Target(self.endpoint_url, PROFILE, self.credentials_file, self.pid)

    @property
    def alive(self) -> bool:
        """Whether the very process that was started still runs."""
        return process_start_ticks(self.pid) == self.started_ticks


def up(drives: int = 1, progress: Callable[[str], None] = lambda line: None) -> Store:
    """Start MinIO, or give the one that runs already; builds the server where it is missing.

    Args:
        drives: one drive, or four as one erasure set.
        progress: called with a line now and then.

    Raises:
        InputError: MinIO runs with another number of drives, cannot be built, or does not become healthy in time.
    """
    if drives not in minio.DRIVES:
        raise InputError(f"drives is {drives}; allowed are {' and '.join(map(str, minio.DRIVES))}")
    with _locked():
        running = status()
        if running is not None:
            if running.drives != drives:
                raise InputError(
                    f"minio is up with --drives {running.drives}, not {drives}; first stop it: tailcast lab down minio"
                )
            return running
        binary = minio.find() or minio.install(progress)
        return _start(binary, drives)


def down() -> bool:
    """Stop the store and remove its data; whether one was running.

    Raises:
        InputError: the process does not end.
    """
    with _locked():
        running = status()
        if running is not None:
            _stop(running)
        shutil.rmtree(_folder(), ignore_errors=True)
        return running is not None


def status() -> Store | None:
    """The running store; None where there is none."""
    try:
        store = Store(**json.loads((_folder() / "state.json").read_text()))
    except (OSError, json.JSONDecodeError, TypeError):
        return None
    return store if store.alive else None


def _folder() -> Path:
    state = os.environ.get("TAILCAST_STATE")
    if state:
        return Path(state).resolve() / "lab" / "minio"
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home).resolve() / "tailcast" / "lab" / "minio"


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """One `up` or `down` at a time; the folder of the state is there."""
    folder = _folder()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (folder.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise InputError(f"{error.filename or folder}: the lab cannot be kept there: {error.strerror}") from error


def _start(binary: Path, drives: int) -> Store:
    folder = _folder()
    shutil.rmtree(folder, ignore_errors=True)  # of a store that died
    folder.mkdir(mode=0o700)
    user, password = f"tc{secrets.token_hex(8)}", secrets.token_urlsafe(30)
    _write_credentials(folder / "credentials", user, password)
    address = f"127.0.0.1:{_free_port()}"
    arguments = minio.arguments(binary, address, folder / "data", drives)
    pid = _spawn(arguments, minio.server_environment(user, password), folder / "server.log")
    ticks = process_start_ticks(pid)
    store = Store("minio", pid, ticks or -1, f"http://{address}", drives, minio.version(binary))
    (folder / "state.json").write_text(json.dumps(asdict(store), indent=1) + "\n")
    try:
        _await_health(store, folder / "server.log")
    except BaseException:
        if store.alive:
            _stop(store)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return store


def _write_credentials(path: Path, user: str, password: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(f"[{PROFILE}]\naws_access_key_id = {user}\naws_secret_access_key = {password}\n")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _spawn(arguments: list[str], environment: dict[str, str], log: Path) -> int:
    """Start a process that outlives this one, in a session of its own, with its output in a file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(arguments[0], arguments, environment, file_actions=actions, setsid=True)


def _await_health(store: Store, log: Path) -> None:
    """Wait until the whole cluster says it is healthy.

    Raises:
        InputError: it ended or took too long; with the last lines of its log.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # past any proxy of the environment
    limit_s = time.monotonic() + _HEALTHY_WITHIN_S
    while store.alive and time.monotonic() < limit_s:
        with contextlib.suppress(OSError), opener.open(f"{store.endpoint_url}{minio.HEALTH}", timeout=2) as answer:
            if answer.status == 200:
                return
        time.sleep(_POLL_S)
    what = f"was not healthy within {_HEALTHY_WITHIN_S:.0f} s" if store.alive else "ended at once"
    tail = " | ".join(log.read_text(errors="replace").split("\n")[-_LOG_LINES - 1 :]).strip(" |")
    raise InputError(f"minio {what}; its log ends: {tail or '(nothing)'}")


def _stop(store: Store) -> None:
    """End the process: asked first, then killed.

    Raises:
        InputError: it does not end.
    """
    for way in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(store.pid, way)
        limit_s = time.monotonic() + _STOPS_WITHIN_S
        while store.alive and time.monotonic() < limit_s:
            time.sleep(_POLL_S / 2)
        if not store.alive:
            with contextlib.suppress(ChildProcessError):  # not ours when an earlier command started it
                os.waitpid(store.pid, os.WNOHANG)
            return
    raise InputError(f"minio (PID {store.pid}) does not end")
