"""The nodes of a Garage: where they listen, their configuration, and how each is called.

Blocks lie on the drives of a host. Its metadata (LMDB, which needs shared memory maps) lie in a plain folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from validate.lab.folder import further_ports
from validate.lab.garage.options import options_of_nodes
from validate.lab.programs.cargo import CargoProgram
from validate.lab.store import Spawn, Store

_FAST_BUILD = {"LTO": "off", "CODEGEN_UNITS": "16", "OPT_LEVEL": "2", "DEBUG": "0"}
PROGRAM = CargoProgram(
    "Garage", "garage", "2.5.0", "TAILCAST_GARAGE", ("bundled-libs", "lmdb"),
    {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in _FAST_BUILD.items()},
)  # fmt: skip
DRIVE_BYTES = 10**12
"""What the layout says that a drive has; equal drives take equally many partitions."""
REGION = "us-east-1"
_BOX_PORTS = (3901, 3903)  # of a host in a box: calls of nodes, administration


class Place(NamedTuple):
    """Where a node listens, besides S3.

    Attributes:
        ip: of its host.
        rpc: port for the calls of other nodes.
        admin: port of its administration.
    """

    ip: str
    rpc: int
    admin: int


def place(store: Store, host: int) -> Place:
    """Return where the node of a host listens; on loopback, at ports that were free when the store was made."""
    ip = store.nodes[host].address.rpartition(":")[0]
    in_box = store.box is not None
    ports = _BOX_PORTS if in_box else further_ports(store.folder, len(store.nodes), len(_BOX_PORTS))[host]
    return Place(ip, *ports)


def start(binary: Path, store: Store, spawn: Spawn) -> None:
    """Start the nodes that do not run."""
    for host, node in enumerate(store.nodes):
        spawn(node, [str(binary), "--config", str(configured(store, host)), "server"], _environment())


def configured(store: Store, host: int) -> Path:
    """Write the configuration of a node, which only its owner can read; return its file."""
    file = _plain(store) / f"garage-{host}.toml"
    file.touch(mode=0o600)
    file.write_text(_toml(configuration(store, host)))
    return file


def configuration(store: Store, host: int) -> dict[str, Any]:
    """Return the configuration of a node, by the names of `garage.toml`."""
    own, secret = place(store, host), store.credentials.secret_key
    folders = [store.drive_folder(host, drive) for drive in range(store.form.drives)]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    return {
        "metadata_dir": str(_plain(store) / f"metadata-{host}"),
        "data_dir": [{"path": str(folder), "capacity": str(DRIVE_BYTES)} for folder in folders],
        "db_engine": "lmdb",
        **options_of_nodes(store.form, store.options),
        "rpc_secret": hashlib.sha256(secret.encode()).hexdigest(),
        "rpc_bind_addr": f"{own.ip}:{own.rpc}",
        "rpc_public_addr": f"{own.ip}:{own.rpc}",
        "s3_api": {"api_bind_addr": store.nodes[host].bind_address, "s3_region": REGION},
        "admin": {"api_bind_addr": f"{own.ip}:{own.admin}", "admin_token": secret},
    }


def _toml(values: dict[str, Any]) -> str:
    """Return values as TOML, whose strings and numbers are those of JSON; tables are the last ones."""
    plain = [f"{name} = {_inline(value)}\n" for name, value in values.items() if not isinstance(value, dict)]
    tables = [
        f"\n[{name}]\n" + "".join(f"{key} = {_inline(each)}\n" for key, each in value.items())
        for name, value in values.items()
        if isinstance(value, dict)
    ]
    return "".join([*plain, *tables])


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_inline(each)}" for name, each in value.items()) + "}"
    return f"[{', '.join(map(_inline, value))}]" if isinstance(value, list) else json.dumps(value)


def _plain(store: Store) -> Path:
    """Return the folder of all that is on no drive, and create it."""
    folder = store.folder.absolute() / "plain"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("GARAGE_", "RUST_LOG"))}
