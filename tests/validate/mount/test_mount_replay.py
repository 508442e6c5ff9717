"""A trace is replayed on files below a folder, which is removed afterwards; a plain folder takes the mount's place."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cli.main import main
from models.shared.client_policy import ClientPolicies
from models.shared.multipart import Multipart
from tests.paths import ROOT
from tests.small_traces import reads, trace_of
from traces.errors import InputError
from traces.run import Run
from traces.trace import Pacing, Trace
from validate.mount import file_calls
from validate.mount.file_calls import CALLS, FileCall, perform
from validate.mount.mount_path import MOUNT, MountPoint, unsendable_path
from validate.replay.bucket_record import clean_up
from validate.replay.plan import Options, plan_of
from validate.replay.replay import replay
from validate.s3.account import Target

pytestmark = pytest.mark.clock


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAILCAST_STATE", str(tmp_path / "state"))
    folder = tmp_path / "mount"
    folder.mkdir()
    (folder / "foreign").write_text("stays")
    return folder


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def replayed(trace: Trace, folder: Path, **options: object) -> Run:
    run = replay(trace, Target(mount=folder), Options(data_path=MOUNT, **options))  # type: ignore[arg-type]
    assert left_in(folder) == ["foreign"] and run.info["left_behind"] == []
    return run


def mix(count: int = 100) -> Trace:
    op = ["PUT", "GET", "HEAD", "LIST", "DELETE"] * (count // 5)
    key = ["deep/er/" if o == "LIST" else f"deep/er/k{i // 5}" for i, o in enumerate(op)]
    return trace_of(op, key, Pacing("closed", 1), size_bytes=3_000_000)


def test_a_mix_in_a_closed_loop(folder: Path) -> None:
    trace = mix()
    run = replayed(trace, folder, verify=1.0)
    assert run.requests.column("error").null_count == len(trace) == len(run)
    assert run.column("status").tolist() == [200, 200, 200, 200, 204] * 20
    assert run.column("transfer_bytes").tolist() == [3_000_000, 3_000_000, 0, 0, 0] * 20
    first_s, end_s = run.column("first_byte_s"), run.column("end_s")
    is_get = np.array(run.requests.column("op").to_pylist()) == "GET"
    assert (first_s[is_get] < end_s[is_get]).all() and np.isnan(first_s[~is_get]).all()
    info = run.info
    assert info["endpoint"] == {"url": folder.as_uri(), "kind": "mount"} and info["data_path"]["name"] == MOUNT
    assert info["cpu"]["client_s"] > 0 and info["schedule"]["requests"] == len(trace)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_open_loop_keeps_its_schedule(folder: Path, processes: int) -> None:
    run = replayed(reads(60, rate=60), folder, processes=processes, verify=1.0)
    assert not run.failed.any() and run.info["schedule"]["in_flight_max"] >= 1
    assert (run.column("arrival_s") <= run.column("start_s")).all() and run.info["preload_objects"] > 0


def test_parts_and_ranges_are_verified(folder: Path) -> None:
    trace = trace_of(["PUT", "GET"], ["k"] * 2, Pacing("closed"), phase=[0, 1], size_bytes=12 << 20)
    parts = ClientPolicies(multipart=Multipart(threshold=5 << 20, part_size=5 << 20))
    run = replayed(trace, folder, policies=parts, verify=1.0)
    assert run.column("transfer_bytes").tolist() == [12 << 20] * 2 and not run.failed.any()
    path = folder.parent / "file"
    path.write_bytes(bytes(range(200)))
    read = perform("GET", FileCall(path, span=(10, 20)))
    assert (read.status, read.transfer_bytes) == (206, 10)


def test_wrong_bytes_fail(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def put(call: FileCall) -> object:
        call.path.write_bytes(b"\0" * sum(map(len, call.parts)))
        return file_calls.Response(200)

    monkeypatch.setitem(CALLS, "PUT", put)
    run = replayed(reads(10, rate=100), folder, verify=1.0)
    assert run.failed.all() and "wrong body" in run.requests.column("error")[0].as_py()


def test_errors_of_calls_are_rows(folder: Path) -> None:
    trace = trace_of(["DELETE", "DELETE", "GET"], ["k"] * 3, Pacing("closed"), phase=[0, 1, 2])
    run = replayed(trace, folder)
    assert run.column("status").tolist() == [204, 404, 404]
    assert run.requests.column("error").to_pylist() == [None] + ["No such file or directory"] * 2
    (folder.parent / "link").symlink_to(folder / "foreign")
    assert perform("GET", FileCall(folder.parent / "link")).status == 500, "a link is not followed"


@pytest.mark.parametrize(
    ("op", "key", "says"),
    [
        ("GET", "../k", "could leave the folder"),
        ("LIST", "a/../../b", "could leave the folder"),
        ("PUT", "/k", "no empty segments"),
        ("PUT", "a//b", "no empty segments"),
        ("PUT", "x" * 256, "at most 255 bytes"),
    ],
)
def test_paths_outside_of_the_folder_are_refused(op: str, key: str, says: str) -> None:
    assert says in (unsendable_path(op, key) or "")
    with pytest.raises(InputError, match=says):
        plan_of(trace_of([op], [key], Pacing("closed")), Options(data_path=MOUNT))


@pytest.mark.parametrize("target", ["../../escaped", "a/../../b", "/etc/passwd", "a//b"])
def test_targets_outside_of_the_folder_are_refused(target: str) -> None:
    for op in ("RENAME", "COPY"):
        trace = trace_of([op], ["k"], Pacing("closed"), target=target)
        with pytest.raises(InputError, match="of target"):
            plan_of(trace, Options(data_path=MOUNT))


def test_a_key_is_not_both_file_and_folder() -> None:
    with pytest.raises(InputError, match="would be a file and a folder"):
        plan_of(trace_of(["PUT"] * 2, ["a", "a/b"], Pacing("closed")), Options(data_path=MOUNT))
    assert unsendable_path("LIST", "") is None and unsendable_path("LIST", "a/") is None


def test_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mix(10).write(tmp_path / "trace.parquet")
    for arguments, code, says in (
        (["--mount", str(folder), "--out", str(tmp_path / "run"), "--json"], 0, ""),
        (["--mount", str(folder), "--lab"], 2, "leave out --lab"),
        (["--mount", str(folder / "absent")], 2, "no folder of a mount"),
        (["--data-path", "mount"], 2, "data path 'mount' needs a mount"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["replay", str(tmp_path / "trace.parquet"), *arguments])
        said = capsys.readouterr()
        assert (ended.value.code or 0) == code and says in said.err
    assert Run.read(tmp_path / "run").info["endpoint"]["kind"] == "mount"
    assert MountPoint(folder).file_system != "unknown"


def test_what_a_killed_replay_left_is_removed(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    reads(2000, rate=20).write(tmp_path / "trace.parquet")
    code = "import sys; from cli.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "replay", str(tmp_path / "trace.parquet"), "--mount", str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    limit_s = time.monotonic() + 60.0
    while not list(folder.glob("tailcast-*/0/*")) and time.monotonic() < limit_s:
        time.sleep(0.05)
    (running,) = clean_up()
    assert "its replay is running" in running.left[0]
    process.send_signal(signal.SIGKILL)
    process.wait()
    (top,) = folder.glob("tailcast-*")
    record = next((tmp_path / "state" / "replays").glob("*.jsonl"))
    assert json.loads(record.read_text().splitlines()[0])["mount"] == str(folder)
    with pytest.raises(SystemExit):
        main(["replay", "--clean-up"])
    assert f"folder {top} is removed (" in capsys.readouterr().out
    assert left_in(folder) == ["foreign"] and not record.exists()
