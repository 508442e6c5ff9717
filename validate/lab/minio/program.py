"""The MinIO server's program: where it is, how it is built, and how it is called."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from traces.errors import InputError
from validate.lab.debian import program_named_by
from validate.lab.store import Node, Store

MODULE = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"
"""A pseudo-version of February 2026: the Go module proxy has no release tags of it."""


def find() -> Path | None:
    """The server's program: `$TAILCAST_MINIO`, else ``minio`` on the PATH, else where Go installs programs.

    Raises:
        InputError: `$TAILCAST_MINIO` names no program.
    """
    if (named := program_named_by("TAILCAST_MINIO")) is not None:
        return named
    on_path = shutil.which("minio")
    if on_path:
        return Path(on_path).resolve()
    installed = _go_bin() / "minio"
    return installed if installed.is_file() else None


def _go_bin() -> Path:
    """Where ``go install`` puts programs; its default where there is no Go."""
    go = shutil.which("go")
    if go:
        known = subprocess.run([go, "env", "GOBIN", "GOPATH"], capture_output=True, text=True, check=False)
        gobin, gopath, *_ = [*known.stdout.split("\n"), "", ""]
        if gobin or gopath:
            return Path(gobin) if gobin else Path(gopath.split(os.pathsep)[0]) / "bin"
    return Path.home() / "go" / "bin"


def install(progress: Callable[[str], None] = lambda line: None) -> Path:
    """Build the server with Go: some ten CPU minutes the first time.

    Args:
        progress: called with a line for each package that Go has come to.

    Raises:
        InputError: there is no Go, or the build fails.
    """
    go = shutil.which("go")
    if go is None:
        raise InputError(
            "the MinIO server is not installed and there is no Go to build it: "
            "install Go, or set TAILCAST_MINIO to the program"
        )
    progress(f"building {MODULE}")
    flags = f"{os.environ.get('GOFLAGS', '')} -buildvcs=false".strip()
    command = [go, "install", "-v", MODULE]
    last = ""
    with subprocess.Popen(
        command, env=os.environ | {"GOFLAGS": flags}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as build:
        assert build.stderr is not None
        for line in build.stderr:
            last = line.strip() or last
            progress(last)
    if build.returncode != 0:
        raise InputError(f"go install {MODULE} failed: {last}")
    return _go_bin() / "minio"


def version(binary: Path) -> str:
    """What the program says of itself, first line; empty where it says nothing."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False, timeout=30)
    return said.stdout.split("\n", 1)[0].strip()


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
