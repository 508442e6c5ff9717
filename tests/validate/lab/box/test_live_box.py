"""Boxes that are really made, for a stub of a store: hosts, links, drives, faults, and that nothing is left of them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from cli.main import main
from tests.paths import ROOT
from tests.program_starter import Programs
from tests.small_traces import trace_of
from tests.validate.lab.test_second_store import StubS3
from traces.errors import InputError
from traces.run import Run
from validate.lab import lab, processes, staging
from validate.lab.box import network, set_up
from validate.lab.box.requirements import require
from validate.lab.box.shape import Shape
from validate.lab.faults import LabFault
from validate.lab.mounts import mounted_below
from validate.lab.registry import STORES
from validate.lab.store import Form, Store

pytestmark = [pytest.mark.live, pytest.mark.clock]

FAST = Shape.model_validate({"drives": {"read": "1ms", "write": "1ms"}, "nic": {"rate": "400Mbit/s"}})
TWO = Form(2, 2)
KIND = "stub-s3"


class StubInABox(StubS3):
    """The stub, with drives that it does not use."""

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        """Take any number of hosts and drives."""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, lab_state: Path) -> Iterator[Path]:
    """The folder of a stub's box; skips where there can be none."""
    try:
        require()
    except InputError as error:
        pytest.skip(str(error))
    monkeypatch.setitem(STORES, KIND, StubInABox())
    yield lab_state.with_name(KIND)
    lab.down(KIND)


@pytest.fixture
def store(folder: Path) -> Store:
    return lab.up(KIND, TWO, shape=FAST)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    with Programs(tmp_path_factory.mktemp("crashes"), {"PYTHONPATH": str(ROOT)}) as started:
        yield started


def nothing_left(folder: Path) -> bool:
    client = Path("/sys/class/net") / f"{network.prefix_of(folder)}c"
    left = (processes.of_folder(folder), mounted_below(folder), network.left_of(folder), client.exists())
    assert not any(left) and not folder.exists(), left
    return True


def requests_of(store: Store, host: int, timeout_s: float = 2.0) -> int:
    with urllib.request.urlopen(f"{store.nodes[host].endpoint_url}/_requests", timeout=timeout_s) as response:
        return int(json.loads(response.read()))


def is_silent(store: Store, host: int) -> bool:
    try:
        requests_of(store, host, 0.3)
    except TimeoutError:
        return True
    except OSError as error:
        return isinstance(getattr(error, "reason", None), TimeoutError)
    return False


def test_a_box_comes_up_and_goes_without_a_trace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun_s = time.monotonic()
    store = lab.up(KIND, TWO, shape=FAST)
    assert time.monotonic() - begun_s < 15.0
    assert store == lab.status(KIND) == lab.up(KIND, TWO, shape=FAST) and store.ready
    assert [requests_of(store, host) for host in range(2)] == [0, 0]
    assert len(mounted_below(folder)) == 4 and len(network.left_of(folder)) == 3
    state = json.loads((folder / "state.json").read_text())["box"]
    assert sorted(state["namespaces"]) == network.left_of(folder)
    assert sorted(state["mounts"]) == sorted(map(str, mounted_below(folder)))
    with pytest.raises(InputError, match="another shape or seed"):
        lab.up(KIND, TWO, shape=FAST, seed=1)
    with pytest.raises(InputError, match="another shape or seed"):
        lab.up(KIND, TWO)
    with pytest.raises(SystemExit):
        main(["lab", "status", KIND, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (said["hosts"], said["drives_per_host"], said["faults"]) == (2, 2, [])
    assert Shape.model_validate(said["shape"]) == FAST
    assert lab.down(KIND) and nothing_left(folder)


def test_hosts_reach_each_other_and_nothing_else(store: Store) -> None:
    assert store.box is not None
    code = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)"

    def reaches(address: str, port: int) -> bool:
        command = store.box.network.entered(0, [sys.executable, "-c", code, address, str(port)])  # type: ignore[union-attr]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    assert reaches(store.box.network.address(1), network.PORT)
    with socket.create_server(("127.0.0.1", 0)) as outside:
        assert not reaches("127.0.0.1", outside.getsockname()[1])
    assert not reaches("192.0.2.1", 80)


@pytest.mark.alone
def test_links_have_their_rate(store: Store) -> None:
    fast_s = exchange_s(store, 2_000_000)
    staging.begin(store, LabFault("link", 1, "limited", fraction=0.1))
    slow_s = exchange_s(store, 2_000_000)
    assert fast_s > 0.03, "2 MB at 50 MB/s take 40 ms"
    assert 0.3 < slow_s < 1.5, "and 400 ms at a tenth"
    staging.end(store)
    assert exchange_s(store, 2_000_000) < slow_s / 2


@pytest.mark.alone
def test_a_link_without_a_rate_is_limited_only_by_a_fault(folder: Path) -> None:
    store = lab.up(KIND, Form(1, 2), shape=FAST.model_copy(update={"nic": None}))
    with pytest.raises(InputError, match="no rate to take a fraction of"):
        staging.begin(store, LabFault("link", 1, "limited", fraction=0.1))
    staging.begin(store, LabFault("link", 1, "limited", bytes_per_s=5e6))
    assert exchange_s(store, 2_000_000) > 0.3
    staging.end(store)
    assert exchange_s(store, 2_000_000) < 0.3


def exchange_s(store: Store, size_bytes: int) -> float:
    """How long it takes to send bytes from the client to host 1, until they are acknowledged."""
    assert store.box is not None
    code = f"""
import socket
with socket.create_server(("", 9100)) as server:
    print("ready", flush=True)
    connection, _ = server.accept()
    left = {size_bytes}
    while left:
        left -= len(connection.recv(1 << 16))
    connection.sendall(b"done")
"""
    command = store.box.network.entered(1, [sys.executable, "-c", code])
    with subprocess.Popen(command, stdout=subprocess.PIPE) as receiver:
        assert receiver.stdout is not None and receiver.stdout.readline() == b"ready\n"
        with socket.create_connection((store.box.network.address(1), 9100), 10) as connection:
            begun_s = time.monotonic()
            connection.sendall(bytes(size_bytes))
            assert connection.recv(4) == b"done"
            return time.monotonic() - begun_s


@pytest.mark.alone
def test_a_delay_is_added_both_ways(folder: Path) -> None:
    store = lab.up(KIND, Form(1, 2), shape=FAST.model_copy(update={"delay": 0.03}))
    assert store.box is not None and store.box.delays in ("proxy", "netem")
    begun_s = time.monotonic()
    requests_of(store, 1)
    assert 0.06 <= time.monotonic() - begun_s < 1.0


def test_a_cut_link_and_a_paused_host_are_silent_and_a_killed_one_refuses(store: Store) -> None:
    for effect, part in (("cut", "link"), ("paused", "host")):
        staging.begin(store, LabFault(part, 1, effect))  # type: ignore[arg-type]
        assert is_silent(store, 1) and requests_of(store, 0) == 0
        assert [s.fault.effect for s in staging.in_force(store)] == [effect]
        staging.end(store)
        assert requests_of(store, 1) == 0 and not staging.in_force(store)
    staging.begin(store, LabFault("host", 1, "killed"))
    with pytest.raises(OSError, match="refused"):
        requests_of(store, 1)
    assert requests_of(store, 0) == 0
    staging.end(store)
    assert requests_of(store, 1) == 0
    before = lab.refreshed(store).nodes[0].pid
    staging.begin(store, LabFault("host", 0, "restarted"))
    assert requests_of(store, 0) == 0 and lab.refreshed(store).nodes[0].pid != before
    assert not staging.in_force(store)


def test_drives_take_faults(store: Store) -> None:
    first, second = (store.drive_folder(0, drive) / "file" for drive in range(2))
    for file in (first, second):
        file.write_bytes(b"content")
    staging.begin(store, LabFault("drive", 1, "errors"))
    with pytest.raises(OSError, match="Input/output error"):
        second.read_bytes()
    assert first.read_bytes() == b"content"
    staging.begin(store, LabFault("drive", 1, "slow", factor=200.0))
    staging.begin(store, LabFault("drive", 1, "slow", factor=2.0))
    staging.end(store, lambda fault: fault.factor == 2.0)
    staging.end(store, lambda fault: fault.effect == "errors")
    begun_s = time.monotonic()
    assert second.read_bytes() == b"content" and time.monotonic() - begun_s >= 0.2
    staging.end(store)
    staging.begin(store, LabFault("drive", 3, "full"))
    with pytest.raises(OSError, match="No space"):
        (store.drive_folder(1, 1) / "file").write_bytes(b"content")


@pytest.mark.alone
def test_a_replay_stages_faults_and_records_them(store: Store, tmp_path: Path) -> None:
    trace, out = tmp_path / "trace.parquet", tmp_path / "run"
    trace_of(["GET"] * 60, [f"k{i}" for i in range(60)], arrival_s=[i / 50 for i in range(60)]).write(trace)
    faults = ["--fault", "drive 2 x5 at 0.2s for 0.3s", "--fault", "link 1 50% at 0.4s"]
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(trace), "--lab", *faults, "--out", str(out)])
    assert not ended.value.code
    run = Run.read(out)
    assert [fault["fault"] for fault in run.info["lab_faults"]] == ["drive 2 x5", "link 1 50%"]
    slow, limited = run.info["lab_faults"]
    assert (slow["at"], slow["until"]) == (pytest.approx(0.2, abs=0.1), pytest.approx(0.5, abs=0.1))
    assert limited["at"] == pytest.approx(0.4, abs=0.1) and limited["until"] is None
    assert run.info["unmodelled_faults"] == ["drive 2 x5", "link 1 50%"], "the stub has no model"
    assert not staging.in_force(store)
    assert (run.info["lab"]["hosts"], run.info["lab"]["drives_per_host"]) == (2, 2)
    assert run.info["endpoint"]["kind"] == "box" and run.info["lab"]["shape"]["nic"]["rate"] == 50e6
    assert run.drive_accesses is not None and run.drive_accesses.num_rows == 0, "the stub uses no drive"


def test_faults_by_hand_end_after_their_time(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    def fault(*texts: str) -> list[str]:
        with pytest.raises(SystemExit) as ended:
            main(["lab", "fault", *texts, "--json"])
        assert not ended.value.code
        return [one["fault"] for one in json.loads(capsys.readouterr().out)["faults"]]

    assert fault("drive 0 frozen for 0.2s", "host 1 paused") == ["host 1 paused"]
    assert fault("drive 0 full") == ["host 1 paused", "drive 0 full"]
    assert fault("end") == []
    assert requests_of(store, 1) == 0


CRASHES = {
    "before anything is made": "network.set_up",
    "between namespaces": "network._run 3",
    "between links": "network._batch 4",
    "between drives": "drives.Drive.start 3",
    "while drives start": "drives.processes.start 2",
    "between servers": "lab.processes.start 6",
    "before it is ready": "set_up.end_start",
}


@pytest.mark.parametrize("where", CRASHES.values(), ids=CRASHES)
def test_nothing_is_left_after_a_crash(programs: Programs, folder: Path, tmp_path: Path, where: str) -> None:
    name, _, number = where.partition(" ")
    holder, _, function = name.rpartition(".")
    code = f"""
import itertools, os, signal
from tests.validate.lab.box.test_live_box import FAST, KIND, TWO, StubInABox
from validate.lab import lab
from validate.lab.box import drives, network, set_up
from validate.lab.registry import STORES
STORES[KIND] = StubInABox()
original, calls = {name}, itertools.count(1)
def crash(*arguments, **options):
    if next(calls) == {number or 1}:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments, **options)
{holder}.{function} = crash
lab.up(KIND, TWO, shape=FAST)
"""
    program = tmp_path / "crash.py"
    program.write_text(code)
    crashed = programs.run(program, [], tmp_path, {"TAILCAST_STATE": os.environ["TAILCAST_STATE"]})
    assert crashed.code == -signal.SIGKILL, crashed.err
    assert folder.exists()
    lab.down(KIND)
    assert nothing_left(folder)


def test_the_next_up_clears_what_a_crash_has_left(folder: Path) -> None:
    store = lab.up(KIND, TWO, shape=FAST)
    for process in processes.of_folder(folder):
        process.kill()
    psutil.wait_procs(processes.of_folder(folder), timeout=5)
    assert lab.status(KIND) is None and len(network.left_of(folder)) == 3
    again = lab.up(KIND, Form(1, 2), shape=FAST)
    assert again.form != store.form and requests_of(again, 1) == 0
    assert len(mounted_below(folder)) == 2
    assert lab.down(KIND) and nothing_left(folder)


def test_up_starts_again_what_has_died(store: Store) -> None:
    assert store.box is not None
    drive = set_up.drives_of(store.box)[2]
    for process in processes.of_folder(store.folder):
        if process.pid == store.nodes[0].pid or str(drive.mount_point) in process.cmdline():
            process.kill()
            process.wait(5)
    assert drive.status() is None
    again = lab.up(KIND, TWO, shape=FAST)
    assert all(node.alive for node in again.nodes) and requests_of(again, 0) == 0
    status = drive.status()
    assert status is not None and status.slower == 1
    assert (store.drive_folder(1, 0) / "..").exists() and len(mounted_below(store.folder)) == 4


def test_a_store_that_waits_for_a_frozen_drive_goes_down(store: Store) -> None:
    file = store.drive_folder(0, 0) / "file"
    file.write_bytes(b"content")
    staging.begin(store, LabFault("drive", 0, "frozen"))
    mark = f"{store.folder} reader"
    code = f"open({str(file)!r}, 'rb').read()"
    processes.start(mark, [sys.executable, "-c", code], os.environ, store.folder / "reader.log")
    time.sleep(0.3)
    assert processes.marked([mark])[mark], "it waits for the drive"
    assert lab.down(KIND) and nothing_left(store.folder)


def test_a_replaced_drive_fails_and_comes_back_empty(store: Store) -> None:
    file = store.drive_folder(0, 1) / "folder" / "file"
    file.parent.mkdir()
    file.write_bytes(b"content")
    fault = LabFault("drive", 1, "replaced")
    staging.begin(store, LabFault("drive", 1, "slow", factor=2.0))
    staging.begin(store, fault)
    with pytest.raises(OSError, match="Input/output error"):
        file.read_bytes()
    assert staging.end(store, fault.__eq__) == [fault]
    assert not file.parent.exists() and list(store.drive_folder(0, 1).iterdir()) == []
    file.parent.mkdir()
    file.write_bytes(b"new")
    assert file.read_bytes() == b"new" and (store.contents(0, 1) / "folder" / "file").exists()
    assert store.box is not None
    status = set_up.drives_of(store.box)[1].status()
    assert status is not None and (status.slower, status.errors) == (2, False), "what else is in force stays so"
    assert lab.down(KIND) and nothing_left(store.folder)


def test_two_labs_do_not_collide(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILCAST_STATE", str(tmp_path / "another"))
    other = lab.up(KIND, Form(1, 1), shape=FAST)
    assert other.box is not None and store.box is not None
    assert other.box.network.prefix != store.box.network.prefix
    assert requests_of(other, 0) == requests_of(store, 0) == 0
    assert lab.down(KIND) and nothing_left(other.folder)
    monkeypatch.setenv("TAILCAST_STATE", str(store.folder.parents[1]))
    assert requests_of(store, 1) == 0


def test_an_interrupt_ends_faults_with_a_duration(store: Store) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(SystemExit) as ended:
        main(["lab", "fault", "host 1 paused for 60s"])
    assert ended.value.code == 130
    assert not staging.in_force(store) and requests_of(store, 1) == 0
