"""Whatever ends a replay, its buckets are removed, or named and removed later."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.conftest import StubStore
from tests.profiles import NIGHTLY
from tests.small_traces import trace_of
from tests.validate.replay.test_replay import cli
from traces.run import Run
from validate.replay import bucket_record
from validate.s3.account import Account, Target

Stub = Callable[..., StubStore]
STARTED = [sys.executable, "-c", "from cli.main import main; main()"]


def started(store: StubStore, folder: Path, *options: str) -> subprocess.Popen[str]:
    """A replay of 30 s, which has begun to make its bucket."""
    trace = folder / "t.parquet"
    trace_of(["GET"] * 3000, [f"k{i % 500}" for i in range(3000)], arrival_s=np.arange(3000) / 100).write(trace)
    command = [*STARTED, "replay", str(trace), "--endpoint-url", store.url, "--out", str(folder / "run"), *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def wait_for(condition: Callable[[], object], within_s: float = 60.0) -> None:
    ends_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < ends_s
        time.sleep(0.05)


def records() -> list[Path]:
    return list((Path(os.environ["TAILCAST_STATE"]) / "replays").glob("*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_each_stop_leaves_no_bucket_and_keeps_what_was_measured(
    stub: Stub, tmp_path: Path, number: signal.Signals
) -> None:
    store = stub(latency=0.02)
    process = started(store, tmp_path)
    wait_for(lambda: len(store.told("read")) > 20)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted: " in said and "Traceback" not in said
    assert store.buckets == [] and records() == []
    assert Run.read(tmp_path / "run").info["aborted"]


def test_what_a_killed_replay_left_is_cleaned_up(
    stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = stub(latency=0.02)
    store.s3.create_bucket(Bucket="precious")
    store.s3.put_object(Bucket="precious", Key="k", Body=b"precious")
    process = started(store, tmp_path, "--processes", "2")
    wait_for(lambda: len(store.told("read")) > 20)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    assert cli("replay", "--clean-up") == 1, "a replay that runs is left alone"
    assert "its replay is running" in capsys.readouterr().err
    process.kill()
    process.communicate()
    wait_for(lambda: not [child for child in children if child.is_running() and child.status() != "zombie"], 20)
    (left,) = (name for name in store.buckets if name != "precious")
    (record,) = records()
    assert json.loads(record.read_text().splitlines()[1]) == {"bucket": left}
    for secret in ("TESTACCESSKEYID", "secret"):
        assert secret not in record.read_text()
    assert cli("replay", "--clean-up", "--endpoint-url", "http://127.0.0.1:1") == 0
    assert left in store.buckets and "no replay has left a bucket or a folder" in capsys.readouterr().out
    assert cli("replay", "--clean-up", "--endpoint-url", store.url) == 0
    assert f"bucket {left} is removed (500 objects)" in capsys.readouterr().out
    assert store.buckets == ["precious"] and records() == []


def test_a_store_that_died_is_said_and_its_buckets_are_removed_later(
    stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, trace = stub(die_key="k20"), tmp_path / "t.parquet"
    trace_of(["GET"] * 30, [f"k{i}" for i in range(30)]).write(trace)
    assert cli("replay", trace, "--endpoint-url", store.url) == 1
    said = capsys.readouterr()
    assert "warning: the store did not respond after the last request" in said.out
    assert "'tailcast replay --clean-up' removes what is left" in said.err and len(records()) == 1
    assert cli("replay", "--clean-up") == 1
    assert f"if that store no longer exists, delete {records()[0]}" in " ".join(capsys.readouterr().err.split())
    port = store.url.rpartition(":")[2]
    stub(port=port)
    assert cli("replay", "--clean-up") == 0 and records() == []


def test_a_replay_of_which_all_requests_failed_says_so(
    stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "t.parquet"
    trace_of(["GET"] * 5, ["wrong-GET-status-500"] * 5).write(trace)
    command = ["replay", trace, "--endpoint-url", stub().url]
    assert cli(*command) == 1
    assert "warning: all 5 requests failed: InternalError" in capsys.readouterr().out
    assert cli(*command, "--json") == 1
    assert "all 5 requests failed" in json.loads(capsys.readouterr().out)["warnings"][0]


def test_only_buckets_of_replays_are_cleaned_up(stub: Stub, aws_environment: None) -> None:
    store = stub()
    for name in ("precious", "tailcast-0123456789abcdef-0"):
        store.s3.create_bucket(Bucket=name)
    with bucket_record.recorded(Target(store.url), store.url) as record:
        for name in ("precious", "tailcast-0123456789abcdef-0", "tailcast-0123456789abcdef-1"):
            record.add(name)
        record.withdraw("tailcast-0123456789abcdef-0")
    with record.path.open("ab") as file:
        file.write(b'{"bucket": "tailcast-01234')
    (done,) = bucket_record.clean_up()
    assert done.removed == {"tailcast-0123456789abcdef-1": 0} and done.left == []
    assert store.buckets == ["precious", "tailcast-0123456789abcdef-0"]


def test_a_state_folder_that_cannot_be_written_is_named_before_anything_is_made(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store, trace = stub(), tmp_path / "t.parquet"
    trace_of(["GET"], ["k"]).write(trace)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TAILCAST_STATE", str(tmp_path / "file"))
    assert cli("replay", trace, "--endpoint-url", store.url) == 2
    assert "names of buckets cannot be recorded" in capsys.readouterr().err
    assert store.requests == 0


def test_a_store_that_only_says_that_it_deletes_does_not_hang(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    store = stub()
    name = "tailcast-0123456789abcdef-0"
    store.s3.create_bucket(Bucket=name)
    store.s3.put_object(Bucket=name, Key="k", Body=b"x")
    monkeypatch.setattr(bucket_record, "delete_objects", lambda account, name, keys: None)
    with bucket_record.recorded(Target(store.url), store.url) as record:
        record.add(name)
    (done,) = bucket_record.clean_up()
    assert done.removed == {} and "its objects cannot be deleted" in done.left[0]
    assert Account(Target(store.url)).endpoint_url == store.url


@pytest.mark.parametrize("seed", range(20 if NIGHTLY else 3))
def test_a_signal_at_any_time_leaves_no_bucket_without_its_name(stub: Stub, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    store = stub(latency=0.005)
    process = started(store, tmp_path, *(["--processes", "2"] if chance.random() < 0.3 else []))
    if chance.random() < 0.5:
        wait_for(lambda: store.requests or process.poll() is not None)
    time.sleep(chance.uniform(0, 2))
    for _ in range(chance.choice([1, 1, 2])):
        process.send_signal(chance.choice([signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL]))
        time.sleep(chance.uniform(0, 0.3))
    _, said = process.communicate(timeout=90)
    is_early = said.startswith("Fatal Python error: init_import_site")  # SIGINT before a line of the program runs
    assert is_early or "Traceback" not in said
    named = "".join(record.read_text() for record in records())
    assert all(bucket in named for bucket in store.buckets)
    assert cli("replay", "--clean-up") == 0
    assert store.buckets == [] and records() == []
