"""What a Ceph of the lab is given: its configuration file, keys, pools."""

from __future__ import annotations

import base64
import configparser
from pathlib import Path

import pytest

from traces.errors import InputError
from validate.lab import lab
from validate.lab.ceph import configuration
from validate.lab.ceph.options import pools_of
from validate.lab.store import Form, Node, Store

FORM = Form(2, 2, gateways=2, monitors=1)


def store_in(folder: Path, options: dict[str, str] | None = None) -> Store:
    nodes = tuple(Node(f"http://127.0.0.1:{65300 + 50 * host}") for host in range(FORM.host_count))
    return Store("ceph", FORM, "", folder, nodes, options=options or {})


def read(path: Path) -> configparser.RawConfigParser:
    file = configparser.RawConfigParser(default_section="none")
    file.read(path)
    return file


def test_every_osd_has_a_file_on_its_drive_and_every_gateway_its_port(tmp_path):
    store = store_in(tmp_path, {"osd.bluestore_block_size": "1024", "rgw.rgw_thread_pool_size": "64"})
    assert configuration.write(store) and not configuration.write(store), "a second start finds what there is"
    conf = read(configuration.ceph_conf(store))
    assert conf["global"]["mon_host"] == "[v1:127.0.0.1:65500]"
    assert (conf["global"]["osd_pool_default_size"], conf["global"]["osd_crush_chooseleaf_type"]) == ("3", "0")
    assert conf["osd"]["bluestore_block_size"] == "1024"
    assert Path(conf["osd.3"]["bluestore_block_path"]) == store.drive_folder(1, 1) / "block"
    assert conf["osd.3"]["crush_location"] == "root=default host=host1"
    for host in (2, 3):
        section = conf[configuration.gateway_name(host)]
        assert f"endpoint=127.0.0.1:{65300 + 50 * host} " in section["rgw_frontends"]
        assert section["rgw_thread_pool_size"] == "64"
    assert configuration.ports(store, 1) == ["--ms_bind_port_min=65350", "--ms_bind_port_max=65535"]


def test_every_daemon_has_a_key_of_its_own(tmp_path):
    store = store_in(tmp_path)
    configuration.write(store)
    keyring = tmp_path / "etc" / "keyring"
    keys = read(keyring)
    daemons = {"mon.", "mgr.x", "client.admin", *(f"osd.{i}" for i in range(4)), "client.rgw.2", "client.rgw.3"}
    assert set(keys.sections()) == daemons
    assert len({keys[name]["key"] for name in daemons}) == len(daemons)
    assert all(len(base64.b64decode(keys[name]["key"])) == 28 for name in daemons)
    assert keyring.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("form", "given", "says"),
    [
        (Form(1, 3, monitors=1), {}, "needs a RADOS gateway"),
        (Form(1, 3, 3, 1, 1), {}, "no erasure sets"),
        (Form(1, 3, None, 1, 1), {"osd_heartbeat_grace": "3"}, "allowed are global.NAME"),
        (Form(1, 3, None, 1, 1), {"pool.size": "3"}, "pool.size: is not known"),
        (Form(1, 3, None, 1, 1), {"pool.pg_num": "x"}, "whole numbers from 1"),
        (Form(1, 3, None, 1, 1), {"pool.replicas": "4"}, "there are 3 OSDs"),
    ],
)
def test_wrong_forms_and_options_are_one_line(form, given, says, lab_state):
    with pytest.raises(InputError, match=says):
        lab.up("ceph", form, options=given)


def test_replicas_are_on_different_hosts_if_there_are_enough():
    assert pools_of(Form(1, 3), {}) == (3, 64, True)
    assert pools_of(Form(4, 1), {"pool.pg_num": "16"}) == (3, 16, False)
    assert pools_of(Form(1, 1), {}) == (1, 64, True)
