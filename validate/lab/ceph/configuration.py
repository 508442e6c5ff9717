"""The configuration file and the keys of a Ceph, and what its daemons are called.

BlueStore has a sparse file on each drive; all else of OSDs, monitor and manager lies in the state folder. Daemons talk
by version 1 of the messenger, with cephx: without it, Pacific's clients may ask before they have the monitors' map.
"""

from __future__ import annotations

import base64
import os
import struct
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from validate.lab.ceph.options import frontend_of, pools_of
from validate.lab.options import options_of
from validate.lab.store import Store

BLOCK_BYTES = 4 << 30
"""Default size of a drive's file, of which only what is written takes room."""

DB_BYTES = 1 << 30
"""Default size of the file of a block.db on a drive of its own."""

_PORTS = 500
_LAST_PORT = 65535

_GLOBAL = {
    "ms_bind_ipv6": "false",
    "ms_bind_msgr2": "false",
    "auth_cluster_required": "cephx",
    "auth_service_required": "cephx",
    "auth_client_required": "cephx",
    "auth_allow_insecure_global_id_reclaim": "true",
    "debug_default": "0",
    "log_file": "",
    "log_to_stderr": "true",
    "err_to_stderr": "true",
    "mon_cluster_log_to_file": "false",
    "mon_cluster_log_to_stderr": "false",
    "setuser": "",
    "setgroup": "",
    "osd_pool_default_pg_autoscale_mode": "off",
    "mon_allow_pool_size_one": "true",
    "mon_max_pg_per_osd": "2000",
    "mon_warn_on_pool_no_redundancy": "false",
    "mon_warn_on_insecure_global_id_reclaim": "false",
    "mon_warn_on_insecure_global_id_reclaim_allowed": "false",
}
_MON = {"mon_data_avail_warn": "1", "mon_data_avail_crit": "1"}
_OSD = {
    "osd_objectstore": "bluestore",
    "bluestore_block_create": "true",
    "bluestore_block_size": str(BLOCK_BYTES),
    "osd_max_object_name_len": "460",
    "osd_max_object_namespace_len": "64",
}
_DB = {"bluestore_block_db_create": "true", "bluestore_block_db_size": str(DB_BYTES)}
_RGW = {"rgw_enable_usage_log": "false", "rgw_enable_ops_log": "true", "rgw_ops_log_rados": "false"}

_CAPABILITIES = {
    "mon.": {"mon": "allow *"},
    "client.admin": {"mon": "allow *", "osd": "allow *", "mgr": "allow *"},
    "mgr.x": {"mon": "allow profile mgr", "osd": "allow *"},
    "osd": {"mon": "allow profile osd", "osd": "allow *", "mgr": "allow profile osd"},
    "client.rgw": {"mon": "allow rw", "osd": "allow rwx", "mgr": "allow rw"},
}


def folder_of(store: Store) -> Path:
    """Return the folder of the configuration file and the keys."""
    return store.folder / "etc"


def ceph_conf(store: Store) -> Path:
    """Return the configuration file of all daemons."""
    return folder_of(store) / "ceph.conf"


def address(store: Store, host: int) -> tuple[str, int]:
    """Return address and first port of a host."""
    where, _, port = store.nodes[host].address.rpartition(":")
    return where, int(port)


def monitor_of(store: Store) -> int:
    """Return the host with the monitor and the manager."""
    return store.form.hosts + store.form.gateways


def osds(store: Store) -> range:
    """Return the numbers of the OSDs, which are those of the drives."""
    return range(store.form.drive_count)


def gateway_name(host: int) -> str:
    """Return the name of the RADOS gateway of a host."""
    return f"client.rgw.{host}"


def ops_log(store: Store, host: int) -> Path:
    """Return the operations log of a host's RADOS gateway."""
    return store.folder / f"rgw-ops-{host}.log"


def has_db(store: Store) -> bool:
    """Whether the block.db of each OSD is on a drive of its own."""
    return store.box is not None and store.box.shape.db_drives is not None


def write(store: Store) -> bool:
    """Write configuration and keys, and make the folders of a store; whether it is new."""
    folder = folder_of(store)
    folder.mkdir(exist_ok=True)
    if ceph_conf(store).exists():
        return False
    for place in ("mon.a", "mgr.x", "crash", "run", *(f"osd.{osd}" for osd in osds(store))):
        (store.folder / place).mkdir(exist_ok=True)
    for host in range(store.form.hosts):
        for drive in range(store.form.drives * (1 + has_db(store))):
            store.drive_folder(host, drive).mkdir(parents=True, exist_ok=True)
    keyring = folder / "keyring"
    keyring.touch(mode=0o600)
    keyring.write_text("".join(_keys(store)))
    ceph_conf(store).write_text("".join(_sections(store)))
    return True


def _keys(store: Store) -> Iterator[str]:
    """Yield an entry of the keyring for each daemon and for commands."""
    names = {name: name for name in ("mon.", "client.admin", "mgr.x")}
    names |= {f"osd.{osd}": "osd" for osd in osds(store)}
    names |= {gateway_name(host): "client.rgw" for host in store.form.gateway_hosts}
    for name, kind in names.items():
        key = base64.b64encode(struct.pack("<hiih", 1, int(time.time()), 0, 16) + os.urandom(16)).decode()
        caps = "".join(f'\tcaps {of} = "{what}"\n' for of, what in _CAPABILITIES[kind].items())
        yield f"[{name}]\n\tkey = {key}\n{caps}"


def _sections(store: Store) -> Iterator[str]:
    where, port = address(store, monitor_of(store))
    pools = pools_of(store.form, store.options)
    network = "127.0.0.0/8" if store.box is None else store.box.network.range
    places = {
        "fsid": uuid.uuid4(),
        "mon_host": f"[v1:{where}:{port}]",
        "mon_initial_members": "a",
        "public_network": network,
        "cluster_network": network,
        "run_dir": store.folder / "run",
        "admin_socket": store.folder / "run" / "$name.asok",
        "crash_dir": store.folder / "crash",
        "keyring": folder_of(store) / "keyring",
        "osd_pool_default_size": pools.replicas,
        "osd_crush_chooseleaf_type": int(pools.by_host),
    }
    yield _section("global", places | _GLOBAL | options_of(store.options, "global"))
    yield _section("mon", _MON | {"mon_data": str(store.folder / "mon.a")} | options_of(store.options, "mon"))
    yield _section(
        "mgr", {"mgr_data": store.folder / "mgr.x", "mgr_initial_modules": ""} | options_of(store.options, "mgr")
    )
    own_osd = _OSD | (_DB if has_db(store) else {})
    yield _section("osd", own_osd | {"osd_data": str(store.folder / "osd.$id")} | options_of(store.options, "osd"))
    for osd in osds(store):
        host, drive = divmod(osd, store.form.drives)
        paths = {"bluestore_block_path": store.drive_folder(host, drive) / "block"}
        if has_db(store):
            paths["bluestore_block_db_path"] = store.drive_folder(host, store.form.drives + drive) / "db"
        yield _section(f"osd.{osd}", paths | {"crush_location": f"root=default host=host{host}"})
    for host in store.form.gateway_hosts:
        where, port = address(store, host)
        frontend = {"endpoint": f"{where}:{port}"} | frontend_of(store.options)
        own: dict[str, object] = {
            "rgw_data": store.folder,
            "rgw_frontends": " ".join(["beast", *(f"{key}={value}" for key, value in frontend.items())]),
            "rgw_ops_log_file_path": ops_log(store, host),
        }
        yield _section(gateway_name(host), own | _RGW | options_of(store.options, "rgw"))


def _section(name: str, values: Mapping[str, object]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items()) + "\n"


def ports(store: Store, host: int) -> list[str]:
    """Return the arguments for the ports of a daemon other than the monitor: from the host's own on."""
    _, first = address(store, host)
    return [f"--ms_bind_port_min={first}", f"--ms_bind_port_max={min(first + _PORTS, _LAST_PORT)}"]
