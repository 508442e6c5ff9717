"""The lab: a real store on loopback or in a box, started and stopped by tailcast, never by hand.

One store at a time runs, as stores would disturb each other's measurements. The state folder (`$TAILCAST_STATE`, else
``tailcast`` in the XDG state home) has a folder for it: its data, the logs of its servers, its credentials in a file
that only its owner can read, and its state. What the store is to be, with its namespaces and mounts, is written before
anything is made or started; names follow from the folder, and processes are marked from their first moment. So
whenever a command is broken off, the next one knows all that there is.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from traces.errors import InputError
from traces.tables import atomic_file
from validate.lab import processes
from validate.lab.box import set_up
from validate.lab.box.box import Box
from validate.lab.box.network import Network, network_of, prefix_of
from validate.lab.box.requirements import require
from validate.lab.box.shape import Shape
from validate.lab.registry import STORES, kind_of
from validate.lab.store import PROFILE, Form, Node, Progress, Store, StoreKind

_HEALTHY_WITHIN_S = 60.0
_STOPS_WITHIN_S = 15.0
_POLL_S = 0.1
_LOG_LINES = 5


def up(
    name: str,
    form: Form | None = None,
    progress: Progress = lambda line: None,
    shape: Shape | None = None,
    seed: int = 0,
) -> Store:
    """Start a store, or return the one that runs already; installs the server where it is missing.

    Where some of its processes have died they are started again on their data; where all have, the store begins anew.

    Args:
        name: of a store of the registry.
        form: its hosts and drives (default: the first of the store's forms).
        progress: called with a line now and then.
        shape: of the links and drives of a box; None: servers on loopback, drives are plain folders.
        seed: selects the random numbers of the box's drives.

    Raises:
        InputError: there is no such store, it cannot have the form, a store runs that is another one or in another
            form or shape, the server cannot be installed, the machine cannot have a box, or the store does not become
            healthy in time.
    """
    kind = kind_of(name)
    form = form or next(iter(kind.forms.values()))
    kind.check(form)
    with _locked():
        store = running()
        if store is None or not store.ready:
            if store is not None:
                _remove(store.folder)  # its start was broken off
            if shape is not None:
                require(progress)
            return _begin(kind, form, kind.find() or kind.install(progress), shape, seed)
        if (store.name, store.form) != (name, form):
            raise InputError(
                f"{store.name} is up with {store.form}, not {name} with {form}; "
                f"first stop it: tailcast lab down {store.name}"
            )
        if (None if store.box is None else (store.box.shape, store.box.seed)) != (shape and (shape, seed)):
            raise InputError(
                f"{store.name} is up with {'plain folders' if store.box is None else 'another shape or seed'}; "
                f"first stop it: tailcast lab down {store.name}"
            )
        if store.box is not None:
            set_up.mend(store.box)
            set_up.end_start(store.box)
        if all(node.alive for node in store.nodes):
            return store
        return _start(kind, store, kind.find() or kind.install(progress))


def down(name: str) -> bool:
    """Stop a store and remove its data, and all that is left of one that was broken off; whether it was running.

    Raises:
        InputError: there is no such store, or something of it stays.
    """
    folder = _folder(kind_of(name))
    with _locked():
        store = status(name)
        if store is not None and store.box is None:
            _stop(store)
        _remove(folder)
        return store is not None


def _remove(folder: Path) -> None:
    """Remove all that there is of a store."""
    set_up.remove(folder)
    shutil.rmtree(folder, ignore_errors=True)


def status(name: str) -> Store | None:
    """The store, with those of its nodes that have died; None where no process of it runs.

    Raises:
        InputError: there is no such store.
    """
    kind = kind_of(name)
    try:
        state = json.loads((_folder(kind) / "state.json").read_text())
        urls = state["endpoint_urls"]
        form, box = Form(state["drives"], len(urls), state["set_size"]), state["box"]
        store = _store(kind.name, form, state["version"], _folder(kind), urls, box and _box(_folder(kind), form, box))
        store = replace(store, ready=state["ready"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return store if (store := refreshed(store)).alive else None


def _box(folder: Path, form: Form, state: Mapping[str, Any]) -> Box:
    """Return the box that a state describes."""
    network = Network(prefix_of(folder), state["subnet"], form.hosts)
    return Box(folder, network, Shape.model_validate(state["shape"]), form.drives, state["seed"], state["delays"])


def _store(name: str, form: Form, version: str, folder: Path, urls: Sequence[str], box: Box | None) -> Store:
    listens_at = box.bind_address if box is not None and box.proxied else ""
    return Store(name, form, version, folder, tuple(Node(url, (), listens_at) for url in urls), box)


def is_left(name: str) -> bool:
    """Whether there is anything of a store, be it only what a crash has left.

    Raises:
        InputError: there is no such store.
    """
    return _folder(kind_of(name)).exists()


def running() -> Store | None:
    """The store that is up, whichever it is; None where none is."""
    return next((store for name in STORES if (store := status(name)) is not None), None)


def _lab_folder() -> Path:
    state = os.environ.get("TAILCAST_STATE")
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return (Path(state) if state else Path(home) / "tailcast").resolve() / "lab"


def _folder(kind: StoreKind) -> Path:
    return _lab_folder() / kind.name


def _mark(store: Store, node: Node) -> str:
    """What the processes of a node are marked by."""
    return f"{store.folder} {node.endpoint_url}"


def _log(store: Store, node: Node) -> Path:
    return store.folder / f"server-{[one.endpoint_url for one in store.nodes].index(node.endpoint_url) + 1}.log"


def refreshed(store: Store) -> Store:
    """Return the store with the processes that its nodes have now."""
    found = processes.marked(_mark(store, node) for node in store.nodes)
    return replace(store, nodes=tuple(replace(n, processes=found[_mark(store, n)]) for n in store.nodes))


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """One `up` or `down` at a time; the folder of the lab's state is there."""
    folder = _lab_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise InputError(f"{error.filename or folder}: the lab cannot be kept there: {error.strerror}") from error


def _begin(kind: StoreKind, form: Form, program: Path, shape: Shape | None, seed: int) -> Store:
    """Start a new store; if it does not become healthy, nothing is left of it."""
    folder = _folder(kind)
    _remove(folder)  # of a store that died
    folder.mkdir(mode=0o700)
    version = kind.version(program)
    _write_credentials(folder)
    try:
        if shape is None:
            urls = [f"http://127.0.0.1:{port}" for port in _free_ports(form.hosts)]
            store = _store(kind.name, form, version, folder, urls, None)
            _write_state(store)
        else:
            store = _boxed(kind, form, version, shape, seed)
        return _start(kind, store, program)
    except BaseException:
        _remove(folder)
        raise


def _boxed(kind: StoreKind, form: Form, version: str, shape: Shape, seed: int) -> Store:
    """Make a box for a store whose servers are not started yet."""
    folder = _folder(kind)
    while True:
        box = Box(folder, network_of(folder, form.hosts), shape, form.drives, seed)
        urls = [box.endpoint_url(host) for host in range(form.hosts)]
        _write_state(_store(kind.name, form, version, folder, urls, box))
        try:
            box = set_up.make(box)
        except FileExistsError:  # another lab has taken these addresses meanwhile
            set_up.remove(folder)
            continue
        store = _store(kind.name, form, version, folder, urls, box)
        _write_state(store)
        return store


def _write_credentials(folder: Path) -> None:
    credentials = os.open(folder / "credentials", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(credentials, "w") as file:
        keys = f"aws_access_key_id = tc{secrets.token_hex(8)}\naws_secret_access_key = {secrets.token_urlsafe(30)}\n"
        file.write(f"[{PROFILE}]\n{keys}")


def _write_state(store: Store) -> None:
    """Write down what a store is to be."""
    state = {
        "name": store.name,
        "drives": store.form.drives,
        "set_size": store.form.set_size,
        "version": store.version,
        "endpoint_urls": [node.endpoint_url for node in store.nodes],
        "box": None if store.box is None else store.box.to_json(),
        "ready": store.ready,
    }
    with atomic_file(store.folder / "state.json") as temporary:
        temporary.write_text(json.dumps(state, indent=1) + "\n")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as open_ones:  # all open at once, so that they differ
        probes = [open_ones.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _start(kind: StoreKind, store: Store, program: Path) -> Store:
    """Start those servers of the store that do not run, and wait until all are ready.

    Raises:
        InputError: a server ended or it took too long; with the last lines of its log.
    """
    start_servers(kind, store, program, range(store.form.hosts))
    limit_s = time.monotonic() + _HEALTHY_WITHIN_S
    while (unready := kind.unready(store := refreshed(store))) is not None:
        ended = next((node for node in store.nodes if not node.alive), None)
        if ended is not None or time.monotonic() > limit_s:
            what = f"was not healthy within {_HEALTHY_WITHIN_S:.0f} s" if ended is None else "ended at once"
            raise InputError(f"{store.name} {what}; its log ends: {_last_lines(_log(store, ended or unready))}")
        time.sleep(_POLL_S)
    if store.box is not None:
        set_up.end_start(store.box)
    if not store.ready:
        store = replace(store, ready=True)
        _write_state(store)
    return store


def start_servers(kind: StoreKind, store: Store, program: Path, hosts: Container[int]) -> None:
    """Start the servers of some hosts, unless they run; waits for none of them."""
    numbers = {node.endpoint_url: number for number, node in enumerate(store.nodes)}

    def spawn(node: Node, command: Sequence[str], environment: Mapping[str, str]) -> None:
        host = numbers[node.endpoint_url]
        if host in hosts and not node.alive:
            there = command if store.box is None else store.box.network.entered(host, command)
            processes.start(_mark(store, node), there, environment, _log(store, node))

    kind.start(program, store, spawn)


def _last_lines(log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    return " | ".join(text.split("\n")[-_LOG_LINES - 1 :]).strip(" |") or "(nothing)"


def _stop(store: Store) -> None:
    """End the processes: asked first, then killed.

    Raises:
        InputError: one does not end.
    """
    left = processes.end([process for node in store.nodes for process in node.processes], _STOPS_WITHIN_S)
    if left:
        raise InputError(f"{store.name} (PID {', '.join(str(process.pid) for process in left)}) does not end")
