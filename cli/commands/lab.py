"""`tailcast lab`: real stores on loopback."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from cli.common import print_json, say, stderr
from cli.options import JsonOption
from validate.lab import lab, minio
from validate.lab.lab import Store
from validate.lab.minio import Form

app = typer.Typer(help="Start and stop a real store on loopback.", no_args_is_help=True)


class StoreName(enum.StrEnum):
    """The stores of the lab."""

    MINIO = "minio"


NameArgument = Annotated[StoreName, typer.Argument(metavar="STORE", help="The store: minio.")]


@app.command()
def up(
    name: NameArgument = StoreName.MINIO,
    drives: Annotated[
        int | None, typer.Option(help="Drives in all: 1, or 4 in one erasure set.", show_default="one a node")
    ] = None,
    nodes: Annotated[int, typer.Option(help="Processes: 1, or 4 with a drive each, which make one erasure set.")] = 1,
    json: JsonOption = False,
) -> None:
    """Start the store; harmless when it is up.

    Builds the server where it is missing (some ten CPU minutes). Starts again what has died of several processes.
    """
    already = lab.status() is not None
    with _lines(f"{name}: starting") as progress:
        store = lab.up(Form(nodes if drives is None else drives, nodes), progress)
    _print(store, "is already up" if already else "is up", json)


@app.command()
def down(name: NameArgument = StoreName.MINIO, json: JsonOption = False) -> None:
    """Stop the store and remove its data."""
    stopped = lab.down()
    if json:
        print_json({"name": name.value, "up": False, "stopped": stopped})
    else:
        say(f"{name} is down" if stopped else f"{name} was not up")


@app.command()
def status(name: NameArgument = StoreName.MINIO, json: JsonOption = False) -> None:
    """Say whether the store is up, and where."""
    store = lab.status()
    if store is not None:
        _print(store, "is up", json)
    elif json:
        print_json({"name": name.value, "up": False})
    else:
        say(f"{name} is down")


@app.command()
def install(name: NameArgument = StoreName.MINIO, json: JsonOption = False) -> None:
    """Build the store's server with Go, unless it is there."""
    with _lines(f"{name}: installing") as progress:
        binary = minio.find() or minio.install(progress)
    if json:
        print_json({"name": name.value, "binary": str(binary), "version": minio.version(binary)})
    else:
        say(f"{name} is installed: {binary}")


def _facts(store: Store) -> dict[str, Any]:
    return {
        "name": store.name,
        "up": True,
        "endpoint_url": store.endpoint_url,
        "drives": store.form.drives,
        "pid": store.nodes[0].pid,
        "nodes": [{"endpoint_url": n.endpoint_url, "pid": n.pid, "up": n.alive} for n in store.nodes],
        "version": store.version,
        "profile": lab.PROFILE,
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
    say(f"credentials: AWS_SHARED_CREDENTIALS_FILE={store.credentials_file} AWS_PROFILE={lab.PROFILE}")


@contextmanager
def _lines(what: str) -> Iterator[Callable[[str], None]]:
    """The newest line of something that takes its time, on stderr."""
    with stderr.status(what) as shown:
        yield lambda line: shown.update(f"{what}: {line}")
