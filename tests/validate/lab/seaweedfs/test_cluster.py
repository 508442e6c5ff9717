"""How the servers of a SeaweedFS are called, and which of the lab's faults its model has."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from traces.errors import InputError
from validate.lab.faults import LabFault
from validate.lab.host_faults import fault_event
from validate.lab.seaweedfs import cluster, options, readiness
from validate.lab.store import Form, Node, Store

FORM = Form(2, 2, gateways=1, monitors=1)


def store_in(folder: Path, **given: str) -> Store:
    nodes = tuple(Node(f"http://127.0.0.1:{5000 + host}") for host in range(FORM.host_count))
    (folder / "credentials").write_text("[tailcast-lab]\naws_access_key_id = tc:ab\naws_secret_access_key = secret\n")
    return Store(
        "seaweedfs", FORM, "", folder, nodes, options={name.replace("__", "."): v for name, v in given.items()}
    )


def flags(store: Store, host: int, server: str) -> dict[str, str]:
    command, *rest = cluster.arguments(store, host, server)
    assert command == server
    return {name: value for name, _, value in (each[1:].partition("=") for each in rest)}


def test_servers_find_each_other_at_ports_of_their_own(tmp_path):
    store = store_in(tmp_path, filer__maxMB="8", volumes__copies="1")
    volumes = [flags(store, host, "volume") for host in range(2)]
    filer, s3, master = flags(store, 2, "filer"), flags(store, 2, "s3"), flags(store, 3, "master")
    assert volumes[0]["master"] == filer["master"] == f"127.0.0.1:5003.{master['port.grpc']}"
    assert s3["filer"] == f"127.0.0.1:{filer['port']}.{filer['port.grpc']}" and s3["port"] == "5002"
    assert volumes[1]["dir"] == ",".join(str(store.drive_folder(1, drive)) for drive in range(2))
    assert (master["defaultReplication"], filer["maxMB"], master["telemetry"]) == ("000", "8", "false")
    ports = [each[name] for each in (*volumes, filer, s3, master) for name in ("port", "port.grpc")]
    assert len(set(ports)) == len(ports) and flags(store, 2, "filer") == filer, "the same when it is started again"


def test_the_keys_are_in_a_file_that_only_its_owner_can_read(tmp_path):
    store = store_in(tmp_path)
    file = Path(flags(store, 2, "s3")["config"])
    (identity,) = json.loads(file.read_text())["identities"]
    assert identity["credentials"] == [{"accessKey": "tc:ab", "secretKey": "secret"}]
    assert file.stat().st_mode & 0o77 == 0 and "secret" not in " ".join(cluster.arguments(store, 2, "s3"))


@pytest.mark.parametrize(
    ("form", "given", "says"),
    [
        (FORM._replace(gateways=0), {}, "give 1 gateway or more"),
        (FORM._replace(monitors=0), {}, "one master, not 0"),
        (FORM._replace(balancers=1), {}, "no load balancer"),
        (FORM._replace(set_size=4), {}, "no erasure sets"),
        (FORM, {"volumes.fsync": "yes"}, "option volumes.fsync is 'yes'; allowed are true and false"),
        (FORM, {"volumes.copies": "3"}, "option volumes.copies is 3; there are 2 hosts"),
        (FORM, {"volumes.fsnc": "true"}, "option volumes.fsnc: is not known; did you mean fsync"),
        (FORM, {"filer.port": "1"}, "option filer.port: the lab sets it"),
        (FORM, {"proxy.a": "1"}, "allowed are master.NAME, volume.NAME, filer.NAME, s3.NAME, volumes.NAME"),
    ],
)
def test_what_cannot_be_started_is_said(form, given, says):
    with pytest.raises(InputError, match=says):
        options.check(form, given)


@pytest.mark.parametrize(
    ("fault", "event"),
    [
        (LabFault("drive", 3, "slow", factor=5.0), {"kind": "slow_drive", "drive": 3, "speed": 0.2, "until": 3.0}),
        (LabFault("host", 1, "killed"), {"kind": "host_down", "host": 1, "back_at": 3.0}),
        (LabFault("host", 0, "paused"), {"kind": "host_hung", "host": 0, "back_at": 3.0}),
        (LabFault("link", 1, "cut"), {"kind": "host_hung", "host": 1, "back_at": 3.0}),
        (LabFault("drive", 0, "frozen"), None),
        (LabFault("host", 2, "killed"), None),
        (LabFault("link", 0, "limited", fraction=0.1), None),
    ],
)
def test_faults_in_the_words_of_a_spec(tmp_path, fault, event):
    found = fault_event(store_in(tmp_path), fault, 1.0, 3.0)
    assert found == (None if event is None else {"at": 1.0, **event})


def test_a_filer_is_given_the_rule_that_chunks_are_synced(tmp_path):
    held: list[bytes] = []

    class Filer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if held and self.path == "/etc/seaweedfs/filer.conf" else 404)
            self.end_headers()

        def do_POST(self) -> None:
            held.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Filer) as filer:
        Thread(target=filer.serve_forever, daemon=True).start()
        store = store_in(tmp_path, volumes__fsync="true")
        ports = [[filer.server_address[1], 1, 2]] * FORM.host_count
        (tmp_path / "ports.json").write_text(json.dumps(ports))
        assert readiness.has_syncs(store, 2) and readiness.has_syncs(store, 2)
        filer.shutdown()
    assert len(held) == 1 and b'"fsync":true' in held[0]
    assert options.is_synced(store.options) and not options.is_synced({})
