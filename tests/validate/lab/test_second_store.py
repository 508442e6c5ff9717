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
from validate.lab import lab
from validate.lab.registry import STORES
from validate.lab.request_trace import recording
from validate.lab.store import Form, Node, Progress, Spawn, Store


class StubS3:
    """The tests' stub of S3, as a store that the lab starts: a Python program, so there is nothing to install."""

    name = "stub-s3"
    title = "the stub"
    installation = "nothing"
    forms: Mapping[str, Form] = {"one": Form(1), "two": Form(2, 2)}
    request_trace = None
    trace_format = None

    def find(self) -> Path | None:
        return Path(sys.executable)

    def install(self, progress: Progress) -> Path:
        raise InputError("the stub is always there")

    def version(self, program: Path) -> str:
        return "stub 1"

    def start(self, program: Path, store: Store, spawn: Spawn) -> None:
        for node in store.nodes:
            port = node.address.rpartition(":")[2]
            key = store.credentials.access_key
            spawn(node, [str(program), stub_s3.__file__, "--port", port, "--access-key", key], os.environ)

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
    up = tailcast("lab", "up", "stub-s3", "--nodes", "2")
    assert (up["name"], up["drives"], up["version"], len(up["nodes"])) == ("stub-s3", 2, "stub 1", 2)
    assert up == tailcast("lab", "status", "stub-s3") == tailcast("lab", "up", "stub-s3", "--nodes", "2")
    assert tailcast("lab", "status", "minio") == {"name": "minio", "up": False}
    assert "stub-s3 is up" in tailcast("lab", "up", "minio", code=2)["error"]
    assert "--drives 1, --nodes 2 --drives 2" in tailcast("lab", "up", "stub-s3", "--nodes", "3", code=2)["error"]
    assert tailcast("lab", "down", "stub-s3") == {"name": "stub-s3", "up": False, "stopped": True}
    assert lab.running() is None


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


def test_its_own_trace_is_not_asked_of_another_store(stub_s3_kind: None) -> None:
    target = lab.up("stub-s3").target
    with pytest.raises(InputError, match="does not tell"), recording(target, True):
        pass
    with recording(target, False) as nothing:
        assert nothing is None
