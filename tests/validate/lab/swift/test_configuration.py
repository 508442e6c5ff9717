"""What a Swift of the lab is given: configuration files, rings, and names of files in its accesses."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest

from traces.errors import InputError
from validate.lab import lab
from validate.lab.box.box import Box
from validate.lab.box.network import Network
from validate.lab.box.shape import Shape
from validate.lab.store import Form, Node, Store
from validate.lab.swift import configuration, options, program
from validate.lab.swift.file_names import file_name

SHAPE = Shape.model_validate({"drives": {"read": "1ms", "write": "1ms"}})


def store_in(folder: Path, form: Form = Form(2, 2, gateways=1), **given: str) -> Store:  # noqa: B008 - is immutable
    nodes = tuple(Node(f"http://127.0.0.1:{5000 + host}") for host in range(form.host_count))
    (folder / "credentials").write_text("[tailcast-lab]\naws_access_key_id = tc:ab\naws_secret_access_key = secret\n")
    return Store("swift", form, "", folder, nodes, options={name.replace("__", "."): v for name, v in given.items()})


def read(path: Path) -> configparser.RawConfigParser:
    file = configparser.RawConfigParser(default_section="none")
    file.read(path)
    return file


def test_servers_listen_at_their_own_addresses_and_options_come_last(tmp_path, monkeypatch):
    rings: list[str] = []
    monkeypatch.setattr(program, "run", lambda binary, code, *arguments: rings.extend(arguments) or "")
    monkeypatch.setattr(configuration.os, "setxattr", lambda *arguments: None)
    store = store_in(tmp_path, proxy__concurrent_gets="true", object__workers="3")
    configuration.write(Path("swift-proxy-server"), store)
    proxy = read(configuration.server_conf(store, "proxy", 2))
    assert proxy["app:proxy-server"]["concurrent_gets"] == "true"
    assert proxy["filter:tempauth"]["user_tc_ab"] == "secret .admin"
    assert proxy["filter:cache"]["memcache_servers"] == "127.0.0.2:5002"
    pipeline = proxy["pipeline:main"]["pipeline"].split()
    assert pipeline[-1] == "proxy-server" and {f"filter:{name}" for name in pipeline[:-1]} <= set(proxy)
    servers = {kind: read(configuration.server_conf(store, kind, 1)) for kind in program.SERVERS}
    places = {kind: (file["DEFAULT"]["bind_ip"], file["DEFAULT"]["bind_port"]) for kind, file in servers.items()}
    assert places == {kind: (f"127.0.0.{n + 1}", "5001") for n, kind in enumerate(program.SERVERS)}
    assert servers["object"]["app:object-server"]["workers"] == "3"
    assert Path(servers["object"]["DEFAULT"]["devices"]) / "d1" == store.drive_folder(1, 1)
    assert Path(servers["account"]["DEFAULT"]["devices"], "d0").is_dir()
    assert len(rings) == 1


def test_a_host_is_a_zone_and_databases_have_a_device_per_host(tmp_path):
    objects, containers, _ = configuration._rings(store_in(tmp_path))
    assert (objects["replicas"], containers["replicas"]) == (3, 2)
    devices = objects["devices"]
    assert isinstance(devices, list) and [(d["zone"], d["device"]) for d in devices] == [
        (1, "d0"), (1, "d1"), (2, "d0"), (2, "d1"),
    ]  # fmt: skip
    assert isinstance(containers["devices"], list) and len(containers["devices"]) == 2
    box = Box(tmp_path, Network("tc00000000", 9, 3), SHAPE, 2, hosts=2)
    nodes = tuple(Node(box.endpoint_url(host)) for host in range(3))
    boxed = Store("swift", Form(2, 2, gateways=1), "", tmp_path, nodes, box)
    assert configuration.address(boxed, 1, 2) == ("10.77.9.101", 9002)
    assert box.places == [(0, 0), (0, 1), (1, 0), (1, 1)], "a gateway has no drives"


@pytest.mark.parametrize(
    ("form", "given", "says"),
    [
        (Form(1, 3, gateways=0), {}, "needs a proxy"),
        (Form(1, 3, 3, gateways=1), {}, "no erasure sets"),
        (Form(1, 3, gateways=1), {"workers": "3"}, "allowed are proxy.NAME"),
        (Form(1, 3, gateways=1), {"ring.parts": "3"}, "ring.parts: is not known"),
        (Form(1, 3, gateways=1), {"ring.part_power": "x"}, "whole numbers from 1 to 16"),
        (Form(1, 3, gateways=1), {"ring.replicas": "4"}, "there are 3 drives"),
    ],
)
def test_wrong_forms_and_options_are_one_line(form, given, says, lab_state):
    with pytest.raises(InputError, match=says):
        lab.up("swift", form, options=given)


def test_rings_have_three_replicas_or_fewer_drives():
    assert options.rings_of(Form(1, 4, gateways=1), {}) == (3, 8)
    assert options.rings_of(Form(2, 1, gateways=1), {"ring.part_power": "4"}) == (2, 4)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("objects/12/a3f/0123456789abcdef0123456789abca3f/1795478224.94754.data", "<hash>/<time>.data"),
        ("objects-1/12/a3f/0123456789abcdef0123456789abca3f", "<suffix>/<hash>"),
        ("objects/12/a3f", "<partition>/<suffix>"),
        ("objects/12/hashes.invalid", "<partition>/hashes.invalid"),
        ("objects/12", "objects/<partition>"),
        ("tmp/tmpab_1x", "tmp/<id>"),
    ],
)
def test_names_of_files_have_no_hashes(path, name):
    assert file_name(path) == name
