"""No wrong answer of a store counts as a success, on either data path."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import StubStore
from tests.small_traces import trace_of
from tests.validate.replay.test_replay import cli
from tests.wrong_answers import ELSEWHERE, WRONG
from traces.run import Run
from traces.trace import Pacing
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.s3.account import Target
from validate.s3.clients import DATA_PATHS
from validate.s3.reasons import LONGEST_REASON

Stub = Callable[..., StubStore]
TIMEOUT_S = 1.0
WITH_PAYLOAD = ("length-", "body-", "headers-range", "status-206", "status-204", "timing-drip", "timing-silence-after")
WITHOUT_BODY = [name for name in WRONG if not name.startswith((*WITH_PAYLOAD, "connection-reset-in", "headers-huge"))]
"""The ways in which the answer to a request without a payload can be wrong."""

CASES = {
    "GET": list(WRONG),
    "LIST": list(WRONG),
    "HEAD": ["length-shorter", "length-empty", "status-204", *(n for n in WITHOUT_BODY if "control" not in n)],
    "PUT": WITHOUT_BODY,
    "DELETE": [name for name in WITHOUT_BODY if name != "connection-closed-in-head"],  # its status has arrived
}


@pytest.mark.parametrize("data_path", DATA_PATHS)
@pytest.mark.parametrize("op", CASES)
def test_no_wrong_answer_is_a_success(stub: Stub, data_path: str, op: str) -> None:
    keys = [f"wrong-{op}-{name}" for name in CASES[op]]
    trace = trace_of([op] * len(keys), keys, Pacing("closed", 8), size_bytes=4096)
    options = Options(data_path=data_path, timeout_s=TIMEOUT_S, verify=1.0)
    run = replay(trace, Target(stub().url), options)
    errors = dict(zip(run.requests.column("key").to_pylist(), run.requests.column("error").to_pylist(), strict=True))
    assert [key for key in keys if errors[key] is None] == []
    assert run.column("transfer_bytes").tolist() == [0] * len(keys)
    assert run.latency_s.max() < TIMEOUT_S + 1.5, "the timeout bounds an attempt"
    assert max(len(error) for error in errors.values()) <= LONGEST_REASON
    assert not [error for error in errors.values() if "\n" in error or "Traceback" in error]


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_a_redirect_is_named_and_not_followed(stub: Stub, data_path: str) -> None:
    keys = [f"wrong-GET-redirect-{code}" for code in (301, 302, 307, 308)]
    run = replay(trace_of(["GET"] * 4, keys), Target(stub().url), Options(data_path=data_path))
    assert set(run.requests.column("error").to_pylist()) == {f"redirected to {ELSEWHERE}, which is not followed"}


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_an_endless_answer_takes_no_memory(stub: Stub, data_path: str) -> None:
    keys = ["wrong-GET-length-endless", "wrong-GET-length-terabyte"]
    run = replay(trace_of(["GET"] * 2, keys), Target(stub().url), Options(data_path=data_path, timeout_s=30))
    assert run.failed.all() and run.latency_s.max() < 10
    lists = trace_of(["LIST"], ["wrong-LIST-length-endless"])
    run = replay(lists, Target(stub().url), Options(data_path=data_path, timeout_s=30))
    assert run.failed.all() and run.latency_s.max() < 20


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_right_bodies_of_objects_that_change_are_successes(stub: Stub, data_path: str) -> None:
    op = ["PUT", "GET", "PUT", "GET", "GET", "HEAD", "LIST", "DELETE"]
    trace = trace_of(op, ["a"] * 8, Pacing("closed"), size_bytes=[5, 5, 9, 9, 9, 9, 0, 9], phase=list(range(8)),
                     range_start_bytes=[None, None, None, None, 2, None, None, None],
                     range_bytes=[None, None, None, None, 100, None, None, None])  # fmt: skip
    run = replay(trace, Target(stub().url), Options(data_path=data_path, verify=1.0))
    assert run.requests.column("error").to_pylist() == [None] * 8
    assert run.column("transfer_bytes").tolist() == [5, 5, 9, 9, 7, 0, 0, 0]


def test_a_fraction_of_the_bodies_is_verified(stub: Stub) -> None:
    trace = trace_of(["GET"] * 200, ["wrong-GET-body-zeros"] * 200, Pacing("closed", 4), size_bytes=100)
    for verify, least, most in ((0.0, 0, 0), (0.1, 5, 40), (1.0, 200, 200)):
        run = replay(trace, Target(stub().url), Options(verify=verify))
        assert least <= run.failed.sum() <= most


def test_control_characters_of_a_store_are_not_printed(
    stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = ["wrong-GET-headers-control-characters", "k"]
    trace_of(["GET"] * 2, keys).write(tmp_path / "t.parquet")
    command = ["replay", tmp_path / "t.parquet", "--endpoint-url", stub().url, "--out", tmp_path / "run"]
    assert cli(*command) == 0
    printed = capsys.readouterr()
    assert "Evil" in printed.out
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printed.out + printed.err) is None
    assert Run.read(tmp_path / "run").failed.tolist() == [True, False]
