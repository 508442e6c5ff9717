from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.main import main
from tests.conftest import StubStore
from tests.small_traces import reads, trace_of
from traces.errors import InputError
from traces.run import Run
from traces.trace import Pacing, Trace
from validate.replay.plan import Options
from validate.replay.replay import Progress, replay, resume
from validate.replay.resume import remaining, unissued
from validate.s3.account import Target

Stub = Callable[..., StubStore]


def interrupt_after(requests: int) -> Progress:
    """One Ctrl-C, after a number of requests."""
    sent: list[float] = []

    def progress(stage: str, done: float, total: float) -> None:
        if stage == "replay" and done >= requests and not sent:
            sent.append(done)
            os.kill(os.getpid(), signal.SIGINT)

    return progress


def interrupted(trace: Trace, store: StubStore, after: int, options: Options = Options()) -> Run:  # noqa: B008
    run = replay(trace, Target(store.url), options, interrupt_after(after))
    assert run.info["aborted"] and after <= len(run) < len(trace)
    return run


@given(st.sets(st.integers(0, 40)))
def test_what_is_issued_and_what_is_owed_make_the_trace(issued: set[int]) -> None:
    ranges = unissued(reads(41, 10), np.array(sorted(issued, reverse=True), np.int64))
    owed = [row for first, end in ranges for row in range(first, end)]
    assert sorted([*owed, *issued]) == list(range(41))
    assert all(b[0] > a[1] for a, b in pairwise(ranges)), "ranges are as long as they can be"


def test_an_open_loop_goes_on_by_its_schedule(stub: Stub, tmp_path: Path) -> None:
    store, trace = stub(latency=0.02), reads(150, rate=100)
    partial = interrupted(trace, store, 30, Options(speed=2))
    trace.write(tmp_path / "t.csv")
    partial.write(tmp_path / "partial")
    whole = resume(Run.read(tmp_path / "partial"), Trace.read(tmp_path / "t.csv"), Target(store.url), Options(speed=2))
    assert sorted(whole.requests.column("key").to_pylist()) == sorted(trace.table.column("key").to_pylist())
    assert not whole.failed.any() and not whole.info["aborted"] and "unissued" not in whole.info
    assert np.allclose(np.sort(whole.column("arrival_s")), trace.arrival_s / 2)
    assert np.median(whole.latency_s) < 0.05, "the break is in no latency"
    first, second = whole.info["parts"]
    assert first["requests"] == len(partial) and first["requests"] + second["requests"] == 150
    assert first["started_at"] < second["started_at"] and whole.info["started_at"] == first["started_at"]
    assert whole.info["schedule"]["requests"] == 150
    cpu = [part["cpu"]["client_s"] for part in (first, second)]
    assert whole.info["cpu"]["client_s"] == pytest.approx(sum(cpu))
    assert whole.trace is not None and len(whole.trace) == 150
    whole.write(tmp_path / "whole")
    assert len(Run.read(tmp_path / "whole")) == 150


def test_a_continuation_can_be_interrupted_too(stub: Stub) -> None:
    store, trace = stub(latency=0.02), reads(200, rate=100)
    partial = interrupted(trace, store, 30)
    more = resume(partial, trace, Target(store.url), progress=interrupt_after(30))
    assert more.info["aborted"] and len(partial) + 30 <= len(more) < 200
    whole = resume(more, trace, Target(store.url))
    assert sorted(whole.requests.column("key").to_pylist()) == sorted(trace.table.column("key").to_pylist())
    assert [part["requests"] for part in whole.info["parts"]][:2] == [len(partial), len(more) - len(partial)]
    assert len(whole.info["parts"]) == 3


def test_a_closed_loop_goes_on_with_its_phases(stub: Stub) -> None:
    store, keys = stub(latency=0.03), [f"k{i}" for i in range(40)]
    trace = trace_of(["PUT"] * 40 + ["GET"] * 40, keys * 2, Pacing("closed", 4), phase=[0] * 40 + [1] * 40)
    partial = interrupted(trace, store, 20)
    whole = resume(partial, trace, Target(store.url))
    assert len(whole) == 80 and not whole.failed.any()
    assert whole.requests.column("key").to_pylist()[40:] == keys
    n = len(partial)
    assert whole.column("arrival_s")[n:].min() >= whole.column("end_s")[:n].max()
    assert whole.column("arrival_s")[40:].min() >= whole.column("end_s")[:40].max()


def test_what_cannot_be_resumed_is_one_clear_line(stub: Stub) -> None:
    store, trace = stub(latency=0.02), reads(100, rate=100)
    partial = interrupted(trace, store, 20)
    done = replay(reads(3, 100), Target(store.url))
    timed = trace_of(["GET"], ["a"], Pacing("closed", duration_s=1.0))
    for given_trace, options, run, said in (
        (trace, Options(), done, "was not interrupted"),
        (reads(101, rate=100), Options(), partial, "is of another trace"),
        (trace, Options(speed=2), partial, "has speed 1.0, not 2"),
        (timed, Options(), partial, "closed loop with a duration"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            remaining(given_trace, options, run)
        assert "\n" not in str(caught.value)


def test_the_command_resumes(stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, trace = stub(latency=0.02), reads(100, rate=100)
    interrupted(trace, store, 20).write(tmp_path / "part")
    trace.write(tmp_path / "t.parquet")
    command = ["replay", str(tmp_path / "t.parquet"), "--endpoint-url", store.url, "--json"]
    for more in (["--dry-run"], ["--out", str(tmp_path / "whole")]):
        with pytest.raises(SystemExit) as ended:
            main([*command, "--resume", str(tmp_path / "part"), *more])
        assert not ended.value.code
        printed = json.loads(capsys.readouterr().out)
        count = printed["dry_run"]["requests"]["GET"] if "dry_run" in printed else printed["ops"]["GET"]["count"]
        assert count == (100 if "ops" in printed else 100 - len(Run.read(tmp_path / "part")))
    assert len(Run.read(tmp_path / "whole")) == 100
