from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.paths import ROOT
from validate.lab.box.box import Box
from validate.lab.box.network import Network
from validate.lab.box.set_up import drives_of, logs_of
from validate.lab.box.shape import DriveShape, Shape, read_shape
from validate.lab.lab import _box
from validate.lab.store import Form, Node, Store

SHAPE = read_shape(ROOT / "examples" / "lab" / "hdd.yaml")


def box_in(folder: Path, seed: int = 3) -> Box:
    return Box(folder, Network("tc00000000", 9, 3), SHAPE, 2, seed, "proxy")


def test_a_state_says_all_that_there_is_and_gives_the_box_again(tmp_path):
    box = box_in(tmp_path)
    state = json.loads(json.dumps(box.to_json()))
    assert state["namespaces"] == list(box.network.namespaces)
    assert state["mounts"] == [str(drive.mount_point) for drive in drives_of(box)]
    again = _box(tmp_path, Form(2, 3), state)
    assert (again.shape, again.seed, again.delays, again.drives) == (box.shape, 3, "proxy", 2)
    assert again.network.subnet == 9 and again.network.hosts == 3


def test_drives_are_numbered_host_by_host_and_have_seeds_of_their_own(tmp_path):
    drives, logs = drives_of(box_in(tmp_path)), logs_of(box_in(tmp_path))
    assert [drive.name for drive in drives] == [f"drive-{i}" for i in range(6)]
    assert [drive.mount_point.parts[-2:] for drive in drives[1:3]] == [("h0", "d1"), ("h1", "d0")]
    assert [(log.host, log.drive) for log in logs[1:3]] == [(0, 1), (1, 0)]
    seeds = [drive.seed for seed in range(3) for drive in drives_of(box_in(tmp_path, seed))]
    assert len(set(seeds)) == len(seeds)
    assert len({drive.backing for drive in drives} | {drive.mount_point for drive in drives}) == 12


def test_drives_for_databases_follow_those_for_data_and_have_a_shape_of_their_own(tmp_path):
    shape = SHAPE.model_copy(update={"db_drives": DriveShape.model_validate({"read": "1ms", "write": "1ms"})})
    box = replace(box_in(tmp_path), shape=shape)
    assert box.places[:6] == box_in(tmp_path).places
    assert box.places[6:] == [(host, 2 + drive) for host in range(3) for drive in range(2)]
    drives = drives_of(box)
    assert [drive.shape for drive in drives] == [shape.drives] * 6 + [shape.db_drives] * 6
    assert drives[7].mount_point.parts[-2:] == ("h0", "d3") and logs_of(box)[7].drive == 3
    assert _box(tmp_path, Form(2, 3), json.loads(json.dumps(box.to_json()))).places == box.places


def test_a_store_in_a_box_listens_behind_its_proxy_and_tells_its_shape(tmp_path):
    box = box_in(tmp_path)
    nodes = tuple(Node(box.endpoint_url(host), (), box.bind_address) for host in range(3))
    store = Store("any", Form(2, 3), "", tmp_path, nodes, box)
    assert {node.bind_address for node in store.nodes} == {"127.0.0.1:9000"}
    assert [node.address for node in store.nodes] == [f"10.77.9.{100 + host}:9000" for host in range(3)]
    assert Node("http://127.0.0.1:5").bind_address == "127.0.0.1:5"
    facts = json.loads(json.dumps(store.facts))
    assert Shape.model_validate(facts["shape"]) == SHAPE, "a Run says which shape its box had"
    assert store.contents(1, 0) == tmp_path / "backing" / "h1" / "d0" != store.drive_folder(1, 0)
