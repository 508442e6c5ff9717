from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cli.main import main
from models.shared.client_policy import ClientPolicies, Hedge
from models.shared.multipart import Multipart
from tests.conftest import ACCESS_KEY, SECRET_KEY, StubStore
from tests.paths import EXAMPLES
from tests.small_traces import reads, trace_of
from traces.errors import InputError
from traces.run import Run
from traces.trace import Pacing, Trace
from validate.replay import buckets as bucket
from validate.replay.plan import Options, ReplayPlan, plan_of
from validate.replay.replay import replay
from validate.s3.account import Account, Target
from validate.s3.clients import DATA_PATHS

FLOOR_S = 0.010
"""How much the stub, the client and a busy machine may add to the known latency, at the median."""

CLOCK_S = 1e-4
Stub = Callable[..., StubStore]


def assert_known(latency_s: NDArray[np.float64], known_s: float) -> None:
    assert latency_s.min() >= known_s - CLOCK_S
    assert np.median(latency_s) <= known_s + FLOOR_S


@pytest.mark.alone
@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_open_loop_gives_a_known_latency_back(stub: Stub, data_path: str) -> None:
    store, trace = stub(latency=0.05), reads(150, rate=100)
    run = replay(trace, Target(store.url), Options(data_path=data_path))
    assert not run.failed.any()
    assert_known(run.latency_s, 0.05)
    assert np.array_equal(run.column("arrival_s"), trace.arrival_s)
    assert_known(run.column("first_byte_s") - run.column("arrival_s"), 0.05)
    assert run.info["schedule"]["intended_ops"] == pytest.approx(100)
    assert run.info["schedule"]["achieved_ops"] == pytest.approx(100, rel=0.05)


@pytest.mark.alone
def test_closed_loop_gives_a_known_latency_back(stub: Stub) -> None:
    trace = trace_of(["GET"] * 120, [f"k{i % 10}" for i in range(120)], Pacing("closed", 4, 0.01), think_s=0.02)
    run = replay(trace, Target(stub(latency=0.05).url))
    assert len(run) == 120 and not run.failed.any()
    assert_known(run.latency_s, 0.05)
    for client in range(4):
        mine = np.flatnonzero(run.column("client") == client)
        arrival, end = run.column("arrival_s")[mine], run.column("end_s")[mine]
        assert arrival[0] == pytest.approx(client * 0.01 + 0.02)
        assert np.allclose(arrival[1:] - end[:-1], 0.02, atol=1e-9)
    assert run.duration_s >= 30 * 0.07


@pytest.mark.alone
def test_a_phase_starts_when_the_earlier_ones_are_done(stub: Stub) -> None:
    keys = [f"k{i}" for i in range(10)]
    pacing = Pacing("closed", clients=3, stagger_s=0.05)
    trace = trace_of(["PUT"] * 10 + ["GET"] * 10, keys * 2, pacing, phase=[0] * 10 + [1] * 10)
    run = replay(trace, Target(stub(latency=0.02).url))
    assert not run.failed.any() and run.info["preload_objects"] == 0
    client, arrival_s = run.column("client")[10:], run.column("arrival_s")[10:]
    assert arrival_s.min() >= run.column("end_s")[:10].max()
    first_s = [arrival_s[client == c].min() for c in range(3)]
    assert np.diff(first_s) == pytest.approx([0.05, 0.05])


@pytest.mark.alone
def test_closed_loop_repeats_the_rows_until_time_is_over(stub: Stub) -> None:
    trace = trace_of(["GET"] * 3, ["a", "b", "c"], Pacing("closed", 2, duration_s=0.6, repeat=True))
    run = replay(trace, Target(stub(latency=0.02).url))
    assert 20 <= len(run) <= 60
    assert run.column("arrival_s").max() < 0.6 < run.column("end_s").max() + 0.03
    assert run.requests.column("key").to_pylist() == (["a", "b", "c"] * 20)[: len(run)]


def expected_ends(
    due_s: NDArray[np.float64], workers: int, latency_s: float, stall: tuple[float, float]
) -> list[float]:
    """First come first served by `workers`, at a store that holds all that arrives in the stall until its end."""
    free_s, ends = [0.0] * workers, []
    for due in due_s:
        worker = int(np.argmin(free_s))
        start = max(due, free_s[worker])
        begun = stall[1] if stall[0] <= start < stall[1] else start
        free_s[worker] = begun + latency_s
        ends.append(free_s[worker])
    return ends


@pytest.mark.alone
@pytest.mark.parametrize("workers", [4, 256])
def test_open_loop_shows_a_stall_to_all_that_were_due_in_it(stub: Stub, workers: int) -> None:
    trace = reads(300, rate=100)
    store = stub(latency=0.01, stall=2, stall_key="k50")
    run = replay(trace, Target(store.url), Options(max_in_flight=workers))
    assert len(run) == 300 and not run.failed.any()
    due_s, stall = trace.arrival_s, (0.5, 2.5)
    expected_s = np.array(expected_ends(due_s, workers, 0.01, stall)) - due_s
    assert (run.latency_s >= expected_s - FLOOR_S).all()
    in_stall = (due_s >= stall[0]) & (due_s < stall[1])
    assert (run.latency_s[in_stall] >= stall[1] - due_s[in_stall]).all()
    excess_s = run.latency_s - expected_s
    if workers == 256:
        # 200 answers come at the same moment: stub and client take some time to send and take them all.
        assert excess_s[in_stall].max() <= 0.2
        assert np.polyfit(due_s[in_stall], run.latency_s[in_stall], 1)[0] == pytest.approx(-1, abs=0.05)
        assert run.info["schedule"]["lag_max_s"] < 1
    else:
        # Four workers drain the backlog one after the other, each request with the client's own time on top.
        assert excess_s.max() <= 0.5
        service_s = run.column("end_s") - run.column("start_s")
        assert (service_s > 1).sum() == 4, "what a client that waits for its workers would have reported"
        assert (run.latency_s > 1).sum() >= 100
        assert run.info["schedule"]["late_share"] > 0.5
    assert np.quantile(run.latency_s, 0.99) > 1.9


@pytest.mark.alone
def test_speed_divides_the_times_of_the_trace(stub: Stub) -> None:
    trace = reads(50, rate=50)
    run = replay(trace, Target(stub().url), Options(speed=4))
    assert np.allclose(run.column("arrival_s"), trace.arrival_s / 4)
    assert run.duration_s < 0.6


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_each_operation_does_what_it_says(stub: Stub, data_path: str) -> None:
    op = ["PUT", "GET", "GET", "HEAD", "LIST", "DELETE", "GET"]
    key = ["new é/1", "old", "old", "old", "ol", "new é/1", "new é/1"]
    ranges = {"range_start_bytes": [None, None, 10, *[None] * 4], "range_bytes": [None, None, 20, *[None] * 4]}
    trace = trace_of(op, key, Pacing("closed"), size_bytes=[70, 100, 100, 100, 0, 70, 70], **ranges)
    store = stub()
    run = replay(trace, Target(store.url), Options(data_path=data_path, keep=True))
    assert run.column("status").tolist() == [200, 200, 206, 200, 200, 204, 404]
    assert run.column("transfer_bytes").tolist() == [70, 100, 20, 0, 0, 0, 0]
    assert run.requests.column("error").to_pylist() == [None] * 6 + ["NoSuchKey: The specified key does not exist."]
    first_byte = run.requests.column("first_byte_s").is_valid().to_pylist()
    assert first_byte == [False, True, True, False, False, False, False]
    name = run.info["buckets"]["b"]
    assert store.buckets == [name]
    assert [o["Key"] for o in store.s3.list_objects_v2(Bucket=name)["Contents"]] == ["old"]


def test_requests_go_to_the_nodes_in_turn_and_a_second_attempt_to_the_next(stub: Stub) -> None:
    first, second = stub(slow=1.0), stub()
    keys = ["slow0", "k1", "k2", "k3"]
    target = Target(first.url, node_urls=(first.url, second.url))
    run = replay(trace_of(["GET"] * 4, keys, Pacing("closed")), target)
    assert run.column("status").tolist() == [200, 404, 200, 404], "only the first of these has the bucket"
    hedged = ClientPolicies(hedge=Hedge(after=0.1, budget=None))
    run = replay(trace_of(["GET"] * 2, ["slow9", "k1"], Pacing("closed")), target, Options(policies=hedged))
    assert run.column("attempts").tolist() == [2, 1] and run.column("status").tolist() == [404, 404]


def test_buckets_are_removed_afterwards(stub: Stub) -> None:
    store = stub()
    trace = trace_of(["PUT", "GET", "GET"], ["w", "r", "r"], bucket=["one", "one", "two"])
    run = replay(trace, Target(store.url))
    assert run.info["left_behind"] == [] and run.info["preload_objects"] == 2
    assert store.buckets == []


def test_what_the_replay_did_not_create_is_left_alone(stub: Stub) -> None:
    store = stub()
    store.s3.create_bucket(Bucket="tailcast-taken-0")
    store.s3.put_object(Bucket="tailcast-taken-0", Key="k", Body=b"precious")
    tokens = iter(["taken", "free"])
    mine = bucket.Buckets(Account(Target(store.url)), token=lambda: next(tokens))
    mine.create(["b"])
    assert mine.names == {"b": "tailcast-free-0"}
    store.s3.put_object(Bucket="tailcast-free-0", Key="somebody's", Body=b"precious")
    store.s3.put_object(Bucket="tailcast-free-0", Key="k", Body=b"ours")
    (left,) = mine.remove({"b": {"k"}})
    assert "tailcast-free-0 could not be removed: BucketNotEmpty" in left
    assert store.buckets == ["tailcast-free-0", "tailcast-taken-0"]
    for name, key in (("tailcast-taken-0", "k"), ("tailcast-free-0", "somebody's")):
        assert store.s3.get_object(Bucket=name, Key=key)["Body"].read() == b"precious"
    assert [o["Key"] for o in store.s3.list_objects_v2(Bucket="tailcast-free-0")["Contents"]] == ["somebody's"]


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_a_store_that_dies_gives_error_rows(stub: Stub, data_path: str) -> None:
    store = stub(die_key="k60")
    run = replay(reads(120, rate=100), Target(store.url), Options(data_path=data_path))
    assert len(run) == 120
    assert not run.failed[:55].any()
    assert run.failed[70:].all()  # some that were due then may overtake the one that the store dies of
    assert (run.column("status")[70:] == 0).all()
    assert len(run.info["left_behind"]) == 1


def test_a_hanging_store_gives_timeouts(stub: Stub) -> None:
    store = stub(stall=30, stall_key="k1")
    run = replay(reads(3, rate=100), Target(store.url), Options(timeout_s=0.5))
    assert run.requests.column("error").to_pylist() == [None, "timed out", "timed out"]
    assert_known(run.latency_s[1:], 0.5)


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_wrong_key_is_one_clear_line_without_credentials(stub: Stub, data_path: str) -> None:
    store = stub(access_key="another")
    with pytest.raises(InputError) as caught:
        replay(reads(3, rate=10), Target(store.url), Options(data_path=data_path))
    message = str(caught.value)
    assert store.url in message and "InvalidAccessKeyId" in message and "\n" not in message
    assert ACCESS_KEY not in message


@pytest.mark.parametrize(
    ("environment", "endpoint", "said"),
    [
        ({}, "http://127.0.0.1:1", "Could not connect"),
        ({}, "127.0.0.1:9000", "Invalid endpoint"),
        ({}, "http://user:word@127.0.0.1:1", "contains credentials"),
        ({"AWS_ENDPOINT_URL": "http://user:word@127.0.0.1:1"}, None, "contains credentials"),
        ({"AWS_ENDPOINT_URL_S3": "http://user:word@127.0.0.1:1"}, None, "contains credentials"),
        ({}, "http://127.0.0.1:1/?X-Amz-Signature=word", "has a query"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1/?X-Amz-Signature=word"}, None, "has a query"),
        ({"AWS_PROFILE": "absent"}, "http://127.0.0.1:1", "absent"),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "http://127.0.0.1:1", "no credentials"),
    ],
)
def test_bad_target_is_one_clear_line(
    aws_environment: None, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], endpoint: str | None, said: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
    with pytest.raises(InputError, match=said) as caught:
        replay(reads(3, rate=10), Target(endpoint))
    assert "\n" not in str(caught.value) and "word" not in str(caught.value)


@pytest.mark.parametrize(
    ("trace", "options", "said"),
    [
        (trace_of([], []), {}, "no requests"),
        (reads(1, 1), {"speed": 0}, "speed is 0"),
        (reads(1, 1), {"max_in_flight": 0}, "max-in-flight is 0"),
        (reads(1, 1), {"data_path": "curl"}, "obstore, boto3"),
        (reads(1, 1), {"timeout_s": 0}, "timeout"),
        (trace_of(["GET"], ["a"], Pacing("closed")), {"speed": 2}, "open loops"),
        (trace_of(["PUT", "GET"], ["a", "a//b"]), {}, "row 2: GET of key 'a//b'"),
        (trace_of(["PUT", "GET"], ["a", "../b/c"]), {"data_path": "boto3"}, r"row 2: GET of key '\.\./b/c'"),
        (trace_of(["DELETE"], ["a/./b"]), {"data_path": "boto3"}, "could become objects of other buckets"),
        (reads(1, 1), {"verify": 1.5}, "verify is 1.5"),
    ],
)
def test_what_cannot_be_replayed_is_refused(trace: Trace, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_of(trace, Options(**options))  # type: ignore[arg-type]


def test_what_an_earlier_phase_writes_is_not_written_beforehand() -> None:
    trace = trace_of(["PUT", "GET", "GET"], ["a", "a", "b"], Pacing("closed"), phase=[0, 1, 1])
    assert [o.key for o in plan_of(trace, Options()).preload] == ["b"]


def test_the_plan_has_what_is_read_while_it_may_still_be_written() -> None:
    op = ["GET", "GET", "PUT", "GET", "HEAD", "DELETE", "LIST"]
    trace = trace_of(op, ["a", "a", "b", "b", "c", "d", "a"], size_bytes=[5, 5, 7, 7, 9, 11, 0])
    plan = plan_of(trace, Options())
    assert [(o.key, o.size_bytes) for o in plan.preload] == [("a", 5), ("b", 7), ("c", 9), ("d", 11)]
    facts = plan.facts()
    assert facts["requests"] == {"GET": 3, "PUT": 1, "HEAD": 1, "DELETE": 1, "LIST": 1}
    assert facts["preload_bytes"] == 32 and facts["put_bytes"] == 7


def cli(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    return int(ended.value.code or 0)


def test_dry_run_touches_nothing(stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = stub()
    reads(10, rate=100).write(tmp_path / "t.parquet")
    out = tmp_path / "run"
    assert cli("replay", tmp_path / "t.parquet", "--endpoint-url", store.url, "--dry-run", "--json", "--out", out) == 0
    facts = json.loads(capsys.readouterr().out)["dry_run"]
    assert facts["requests"] == {"GET": 10} and facts["preload_bytes"] == 10 * 4096
    assert store.requests == 0 and not out.exists()


def test_the_command_prints_the_contract_and_writes_the_run(
    stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stub()
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
    reads(50, rate=200).write(tmp_path / "t.csv")
    assert cli("replay", tmp_path / "t.csv", "--server-pid", store.process.pid, "--json", "--out", tmp_path / "r") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["ops"]["GET"]["count"] == 50 and printed["ops"]["GET"]["latency_s"]["p99"] > 0
    assert set(printed) == {"ops", "duration_s", "schedule", "cpu", "aborted", "warnings"}
    assert printed["cpu"]["client_per_op_s"] > 0 and printed["cpu"]["server_s"] >= 0
    run = Run.read(tmp_path / "r")
    assert len(run) == 50 and run.info["kind"] == "measured" and run.info["versions"]["server"] == "stub"
    assert cli("replay", tmp_path / "t.csv") == 0
    shown = capsys.readouterr()
    assert "p99" in shown.out
    # Another process may have had the machine.
    assert "the schedule was kept" in shown.out or "warning: late" in shown.out


@pytest.mark.parametrize(("cancel", "data_path"), [(True, "obstore"), (False, "obstore"), (True, "boto3")])
def test_a_loser_is_taken_back_where_policy_and_client_allow(stub: Stub, cancel: bool, data_path: str) -> None:
    store, taken_back = stub(slow=1.0), cancel and data_path == "obstore"
    hedge = Hedge(after=0.3, budget=None, cancel=cancel)
    options = Options(policies=ClientPolicies(hedge=hedge), data_path=data_path)
    run = replay(trace_of(["GET"] * 3, ["k0", "slow1", "k2"], Pacing("closed")), Target(store.url), options)
    assert run.column("attempts").tolist() == [1, 2, 1] and run.column("winner").tolist() == [1, 2, 1]
    assert run.info["client_policies"]["hedge"]["cancel"] == taken_back
    # A loser that runs on has been waited for.
    assert store.left(10.0 if taken_back else 0.0) == (["GET slow1"] if taken_back else [])


def test_what_cannot_be_taken_back_is_known_beforehand() -> None:
    def plan(ops: list[str], hedged: list[str], **options: object) -> ReplayPlan:
        policies = ClientPolicies(
            hedge=Hedge(after=0.1, operations=tuple(hedged)), multipart=options.pop("parts", None)
        )
        trace = trace_of(ops, ["k"] * len(ops), size_bytes=9 << 20)
        return plan_of(trace, Options(policies=policies, **options))  # type: ignore[arg-type]

    four = ["GET", "PUT", "HEAD", "DELETE"]
    assert plan(four, four).cancels and plan([*four, "LIST"], four).cancels
    assert plan([*four, "LIST"], [*four, "LIST"]).uncancelled == "a LIST cannot be cancelled"
    in_parts = {"parts": Multipart(threshold=8 << 20, part_size=8 << 20)}
    assert plan(four, four, **in_parts).uncancelled == "a multipart upload cannot be cancelled"
    assert plan(four, ["GET"], **in_parts).cancels
    assert plan(["GET"], ["GET"], data_path="boto3").uncancelled == "boto3 cannot cancel a request"
    assert plan(["PUT"], ["GET"], data_path="boto3").uncancelled is None


def test_the_command_hedges_and_retries(stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = stub(slow=1.0)
    keys = [f"{'slow' if i % 10 == 5 else 'flaky' if i % 10 == 7 else 'k'}{i}" for i in range(40)]
    trace_of(["GET"] * 40, keys, arrival_s=np.arange(40) / 50).write(tmp_path / "t.parquet")
    requested = [
        "client.hedge.after=0.2s",
        "client.hedge.budget=0.5",
        "client.retry.retries=1",
        "client.retry.backoff=20ms",
    ]
    sets = [part for path in requested for part in ("--set", path)]
    command = ["replay", tmp_path / "t.parquet", "--endpoint-url", store.url, "--out", tmp_path / "run", "--json"]
    assert cli(*command, *sets) == 0
    printed = capsys.readouterr()
    run = Run.read(tmp_path / "run")
    slow, flaky = (np.array([key.startswith(kind) for key in keys]) for kind in ("slow", "flaky"))
    assert not run.failed.any()
    attempts, winner = run.column("attempts"), run.column("winner")
    assert (attempts[slow | flaky] == 2).all() and (winner[slow | flaky] == 2).all()
    assert (attempts[~slow & ~flaky] == 1).all()
    assert 0.2 <= np.median(run.latency_s[slow]) < 0.6 and np.median(run.latency_s[flaky]) < 0.2
    assert json.loads(printed.out)["ops"]["GET"]["attempts"] == pytest.approx(1.2)
    assert "could not be cancelled" not in printed.err and run.info["client_policies"]["hedge"]["cancel"]
    assert run.info["client_policies"]["hedge"]["after"] == 0.2
    assert run.info["client_policies"]["retry"]["retries"] == 1


def test_a_store_without_a_trace_of_its_own_is_refused_before_the_load(
    stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = stub()
    reads(3, rate=100).write(tmp_path / "t.parquet")
    command = ["replay", tmp_path / "t.parquet", "--endpoint-url", store.url, "--server-trace"]
    assert cli(*command) == 2 and "add --out" in capsys.readouterr().err
    assert cli(*command, "--out", tmp_path / "run") == 2
    assert "the server's trace cannot be had: HTTP Error 404" in capsys.readouterr().err
    assert store.buckets == [] and not (tmp_path / "run").exists()


def test_policies_come_from_a_spec_too(stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = EXAMPLES / "minio.yaml"
    reads(3, rate=100).write(tmp_path / "t.parquet")
    command = ["replay", tmp_path / "t.parquet", "--endpoint-url", stub().url, "--out", tmp_path / "run"]
    assert cli(*command, "--policy", spec, "--set", "client.timeout=2s", "--set", "client.hedge.after=p99") == 0
    info = Run.read(tmp_path / "run").info
    assert info["client_policies"]["hedge"]["after"] == "p99" and info["timeout_s"] == 2.0
    for wrong, said in (
        ("workload.clients=3", "--set workload: a replay takes client policies only"),
        ("client.connections=4", "--set client.connections: a replay has a connection for each request in flight"),
        ("client.hedge.after=soon", "--set: client.hedge.after: 'soon'"),
        ("client.cores=3", "--set: client.cores: unknown field; allowed are sdk, timeout, connections, retry, hedge"),
    ):
        assert cli(*command, "--set", wrong) == 2
        assert said in capsys.readouterr().err


def test_a_schedule_that_is_not_kept_is_said_loudly(
    stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = stub(latency=0.05)
    reads(40, rate=100).write(tmp_path / "t.parquet")
    command = ["replay", tmp_path / "t.parquet", "--endpoint-url", store.url]
    for more in ([], ["--json"]):
        assert cli(*command, "--max-in-flight", 2, *more) == 0
        said = capsys.readouterr()
        assert "warning: late: " in (said.err if more else said.out)
        assert "maximum of 2 requests" in (said.err if more else said.out)
        if more:
            printed = json.loads(said.out)
            assert printed["schedule"]["kept"] is False and printed["warnings"][0].startswith("late")


def test_nothing_printed_or_written_holds_credentials(
    stub: Stub, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reads(20, rate=100).write(tmp_path / "t.parquet")
    dying = stub(die_key="k10")
    assert cli("replay", tmp_path / "t.parquet", "--endpoint-url", dying.url, "--out", tmp_path / "run") == 1
    refusing = stub(access_key="another")
    assert cli("replay", tmp_path / "t.parquet", "--endpoint-url", refusing.url, "--out", tmp_path / "none") == 2
    assert not (tmp_path / "none").exists()
    said = capfd.readouterr()
    errors = Run.read(tmp_path / "run").requests.column("error").to_pylist()
    written = said.out + said.err + (tmp_path / "run" / "run.json").read_text() + str(errors)
    assert "InvalidAccessKeyId" in written
    for secret in (ACCESS_KEY, SECRET_KEY, "Signature"):
        assert secret not in written


def test_a_folder_that_cannot_be_written_is_refused_before_the_load(stub: Stub, tmp_path: Path) -> None:
    store = stub()
    reads(5, rate=100).write(tmp_path / "t.parquet")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.txt").write_text("precious")
    assert cli("replay", tmp_path / "t.parquet", "--endpoint-url", store.url, "--out", taken) == 2
    assert cli("replay", tmp_path / "t.parquet", "--endpoint-url", store.url, "--out", tmp_path / "no" / "run") == 2
    assert store.requests == 0


def test_an_interrupt_keeps_what_was_measured(stub: Stub, tmp_path: Path) -> None:
    store = stub(latency=0.05)
    trace_of(["GET"] * 3000, ["k"] * 3000, arrival_s=np.arange(3000) / 100).write(tmp_path / "t.parquet")
    arguments = ["replay", tmp_path / "t.parquet", "--endpoint-url", store.url, "--out", tmp_path / "run"]
    command = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    limit_s = time.monotonic() + 60
    while store.requests < 100 and time.monotonic() < limit_s:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    run = Run.read(tmp_path / "run")
    assert run.info["aborted"] is True
    assert 50 <= len(run) < 2900 and not run.failed.any()
    assert store.buckets == []
