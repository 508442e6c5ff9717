"""What a Ceph of the lab is given: its configuration file, keys, pools."""

from __future__ import annotations

import base64
import configparser
from dataclasses import replace
from pathlib import Path

import pytest

from traces.errors import InputError
from validate.lab import lab
from validate.lab.box.box import Box
from validate.lab.box.network import Network
from validate.lab.box.shape import Shape
from validate.lab.ceph import balancer, configuration
from validate.lab.ceph.options import check, pools_of, sends_at_once
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


def test_options_of_the_frontend(tmp_path):
    store = store_in(tmp_path, {"frontend.tcp_nodelay": "0", "frontend.max_connection_backlog": "256"})
    check(store.form, store.options)
    configuration.write(store)
    words = read(configuration.ceph_conf(store))[configuration.gateway_name(2)]["rgw_frontends"].split()
    assert words[0] == "beast" and sorted(words[1:]) == [
        "endpoint=127.0.0.1:65400",
        "max_connection_backlog=256",
        "tcp_nodelay=0",
    ]
    assert not sends_at_once(store.options) and sends_at_once({})
    for name, value in (("tcp_nodelay", "no"), ("endpoint", "127.0.0.1:80")):
        with pytest.raises(InputError, match=name):
            check(store.form, {f"frontend.{name}": value})


def test_a_load_balancer_takes_the_requests_and_passes_them_to_all_gateways(tmp_path):
    form = FORM._replace(balancers=1)
    assert [form.role(host) for host in range(6)] == ["host", "host", "gateway", "gateway", "monitor", "balancer"]
    nodes = tuple(Node(f"http://127.0.0.1:{65300 + host}") for host in range(form.host_count))
    store = Store("ceph", form, "", tmp_path, nodes)
    assert store.target.node_urls == ("http://127.0.0.1:65305",) and store.facts["balancers"] == 1
    configuration.write(store)
    assert configuration.monitor_of(store) == 4
    assert configuration.gateway_name(5) not in (tmp_path / "etc" / "keyring").read_text()
    lines = [line.strip() for line in balancer.configured(store, 5).splitlines()]
    assert "bind 127.0.0.1:65305" in lines and "option redispatch" in lines
    assert [line.split()[2] for line in lines if line.startswith("server ")] == ["127.0.0.1:65302", "127.0.0.1:65303"]


def test_the_database_of_an_osd_is_on_the_drive_for_it(tmp_path):
    each = {"read": "1ms", "write": "1ms"}
    shape = Shape.model_validate({"drives": each, "db_drives": each})
    box = Box(tmp_path, Network("tc00000000", 9, 5), shape, 2, hosts=2)
    store = replace(store_in(tmp_path, {"osd.bluestore_block_db_size": "4096"}), box=box)
    configuration.write(store)
    conf = read(configuration.ceph_conf(store))
    assert conf["osd"]["bluestore_block_db_size"] == "4096" and conf["osd"]["bluestore_block_db_create"] == "true"
    assert Path(conf["osd.2"]["bluestore_block_db_path"]) == store.drive_folder(1, 2) / "db"
    assert Path(conf["osd.2"]["bluestore_block_path"]) == store.drive_folder(1, 0) / "block"


def test_other_stores_take_no_drives_for_databases(lab_state):
    each = {"read": "1ms", "write": "1ms"}
    with pytest.raises(InputError, match="db_drives; MinIO keeps no database"):
        lab.up("minio", shape=Shape.model_validate({"drives": each, "db_drives": each}))


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
        (Form(1, 3, None, 0, 1, 1), {}, "needs a RADOS gateway"),
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
