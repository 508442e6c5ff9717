"""The configuration files of a Swift, its rings, and where its servers listen.

A host has an object, a container and an account server of one worker process each; databases lie in plain folders, so
that drives have accesses to objects alone. Each proxy has a memcached. Replicators, auditors and updaters do not run:
they would add accesses of their own.
"""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from traces.errors import InputError
from validate.lab.options import options_of
from validate.lab.store import Store
from validate.lab.swift import program
from validate.lab.swift.options import rings_of
from validate.lab.swift.program import SERVERS

_RINGS = """
import json, sys
from swift.common.ring import RingBuilder
for ring in json.loads(sys.argv[1]):
    builder = RingBuilder(ring["part_power"], ring["replicas"], 1)
    for device in ring["devices"]:
        builder.add_dev(dict(device, region=1, weight=100, meta=""))
    builder.rebalance(seed=1)
    builder.get_ring().save(ring["file"])
"""

_PIPELINE = (
    "catch_errors gatekeeper healthcheck proxy-logging cache listing_formats bulk s3api tempauth copy slo dlo "
    "versioned_writes symlink proxy-logging proxy-server"
)
_FILTERS = {
    "proxy-logging": "proxy_logging",
    "s3api": "s3api",
    "cache": "memcache",
    **{name: name for name in ("catch_errors", "gatekeeper", "healthcheck", "listing_formats", "bulk", "tempauth")},
    **{name: name for name in ("copy", "slo", "dlo", "versioned_writes", "symlink")},
}


def folder_of(store: Store) -> Path:
    """Return the folder of the configuration files."""
    return store.folder / "etc"


def swift_conf(store: Store) -> Path:
    """Return the file that all servers have in common."""
    return folder_of(store) / "swift.conf"


def server_conf(store: Store, kind: str, host: int) -> Path:
    """Return the configuration file of a server."""
    return folder_of(store) / f"{kind}-{host}.conf"


def address(store: Store, host: int, number: int = 0) -> tuple[str, int]:
    """Return where the server of a number listens: in a box at ports of its host, else at addresses of loopback."""
    where, _, port = store.nodes[host].address.rpartition(":")
    return (where, int(port) + number) if store.box is not None else (f"127.0.0.{1 + number}", int(port))


def databases(store: Store, host: int) -> Path:
    """Return the folder with the databases of a host."""
    return store.folder / "databases" / f"h{host}"


def devices(store: Store, kind: str, host: int) -> Path:
    """Return the folder with the devices of a server."""
    return store.drive_folder(host, 0).parent if kind == "object" else databases(store, host)


def write(binary: Path, store: Store) -> None:
    """Write configuration files and rings, and make the folders of a store that is new.

    Raises:
        InputError: the file system has no extended attributes, or Swift refuses an option.
    """
    for host in range(store.form.hosts):
        (databases(store, host) / "d0").mkdir(parents=True, exist_ok=True)
        for drive in range(store.form.drives):
            store.drive_folder(host, drive).mkdir(parents=True, exist_ok=True)
    _check_attributes(store.drive_folder(0, 0))
    folder = folder_of(store)
    folder.mkdir(exist_ok=True)
    swift_conf(store).write_text(
        "[swift-hash]\nswift_hash_path_suffix = tailcast\nswift_hash_path_prefix = tailcast\n\n"
        "[storage-policy:0]\nname = default\ndefault = yes\n\n[swift-constraints]\n"
    )
    for host in range(store.form.hosts):
        for kind in SERVERS:
            _write(server_conf(store, kind, host), _storage_server(store, kind, host))
    for host in store.form.entrances:
        _write(server_conf(store, "proxy", host), _proxy(store, host))
    if not (folder / "object.ring.gz").exists():
        program.run(binary, _RINGS, json.dumps(_rings(store)))


def _check_attributes(where: Path) -> None:
    trial = where / ".trial"
    try:
        trial.touch()
        os.setxattr(trial, "user.swift.metadata", b"trial")
    except OSError as error:
        raise InputError(
            f"{where}: Swift needs extended attributes ({error.strerror}); set TAILCAST_STATE to another file system"
        ) from error
    finally:
        trial.unlink(missing_ok=True)


def _write(path: Path, sections: Mapping[str, Mapping[str, object]]) -> None:
    text = "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
        for name, values in sections.items()
    )
    path.touch(mode=0o600)
    path.write_text(text)


def _common(store: Store, where: tuple[str, int]) -> dict[str, object]:
    user = pwd.getpwuid(os.geteuid()).pw_name
    return {
        "bind_ip": where[0],
        "bind_port": where[1],
        "workers": 1,
        "user": user,
        "swift_dir": folder_of(store),
        "log_level": "INFO",
    }


def _storage_server(store: Store, kind: str, host: int) -> dict[str, Mapping[str, object]]:
    place = {"devices": devices(store, kind, host), "mount_check": "false", "disable_fallocate": "true"}
    return {
        "DEFAULT": _common(store, address(store, host, SERVERS.index(kind))) | place,
        "pipeline:main": {"pipeline": f"healthcheck {kind}-server"},
        f"app:{kind}-server": {"use": f"egg:swift#{kind}", **options_of(store.options, kind)},
        "filter:healthcheck": {"use": "egg:swift#healthcheck"},
    }


def _proxy(store: Store, host: int) -> dict[str, Mapping[str, object]]:
    access_key, secret_key = store.credentials
    user = access_key.replace(":", "_")
    memcached = (address(store, entrance, 1) for entrance in store.form.entrances)
    app = {"use": "egg:swift#proxy", "allow_account_management": "true", "account_autocreate": "true"}
    own = options_of(store.options, "proxy")
    settings: dict[str, Mapping[str, object]] = {
        "tempauth": {f"user_{user}": f"{secret_key} .admin", "storage_url_scheme": "http"},
        "s3api": {"s3_acl": "false", "location": "us-east-1"},
        "cache": {"memcache_servers": ",".join(f"{name}:{port}" for name, port in memcached)},
        "versioned_writes": {"allow_versioned_writes": "true"},
    }
    return {
        "DEFAULT": _common(store, address(store, host)),
        "pipeline:main": {"pipeline": _PIPELINE},
        "app:proxy-server": app | own,
        **{f"filter:{name}": {"use": f"egg:swift#{egg}", **settings.get(name, {})} for name, egg in _FILTERS.items()},
    }


def _rings(store: Store) -> list[dict[str, object]]:
    """Return the rings: each host is a zone."""
    form, rings = store.form, rings_of(store.form, store.options)
    found: list[dict[str, object]] = []
    for number, kind in enumerate(SERVERS):
        drives = range(form.drives) if kind == "object" else range(1)
        places = [(host, drive) for host in range(form.hosts) for drive in drives]
        listed = []
        for host, drive in places:
            ip, port = address(store, host, number)
            also = {"replication_ip": ip, "replication_port": port}
            listed.append({"zone": host + 1, "ip": ip, "port": port, "device": f"d{drive}", **also})
        replicas = rings.replicas if kind == "object" else min(rings.replicas, form.hosts)
        file = str(folder_of(store) / f"{kind}.ring.gz")
        found.append({"part_power": rings.part_power, "replicas": replicas, "devices": listed, "file": file})
    return found
