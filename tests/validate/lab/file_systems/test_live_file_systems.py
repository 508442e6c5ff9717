"""Real file systems on a real MinIO: started, found again, and removed without a trace."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cli.main import main
from tests.paths import ROOT
from tests.small_traces import trace_of
from tests.validate.mount.test_file_replay import CODES, MOVED, life_of_a_file
from traces.errors import InputError
from traces.run import Run
from traces.trace import Pacing
from validate.lab import lab, processes
from validate.lab.fault_schedule import FaultSchedule
from validate.lab.fault_text import parse_lab_fault
from validate.lab.file_systems import fuse, lifecycle
from validate.lab.file_systems.anatomy import file_anatomy, write_csv
from validate.lab.file_systems.file_system import MOUNT, STORE_RECORDER, FileSystemForm
from validate.lab.file_systems.registry import FILE_SYSTEMS, kind_of
from validate.lab.file_systems.removal import folder_of
from validate.lab.minio import program
from validate.lab.mounts import mounted_below
from validate.mount.mount_path import MOUNT as MOUNT_PATH
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.s3.account import Account

pytestmark = [pytest.mark.live, pytest.mark.clock]


@pytest.fixture
def on_minio(lab_state: Path) -> Iterator[None]:
    """A lab of its own; skips what is not installed."""
    if program.find() is None:
        pytest.skip("the MinIO server is not installed; 'tailcast lab install minio' builds it")
    try:
        fuse.require()
    except InputError as error:
        pytest.skip(str(error))
    yield
    for name in FILE_SYSTEMS:
        lifecycle.down(name)


@pytest.fixture(params=list(FILE_SYSTEMS))
def name(request: pytest.FixtureRequest, on_minio: None) -> str:
    """Each file system that is installed."""
    if kind_of(request.param).find() is None:
        pytest.skip(f"'tailcast lab install {request.param}' installs it")
    return str(request.param)


def left(name: str) -> list[object]:
    """All that there is of a file system on this machine."""
    folder = folder_of(name)
    return [*processes.of_folder(folder), *mounted_below(folder.parent), *([folder] if folder.exists() else [])]


def test_files_are_objects_of_the_store_and_nothing_stays(name: str) -> None:
    store = lab.up("minio")
    begun_s = time.monotonic()
    fs = lifecycle.up(name, store, FileSystemForm(recorded=True))
    assert time.monotonic() - begun_s < 60.0 and fs.alive and lifecycle.running() == fs
    assert lifecycle.up(name, store, FileSystemForm(recorded=True)) == fs
    with pytest.raises(InputError, match="another form"):
        lifecycle.up(name, store)
    body = os.urandom(70_000)
    (fs.mount_point / "file").write_bytes(body)
    assert (fs.mount_point / "file").read_bytes() == body
    objects = Account(store.target).buckets.list_objects_v2(Bucket=fs.bucket)["Contents"]
    assert 70_000 in [each["Size"] for each in objects]
    entries = [json.loads(line) for line in fs.record(STORE_RECORDER).open()]
    assert [e["request_bytes"] for e in entries if e["method"] == "PUT" and e["request_bytes"] > 100] == [70_000]
    assert lifecycle.down(name) and not left(name) and not lifecycle.down(name)
    assert Account(store.target).buckets.list_buckets()["Buckets"] == []


def test_a_killed_mount_is_started_again_or_removed(name: str) -> None:
    store = lab.up("minio")
    fs = lifecycle.up(name, store)
    (fs.mount_point / "file").write_bytes(b"kept")
    for pid in fs.running[MOUNT]:
        os.kill(pid, signal.SIGKILL)
    limit_s = time.monotonic() + 10.0
    while fs.alive and time.monotonic() < limit_s:
        time.sleep(0.05)
    assert not fs.alive
    again = lifecycle.up(name, store)
    assert (again.mount_point / "file").read_bytes() == b"kept"
    for pid in again.running[MOUNT]:
        os.kill(pid, signal.SIGKILL)
    lifecycle.down(name)
    assert not left(name)


def test_a_file_system_ends_with_its_store(name: str) -> None:
    fs = lifecycle.up(name, lab.up("minio"))
    assert fs.alive
    lab.down("minio")
    assert not left(name) and lifecycle.running() is None


def test_a_killed_start_leaves_nothing_that_down_does_not_remove(name: str) -> None:
    lab.up("minio")
    code = f"import sys; from cli.main import main; sys.argv[1:] = ['lab', 'up', {name!r}]; main()"
    command = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)
    limit_s = time.monotonic() + 60.0
    while not processes.of_folder(folder_of(name)) and time.monotonic() < limit_s:
        time.sleep(0.01)
    command.kill()
    command.wait()
    assert lifecycle.is_left(name)
    lifecycle.down(name)
    assert not left(name)


def test_juicefs_without_redis_and_as_a_gateway(on_minio: None) -> None:
    if kind_of("juicefs").find() is None:
        pytest.skip("'tailcast lab install juicefs' installs it")
    store = lab.up("minio")
    fs = lifecycle.up(
        "juicefs", store, FileSystemForm(meta="sqlite"), {"mount.prefetch": "0", "format.block-size": "1M"}
    )
    (fs.mount_point / "file").write_bytes(b"x" * (3 << 20))
    sizes = [each["Size"] for each in Account(store.target).buckets.list_objects_v2(Bucket=fs.bucket)["Contents"]]
    assert sizes.count(1 << 20) == 3 and set(fs.running) == {MOUNT}
    lifecycle.down("juicefs")
    fs = lifecycle.up("juicefs", store, FileSystemForm(gateway=True))
    client = Account(fs.gateway_target).buckets
    client.put_object(Bucket="lab", Key="k", Body=b"through the gateway")
    assert client.get_object(Bucket="lab", Key="k")["Body"].read() == b"through the gateway"


EXPECTED = {
    # file system, operation: requests, rounds before it returned (juicefs_s3fs_request_counts_2026.csv)
    ("juicefs", "stat"): ("", 2),
    ("juicefs", "rename"): ("", 10),
    ("juicefs", "create + write 4 KiB + close"): ("1 PUT", 11),
    ("s3fs", "stat"): ("1 HEAD", 0),
    ("s3fs", "chmod"): ("2 HEAD, 1 PUT copy", 0),
    ("s3fs", "lookup of an absent name"): ("3 HEAD, 1 LIST", 0),
}


def test_the_anatomy_of_operations(name: str, tmp_path: Path) -> None:
    fs = lifecycle.up(name, lab.up("minio"), FileSystemForm(recorded=True))
    for (of, operation), expected in EXPECTED.items():
        if of == name:
            (found,) = file_anatomy(fs, operation)
            assert (found.requests, found.rounds) == expected, found
            assert found.seconds > 0 and found.file_system == name and found.at_once <= 1
    write_csv([found], tmp_path / "table.csv")
    (row,) = csv.DictReader((tmp_path / "table.csv").open())
    assert row["operation"] == found.operation and int(row["rounds"]) == found.rounds
    assert list(fs.mount_point.glob("anatomy-*")) == []
    with pytest.raises(InputError, match="no operation with 'teleport'; there are create"):
        file_anatomy(fs, "teleport")


def test_a_mount_that_dies_during_an_operation_is_said(on_minio: None) -> None:
    if kind_of("s3fs").find() is None:
        pytest.skip("'tailcast lab install s3fs' installs it")
    fs = lifecycle.up("s3fs", lab.up("minio"), FileSystemForm(recorded=True))

    def kill(line: str) -> None:
        for pid in fs.running[MOUNT]:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(InputError, match=r"s3fs: rename: .*(not connected|abort)"):
        file_anatomy(fs, "rename", kill)
    with pytest.raises(InputError, match="s3fs has died"):
        file_anatomy(fs)


def test_delays_come_before_each_exchange(on_minio: None) -> None:
    if kind_of("juicefs").find() is None:
        pytest.skip("'tailcast lab install juicefs' installs it")
    fs = lifecycle.up("juicefs", lab.up("minio"), FileSystemForm(store_delay_s=0.2, metadata_delay_s=0.02))
    (found,) = file_anatomy(fs, "create")
    assert found.rounds == 11 and found.seconds >= 0.2 + 11 * 0.02
    assert found.options == "store delay 200 ms, Redis delay 20 ms"
    lifecycle.down("juicefs")
    with pytest.raises(InputError, match="without recorders"):
        file_anatomy(lifecycle.up("juicefs", lab.up("minio")))


@pytest.mark.parametrize("processes_", [1, 2])
def test_a_replay_on_a_mount(name: str, processes_: int) -> None:
    store = lab.up("minio")
    fs = lifecycle.up(name, store, FileSystemForm(recorded=True))
    op = ["PUT", "GET", "HEAD", "LIST", "DELETE"] * 8
    key = ["a/" if o == "LIST" else f"a/k{i // 5}" for i, o in enumerate(op)]
    trace = trace_of(op, key, Pacing("closed", 2), size_bytes=[70_000] * 40, phase=list(range(40)))
    assert lifecycle.around(fs.mount_point / "x") == fs and lifecycle.around(fs.folder) is None
    target = fs.target_on(store)
    assert {*fs.pids, *store.target.server_pids} == {*target.server_pids} and len(target.device_pids) >= 1
    run = replay(trace, target, Options(data_path=MOUNT_PATH, verify=1.0, processes=processes_))
    assert run.requests.column("error").null_count == 40, run.requests.column("error")
    assert run.info["left_behind"] == [] and list(fs.mount_point.glob("tailcast-*")) == []
    assert run.info["cpu"]["server_s"] > 0 and run.info["versions"]["server"] == fs.version


@pytest.mark.parametrize("pacing", [Pacing("closed", 4), Pacing()], ids=["closed", "open"])
def test_a_replay_of_file_operations(name: str, pacing: Pacing) -> None:
    store = lab.up("minio")
    fs = lifecycle.up(name, store)
    arrival_s = [0.05 * i for i in range(17)] if pacing.loop == "open" else 0.0
    run = replay(
        life_of_a_file(pacing=pacing, arrival_s=arrival_s),
        fs.target_on(store),
        Options(data_path=MOUNT_PATH, verify=1.0),
    )
    assert run.requests.column("error").null_count == 17, run.requests.column("error")
    assert run.column("status").tolist() == CODES and run.column("transfer_bytes").tolist() == MOVED
    assert run.info["left_behind"] == [] and list(fs.mount_point.glob("tailcast-*")) == []
    assert run.info["cpu"]["server_s"] > 0 and run.info["schedule"]["requests"] == 17


def test_a_call_that_the_store_does_not_end_is_given_up(name: str) -> None:
    store = lab.up("minio")
    fs = lifecycle.up(name, store)
    at_s = [0.0, 1.0, 1.2, 1.4, 5.5, 6.5]
    trace = trace_of(["PUT"] * 6, [f"k{i}" for i in range(6)], arrival_s=at_s, size_bytes=200_000)
    faults = FaultSchedule(store, [parse_lab_fault("host 0 paused at 0.7s for 4s")])
    run = replay(trace, fs.target_on(store), Options(data_path=MOUNT_PATH, timeout_s=2.0), faults=faults)
    assert run.requests.column("error").to_pylist()[1:4] == ["timed out after 2 s"] * 3
    assert run.failed.tolist() == [False, True, True, True, False, False]
    assert run.latency_s[1:4].max() < 3.0 and run.info["left_behind"] == []


def test_faults_of_the_store_below_delay_calls(name: str, tmp_path: Path) -> None:
    fs = lifecycle.up(name, lab.up("minio"))
    trace_of(["PUT"] * 60, [f"k{i}" for i in range(60)], arrival_s=np.arange(60) / 20).write(tmp_path / "t.parquet")
    fault, out = "host 0 paused at 0.5s for 1s", tmp_path / "run"
    arguments = [str(tmp_path / "t.parquet"), "--mount", str(fs.mount_point), "--fault", fault, "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        main(["replay", *arguments])
    assert not ended.value.code
    run = Run.read(out)
    (staged,) = run.info["lab_faults"]
    took_s = run.column("end_s") - run.column("arrival_s")
    assert not run.failed.any() and took_s[run.column("arrival_s") < staged["at"] - 0.3].max() < took_s.max()
    assert (
        took_s.max() > 0.5
        and run.info["lab"]["file_system"]["name"] == name
        and run.info["lab"]["drives_per_host"] == 1
    )


def test_commands(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def tailcast(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = capsys.readouterr()
        assert (ended.value.code or 0) == code, said.err
        return said.err if code else said.out + said.err

    up = json.loads(tailcast("lab", "up", name, "--record", "--drives", "4", "--json"))
    assert (up["name"], up["up"], up["store"], up["recorded"]) == (name, True, "minio", True)
    assert up == json.loads(tailcast("lab", "status", "--json")) and lab.status("minio").form.drives == 4  # type: ignore[union-attr]
    assert "another form" in tailcast("lab", "up", name, code=2)
    assert "options of juicefs and s3fs" in tailcast("lab", "up", "minio", "--gateway", code=2)
    table = tmp_path / "table.csv"
    found = json.loads(tailcast("lab", "file-anatomy", "--only", "stat", "--json", "--out", str(table)))
    assert [each["operation"] for each in found["operations"]] == ["stat"] and table.exists()
    assert "add --force" in tailcast("lab", "file-anatomy", "--out", str(table), code=2)
    assert f"{name} is down" in tailcast("lab", "down") and "minio is up" in tailcast("lab", "status")
    assert "no file system of the lab is up" in tailcast("lab", "file-anatomy", code=2)
    assert name in tailcast("lab", "install", name, "minio")
    assert "minio is down" in tailcast("lab", "down") and not left(name)


def test_what_cannot_be_is_refused(on_minio: None, monkeypatch: pytest.MonkeyPatch) -> None:
    store = lab.up("minio")
    for name, form, options, says in (
        ("s3fs", FileSystemForm(gateway=True), {}, "no gateway"),
        ("s3fs", FileSystemForm(meta="redis"), {}, "keeps them in the store"),
        ("juicefs", FileSystemForm(meta="tikv"), {}, "allowed are redis, sqlite"),
        ("juicefs", FileSystemForm(meta="sqlite", metadata_delay_s=0.1), {}, "rounds to Redis"),
        ("s3fs", FileSystemForm(), {"proxy.x": "1"}, "allowed are mount.NAME"),
        ("hdfs", FileSystemForm(), {}, "cannot start 'hdfs'"),
    ):
        with pytest.raises(InputError, match=says):
            lifecycle.up(name, store, form, options)
    for name, variable in (("s3fs", "TAILCAST_S3FS"), ("juicefs", "TAILCAST_JUICEFS")):
        monkeypatch.setenv(variable, "/absent/program")
        with pytest.raises(InputError, match=f"{variable} is '/absent/program', which is no program"):
            lifecycle.up(name, store)
        monkeypatch.delenv(variable)
    monkeypatch.setattr(fuse, "_DEVICE", "/dev/absent")
    with pytest.raises(InputError, match="a mount needs /dev/absent"):
        lifecycle.up("s3fs", store)
