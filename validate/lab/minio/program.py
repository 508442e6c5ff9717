"""The MinIO server's program: where it is, how it is built, and how it is called."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from validate.lab.programs.found import first_line
from validate.lab.programs.go import GoProgram
from validate.lab.store import Node, Store

MODULE = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"
"""A pseudo-version of February 2026: the Go module proxy has no release tags of it."""


PROGRAM = GoProgram("MinIO", "minio", MODULE, "TAILCAST_MINIO")


def find() -> Path | None:
    """The server's program: `$TAILCAST_MINIO`, else ``minio`` on the PATH, else where Go installs programs.

    Raises:
        InputError: `$TAILCAST_MINIO` names no program.
    """
    return PROGRAM.find()


def install(progress: Callable[[str], None] = lambda line: None) -> Path:
    """Build the server with Go: some ten CPU minutes the first time.

    Args:
        progress: called with a line for each package that Go has come to.

    Raises:
        InputError: there is no Go, or the build fails.
    """
    return PROGRAM.install(progress)


def version(binary: Path) -> str:
    """What the program says of itself, first line; empty where it says nothing."""
    return first_line(binary)


def arguments(binary: Path, store: Store, node: Node) -> list[str]:
    """Return the command of one of a store's servers.

    Each of several servers is given the drives of all, as URLs, in the order in which MinIO expands
    ``http://host{1...4}/drive{1...2}``: the first drive of each host, then the second. So its erasure sets, which are
    consecutive drives, are spread over the hosts.
    """
    command = [str(binary), "server", "--quiet", "--address", node.bind_address]
    drives, hosts = store.form.drives, store.form.hosts
    if hosts > 1:
        places = [(host, drive) for drive in range(drives) for host in range(hosts)]
        return command + [f"http://{store.nodes[h].address}{quote(str(store.drive_folder(h, d)))}" for h, d in places]
    first = store.drive_folder(0, 0)
    return [*command, str(first) if drives == 1 else str(first.with_name(f"d{{0...{drives - 1}}}"))]


def server_environment(user: str, password: str, address: str, set_size: int | None = None) -> dict[str, str]:
    """This process's environment without settings for another MinIO, and with those of the lab.

    ``MINIO_CI_CD`` lets drives lie on the root disk; it looks for no updates and serves no console.
    ``_MINIO_SERVER_LOCAL`` says which of several servers on loopback this one is: inside a container it would
    never find out.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MINIO_", "_MINIO_"))}
    sets = {} if set_size is None else {"MINIO_ERASURE_SET_DRIVE_COUNT": str(set_size)}
    return (
        kept
        | sets
        | {
            "MINIO_ROOT_USER": user,
            "MINIO_ROOT_PASSWORD": password,
            "MINIO_UPDATE": "off",
            "MINIO_BROWSER": "off",
            "MINIO_CI_CD": "1",
            "MINIO_PROMETHEUS_AUTH_TYPE": "public",
            "_MINIO_SERVER_LOCAL": address,
        }
    )
