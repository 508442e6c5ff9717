"""Makes a cluster of daemons: the monitor first, then OSDs and pools, then gateways and the user."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

from traces.errors import InputError
from validate.lab.ceph import balancer, configuration, program
from validate.lab.ceph.options import pools_of
from validate.lab.store import Spawn, Store

_WITHIN_S = 60.0

_CONNECT = """
import json, sys, time, rados
cluster = rados.Rados(conffile=sys.argv[1], name="client.admin")
cluster.conf_set("client_mount_timeout", "50")
cluster.connect(timeout=50)
def ask(prefix, **arguments):
    code, out, said = cluster.mon_command(json.dumps({"prefix": prefix, "format": "json", **arguments}), b"", 30)
    if code:
        sys.exit(f"{prefix}: {said}")
    return out
"""

_MAKE = (
    _CONNECT
    + """
wanted = json.loads(sys.argv[2])
for osd, fsid in enumerate(wanted["osds"]):
    ask("osd new", uuid=fsid, id=osd)
for name, pg_num in wanted["pools"].items():
    ask("osd pool create", pool=name, pg_num=pg_num, pgp_num=pg_num)
    ask("osd pool application enable", pool=name, app="rgw")
"""
)

_AWAIT_CLEAN = (
    _CONNECT
    + """
osds, until = int(sys.argv[2]), time.monotonic() + float(sys.argv[3])
while time.monotonic() < until:
    status = json.loads(ask("status"))
    pgs = status["pgmap"]
    clean = sum(each["count"] for each in pgs["pgs_by_state"] if each["state_name"] == "active+clean")
    if status["osdmap"]["num_up_osds"] == osds and pgs["num_pgs"] and clean == pgs["num_pgs"]:
        print("clean")
        break
    time.sleep(0.3)
"""
)

_POOLS = {
    ".rgw.root": 4,
    "default.rgw.log": 4,
    "default.rgw.control": 4,
    "default.rgw.meta": 4,
    "default.rgw.buckets.index": 16,
    "default.rgw.buckets.non-ec": 4,
}
_DATA_POOL = "default.rgw.buckets.data"


def start(store: Store, spawn: Spawn) -> None:
    """Start the daemons that do not run; make the cluster if the store is new.

    Raises:
        InputError: a command fails.
    """
    is_new = configuration.write(store)
    conf, monitor = str(configuration.ceph_conf(store)), configuration.monitor_of(store)
    environment, node = program.PROGRAMS.environment(), store.nodes[monitor]
    where, port = configuration.address(store, monitor)
    fsids = [str(uuid.uuid4()) for _ in configuration.osds(store)]
    if is_new:
        _make_monitor(store, conf, f"[v1:{where}:{port}]")
    spawn(node, ["ceph-mon", "-c", conf, "-f", "-i", "a"], environment, "mon")
    manager = ["ceph-mgr", "-c", conf, "-f", "-i", "x", "--public-addr", where, *_after(port, store, monitor)]
    spawn(node, manager, environment, "mgr")
    if is_new:
        pools = _POOLS | {_DATA_POOL: pools_of(store.form, store.options).pg_num}
        program.run_python(_MAKE, [conf, json.dumps({"osds": fsids, "pools": pools})], _WITHIN_S)
        _format_drives(store, conf, fsids)
    for osd in configuration.osds(store):
        host = store.form.host_of(osd)
        where, _ = configuration.address(store, host)
        addresses = ["--public-addr", where, "--cluster-addr", where, *configuration.ports(store, host)]
        spawn(store.nodes[host], ["ceph-osd", "-c", conf, "-f", "-i", str(osd), *addresses], environment, f"osd.{osd}")
    for host in store.form.gateway_hosts:
        where, _ = configuration.address(store, host)
        command = ["radosgw", "-c", conf, "-f", "-n", configuration.gateway_name(host), "--public-addr", where]
        spawn(store.nodes[host], command, environment, "rgw")
    for host in store.form.balancer_hosts:
        spawn(store.nodes[host], balancer.command(store, host), environment, "haproxy")
    if is_new:
        _make_user(store, conf)


def _after(port: int, store: Store, host: int) -> list[str]:
    """Return the arguments for ports after that of the monitor."""
    return [f"--ms_bind_port_min={port + 1}", configuration.ports(store, host)[1]]


def _make_monitor(store: Store, conf: str, address: str) -> None:
    folder = configuration.folder_of(store)
    monmap, keyring = str(folder / "monmap"), str(folder / "keyring")
    fsid = next(line for line in Path(conf).read_text().splitlines() if line.startswith("fsid = "))[7:]
    program.PROGRAMS.run(
        ["monmaptool", "--create", "--clobber", "--fsid", fsid, "--addv", "a", address, monmap], _WITHIN_S
    )
    program.PROGRAMS.run(
        ["ceph-mon", "-c", conf, "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring], _WITHIN_S
    )


def _format_drives(store: Store, conf: str, fsids: Sequence[str]) -> None:
    """Make the BlueStore of each OSD, all at the same time."""
    commands = [
        ["ceph-osd", "-c", conf, "-i", str(osd), "--mkfs", "--osd-uuid", fsid, "--no-mon-config"]
        for osd, fsid in enumerate(fsids)
    ]
    environment = program.PROGRAMS.environment()
    made = [
        subprocess.Popen(each, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        for each in commands
    ]
    for osd, process in enumerate(made):
        _, said = process.communicate(timeout=_WITHIN_S)
        if process.returncode:
            raise InputError(f"Ceph: osd.{osd} cannot be made: {(said.strip().splitlines() or ['no message'])[-1]}")


def _make_user(store: Store, conf: str) -> None:
    access_key, secret_key = store.credentials
    keys = [f"--access-key={access_key}", f"--secret-key={secret_key}"]
    user = ["--uid=tailcast", "--display-name=tailcast"]
    program.PROGRAMS.run(["radosgw-admin", "-c", conf, "user", "create", *user, *keys], _WITHIN_S)


def is_clean(store: Store, within_s: float) -> bool:
    """Whether all OSDs are up and all placement groups active and clean; waits until then, if not too long."""
    arguments = [str(configuration.ceph_conf(store)), str(store.form.drive_count), repr(within_s)]
    try:
        return "clean" in program.run_python(_AWAIT_CLEAN, arguments, within_s + _WITHIN_S)
    except InputError:
        return False
