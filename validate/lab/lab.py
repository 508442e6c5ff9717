"""The lab: a real store on loopback, started and stopped by tailcast, never by hand.

One store at a time runs, as stores would disturb each other's measurements. The state folder (`$TAILCAST_STATE`, else
``tailcast`` in the XDG state home) has a folder for it: its data, the logs of its servers, its credentials in a file
that only its owner can read, and its state. What the store is to be is written before its servers are started, and
their processes are marked from their first moment; so whenever a command is broken off, the next one knows all
processes there are.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from traces.errors import InputError
from traces.tables import atomic_file
from validate.lab import processes
from validate.lab.registry import STORES, kind_of
from validate.lab.store import PROFILE, Form, Node, Progress, Store, StoreKind

_HEALTHY_WITHIN_S = 60.0
_STOPS_WITHIN_S = 15.0
_POLL_S = 0.1
_LOG_LINES = 5


def up(name: str, form: Form | None = None, progress: Progress = lambda line: None) -> Store:
    """Start a store, or return the one that runs already; installs the server where it is missing.

    Where some of its processes have died they are started again on their data; where all have, the store begins anew.

    Args:
        name: of a store of the registry.
        form: one of the store's forms (default: the first).
        progress: called with a line now and then.

    Raises:
        InputError: there is no such store or form, a store runs that is another one or in another form, the server
            cannot be installed, or does not become healthy in time.
    """
    kind = kind_of(name)
    forms = tuple(kind.forms.values())
    form = form or forms[0]
    if form not in forms:
        raise InputError(f"{name} cannot have {form}; allowed are {', '.join(map(str, forms))}")
    with _locked():
        store = running()
        if store is None:
            return _begin(kind, form, kind.find() or kind.install(progress))
        if (store.name, store.form) != (name, form):
            raise InputError(
                f"{store.name} is up with {store.form}, not {name} with {form}; "
                f"first stop it: tailcast lab down {store.name}"
            )
        if all(node.alive for node in store.nodes):
            return store
        return _start(kind, store, kind.find() or kind.install(progress))


def down(name: str) -> bool:
    """Stop a store and remove its data; whether it was running.

    Raises:
        InputError: there is no such store, or a process does not end.
    """
    folder = _folder(kind_of(name))
    with _locked():
        store = status(name)
        if store is not None:
            _stop(store)
        shutil.rmtree(folder, ignore_errors=True)
        return store is not None


def status(name: str) -> Store | None:
    """The store, with those of its nodes that have died; None where no process of it runs.

    Raises:
        InputError: there is no such store.
    """
    kind = kind_of(name)
    try:
        state = json.loads((_folder(kind) / "state.json").read_text())
        nodes = tuple(map(Node, state["endpoint_urls"]))
        store = Store(kind.name, Form(state["drives"], len(nodes)), state["version"], _folder(kind), nodes)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return store if (store := _looked_at(store)).alive else None


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


def _looked_at(store: Store) -> Store:
    """The store with the processes that its nodes have now."""
    found = processes.marked(_mark(store, node) for node in store.nodes)
    return replace(store, nodes=tuple(Node(n.endpoint_url, found[_mark(store, n)]) for n in store.nodes))


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


def _begin(kind: StoreKind, form: Form, program: Path) -> Store:
    """Start a new store; if it does not become healthy, nothing is left of it."""
    folder = _folder(kind)
    shutil.rmtree(folder, ignore_errors=True)  # of a store that died
    folder.mkdir(mode=0o700)
    urls = [f"http://127.0.0.1:{port}" for port in _free_ports(form.nodes)]
    store = Store(kind.name, form, kind.version(program), folder, tuple(map(Node, urls)))
    _lay_out(store)
    try:
        return _start(kind, store, program)
    except BaseException:
        _stop(_looked_at(store))
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _lay_out(store: Store) -> None:
    """Write down a store none of whose servers has been started."""
    credentials = os.open(store.credentials_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(credentials, "w") as file:
        keys = f"aws_access_key_id = tc{secrets.token_hex(8)}\naws_secret_access_key = {secrets.token_urlsafe(30)}\n"
        file.write(f"[{PROFILE}]\n{keys}")
    urls = [node.endpoint_url for node in store.nodes]
    state = {"name": store.name, "drives": store.form.drives, "version": store.version, "endpoint_urls": urls}
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

    def spawn(node: Node, command: Sequence[str], environment: Mapping[str, str]) -> None:
        if not node.alive:
            processes.start(_mark(store, node), command, environment, _log(store, node))

    kind.start(program, store, spawn)
    limit_s = time.monotonic() + _HEALTHY_WITHIN_S
    while (unready := kind.unready(store := _looked_at(store))) is not None:
        ended = next((node for node in store.nodes if not node.alive), None)
        if ended is not None or time.monotonic() > limit_s:
            what = f"was not healthy within {_HEALTHY_WITHIN_S:.0f} s" if ended is None else "ended at once"
            raise InputError(f"{store.name} {what}; its log ends: {_last_lines(_log(store, ended or unready))}")
        time.sleep(_POLL_S)
    return store


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
