"""How the nodes of a Garage are configured, laid out and stopped; with a stub of the program."""

from __future__ import annotations

import json
import os
import signal
import sys
import tomllib
from pathlib import Path

import pytest

from tests.validate.lab.garage import stub_garage
from traces.errors import InputError
from validate.lab import lab, processes
from validate.lab.garage import cluster, options
from validate.lab.store import Form, Node, Store

FORM = Form(2, 3)


def store_in(folder: Path, **given: str) -> Store:
    nodes = tuple(Node(f"http://127.0.0.1:{5000 + host}") for host in range(FORM.host_count))
    (folder / "credentials").write_text("[tailcast-lab]\naws_access_key_id = tc-ab\naws_secret_access_key = secret\n")
    return Store("garage", FORM, "", folder, nodes, options={f"node.{name}": value for name, value in given.items()})


def test_nodes_have_ports_and_folders_of_their_own(tmp_path):
    store = store_in(tmp_path, data_fsync="true", block_size="2M", block_max_concurrent_reads="8")
    files = [cluster.configured(store, host) for host in range(3)]
    first, second, _ = (tomllib.loads(file.read_text()) for file in files)
    assert [each["path"] for each in second["data_dir"]] == [str(store.drive_folder(1, d)) for d in range(2)]
    assert {each["capacity"] for each in second["data_dir"]} == {str(cluster.DRIVE_BYTES)}
    assert (first["data_fsync"], first["block_size"], first["block_max_concurrent_reads"]) == (True, "2M", 8)
    assert (first["replication_factor"], first["s3_api"]["api_bind_addr"]) == (3, "127.0.0.1:5000")
    bound = [each[part] for each in (first, second) for part in ("rpc_bind_addr", "metadata_dir")]
    assert len({*bound, first["admin"]["api_bind_addr"], second["admin"]["api_bind_addr"]}) == 6
    assert first["rpc_secret"] == second["rpc_secret"] and len(bytes.fromhex(first["rpc_secret"])) == 32
    assert all(file.stat().st_mode & 0o77 == 0 for file in files)
    assert tomllib.loads(cluster.configured(store, 0).read_text()) == first, "the same when it is started again"


@pytest.mark.parametrize(
    ("form", "given", "says"),
    [
        (FORM._replace(gateways=1), {}, "no gateways"),
        (FORM._replace(balancers=1), {}, "no load balancer"),
        (FORM._replace(set_size=4), {}, "no erasure sets"),
        (FORM, {"node.rpc_secret": "a"}, "option node.rpc_secret: the lab sets it"),
        (FORM, {"node.replication_factor": "4"}, "option node.replication_factor is 4; there are 3 hosts"),
        (FORM, {"node.replication_factor": "true"}, "is 'true'; allowed are whole numbers from 1"),
        (FORM, {"node.A=b": "1"}, "is no name of garage.toml"),
        (FORM, {"proxy.a": "1"}, "allowed are node.NAME"),
    ],
)
def test_what_cannot_be_started_is_said(form, given, says):
    with pytest.raises(InputError, match=says):
        options.check(form, given)


def test_up_does_not_begin_a_long_build(lab_state, monkeypatch):
    monkeypatch.setattr(cluster.CargoProgram, "find", lambda self: None)
    with pytest.raises(InputError, match="Garage is not installed; 'tailcast lab install garage' does that"):
        lab.up("garage")


@pytest.fixture
def stub_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stub of the program, which the lab finds instead of the real one."""
    program = tmp_path / "garage"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {stub_garage.__file__} "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("TAILCAST_GARAGE", str(program))
    return program


@pytest.mark.clock
def test_nodes_are_laid_out_and_leave_nothing(stub_program, lab_state):
    store = lab.up("garage", Form(1, 2))
    assert store.version == "garage v2.5.0 [stub]"
    held = json.loads((store.folder / "plain" / "stub.json").read_text())
    at = [cluster.place(store, host) for host in range(2)]
    assert held["connected"] == [f"id-of-127.0.0.1:{each.rpc}@127.0.0.1:{each.rpc}" for each in at[1:]]
    assert [(each["id"], each["capacity"]) for each in held["roles"]] == [
        (f"id-of-127.0.0.1:{each.rpc}", cluster.DRIVE_BYTES) for each in at
    ]
    assert held["keys"] == {store.credentials.access_key: True} and ":" not in store.credentials.access_key
    os.kill(store.nodes[1].pid, signal.SIGKILL)
    assert lab.down("garage") and not store.folder.exists() and not processes.of_folder(store.folder)
