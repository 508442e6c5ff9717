"""The lab: a real store on loopback, started and stopped by tailcast, never by hand.

One store at a time runs in the state folder (`$TAILCAST_STATE`, else ``tailcast`` in the XDG state home): its data, the
logs of its servers, its credentials in a file that only its owner can read, and its state. What the store is to be is
written before its servers are started, and each server's process notes itself before it becomes the server; so whenever
a command is broken off, the next one knows all processes there are.
"""

from __future__ import annotations

import configparser
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError
from traces.tables import atomic_file
from validate.compare.machine import process_start_ticks
from validate.lab import minio
from validate.lab.minio import FORMS, Form
from validate.replay.readiness import is_complete, is_healthy
from validate.s3.account import Target

PROFILE = "tailcast-lab"
_HEALTHY_WITHIN_S = 60.0
_STOPS_WITHIN_S = 15.0
_POLL_S = 0.1
_LOG_LINES = 5

_NOTED = 'ticks=$(cut -d" " -f22 "/proc/$$/stat") && echo "$$ $ticks" >"$0" && exec "$@"'
"""A shell that writes its PID and start time (proc(5)) into the file $0 and then becomes the program."""


@dataclass(frozen=True)
class Node:
    """A server of a store.

    Attributes:
        pid, started_ticks: its process; both together name it for good (a PID is used again). 0 where there is none.
    """

    endpoint_url: str
    pid: int = 0
    started_ticks: int = 0

    @property
    def alive(self) -> bool:
        """Whether the very process that was started still runs."""
        return self.pid > 0 and process_start_ticks(self.pid) == self.started_ticks


@dataclass(frozen=True)
class Store:
    """A store of the lab.

    Attributes:
        version: as the server's program says.
    """

    name: str
    form: Form
    version: str
    nodes: tuple[Node, ...]

    @property
    def endpoint_url(self) -> str:
        """The first node's."""
        return self.nodes[0].endpoint_url

    @property
    def credentials_file(self) -> Path:
        """The AWS shared-credentials file with the profile ``tailcast-lab``."""
        return _folder() / "credentials"

    @property
    def data_folder(self) -> Path:
        """The folder under which its drives are."""
        return _folder() / "data"

    @property
    def target(self) -> Target:
        """The store as a target of requests, with the processes and the endpoints of all its nodes."""
        pids, urls = tuple(node.pid for node in self.nodes), tuple(node.endpoint_url for node in self.nodes)
        return Target(self.endpoint_url, PROFILE, self.credentials_file, pids, urls, self.version)

    @property
    def alive(self) -> bool:
        """Whether any of its processes still runs."""
        return any(node.alive for node in self.nodes)


def up(form: Form = FORMS["one-drive"], progress: Callable[[str], None] = lambda line: None) -> Store:
    """Start MinIO, or give the one that runs already; builds the server where it is missing.

    Where some of its processes have died they are started again on their data; where all have, the store begins anew.

    Args:
        form: one of `FORMS`.
        progress: called with a line now and then.

    Raises:
        InputError: there is no such form, MinIO runs in another one, cannot be built, or does not become healthy in
            time.
    """
    if form not in FORMS.values():
        raise InputError(f"minio cannot have {form}; allowed are {', '.join(map(str, FORMS.values()))}")
    with _locked():
        running = status()
        if running is None:
            return _begin(form, minio.find() or minio.install(progress))
        if running.form != form:
            raise InputError(f"minio is up with {running.form}, not {form}; first stop it: tailcast lab down minio")
        if all(node.alive for node in running.nodes):
            return running
        return _start(running, minio.find() or minio.install(progress))


def down() -> bool:
    """Stop the store and remove its data; whether one was running.

    Raises:
        InputError: a process does not end.
    """
    with _locked():
        running = status()
        if running is not None:
            _stop(running)
        shutil.rmtree(_folder(), ignore_errors=True)
        return running is not None


def status() -> Store | None:
    """The running store, with those of its nodes that have died; None where no process of it runs."""
    try:
        state = json.loads((_folder() / "state.json").read_text())
        nodes = tuple(_noted(url, index) for index, url in enumerate(state["endpoint_urls"]))
        store = Store(state["name"], Form(state["drives"], len(nodes)), state["version"], nodes)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return store if store.alive else None


def _noted(endpoint_url: str, index: int) -> Node:
    """The node with the process that has noted itself, if any."""
    try:
        pid, ticks = map(int, _note(index).read_text().split())
    except (OSError, ValueError):
        return Node(endpoint_url)
    return Node(endpoint_url, pid, ticks)


def _folder() -> Path:
    state = os.environ.get("TAILCAST_STATE")
    if state:
        return Path(state).resolve() / "lab" / "minio"
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home).resolve() / "tailcast" / "lab" / "minio"


def _note(index: int) -> Path:
    return _folder() / f"node-{index + 1}"


def _log(index: int) -> Path:
    return _folder() / f"server-{index + 1}.log"


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


def _begin(form: Form, binary: Path) -> Store:
    """Start a new store; if it does not become healthy, nothing is left of it."""
    folder = _folder()
    shutil.rmtree(folder, ignore_errors=True)  # of a store that died
    folder.mkdir(mode=0o700)
    store = _lay_out(folder, form, minio.version(binary))
    try:
        return _start(store, binary)
    except BaseException:
        _stop(status() or store)
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _lay_out(folder: Path, form: Form, version: str) -> Store:
    """Write down a store none of whose servers has been started."""
    credentials = os.open(folder / "credentials", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(credentials, "w") as file:
        keys = f"aws_access_key_id = tc{secrets.token_hex(8)}\naws_secret_access_key = {secrets.token_urlsafe(30)}\n"
        file.write(f"[{PROFILE}]\n{keys}")
    urls = [f"http://127.0.0.1:{port}" for port in _free_ports(form.nodes)]
    state = {"name": "minio", "drives": form.drives, "version": version, "endpoint_urls": urls}
    with atomic_file(folder / "state.json") as temporary:
        temporary.write_text(json.dumps(state, indent=1) + "\n")
    return Store("minio", form, version, tuple(map(Node, urls)))


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as open_ones:  # all open at once, so that they differ
        probes = [open_ones.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _start(store: Store, binary: Path) -> Store:
    """Start those servers of the store that do not run, and wait until all are ready."""
    nodes = tuple(node if node.alive else _spawn(store, index, binary) for index, node in enumerate(store.nodes))
    store = Store(store.name, store.form, store.version, nodes)
    _await_ready(store)
    return store


def _spawn(store: Store, index: int, binary: Path) -> Node:
    """Start a server that outlives this process, in a session of its own, with its output in a file."""
    addresses = [node.endpoint_url.removeprefix("http://") for node in store.nodes]
    keys = configparser.RawConfigParser()
    keys.read(store.credentials_file)
    user, password = keys[PROFILE]["aws_access_key_id"], keys[PROFILE]["aws_secret_access_key"]
    command = minio.arguments(binary, addresses, index, store.data_folder, store.form.drives)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(_log(index)), flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    pid = os.posix_spawn(
        "/bin/sh",
        ["/bin/sh", "-c", _NOTED, str(_note(index)), *command],
        minio.server_environment(user, password, addresses[index]),
        file_actions=actions,
        setsid=True,
    )
    return Node(store.nodes[index].endpoint_url, pid, process_start_ticks(pid) or 0)


def _await_ready(store: Store) -> None:
    """Wait until every node says that the whole cluster is healthy, and reaches all drives.

    Raises:
        InputError: a server ended or it took too long; with the last lines of its log.
    """
    limit_s = time.monotonic() + _HEALTHY_WITHIN_S
    while (index := _not_ready(store)) is not None:
        ended = [n for n, node in enumerate(store.nodes) if not node.alive]
        if ended or time.monotonic() > limit_s:
            what = "ended at once" if ended else f"was not healthy within {_HEALTHY_WITHIN_S:.0f} s"
            log = _log(ended[0] if ended else index).read_text(errors="replace")
            tail = " | ".join(log.split("\n")[-_LOG_LINES - 1 :]).strip(" |")
            raise InputError(f"minio {what}; its log ends: {tail or '(nothing)'}")
        time.sleep(_POLL_S)


def _not_ready(store: Store) -> int | None:
    """The index of a node that is not ready; None where all are."""
    for index, node in enumerate(store.nodes):
        if not is_healthy(node.endpoint_url):
            return index
    one = len(store.nodes) == 1
    return None if one or is_complete(store.target, store.data_folder, store.form.drives) else 0


def _stop(store: Store) -> None:
    """End the processes: asked first, then killed.

    Raises:
        InputError: one does not end.
    """
    for way in (signal.SIGTERM, signal.SIGKILL):
        for node in store.nodes:
            if node.alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(node.pid, way)
        limit_s = time.monotonic() + _STOPS_WITHIN_S
        while store.alive and time.monotonic() < limit_s:
            time.sleep(_POLL_S / 2)
    for node in store.nodes:
        if node.pid > 0:
            with contextlib.suppress(ChildProcessError):  # not ours when an earlier command started it
                os.waitpid(node.pid, os.WNOHANG)
    left = [str(node.pid) for node in store.nodes if node.alive]
    if left:
        raise InputError(f"minio (PID {', '.join(left)}) does not end")
