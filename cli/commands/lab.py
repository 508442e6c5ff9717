"""`tailcast lab`: real stores on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from cli.common import print_json, say, stderr
from cli.options import JsonOption
from traces.errors import InputError
from validate.lab import lab
from validate.lab.registry import STORES, kind_of
from validate.lab.store import PROFILE, Form, Store, StoreKind

app = typer.Typer(help="Start and stop a real store on loopback.", no_args_is_help=True)


_FIRST = next(iter(STORES))

NameArgument = Annotated[str, typer.Argument(metavar="STORE", help=f"The store: {', '.join(STORES)}.")]


def _options(form: Form) -> str:
    """How a form is asked for."""
    return f"--nodes {form.nodes} --drives {form.drives}" if form.nodes > 1 else f"--drives {form.drives}"


def _forms(kind: StoreKind) -> str:
    return ", ".join(map(_options, kind.forms.values()))


_ALL_FORMS = "; ".join(f"{name}: {_forms(kind)}" for name, kind in STORES.items())


@app.command()
def up(
    name: NameArgument = _FIRST,
    drives: Annotated[
        int | None, typer.Option(help=f"Number of drives in all ({_ALL_FORMS}; default: the store's first that fits).")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(help="Number of nodes, a process each (default: the store's first that fits).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Start the store; harmless when it is up.

    Installs the server where it is missing. Starts again what has died of several processes.

    Example: tailcast lab up minio --drives 4
    """
    form = _form(kind_of(name), drives, nodes)
    already = lab.status(name) is not None
    with _lines(f"{name}: starting") as progress:
        store = lab.up(name, form, progress)
    _print(store, "is already up" if already else "is up", json)


@app.command()
def down(name: NameArgument = _FIRST, json: JsonOption = False) -> None:
    """Stop the store and remove its data.

    Example: tailcast lab down minio
    """
    stopped = lab.down(name)
    if json:
        print_json({"name": name, "up": False, "stopped": stopped})
    else:
        say(f"{name} is down" if stopped else f"{name} was not up")


@app.command()
def status(name: NameArgument = _FIRST, json: JsonOption = False) -> None:
    """Say whether the store is up, and where.

    Example: tailcast lab status minio
    """
    store = lab.status(name)
    if store is not None:
        _print(store, "is up", json)
    elif json:
        print_json({"name": name, "up": False})
    else:
        say(f"{name} is down")


@app.command()
def install(name: NameArgument = _FIRST, json: JsonOption = False) -> None:
    """Install the store's server, unless it is there.

    Example: tailcast lab install minio
    """
    kind = kind_of(name)
    with _lines(f"{name}: installing") as progress:
        program = kind.find() or kind.install(progress)
    if json:
        print_json({"name": name, "binary": str(program), "version": kind.version(program)})
    else:
        say(f"{name} is installed: {program}")


def _form(kind: StoreKind, drives: int | None, nodes: int | None) -> Form:
    """Return the first form with the requested drives and nodes."""
    for form in kind.forms.values():
        if drives in (None, form.drives) and nodes in (None, form.nodes):
            return form
    given = {"--nodes": nodes, "--drives": drives}
    requested = " ".join(f"{option} {count}" for option, count in given.items() if count is not None)
    raise InputError(f"{kind.name} cannot have {requested}; allowed are {_forms(kind)}")


def _facts(store: Store) -> dict[str, Any]:
    return {
        "name": store.name,
        "up": True,
        "endpoint_url": store.endpoint_url,
        "drives": store.form.drives,
        "pid": store.nodes[0].pid,
        "nodes": [{"endpoint_url": n.endpoint_url, "pid": n.pid, "up": n.alive} for n in store.nodes],
        "version": store.version,
        "profile": PROFILE,
        "credentials_file": str(store.credentials_file),
    }


def _print(store: Store, state: str, json: bool) -> None:
    if json:
        print_json(_facts(store))
        return
    drives, processes = store.form
    say(f"{store.name} {state}: {drives} drive{'s' * (drives > 1)}, {processes} process{'es' * (processes > 1)}")
    for node in store.nodes:
        say(f"{node.endpoint_url}, {f'PID {node.pid}' if node.alive else 'ended'}")
    say(f"credentials: AWS_SHARED_CREDENTIALS_FILE={store.credentials_file} AWS_PROFILE={PROFILE}")


@contextmanager
def _lines(what: str) -> Iterator[Callable[[str], None]]:
    """The newest line of something that takes its time, on stderr."""
    with stderr.status(what) as shown:
        yield lambda line: shown.update(f"{what}: {line}")
