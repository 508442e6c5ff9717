from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

from models.shared.client_policy import ClientPolicies
from models.shared.multipart import MOST_PARTS, Multipart
from models.store import spec_of
from tests.conftest import StubStore
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.trace import Pacing
from validate.replay.buckets import Payload
from validate.replay.plan import Options, plan_of
from validate.replay.recorded_policies import as_recorded, recorded_policies
from validate.replay.replay import replay
from validate.s3.account import Account, Response, Target
from validate.s3.clients import DATA_PATHS, connect

Stub = Callable[..., StubStore]
MIB = 1 << 20
PARTS = Multipart(threshold=5 * MIB, part_size=5 * MIB)
IN_PARTS = ClientPolicies(multipart=PARTS)


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_the_run_says_how_payload_was_signed_and_summed(stub: Stub, data_path: str) -> None:
    store = stub()
    run = replay(trace_of(["PUT"], ["k"]), Target(store.url, server_version="stub 1.2"), Options(data_path=data_path))
    sent, facts = store.told("put"), run.info["data_path"]
    signature = sent["x-amz-content-sha256"]
    assert (len(signature) == 64) == (facts["payload_signature"] == "sha256")
    summed = [name.removeprefix("x-amz-checksum-") for name in sent if name.startswith("x-amz-checksum-")]
    assert summed == [] if facts["checksum"] == "none" else summed == [facts["checksum"]]
    assert run.info["versions"]["server"] == "stub 1.2"
    assert run.info["versions"][data_path] == facts["version"]
    for name in ("cores", "cpu_model", "kernel"):
        assert run.info["environment"][name]


def test_boto3_leaves_the_payload_unsigned_where_the_connection_is_safe(aws_environment: None) -> None:
    account = Account(Target("https://127.0.0.1:1"))
    path = connect(account, "boto3", "https://127.0.0.1:1", ["b"], 1, 1.0)
    assert path.facts["payload_signature"] == "none"


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_large_objects_are_uploaded_in_parts(stub: Stub, data_path: str) -> None:
    store, sizes = stub(), [5 * MIB, 5 * MIB + 1, 13 * MIB]
    trace = trace_of(["PUT"] * 3 + ["GET"] * 2, ["whole", "two", "three", "three", "read"], Pacing("closed"),
                     phase=[0, 0, 0, 1, 1], size_bytes=[*sizes, 13 * MIB, 20 * MIB])  # fmt: skip
    options = Options(data_path=data_path, policies=IN_PARTS, keep=True)
    run = replay(trace, Target(store.url), options)
    assert run.requests.column("error").null_count == 5
    assert run.column("transfer_bytes").tolist() == [*sizes, 13 * MIB, 20 * MIB]
    assert store.told("parts") == [5 * MIB, 5 * MIB, 3 * MIB], "the last upload"
    name = run.info["buckets"]["b"]
    for key, size in zip(["whole", "two", "three", "read"], [*sizes, 20 * MIB], strict=True):
        body = store.s3.get_object(Bucket=name, Key=key)["Body"].read()
        assert body == b"".join(Payload(5 * MIB, PARTS, [name]).parts(key, size)) and len(body) == size
    recorded = recorded_policies(run, "run")
    assert recorded == IN_PARTS
    data = {"workload": {"operations": 1, "object_size": "4KiB"}, "hosts": {"count": 3}}
    assert as_recorded(spec_of(data | {"store": "minio"}, "s"), recorded).client.multipart == PARTS
    with pytest.raises(InputError, match=r"a Run: client\.multipart: is not modelled for Bob"):
        as_recorded(spec_of(data | {"store": "bob"}, "s"), recorded)


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_an_upload_that_breaks_off_is_an_error(stub: Stub, data_path: str) -> None:
    store = stub(die_key="die")
    trace = trace_of(["GET", "PUT"], ["die", "large"], Pacing("closed"), size_bytes=[1, 12 * MIB], phase=[0, 1])
    options = Options(data_path=data_path, policies=IN_PARTS)
    run = replay(trace, Target(store.url), options)
    assert run.failed.tolist() == [True, True] and run.column("transfer_bytes").tolist() == [0, 0]


def test_what_of_an_upload_s3_does_not_allow_is_refused() -> None:
    too_large = trace_of(["PUT"], ["k"], size_bytes=MOST_PARTS * 5 * MIB + 1)
    with pytest.raises(InputError, match="part_size: is 5242880 B; an object of 52428800001 B would have 10001 parts"):
        plan_of(too_large, Options(policies=IN_PARTS))
    plan = plan_of(trace_of(["PUT", "PUT"], ["k", "l"], size_bytes=[6 << 30, 17 * MIB]), Options())
    assert plan.in_parts and plan.longest_piece_bytes == 17 * MIB, "S3 takes 5 GiB in one request"
    assert not plan_of(trace_of(["LIST"], [""], size_bytes=9 << 30), Options()).in_parts


def test_the_parts_of_a_body_add_up() -> None:
    payload = Payload(12 * MIB, Multipart(threshold=12 * MIB, part_size=5 * MIB))
    assert payload.parts("a", 9) != Payload(12 * MIB, PARTS, ["tailcast-other"]).parts("a", 9), "of another replay"
    for size, parts in ((0, [0]), (12 * MIB, [12 * MIB]), (12 * MIB + 1, [5 * MIB, 5 * MIB, 2 * MIB + 1])):
        assert [len(part) for part in payload.parts("k", size)] == parts
    assert bytes(payload.parts("k", 10)[0]) == bytes(payload.parts("k", 10)[0]) != bytes(payload.parts("l", 10)[0])


def test_what_can_be_taken_back_answers_alike(stub: Stub, aws_environment: None) -> None:
    store = stub()
    store.s3.create_bucket(Bucket="b")
    path = connect(Account(Target(store.url)), "obstore", store.url, ["b"], 1, 5.0)
    assert path.cancellable is not None
    large, small = memoryview(bytes(9 * MIB)), memoryview(b"0123456789")
    calls: list[tuple[str, Any]] = [
        ("put", ["large", [large]]), ("put", ["small", [small]]), ("get", ["large", None]), ("get", ["small", None]),
        ("get", ["small", (2, 5)]), ("get", ["absent", None]), ("head", ["small"]), ("head", ["absent"]),
        ("delete", ["small"]), ("get", ["small", None]),
    ]  # fmt: skip

    async def answers(cancellable: Any) -> list[Response]:
        return [await getattr(cancellable, name)("b", *arguments) for name, arguments in calls]

    one = [getattr(path, name)("b", *arguments) for name, arguments in calls]
    other = asyncio.run(answers(path.cancellable))
    assert [a._replace(first_byte_s=0) for a in other] == [a._replace(first_byte_s=0) for a in one]
    assert [math.isnan(a.first_byte_s) for a in other] == [math.isnan(a.first_byte_s) for a in one]
    assert [(a.status, a.transfer_bytes) for a in one[2:5]] == [(200, 9 * MIB), (200, 10), (206, 3)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("get", ["k", None]), ("put", ["k", [memoryview(b"1")]]), ("head", ["k"]), ("delete", ["k"])],
)
def test_a_request_that_is_taken_back_closes_its_connection(
    stub: Stub, aws_environment: None, name: str, arguments: list[Any]
) -> None:
    store = stub(latency=0.6)
    path = connect(Account(Target(store.url)), "obstore", store.url, ["b"], 1, 5.0)

    async def given_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(getattr(path.cancellable, name)("b", *arguments), 0.2)

    asyncio.run(given_up())
    assert store.left() == [f"{name.upper()} k"]
