"""The MinIO model: its arithmetic by hand, without queueing."""

from __future__ import annotations

import numpy as np
import pytest

from models.minio.spec.layout import default_parity, set_size
from models.minio.spec.spec import MinioSpec
from models.network.retry_policy import NO_POLICY, Policy
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from tests.small_traces import trace_of
from traces.errors import InputError

BASE = {
    "store": "minio",
    "workload": {"operations": 1, "object_size": "4KiB"},
    "client": {"cpu": {"PUT": "1ms", "GET": "2ms"}},
    "network": {"latency": "10ms", "bandwidth": "1MB/s", "payload_fraction": 1},
    "hosts": {
        "cpu": {"PUT": {"constant": "3ms", "per_byte": "1ns"}, "GET": "4ms", "HEAD": "5ms", "DELETE": 0, "LIST": 0}
    },
    "drives": {"read": {"constant": "7ms", "per_byte": "10ns"}, "write": {"per_byte": "20ns"}, "commit": "100ms"},
}

FREE = {"read": 0, "write": 0, "commit": 0}
"""Drives that take no time."""


def with_drives(**drives) -> MinioSpec:
    return spec_of(BASE | {"drives": BASE["drives"] | drives}, "spec")


def alone(spec: MinioSpec, op: str, size: int):
    """One request on an idle store."""
    network, requests = compile_spec(spec, trace_of([op], ["k"], size_bytes=size))
    return compiled_engine.run(Program.of(network, requests, 0)), network


def test_small_put_is_inlined_and_commits_once():
    outcome, _ = alone(with_drives(), "PUT", 100_000)
    client, way, host, write = 0.001, 0.010 + 0.1, 0.003 + 100_000e-9, 100_000 * 20e-9
    assert outcome.end_s[0] == pytest.approx(client + way + host + write + 0.1 + 0.010)
    assert np.isnan(outcome.first_byte_s[0])


def test_large_put_commits_its_data_and_then_its_metadata():
    limit = 128 * 1024
    small, _ = alone(with_drives(), "PUT", limit)
    large, _ = alone(with_drives(), "PUT", limit + 1)
    overlapped_s = limit * 1e-9  # the host's work on the bytes, while they are on the link
    assert large.end_s[0] - small.end_s[0] == pytest.approx(0.1 - overlapped_s, abs=2e-6)


def test_cpu_time_of_a_list_grows_with_its_entries_and_drives():
    cpu = {"entry_cpu": "1ms", "entry_read_cpu": "2ms", "cores": 16}
    for drives in (1, 4):
        data = BASE | {"hosts": BASE["hosts"] | cpu, "drives": FREE | {"count": drives}, "network": {}}
        spec = spec_of(data | {"listing": {"entries": 100}, "erasure": {"parity": drives // 2}}, "spec")
        outcome, network = alone(spec, "LIST", 0)
        assert outcome.end_s[0] == pytest.approx(100 * 0.001 + 110 * 0.002)  # the walks take place at the same time
        host = [station.role for station in network.stations].index("host cpu")
        assert outcome.busy_s[host] == pytest.approx(100 * 0.001 + drives * 110 * 0.002)


def test_client_link_and_host_handle_a_streams_bytes_at_the_same_time():
    per_byte_s = {"client": 2e-9, "host": 3e-9, "link": 1e-9}
    data = BASE | {
        "client": {"cpu": {op: {"constant": "1ms", "per_byte": per_byte_s["client"]} for op in ("GET", "PUT")}},
        "network": {"bandwidth": 1 / per_byte_s["link"], "payload_fraction": 1},
        "hosts": {"cpu": {op: {"constant": "2ms", "per_byte": per_byte_s["host"]} for op in ("GET", "PUT")}},
        "drives": FREE,
    }
    small, large = 100_000, 10_000_000
    for op in ("GET", "PUT"):
        one_by_one, together = (alone(spec_of(data, "spec"), op, size)[0].end_s[0] for size in (small, large))
        assert one_by_one == pytest.approx(0.003 + small * sum(per_byte_s.values()))
        assert together == pytest.approx(0.003 + large * max(per_byte_s.values()))


def test_requests_do_not_wait_for_work_after_the_response():
    spec = spec_of(BASE | {"hosts": BASE["hosts"] | {"after_commit": 0.5, "after_response": 0.4}}, "spec")
    plain = spec_of(BASE | {"hosts": BASE["hosts"] | {"after_commit": 0.5}}, "spec")
    for op, size in (("PUT", 4096), ("PUT", 1_000_000), ("GET", 4096), ("HEAD", 4096)):
        (later, network), (whole, _) = alone(spec, op, size), alone(plain, op, size)
        cpu = [station.role for station in network.stations].index("host cpu")
        demand = spec.hosts.cpu_demand(op, inline=size == 4096)
        after_s = 0.4 * float((demand if size == 4096 else demand.without_bytes).mean_s(np.array([size]))[0])
        assert after_s > 0
        assert whole.end_s[0] - later.end_s[0] == pytest.approx(after_s)
        assert later.busy_s[cpu] == pytest.approx(whole.busy_s[cpu])


def test_inline_objects_have_their_own_cpu_demand():
    host = BASE["hosts"] | {"inline_cpu": {"GET": {"constant": "1ms", "per_byte": "2ns"}}}
    limit = 128 * 1024
    plain, own = spec_of(BASE, "spec"), spec_of(BASE | {"hosts": host}, "spec")
    faster = [alone(plain, "GET", n)[0].end_s[0] - alone(own, "GET", n)[0].end_s[0] for n in (limit, limit + 1)]
    assert faster == pytest.approx([0.004 - 0.001 - limit * 2e-9, 0])
    assert alone(own, "PUT", limit)[0].end_s[0] == alone(plain, "PUT", limit)[0].end_s[0]
    with pytest.raises(InputError, match=r"hosts.inline_cpu"):
        spec_of(BASE | {"hosts": BASE["hosts"] | {"inline_cpu": {"HEAD": "1ms"}}}, "spec")


def test_inline_limit_counts_per_shard():
    spec = with_drives(count=4)  # two data shards
    small, _ = alone(spec, "PUT", 256 * 1024)
    large, _ = alone(spec, "PUT", 256 * 1024 + 2)
    assert large.end_s[0] - small.end_s[0] == pytest.approx(0.1 - 256 * 1024e-9, abs=4e-6)


def test_put_goes_to_all_drives_and_get_to_all_for_metadata_and_to_some_for_data():
    spec = with_drives(count=4)
    put, network = alone(spec, "PUT", 4096)
    get, _ = alone(spec, "GET", 4096)
    drives = [i for i, s in enumerate(network.stations) if s.role == "drive"]
    assert put.visits[drives].tolist() == [1, 1, 1, 1]
    assert get.visits[drives].tolist() == [1, 1, 1, 1]  # inline data come with the metadata
    large, _ = alone(spec, "GET", 1_000_000)
    assert sorted(large.visits[drives].tolist()) == [1, 1, 2, 2]
    half = 4096 / 2
    assert get.first_byte_s[0] == pytest.approx(0.002 + 0.010 + 0.004 + 0.007 + half * 10e-9)
    assert get.end_s[0] == pytest.approx(get.first_byte_s[0] + 0.010 + 4096e-6)


def test_head_moves_no_payload():
    outcome, _ = alone(with_drives(), "HEAD", 10**9)
    assert outcome.end_s[0] == pytest.approx(0.010 + 0.005 + 0.007 + 1024 * 10e-9 + 0.010)


def test_clients_on_the_host_share_its_cores():
    spec = spec_of(BASE | {"client": BASE["client"] | {"placement": "storage_hosts"}}, "spec")
    network, _ = compile_spec(spec, trace_of(["GET"], ["k"]))
    assert [s.name for s in network.stations if s.role.endswith("cpu")] == ["host cpu"]


def test_drives_of_one_file_system_share_its_journal():
    network, _ = compile_spec(with_drives(count=4, shared_journal=True), trace_of(["PUT"], ["k"]))
    assert [s.name for s in network.stations if s.role == "journal"] == ["journal 0"]


def test_objects_spread_over_erasure_sets_and_over_the_drives_of_a_set():
    n = 3000
    network, requests = compile_spec(with_drives(count=32), trace_of(["GET"] * n, [f"k{i}" for i in range(n)]))
    outcome = compiled_engine.run(Program.of(network, requests, 0))
    drives = [i for i, s in enumerate(network.stations) if s.role == "drive"]
    reads = outcome.visits[drives]
    assert reads.sum() == n * 16
    assert reads.min() > 0.9 * reads.mean()


@pytest.mark.parametrize(
    ("count", "size", "parity"),
    [(1, 1, 0), (2, 2, 1), (4, 4, 2), (6, 6, 3), (8, 8, 4), (16, 16, 4), (24, 12, 4), (17, 1, 0)],
)
def test_sets_and_parity_are_those_of_minio(count, size, parity):
    found = set_size(count, 1)
    assert (found, default_parity(found)) == (size, parity)


def test_parity_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"erasure.parity: is 3; an erasure set of 4 drives allows 0 to 2"):
        spec_of(BASE | {"drives": BASE["drives"] | {"count": 4}, "erasure": {"parity": 3}}, "spec")


def policies(client: dict[str, object]) -> dict[str, Policy]:
    """The policy of each route."""
    spec = spec_of(BASE | {"client": client}, "spec")
    return {route.name: route.policy for route in compile_spec(spec, trace_of(["GET"], ["k"]))[0].routes}


def test_clients_have_no_policy_by_default():
    quiet = {"retry": {"backoff": "1s"}, "hedge": {"cancel": False, "budget": 1}}
    for client in ({}, quiet, {"timeout": None, "hedge": {"after": None}}):
        assert set(policies(client).values()) == {NO_POLICY}


def test_timeouts_and_retries_are_of_all_operations_and_hedges_of_reads():
    given = policies({
        "timeout": "2s",
        "retry": {"retries": 3, "backoff": "10ms", "backoff_max": "1s", "jitter": 0.5, "budget": 0.2},
        "hedge": {"after": "30ms", "cancel": False},
    })  # fmt: skip
    retried = {"timeout_s": 2.0, "retries": 3, "backoff_s": 0.01, "backoff_max_s": 1.0, "jitter": 0.5}
    reads = Policy("GET", **retried, retry_budget=0.2, hedge_after_s=0.03, hedge_budget=0.1, cancels=False)
    assert given.pop("GET") == given.pop("GET inline") == reads
    others = ("PUT", "PUT inline", "HEAD", "DELETE")
    assert given == {name: Policy(name.split()[0], **retried, retry_budget=0.2) for name in others}


def test_operations_that_are_retried_and_hedged_can_be_named():
    given = policies({
        "retry": {"retries": 1, "operations": ["HEAD"]},
        "hedge": {"after": "p95", "operations": ["PUT"], "budget": None},
    })  # fmt: skip
    assert [name for name, policy in given.items() if policy.retries] == ["HEAD"]
    assert [name for name, policy in given.items() if policy.second] == ["PUT", "PUT inline"]
    assert given["PUT"] == Policy("PUT", hedge_quantile=0.95)
    assert given["GET"] == given["GET inline"] == NO_POLICY


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ({"hedge": {"after": "p0"}}, "client.hedge.after: 'p0' is not a duration; .* p95"),
        ({"hedge": {"after": "p100"}}, "client.hedge.after: 'p100' is not"),
        ({"hedge": {"after": "-1ms"}}, "client.hedge.after: '-1ms' is negative"),
        ({"hedge": {"budget": -1}}, "client.hedge.budget: -1 is negative"),
        ({"hedge": {"operations": ["GIT"]}}, "client.hedge.operations.0: is 'GIT'; did you mean GET"),
        ({"hedge": {"afer": 1}}, "client.hedge.afer: unknown field; did you mean after"),
        ({"timeout": 0}, "client.timeout: is 0"),
        ({"retry": {"retries": 31}}, "client.retry.retries: is 31"),
        ({"retry": {"jitter": 2}}, "client.retry.jitter: 2 is 200 %"),
        ({"retry": 3}, "client.retry: is 3; a mapping of fields is needed"),
    ],
)
def test_mistakes_in_policies_are_named(client, said):
    with pytest.raises(InputError, match=said):
        policies(client)


def test_long_work_lets_others_onto_the_core_between_its_slices():
    host = BASE["hosts"] | {"cores": 1, "quantum": "0.5ms", "cpu": {"PUT": "3ms", "GET": "0.4ms"}, "after_commit": 0}
    ends_s = {}
    for slice_ in ("0.5ms", 0):
        data = {"store": "minio", "workload": BASE["workload"], "hosts": host | {"quantum": slice_}, "drives": FREE}
        network, requests = compile_spec(
            spec_of(data, "spec"), trace_of(["PUT", "GET"], ["k", "l"], size_bytes=4096, arrival_s=[0.0, 0.0001])
        )
        outcome = compiled_engine.run(Program.of(network, requests, 0))
        ends_s[slice_] = outcome.end_s
        assert outcome.busy_s[0] == pytest.approx(0.0034)
    assert ends_s[0].tolist() == pytest.approx([0.003, 0.0034])
    assert ends_s["0.5ms"][0] == pytest.approx(0.0034)
    assert ends_s["0.5ms"][1] <= 0.003


def test_a_slice_is_no_instant():
    with pytest.raises(InputError, match=r"hosts.quantum: is 1e-06 s; allowed are 0 and 0.0001 s or more"):
        spec_of(BASE | {"hosts": BASE["hosts"] | {"quantum": "1us"}}, "spec")
