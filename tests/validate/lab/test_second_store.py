"""A second real store, all of it in this file: the lab's commands and a replay need no line elsewhere."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.main import main
from tests import stub_s3
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.run import Run
from validate.lab import lab
from validate.lab.registry import STORES
from validate.lab.request_trace import recording
from validate.lab.store import Form, Node, Progress, Spawn, Store


class StubS3:
    """The tests' stub of S3, as a store that the lab starts: a Python program, so there is nothing to install."""

    name = "stub-s3"
    title = "the stub"
    installation = "nothing"
    forms: Mapping[str, Form] = {"one": Form(1), "two": Form(1, 2)}
    request_trace = None
    trace_format = None
    file_name = None
    has_db = False
    has_accounts = False
    installed_by_up = True
    fault_event = None
    placement = None
    reshard = None
    discard = None
    settle = None

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        if form.drives != 1:
            raise InputError(f"the stub has one drive per host, not {form.drives}")

    def find(self) -> Path | None:
        return Path(sys.executable)

    def install(self, progress: Progress) -> Path:
        raise InputError("the stub is always there")

    def version(self, program: Path) -> str:
        return "stub 1"

    def start(self, program: Path, store: Store, spawn: Spawn) -> None:
        for node in store.nodes:
            host, _, port = node.bind_address.rpartition(":")
            where = ["--host", host, "--port", port, "--access-key", store.credentials.access_key]
            spawn(node, [str(program), stub_s3.__file__, *where], os.environ)

    def unready(self, store: Store) -> Node | None:
        for node in store.nodes:
            try:
                urllib.request.urlopen(f"{node.endpoint_url}/_requests", timeout=5.0).close()
            except OSError:
                return node
        return None


@pytest.fixture
def stub_s3_kind(monkeypatch: pytest.MonkeyPatch, lab_state: Path) -> None:
    monkeypatch.setitem(STORES, "stub-s3", StubS3())


@pytest.fixture
def tailcast(stub_s3_kind: None, capsys: pytest.CaptureFixture[str]) -> object:
    """Runs a command; what it prints as JSON."""

    def run(*arguments: str, code: int = 0) -> dict[str, object]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--json"])
        assert (ended.value.code or 0) == code
        said = capsys.readouterr()
        return {"error": said.err} if code else dict(json.loads(said.out))

    return run


def test_commands_start_and_stop_it(tailcast) -> None:  # type: ignore[no-untyped-def]
    assert tailcast("lab", "install", "stub-s3")["version"] == "stub 1"
    up = tailcast("lab", "up", "stub-s3", "--hosts", "2")
    assert (up["name"], up["drives_per_host"], up["version"], len(up["nodes"])) == ("stub-s3", 1, "stub 1", 2)
    assert up == tailcast("lab", "status", "stub-s3") == tailcast("lab", "up", "stub-s3", "--hosts", "2")
    assert tailcast("lab", "status", "minio") == {"name": "minio", "up": False}
    assert "stub-s3 is up" in tailcast("lab", "up", "minio", code=2)["error"]
    assert "one drive per host, not 2" in tailcast("lab", "up", "stub-s3", "--drives", "2", code=2)["error"]
    assert tailcast("lab", "down", "stub-s3") == {"name": "stub-s3", "up": False, "stopped": True}
    assert lab.running() is None


def test_what_a_crash_has_left_is_told_and_removed(tailcast, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    tailcast("lab", "up", "stub-s3")
    store = lab.running()
    assert store is not None
    for process in store.nodes[0].processes:
        process.kill()
        process.wait(5)
    for command, says in (
        ("status", "'tailcast lab down stub-s3' removes"),
        ("down", "what was left of it is removed"),
    ):
        with pytest.raises(SystemExit):
            main(["lab", command, "stub-s3"])
        assert says in capsys.readouterr().err
    assert not store.folder.exists()


def test_a_trace_is_replayed_on_it(tailcast, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    tailcast("lab", "up", "stub-s3")
    trace = tmp_path / "trace.parquet"
    trace_of(["PUT", "GET"] * 20, [f"k{i // 2}" for i in range(40)], arrival_s=[i / 200 for i in range(40)]).write(
        trace
    )
    run = tailcast("replay", str(trace), "--lab", "--out", str(tmp_path / "run"))
    assert {op: (figures["count"], figures["errors"]) for op, figures in run["ops"].items()} == {
        "GET": (20, 0),
        "PUT": (20, 0),
    }
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["versions"]["server"] == "stub 1"
    assert run["cpu"]["server_s"] is not None
    refused = tailcast("replay", str(trace), "--lab", "--server-trace", "--out", str(tmp_path / "other"), code=2)
    assert "does not tell of its requests" in refused["error"]


def test_servers_on_plain_folders_take_faults_and_their_drives_none(tailcast, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    up = tailcast("lab", "up", "stub-s3", "--hosts", "2")
    store = lab.running()
    assert store is not None
    for fault, says in (
        ("drive 0 x5", "plain folders"),
        ("link 1 cut", "no links of their own"),
        ("host 2 killed", "allowed are 0 to 1"),
    ):
        assert says in tailcast("lab", "fault", fault, code=2)["error"]
    assert [one["fault"] for one in tailcast("lab", "fault", "host 1 killed")["faults"]] == ["host 1 killed"]
    status = tailcast("lab", "status", "stub-s3")
    assert [node["up"] for node in status["nodes"]] == [True, False] and status["faults"][0]["ended_at"] is None
    assert tailcast("lab", "fault", "end") == {"faults": []}
    again = tailcast("lab", "status", "stub-s3")
    assert [node["up"] for node in again["nodes"]] == [True, True]
    assert again["nodes"][1]["pid"] != up["nodes"][1]["pid"]
    tailcast("lab", "fault", "host 0 killed")
    tailcast("lab", "up", "stub-s3", "--hosts", "2")
    assert tailcast("lab", "status", "stub-s3")["faults"] == [], "up ends the fault, as it starts the server again"


def test_a_replay_with_faults_goes_on_without_a_host(tailcast, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    tailcast("lab", "up", "stub-s3", "--hosts", "2")
    trace, out = tmp_path / "trace.parquet", tmp_path / "run"
    trace_of(["HEAD"] * 150, ["k"] * 150, arrival_s=[i / 50 for i in range(150)]).write(trace)
    tailcast("replay", str(trace), "--lab", "--fault", "host 1 killed at 0.3s for 0.4s", "--out", str(out))
    run = Run.read(out)
    (fault,) = run.info["lab_faults"]
    until_s = fault["until"] or run.duration_s  # on a busy machine it may come back late
    assert fault["fault"] == "host 1 killed" and 0.3 <= fault["at"] < 0.7 < until_s
    refused = run.column("arrival_s")[run.column("status") == 0]  # buckets of the stub are on its first host only
    assert len(refused) and fault["at"] - 0.1 <= refused.min() and refused.max() <= until_s + 0.1
    assert run.info["lab"]["shape"] is None and run.drive_accesses is None
    assert refused.size <= len(run) / 2, "the other host serves on"


def test_all_requests_can_go_to_one_host(tailcast, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    tailcast("lab", "up", "stub-s3", "--hosts", "2")
    trace, out = tmp_path / "trace.parquet", tmp_path / "run"
    trace_of(["PUT", "GET"] * 5, ["k"] * 10, arrival_s=[i / 50 for i in range(10)]).write(trace)
    summary = tailcast("replay", str(trace), "--lab", "--host", "1", "--out", str(out))
    assert not any(figures["errors"] for figures in summary["ops"].values())
    run = Run.read(out)
    assert (run.info["nodes"], run.info["lab"]["hosts"], run.info["lab"]["requests_to"]) == (1, 2, 1)
    replayed = ("replay", str(trace), "--lab", "--host", "2", "--out", str(tmp_path / "other"))
    assert "allowed are 0 to 1" in tailcast(*replayed, code=2)["error"]


def test_its_own_trace_is_not_asked_of_another_store(stub_s3_kind: None) -> None:
    target = lab.up("stub-s3").target
    with pytest.raises(InputError, match="does not tell"), recording(target, True):
        pass
    with recording(target, False) as nothing:
        assert nothing is None


def test_gateways_take_the_requests_and_options_are_recorded(tailcast, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    given = ("--hosts", "2", "--gateways", "1", "--option", "proxy.workers=2")
    up = tailcast("lab", "up", "stub-s3", *given)
    assert [node["role"] for node in up["nodes"]] == ["host", "host", "gateway"]
    assert up["endpoint_url"] == up["nodes"][2]["endpoint_url"] and up["options"] == {"proxy.workers": "2"}
    assert up == tailcast("lab", "status") == tailcast("lab", "up", "stub-s3", *given), "status is that of what is up"
    assert "other options" in tailcast("lab", "up", "stub-s3", "--hosts", "2", "--gateways", "1", code=2)["error"]
    assert "SERVER.NAME=VALUE" in tailcast("lab", "up", "stub-s3", "--option", "workers", code=2)["error"]
    trace, out = tmp_path / "trace.parquet", tmp_path / "run"
    trace_of(["PUT", "GET"] * 5, ["k"] * 10, arrival_s=[i / 50 for i in range(10)]).write(trace)
    tailcast("replay", str(trace), "--lab", "--out", str(out))
    run = Run.read(out)
    assert run.info["lab"]["gateways"] == 1 and run.info["lab"]["options"] == {"proxy.workers": "2"}
    assert run.info["nodes"] == 1 and not run.failed.any()
    refused = tailcast("replay", str(trace), "--lab", "--host", "0", "--out", str(tmp_path / "other"), code=2)
    assert "no host 0 that takes requests; allowed are 2 to 2" in refused["error"]
    assert [one["fault"] for one in tailcast("lab", "fault", "host 2 killed")["faults"]] == ["host 2 killed"]
    assert tailcast("lab", "down") == {"name": "stub-s3", "up": False, "stopped": True}
