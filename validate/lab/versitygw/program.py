"""versitygw's program, and how it is called."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from traces.errors import InputError
from validate.lab.options import check_servers, options_of
from validate.lab.programs.go import GoProgram
from validate.lab.store import Form, Node, Store

PROGRAM = GoProgram("versitygw", "versitygw", "github.com/versity/versitygw/cmd/versitygw@v1.8.0", "TAILCAST_VERSITYGW")
HEALTH = "/health"
_GATEWAY, _POSIX = "gateway", "posix"
_OWN = {_GATEWAY: ("access", "health", "port", "secret"), _POSIX: ()}
"""Options that the lab gives itself."""


def check(form: Form, options: Mapping[str, str]) -> None:
    """Check form and options.

    Raises:
        InputError: one is wrong.
    """
    if form.host_count != 1 or form.drives != 1:
        raise InputError("a versitygw of the lab is one host with one drive: its objects are files of one file system")
    if form.set_size is not None:
        raise InputError("a versitygw has no erasure sets: leave out their size")
    check_servers(options, tuple(_OWN), "versitygw")
    for server, own in _OWN.items():
        for name in own:
            if name in options_of(options, server):
                raise InputError(f"option {server}.{name}: the lab sets it; leave it out")


def arguments(binary: Path, store: Store, node: Node) -> list[str]:
    """Return the command of the server; its options are those of the program's help."""
    listens = ["--quiet", "--port", node.bind_address, "--health", HEALTH]
    folder = str(store.drive_folder(0, 0))
    return [str(binary), *listens, *_flags(store, _GATEWAY), "posix", *_flags(store, _POSIX), folder]


def _flags(store: Store, server: str) -> Iterator[str]:
    return (f"--{name}={value}" for name, value in options_of(store.options, server).items())


def environment(store: Store) -> dict[str, str]:
    """Return the environment of the server: its keys, and no settings for another one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VGW_", "ROOT_", "AWS_"))}
    access_key, secret_key = store.credentials
    return kept | {"ROOT_ACCESS_KEY_ID": access_key, "ROOT_SECRET_ACCESS_KEY": secret_key}
