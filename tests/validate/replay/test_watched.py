"""`tailcast replay --live`: the page is there while the load is issued, and ends with the command."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import pytest

from tests.conftest import StubStore
from tests.small_traces import trace_of
from traces.run import Run

Stub = Callable[..., StubStore]


def replay_of(store: StubStore, folder: Path, rows: int, *options: str) -> list[str]:
    trace = trace_of(["GET"] * rows, ["k"] * rows, arrival_s=np.arange(rows) / 50)
    trace.write(folder / "trace.parquet")
    command = [sys.executable, "-m", "tailcast", "replay", str(folder / "trace.parquet")]
    return [*command, "--endpoint-url", store.url, "--out", str(folder / "run"), *options]


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("watch the replay at http://127.0.0.1:"), line
    return line.split()[-1]


def is_served(url: str) -> bool:
    try:
        with urlopen(url, timeout=30) as response:
            return bool(response.status == 200)
    except (URLError, ConnectionError):
        return False


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_ends_replay_and_page(stub: Stub, tmp_path: Path, stop: signal.Signals) -> None:
    store = stub(latency=0.01)
    command = replay_of(store, tmp_path, 6000, "--live")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    url = address_of(process)
    assert is_served(url)
    limit_s = time.monotonic() + 60
    while store.requests < 100 and time.monotonic() < limit_s:
        time.sleep(0.05)
    process.send_signal(stop)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said and "interrupted: " in said
    assert Run.read(tmp_path / "run").info["aborted"] is True
    assert not is_served(url) and store.buckets == []


def test_a_killed_replay_leaves_no_page(stub: Stub, tmp_path: Path) -> None:
    command = replay_of(stub(latency=0.01), tmp_path, 6000, "--live")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    url = address_of(process)
    process.kill()
    process.wait()
    assert process.stderr is not None
    process.stderr.close()
    limit_s = time.monotonic() + 60
    while is_served(url):
        assert time.monotonic() < limit_s
        time.sleep(0.2)


def test_the_port_that_is_named_is_taken(stub: Stub, tmp_path: Path) -> None:
    store = stub(latency=0.001)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = replay_of(store, tmp_path, 20, "--live", "--port", str(port))
        refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 2 and refused.stdout == ""
    (line,) = refused.stderr.splitlines()
    assert f"--port {port}: Address already in use" in line
    assert store.requests == 0, "nothing is issued"
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"watch the replay at http://127.0.0.1:{port}/")
    assert json.loads(done.stdout)["schedule"]["requests"] == 20, "stdout has only the result"


def test_a_terminal_has_the_view_and_keeps_the_result(stub: Stub, tmp_path: Path) -> None:
    command = replay_of(stub(latency=0.01), tmp_path, 200, "--json")
    reader, writer = pty.openpty()
    process = subprocess.Popen(command, stderr=writer, stdout=subprocess.PIPE, text=True)
    os.close(writer)
    shown = b""
    while True:
        try:
            shown += os.read(reader, 1 << 16)
        except OSError:  # the end of a terminal
            break
    os.close(reader)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    text = shown.decode()
    assert "op/s are served" in text and "p99 of the last" in text
    result, run = json.loads(out), Run.read(tmp_path / "run")
    assert result["ops"]["GET"]["count"] == len(run) == 200
    assert np.isfinite(run.latency_s).all()
