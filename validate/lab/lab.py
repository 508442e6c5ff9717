"""The lab: a real store on loopback or in a box, started and stopped by tailcast, never by hand.

One store at a time runs, as stores would disturb each other's measurements. The state folder (`$TAILCAST_STATE`, else
``tailcast`` in the XDG state home) has a folder for it: its data, the logs of its servers, its credentials in a file
that only its owner can read, and its state. What the store is to be, with its namespaces and mounts, is written before
anything is made or started; names follow from the folder, and processes are marked from their first moment. So
whenever a command is broken off, the next one knows all that there is.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from traces.errors import InputError
from traces.tables import atomic_file
from validate.lab import processes
from validate.lab.box import set_up
from validate.lab.box.box import Box
from validate.lab.box.network import Network, network_of, prefix_of
from validate.lab.box.requirements import require
from validate.lab.box.shape import Shape
from validate.lab.credentials import write_credentials
from validate.lab.file_systems.removal import remove_those_on
from validate.lab.folder import free_ports, lab_folder, last_lines, locked
from validate.lab.registry import STORES, kind_of
from validate.lab.store import Form, Node, Progress, Store, StoreKind

_HEALTHY_WITHIN_S = 60.0
_STOPS_WITHIN_S = 15.0
_POLL_S = 0.1

_Started = dict[tuple[int, str], psutil.Process | None]  # of a host and a server's name


def up(
    name: str,
    form: Form | None = None,
    progress: Progress = lambda line: None,
    shape: Shape | None = None,
    seed: int = 0,
    options: Mapping[str, str] | None = None,
) -> Store:
    """Start a store, or return the one that runs already; installs the server where it is missing.

    Where some of its processes have died they are started again on their data; where all have, the store begins anew.

    Args:
        name: of a store of the registry.
        form: its hosts and drives (default: the first of the store's forms).
        progress: called with a line now and then.
        shape: of the links and drives of a box; None: servers on loopback, drives are plain folders.
        seed: selects the random numbers of the box's drives.
        options: of the store's own configuration (default: none).

    Raises:
        InputError: there is no such store, it cannot have the form or an option, a store runs that is another one or in
            another form or shape, the server cannot be installed, the machine cannot have a box, or the store does not
            become healthy in time.
    """
    kind = kind_of(name)
    form = form or next(iter(kind.forms.values()))
    options = options or {}
    kind.check(form, options)
    if shape is not None and shape.db_drives is not None and not kind.has_db:
        raise InputError(f"the shape has db_drives; {kind.title} keeps no database for them: leave them out")
    with locked():
        store = running()
        if store is None or not store.ready:
            if store is not None:
                _remove(store.folder)  # its start was broken off
            if shape is not None:
                require(progress)
            wanted = _Wanted(kind, form, shape, seed, options)
            return _begin(wanted, _program(kind, progress))
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
        if store.options != options:
            raise InputError(f"{store.name} is up with other options; first stop it: tailcast lab down {store.name}")
        if store.box is not None:
            set_up.mend(store.box)
            set_up.end_start(store.box)
        if all(node.alive for node in store.nodes):
            return store
        return _start(kind, store, _program(kind, progress))


def _program(kind: StoreKind, progress: Progress) -> Path:
    """Return the program of a store, which is installed where it is missing.

    Raises:
        InputError: it cannot be, or takes too long to be installed without a request.
    """
    if (program := kind.find()) is not None:
        return program
    if not kind.installed_by_up:
        raise InputError(
            f"{kind.title} is not installed; 'tailcast lab install {kind.name}' does that ({kind.installation})"
        )
    return kind.install(progress)


def down(name: str) -> bool:
    """Stop a store and remove its data, and all that is left of one that was broken off; whether it was running.

    Raises:
        InputError: there is no such store, or something of it stays.
    """
    folder = _folder(kind_of(name))
    with locked():
        store = status(name)
        remove_those_on(name)
        if store is not None and store.box is None:
            _stop(store)
        _remove(folder)
        return store is not None


def _remove(folder: Path) -> None:
    """Remove all that there is of a store, and of file systems on it."""
    remove_those_on(folder.name)
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
        further = state["gateways"], state["monitors"], state["balancers"]
        form, box = Form(state["drives"], len(urls) - sum(further), state["set_size"], *further), state["box"]
        store = _store(kind.name, form, state["version"], _folder(kind), urls, box and _box(_folder(kind), form, box))
        store = replace(store, ready=state["ready"], options=state["options"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return store if (store := refreshed(store)).alive else None


def _box(folder: Path, form: Form, state: Mapping[str, Any]) -> Box:
    """Return the box that a state describes."""
    network = Network(prefix_of(folder), state["subnet"], form.host_count)
    shape = Shape.model_validate(state["shape"])
    return Box(folder, network, shape, form.drives, state["seed"], state["delays"], form.hosts)


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


def _folder(kind: StoreKind) -> Path:
    return lab_folder() / kind.name


def _mark(store: Store, node: Node, name: str) -> str:
    """What the processes of a server are marked by."""
    return f"{store.folder} {node.endpoint_url} {name}".rstrip()


def server_log(store: Store, host: int, name: str = "") -> Path:
    """Return the file with what a server of a host prints."""
    return store.folder / f"server-{host + 1}{f'-{name}' if name else ''}.log"


def refreshed(store: Store) -> Store:
    """Return the store with the processes that its nodes have now."""
    found = processes.by_mark(store.folder)

    def current(node: Node) -> Node:
        alone = _mark(store, node, "")
        own = {mark[len(alone) + 1 :]: each for mark, each in found.items() if f"{mark} ".startswith(f"{alone} ")}
        return replace(node, processes=processes.by_age(own.values()), running=frozenset(own))

    return replace(store, nodes=tuple(map(current, store.nodes)))


class _Wanted(NamedTuple):
    """A store that is to be started."""

    kind: StoreKind
    form: Form
    shape: Shape | None
    seed: int
    options: Mapping[str, str]

    def store(self, version: str, urls: Sequence[str], box: Box | None) -> Store:
        """Return the store that is not ready yet."""
        store = _store(self.kind.name, self.form, version, _folder(self.kind), urls, box)
        return replace(store, options=self.options)


def _begin(wanted: _Wanted, program: Path) -> Store:
    """Start a new store; if it does not become healthy, nothing is left of it."""
    folder = _folder(wanted.kind)
    _remove(folder)  # of a store that died
    folder.mkdir(mode=0o700)
    version = wanted.kind.version(program)
    write_credentials(folder, wanted.kind.has_accounts)
    try:
        if wanted.shape is None:
            urls = [f"http://127.0.0.1:{port}" for port in free_ports(wanted.form.host_count)]
            store = wanted.store(version, urls, None)
            _write_state(store)
        else:
            store = _boxed(wanted, version, wanted.shape)
        return _start(wanted.kind, store, program)
    except BaseException:
        _remove(folder)
        raise


def _boxed(wanted: _Wanted, version: str, shape: Shape) -> Store:
    """Make a box for a store whose servers are not started yet."""
    folder, form = _folder(wanted.kind), wanted.form
    while True:
        network = network_of(folder, form.host_count)
        box = Box(folder, network, shape, form.drives, wanted.seed, hosts=form.hosts)
        urls = [box.endpoint_url(host) for host in range(form.host_count)]
        _write_state(wanted.store(version, urls, box))
        try:
            box = set_up.make(box)
        except FileExistsError:  # another lab has taken the addresses meanwhile
            set_up.remove(folder)
            continue
        store = wanted.store(version, urls, box)
        _write_state(store)
        return store


def _write_state(store: Store) -> None:
    """Write down what a store is to be."""
    state = {
        "name": store.name,
        "drives": store.form.drives,
        "set_size": store.form.set_size,
        "gateways": store.form.gateways,
        "monitors": store.form.monitors,
        "balancers": store.form.balancers,
        "options": dict(store.options),
        "version": store.version,
        "endpoint_urls": [node.endpoint_url for node in store.nodes],
        "box": None if store.box is None else store.box.to_json(),
        "ready": store.ready,
    }
    with atomic_file(store.folder / "state.json") as temporary:
        temporary.write_text(json.dumps(state, indent=1) + "\n")


def _start(kind: StoreKind, store: Store, program: Path) -> Store:
    """Start those servers of the store that do not run, and wait until all are ready.

    Raises:
        InputError: a server ended or it took too long; with the last lines of its log.
    """
    started = start_servers(kind, store, program, range(store.form.host_count))
    limit_s = time.monotonic() + _HEALTHY_WITHIN_S
    while (unready := kind.unready(store := refreshed(store))) is not None:
        ended = [
            (host, name)
            for (host, name), process in started.items()
            if name not in store.nodes[host].running and not (process and processes.is_alive(process))
        ]
        if ended or time.monotonic() > limit_s:
            what = "ended at once" if ended else f"was not healthy within {_HEALTHY_WITHIN_S:.0f} s"
            logs = [server_log(store, *server) for server in ended] or _logs(store, unready)
            raise InputError(f"{store.name} {what}; its log ends: {last_lines(logs[0])}")
        time.sleep(_POLL_S)
    store = refreshed(store)  # servers fork workers until they are ready
    if store.box is not None:
        set_up.end_start(store.box)
    if not store.ready:
        store = replace(store, ready=True)
        _write_state(store)
    return store


def start_servers(kind: StoreKind, store: Store, program: Path, hosts: Container[int]) -> _Started:
    """Start the servers of some hosts, unless they run; return the processes of those that were started."""
    numbers = {node.endpoint_url: number for number, node in enumerate(store.nodes)}
    started: _Started = {}

    def spawn(node: Node, command: Sequence[str], environment: Mapping[str, str], name: str = "") -> None:
        host = numbers[node.endpoint_url]
        if host in hosts and name not in node.running:
            there = command if store.box is None else store.box.network.entered(host, command)
            log = server_log(store, host, name)
            started[host, name] = processes.start(_mark(store, node, name), there, environment, log)

    kind.start(program, store, spawn)
    return started


def _logs(store: Store, node: Node) -> list[Path]:
    """Return the logs of a node's servers, the one written last first."""
    first = server_log(store, [one.endpoint_url for one in store.nodes].index(node.endpoint_url))
    found = [first, *first.parent.glob(f"{first.stem}-*.log")]
    return sorted(found, key=lambda log: log.stat().st_mtime if log.exists() else 0.0, reverse=True)


def _stop(store: Store) -> None:
    """End the processes by SIGTERM, and by SIGKILL those that remain.

    Raises:
        InputError: one does not end.
    """
    left = processes.end([process for node in store.nodes for process in node.processes], _STOPS_WITHIN_S)
    if left:
        raise InputError(f"{store.name} (PID {', '.join(str(process.pid) for process in left)}) does not end")
