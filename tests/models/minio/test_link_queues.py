"""Messages of MinIO that wait before full links: requests, responses, calls between nodes and acknowledgements."""

from __future__ import annotations

import pytest

from models.minio.requests.parts import MESSAGE_BYTES
from models.shared.links import QUEUED_BYTES, acknowledged_rounds
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.models.minio.test_cluster import LATENCY_S, ran, shard
from tests.models.minio.test_cluster import cluster as cluster_of
from tests.models.minio.test_compile import FREE
from tests.small_traces import trace_of

NIC, BULK = 1e6, 1 << 24
BULKS = 3
WAIT_S = BULKS * QUEUED_BYTES / NIC


def one_host(**network):
    data = {
        "store": "minio",
        "workload": {"operations": 1, "object_size": "4KiB"},
        "network": {"queue": "1MiB", "payload_fraction": 1} | network,
        "hosts": {"nic": NIC, "cpu": {"GET": 0, "PUT": 0}},
        "drives": FREE,
    }
    return spec_of(data, "spec")


def latency_s(spec, op: str, size: int, bulk: str) -> float:
    """How long a request takes that comes while large transfers fill the link of the host in one direction."""
    trace = trace_of(
        [bulk] * BULKS + [op], [f"k{i}" for i in range(BULKS + 1)],
        size_bytes=[BULK] * BULKS + [size], arrival_s=[0.0] * BULKS + [5.0],
    )  # fmt: skip
    program = Program.of(*compile_spec(spec, trace), 0)
    ends = [engine.run(program).end_s[-1] for engine in (compiled_engine, simpy_engine)]
    assert ends[0] == ends[1]
    return ends[0] - 5.0


def test_a_response_waits_in_the_queue_of_the_link_that_sends_objects():
    sent = (BULKS + 1) * MESSAGE_BYTES / NIC  # with an equal part of the link
    assert latency_s(one_host(), "PUT", 4096, "GET") == pytest.approx(4096 / NIC + WAIT_S + sent)
    assert latency_s(one_host(queue=0), "PUT", 4096, "GET") == pytest.approx(4096 / NIC)


def test_a_request_waits_in_the_queue_of_the_link_that_receives_objects():
    received = (BULKS + 1) * MESSAGE_BYTES / NIC
    assert latency_s(one_host(), "GET", 4096, "PUT") == pytest.approx(4096 / NIC + WAIT_S + received)
    assert latency_s(one_host(queue=0), "GET", 4096, "PUT") == pytest.approx(4096 / NIC)


def test_an_upload_waits_for_acknowledgements_that_come_by_a_full_link():
    size = 100_000  # sent in 0.1 s; its acknowledgements wait three times
    assert acknowledged_rounds(size) == 2
    message = WAIT_S + (BULKS + 1) * MESSAGE_BYTES / NIC
    assert latency_s(one_host(), "PUT", size, "GET") == pytest.approx(2 * message + message)


def test_a_queue_has_no_more_than_its_length():
    wait_s = 2 * QUEUED_BYTES / NIC
    sent = (BULKS + 1) * MESSAGE_BYTES / NIC
    assert latency_s(one_host(queue=2 * QUEUED_BYTES), "PUT", 4096, "GET") == pytest.approx(4096 / NIC + wait_s + sent)


@pytest.mark.parametrize(("op", "size"), [("GET", 1 << 20), ("PUT", 1 << 20), ("PUT", 4096), ("HEAD", 4096)])
def test_without_contention_messages_only_take_the_time_of_their_bytes(op, size):
    nic = 1e8
    plain, _ = ran(cluster_of(hosts={"nic": nic}), op, size)
    queued, network = ran(
        cluster_of(hosts={"nic": nic}, network={"latency": LATENCY_S, "queue": "1MiB", "payload_fraction": 1}), op, size
    )
    more_s = float(queued.end_s[0] - plain.end_s[0])
    rounds = acknowledged_rounds(size)
    calls = 7 + rounds  # at most: the rounds of calls, each with a message there and back
    waits_of_shards = 8 * QUEUED_BYTES / nic + shard(size) / nic
    assert 0 < more_s < 2 * calls * 8 * MESSAGE_BYTES / nic + waits_of_shards
    assert {s.queue_s for s in network.stations if s.role == "host network"} == {(1 << 20) / nic}
