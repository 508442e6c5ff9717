"""Operations of file systems are replayed below a folder; a plain folder takes the mount's place."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.shared.client_policy import ClientPolicies, Hedge
from tests.small_traces import trace_of
from tests.validate.mount.test_mount_replay import left_in
from traces.errors import InputError
from traces.operations import FILE
from traces.run import Run
from traces.trace import Pacing, Trace
from traces.workload.generate import generate
from traces.workload.workload import Workload
from validate.mount import file_calls
from validate.mount.bounded import within
from validate.mount.file_calls import CALLS, FileCall
from validate.mount.mount_path import MOUNT
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.s3.account import Target

pytestmark = pytest.mark.clock
MIB = 1 << 20


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAILCAST_STATE", str(tmp_path / "state"))
    folder = tmp_path / "mount"
    folder.mkdir()
    (folder / "foreign").write_text("stays")
    return folder


def replayed(trace: Trace, folder: Path, left: bool = False, **options: object) -> Run:
    given = {"verify": 1.0} | options
    run = replay(trace, Target(mount=folder), Options(data_path=MOUNT, **given))  # type: ignore[arg-type]
    assert left or (left_in(folder) == ["foreign"] and run.info["left_behind"] == [])
    return run


def statuses(run: Run) -> list[int]:
    assert run.requests.column("error").null_count == len(run), run.requests.column("error")
    return run.column("status").tolist()


def life_of_a_file(**columns: Any) -> Trace:
    """A file is created in a new folder, written in two pieces, read, renamed and removed; another one is opened."""
    rows: list[tuple[str, str, str | None, int | None, int | None, int | None]] = [
        ("MKDIR", "d", None, None, None, None), ("CREATE", "d/new", None, 1, None, None),
        ("WRITE", "d/new", None, 1, 0, 3 * MIB), ("WRITE", "d/new", None, 1, 3 * MIB, 5),
        ("FSYNC", "d/new", None, 1, None, None), ("READ", "d/new", None, 1, MIB, 4 * MIB),
        ("CLOSE", "d/new", None, 1, None, None), ("RENAME", "d/new", "e/kept", None, None, None),
        ("STAT", "e/kept", None, None, None, None), ("SETATTR", "e/kept", None, None, None, None),
        ("OPEN", "e/kept", None, 2, None, None), ("READ", "e/kept", None, 2, 0, 100),
        ("CLOSE", "e/kept", None, 2, None, None), ("READDIR", "e", None, None, None, None),
        ("UNLINK", "e/kept", None, None, None, None), ("OPEN", "old", None, 3, None, None),
        ("READ", "old", None, 3, 4000, 200),
    ]  # fmt: skip
    op, key, target, handle, start, count = (list(column) for column in zip(*rows, strict=True))
    size = [0 if o in ("MKDIR", "CREATE", "READDIR") else 4096 if k == "old" else 3 * MIB + 5
            for o, k in zip(op, key, strict=True)]  # fmt: skip
    given: dict[str, Any] = {"target": target, "handle": handle, "size_bytes": size} | columns
    return trace_of(op, key, range_start_bytes=start, range_bytes=count, **given)  # type: ignore[arg-type]


CODES = [201, 201, 200, 200, 200, 206, 200, 200, 200, 200, 200, 206, 200, 200, 204, 200, 206]
MOVED = [0, 0, 3 * MIB, 5, 0, 2 * MIB + 5, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 96]


@pytest.mark.parametrize("pacing", [Pacing("closed", 1), Pacing("closed", 8), Pacing()], ids=["1", "8", "open"])
def test_the_life_of_a_file(folder: Path, pacing: Pacing) -> None:
    trace = life_of_a_file(pacing=pacing)
    run = replayed(trace, folder)
    assert statuses(run) == CODES and run.column("transfer_bytes").tolist() == MOVED
    assert set(FILE) == {*run.requests.column("op").to_pylist()}, "all of them are replayed"
    assert run.info["preload_objects"] == 1
    assert run.requests.column("target").to_pylist()[7] == "e/kept" and run.requests.column("handle")[2].as_py() == 1
    first_s = run.column("first_byte_s")
    assert np.isfinite(first_s[[5, 11, 16]]).all() and np.isnan(first_s).sum() == len(trace) - 3


def test_operations_of_a_file_are_in_order_whatever_their_times(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = CALLS["CREATE"]
    monkeypatch.setitem(CALLS, "CREATE", lambda call: time.sleep(0.3) or slow(call))  # type: ignore[func-returns-value]
    arrival_s = [0.0] * 2 + [0.01 * i for i in range(15)]
    run = replayed(life_of_a_file(arrival_s=arrival_s), folder)
    assert statuses(run) == CODES
    ended_s = run.column("end_s") - run.column("arrival_s")
    assert ended_s[2] > 0.25 and ended_s[15] < 0.1, "another file does not wait; a delay counts from the intended start"
    assert (run.column("start_s") - run.column("arrival_s")).max() < 0.2, "what waits for its turn is not late"


def test_without_handles_and_opens_each_operation_opens_and_closes(folder: Path) -> None:
    op = ["WRITE", "READ", "WRITE", "READ"] * 5
    key = [f"k{i // 4}" for i in range(20)]
    start = [0, 0, 4096, 4000] * 5
    trace = trace_of(op, key, Pacing("closed", 1), range_start_bytes=start, range_bytes=[4096] * 20, size_bytes=8192)
    run = replayed(trace, folder)
    assert statuses(run) == [200, 206] * 10 and (run.column("transfer_bytes") == 4096).all()
    assert run.info["preload_objects"] == 5


@pytest.mark.parametrize("loop", [{"rate": 300}, {"clients": 3}], ids=["open", "closed"])
def test_a_generated_workload(folder: Path, loop: dict[str, Any]) -> None:
    mix = {"OPEN": 1, "READ": 3, "WRITE": 2, "FSYNC": 1, "CLOSE": 1, "STAT": 2, "CREATE": 2, "RENAME": 1, "UNLINK": 1,
           "SETATTR": 1, "READDIR": 1, "MKDIR": 1}  # fmt: skip
    workload = Workload.model_validate({
        **loop, "operations": 300, "mix": mix, "object_size": "20KiB", "ranges": {"size": "4KiB"},
        "keys": {"kind": "zipf", "count": 20, "exponent": 0.9},
    })  # fmt: skip
    run = replayed(generate(workload, 1), folder)
    assert {*statuses(run)} == {200, 201, 204, 206} and len(run) == 300


def test_wrong_bytes_and_lengths_fail(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = CALLS["WRITE"]

    def wrong(call: FileCall) -> object:
        assert call.span is not None and call.file is not None
        if call.span[0] == 0:
            os.pwrite(call.file.descriptor(call.path), b"x", 2 * MIB)
            return file_calls.Response(200)
        return write(call)

    monkeypatch.setitem(CALLS, "WRITE", wrong)
    run = replayed(life_of_a_file(pacing=Pacing("closed", 1)), folder)
    assert "its bytes are not those" in run.requests.column("error")[5].as_py()
    monkeypatch.setitem(CALLS, "WRITE", lambda call: file_calls.Response(200))
    run = replayed(life_of_a_file(pacing=Pacing("closed", 1)), folder)
    assert np.flatnonzero(run.failed).tolist() == [5, 8, 11], "nothing was written"
    assert "wrong length: 0 bytes from byte 1,048,576 on" in run.requests.column("error")[5].as_py()


def test_a_call_that_hangs_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released, fsync = threading.Event(), CALLS["FSYNC"]
    monkeypatch.setitem(CALLS, "FSYNC", lambda call: (released.wait(), fsync(call))[1])
    begun_s = time.monotonic()
    run = replayed(life_of_a_file(pacing=Pacing("closed", 2)), folder, timeout_s=0.5)
    assert time.monotonic() - begun_s < 20
    errors = run.requests.column("error").to_pylist()
    assert errors[4] == "timed out after 0.5 s" and run.column("status")[4] == 0
    assert errors[5] in ("timed out after 0.5 s", "an earlier operation on the file has not ended")
    assert run.failed[:4].sum() == 0 and errors[15] is None and errors[16] is None, "others go on"
    assert len(run) == 17 and run.column("end_s")[4] - run.column("start_s")[4] < 2.0
    released.set()


def test_preparation_and_removal_that_hang_are_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TimeoutError, match=r"no response in 0\.05 s"):
        within(0.05, lambda: time.sleep(0.5))
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 / 0)
    stuck, mkdir = threading.Event(), Path.mkdir
    monkeypatch.setattr(Path, "mkdir", lambda *a, **k: stuck.wait(20) if "tailcast" in str(a[0]) else mkdir(*a, **k))
    with pytest.raises(InputError, match=r"no response in 0\.2 s"):
        replayed(life_of_a_file(), folder, timeout_s=0.2)
    monkeypatch.undo()
    stuck.set()


def test_calls_are_not_hedged() -> None:
    with pytest.raises(InputError, match="calls on files are not hedged"):
        Options(data_path=MOUNT, policies=ClientPolicies(hedge=Hedge(after=0.1)))
