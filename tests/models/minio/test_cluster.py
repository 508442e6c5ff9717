"""A cluster of MinIO hosts: response times without contention, bytes on links and visits of drives, by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from models.minio.cpu import cpu_s
from models.minio.requests.parts import MESSAGE_BYTES, METADATA_BYTES, shard_bytes
from models.minio.spec.spec import MinioSpec
from models.store import compile_spec, spec_of
from sim.demands.service_demands import mean_demands
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.models.minio.test_compile import FREE
from tests.small_traces import trace_of
from traces.errors import InputError

NIC, LATENCY_S, WAY_S = 1e8, 1e-3, 2e-4
CPU_S = {"GET": 4e-4, "PUT": 3e-4, "HEAD": 5e-4, "DELETE": 6e-4, "LIST": 7e-4}
READ_S, WRITE_S, COMMIT_S = 8e-3, 6e-3, 5e-4
READ_BYTE_S, WRITE_BYTE_S = 1e-8, 2e-8
MIB = 1 << 20


def cluster(count: int = 4, per_host: int = 2, **sections) -> MinioSpec:
    data = {
        "store": "minio",
        "workload": {"operations": 1, "object_size": "4KiB"},
        "network": {"latency": LATENCY_S, "payload_fraction": 1},
        "hosts": {"count": count, "nic": NIC, "cpu": CPU_S, "internode": {"latency": WAY_S}}
        | sections.pop("hosts", {}),
        "drives": {
            "count": per_host,
            "read": {"constant": READ_S, "per_byte": READ_BYTE_S},
            "write": {"constant": WRITE_S, "per_byte": WRITE_BYTE_S},
            "commit": COMMIT_S, "commit_in": "queue",
        } | sections.pop("drives", {}),
    }  # fmt: skip
    return spec_of(data | sections, "spec")


def ran(spec: MinioSpec, op: str, size: int, count: int = 1, engine=compiled_engine):
    trace = trace_of([op] * count, [f"k{i}" for i in range(count)], size_bytes=size, arrival_s=np.arange(count) * 10.0)
    network, requests = compile_spec(spec, trace)
    return engine.run(Program.of(network, requests, 0)), network


def shard(size: int, data: int = 4) -> int:
    return int(shard_bytes(np.array([size]), data)[0])


ROUND_S = 2 * WAY_S
MAIN_S = 2 * LATENCY_S
META_READ_S = READ_S + MESSAGE_BYTES * READ_BYTE_S
META_WRITE_S = WRITE_S + MESSAGE_BYTES * WRITE_BYTE_S + COMMIT_S


def test_a_small_put_by_hand():
    """Set of 8, EC 4: lock and look-up, body, lock, 6 shards to other hosts, one durable write, clean up."""
    size, part = 4096, shard(4096)
    sent_s = 6 * (part + 4 * MESSAGE_BYTES) / NIC
    write_s = WRITE_S + (part + METADATA_BYTES) * WRITE_BYTE_S + COMMIT_S
    expected = MAIN_S + size / NIC + CPU_S["PUT"] + 5 * ROUND_S + sent_s + write_s
    assert ran(cluster(), "PUT", size)[0].end_s[0] == pytest.approx(expected)
    before = ran(cluster(release="2025-01-01"), "PUT", size)[0].end_s[0]
    assert before == pytest.approx(expected - 2 * ROUND_S)  # no look-up, and no lock for it


def test_a_put_of_one_block_by_hand():
    """The block is received, then sent to drives, then written; then metadata: two durable writes."""
    size, part = MIB, shard(MIB)
    sent_s = 6 * (part + 5 * MESSAGE_BYTES) / NIC
    writes_s = WRITE_S + part * WRITE_BYTE_S + COMMIT_S + META_WRITE_S
    expected = MAIN_S + size / NIC + CPU_S["PUT"] + 6 * ROUND_S + sent_s + writes_s
    assert ran(cluster(), "PUT", size)[0].end_s[0] == pytest.approx(expected)


def test_a_small_get_by_hand():
    """A lock, and metadata with the data of all eight drives: the coordinator's link takes six shards."""
    size, part = 4096, shard(4096)
    read_s = READ_S + (part + METADATA_BYTES) * READ_BYTE_S
    came_s = 6 * (part + MESSAGE_BYTES) / NIC
    expected = MAIN_S + CPU_S["GET"] + 2 * ROUND_S + read_s + came_s + size / NIC
    assert ran(cluster(), "GET", size)[0].end_s[0] == pytest.approx(expected)


def test_a_get_of_one_block_by_hand():
    """Lock, metadata of all, shards of the first four drives of this object, one of them the coordinator's own."""
    size, part = MIB, shard(MIB)
    came_s = 3 * (part + MESSAGE_BYTES) / NIC
    read_s = META_READ_S + READ_S + part * READ_BYTE_S
    expected = MAIN_S + CPU_S["GET"] + 3 * ROUND_S + read_s + came_s + size / NIC
    assert ran(cluster(), "GET", size)[0].end_s[0] == pytest.approx(expected)


@pytest.mark.parametrize("op", ["GET", "PUT"])
def test_the_nic_of_clients_by_hand(op):
    """Of four hosts a client runs on, one receives its request: three quarters of the bytes leave a host."""
    size = MIB
    unlimited = ran(cluster(), op, size)[0].end_s[0]
    slow = ran(cluster(client={"nic": NIC / 2}), op, size)[0].end_s[0]
    assert slow - unlimited == pytest.approx(size / NIC)
    local = ran(cluster(client={"placement": "storage_hosts"}), op, size)[0].end_s[0]
    assert unlimited - local == pytest.approx(size / NIC / 4)
    proxied = [cluster(client={"placement": place}, balance="proxy") for place in ("own", "storage_hosts")]
    own, on_hosts = (ran(spec, op, size)[0].end_s[0] for spec in proxied)
    assert own == pytest.approx(on_hosts)


@pytest.mark.parametrize("op", ["GET", "PUT"])
def test_clients_of_their_own_host_use_no_network(op):
    """The transfer between client and host, on network and NIC in parallel, takes no time."""
    on_hosts = {
        "client": {"placement": "storage_hosts"},
        "network": {"latency": 0.01, "bandwidth": 1e8, "payload_fraction": 1},
    }
    local, other = (ran(cluster(balance=d, **on_hosts), op, MIB)[0].end_s[0] for d in ("local", "round_robin"))
    assert other - local == pytest.approx(2 * 0.01 + max(MIB / 1e8, 3 / 4 * MIB / NIC))


@pytest.mark.parametrize("client", [{}, {"placement": "storage_hosts", "hosts": [0]}])
def test_clients_elsewhere_have_no_host_of_their_own(client):
    with pytest.raises(InputError, match="balance: local requires clients on all hosts"):
        cluster(balance="local", client=client)


def test_clients_on_the_only_host_use_no_nic():
    with_nic, without = (
        ran(cluster(1, 8, client={"placement": "storage_hosts"}, hosts={"nic": nic}), "GET", 64 * MIB)[0].end_s[0]
        for nic in (NIC, 1e15)
    )
    assert with_nic == pytest.approx(without)


def test_clients_on_hosts_work_at_the_speed_of_their_cores():
    client = {"placement": "storage_hosts", "cpu": {"GET": 0.004}}
    slow, fast = (cluster(client=client, hosts={"cores": {"count": 2, "speed": speed}}) for speed in (1, 4))
    times_s = [ran(spec, "GET", 4096)[0].end_s[0] for spec in (slow, fast)]
    assert times_s[0] - times_s[1] == pytest.approx(0.75 * (0.004 + CPU_S["GET"]))
    trace = trace_of(["GET"] * 3, ["a", "b", "c"], size_bytes=4096)
    for spec, speed in ((slow, 1), (fast, 4)):
        sides = cpu_s(spec, *compile_spec(spec, trace))
        assert sides["client"] == pytest.approx(0.004 / speed)
        assert sides["server"] == pytest.approx(CPU_S["GET"] / speed)


def test_the_cpu_time_of_an_upload_is_that_of_its_requests():
    client = {"placement": "own", "cpu": {"PUT": 0.004}, "multipart": {"part_size": 5 * MIB, "threshold": 5 * MIB}}
    spec = cluster(client=client)
    sides = cpu_s(spec, *compile_spec(spec, trace_of(["PUT"], ["a"], size_bytes=15 * MIB)))
    requests = 1 + 3 + 1  # initiation, parts, completion
    assert sides == pytest.approx({"client": requests * 0.004, "server": requests * CPU_S["PUT"]})


@pytest.mark.parametrize(("op", "rounds"), [("HEAD", 1), ("DELETE", 3)])
def test_metadata_operations_by_hand(op, rounds):
    expected = MAIN_S + CPU_S[op] + ROUND_S + rounds * (ROUND_S + META_READ_S)
    assert ran(cluster(), op, 4096)[0].end_s[0] == pytest.approx(expected)


def test_an_overwrite_reads_twice_and_writes_metadata_twice():
    size = MIB
    new, over = (ran(cluster(overwrites=f), "PUT", size)[0].end_s[0] for f in (0, 1))
    assert over - new == pytest.approx(2 * META_READ_S + META_WRITE_S + ROUND_S)


def test_a_marker_is_one_durable_write():
    plain, versioned = (ran(cluster(versioned=v), "DELETE", 4096)[0].end_s[0] for v in (False, True))
    assert versioned - plain == pytest.approx(META_WRITE_S + ROUND_S)


def test_a_large_object_passes_links_and_drives_at_the_same_time():
    size = 64 * MIB
    sender_s, receive_s = 6 * shard(size) / NIC, size / NIC
    took_s = ran(cluster(), "PUT", size)[0].end_s[0]
    assert max(sender_s, receive_s) < took_s < 1.1 * max(sender_s, receive_s)


@pytest.mark.parametrize("op", ["PUT", "GET"])
@pytest.mark.parametrize("size", [4096, MIB, 16 * MIB])
def test_bytes_on_each_link(op, size):
    """Each object arrives at one host and is spread over the others; links of all hosts have the same load."""
    n, part = 400, shard(size)
    outcome, network = ran(cluster(), op, size, n)
    loads = list(zip((s.name for s in network.stations), outcome.busy_s * NIC, strict=True))
    moved = {way: sum(b for name, b in loads if name.endswith(way)) / n for way in (" in", " out")}
    inline = size == 4096
    shards = 6 if op == "PUT" or inline else 3  # of four that are read, one on average is the coordinator's own
    messages = MESSAGE_BYTES * shards * ((4 if inline else 5) if op == "PUT" else 1)
    inside = shards * part + messages
    client = {" in": size * (op == "PUT"), " out": size * (op == "GET")}
    for way in (" in", " out"):
        assert moved[way] == pytest.approx(inside + client[way], rel=0.02)
        each = [b for s, b in zip(network.stations, outcome.busy_s, strict=True) if s.name.endswith(way)]
        assert max(each) < 1.15 * min(each)


def test_visits_of_each_drive():
    """Set of 8: a PUT writes to all drives, durably; a GET reads the metadata of all, and the data of four."""
    n = 300
    for op, size, each in (("PUT", 4096, 16), ("PUT", MIB, 32), ("GET", 4096, 8), ("GET", MIB, 12), ("HEAD", 1, 8)):
        outcome, network = ran(cluster(), op, size, n)
        drives = [k for k, s in enumerate(network.stations) if s.role == "drive"]
        assert outcome.visits[drives].sum() == n * each
    assert Counter(s.role for s in network.stations)["host network"] == 8


def test_direct_access_is_as_in_the_log_of_the_drives():
    """One host, EC 2+2, direct I/O: reads of a hash and a piece for each block, writes of 1 MiB and a tail."""
    spec = cluster(1, 4, drives={"direct": True}, hosts={"nic": 0})
    per_put = {4096: 2, 64 * 1024: 3, MIB: 5, 16 * MIB: 12}  # on each drive, with the commits
    per_get = {4096: 4, 64 * 1024: 4, MIB: 4 + 2 * 2, 16 * MIB: 4 + 2 * 32}  # on all drives
    for size, visits in per_put.items():
        outcome, network = ran(spec, "PUT", size)
        drives = [k for k, s in enumerate(network.stations) if s.role == "drive"]
        assert set(outcome.visits[drives].tolist()) == {visits}, size
    for size, visits in per_get.items():
        assert ran(spec, "GET", size)[0].visits[drives].sum() == visits, size
    blocks_s = 16 * 2 * READ_S + shard(16 * MIB, 2) * READ_BYTE_S
    took_s = ran(spec, "GET", 16 * MIB)[0].end_s[0]
    assert took_s == pytest.approx(MAIN_S + CPU_S["GET"] + META_READ_S + blocks_s, rel=1e-3)


def test_another_node_reads_in_calls_of_128_kib():
    """Four processes with one drive each: 5 reads of a shard of 512 KiB and 32 B elsewhere, 2 of the own one."""
    spec = cluster(1, 4, drives={"direct": True}, hosts={"nic": 0, "processes": 4})
    seen = set()
    for key in range(12):
        trace = trace_of(["GET"], [f"k{key}"], size_bytes=MIB)
        network, requests = compile_spec(spec, trace)
        outcome = compiled_engine.run(Program.of(network, requests, 0))
        drives = [k for k, s in enumerate(network.stations) if s.role == "drive"]
        seen.add(tuple(sorted((outcome.visits[drives] - 1).tolist())))
    assert seen == {(0, 0, 5, 5), (0, 0, 2, 5)}


def test_faster_cores_take_less_time():
    slow, fast = (ran(cluster(hosts={"cores": {"speed": v}}), "HEAD", 1)[0].end_s[0] for v in (1, 2))
    assert slow - fast == pytest.approx(CPU_S["HEAD"] / 2)


def test_requests_arrive_at_hosts_as_distributed():
    for balance, fewest in (("round_robin", 25), ("dns", 10), ("proxy", 25), ("single", 0)):
        outcome, network = ran(cluster(balance=balance), "HEAD", 1, 100)
        served = [v for s, v in zip(network.stations, outcome.visits, strict=True) if s.role == "host cpu"]
        assert sum(served) == 100 and min(served) >= fewest
        assert (max(served) == 100) == (balance == "single")


def test_a_host_outside_the_set_has_no_drives_of_its_own():
    """32 hosts with one drive each: sets of 16, so half of the objects have no drive on the coordinator."""
    n = 200
    outcome, network = ran(cluster(32, 1), "PUT", MIB, n)
    sent = sum(b for s, b in zip(network.stations, outcome.busy_s * NIC, strict=True) if s.name.endswith(" out"))
    per_shard = shard(MIB, 12) + 4 * MESSAGE_BYTES  # inline
    assert 15 < sent / n / per_shard < 16
    assert sent / n / per_shard == pytest.approx(15.5, abs=0.15)


@pytest.mark.parametrize(
    "spec",
    [
        cluster(drives={"direct": True}), cluster(32, 1), cluster(3, 4, erasure={"set_size": 6}),
        cluster(balance="proxy", proxy={"cpu": "0.1ms", "nic": "1GB/s"}, client={"hedge": {"after": "5ms"}}),
        cluster(hosts={"internode": {"call": "50us", "latency": WAY_S, "lock_conflict_fraction": 0.2}, "tls": "0.1ms"}),
        cluster(pools=[{"hosts": {"count": 2, "nic": NIC}, "drives": {"count": 3, **FREE}}]),
    ],
)  # fmt: skip
def test_engines_agree_on_clusters(spec):
    ops = ["PUT", "GET", "HEAD", "DELETE", "LIST", "GET"] * 4
    size = [4096, MIB, 1, 1, 1, 3 * MIB] * 4
    trace = trace_of(ops, [f"k{i}" for i in range(24)], size_bytes=size, arrival_s=np.arange(24) * 1e-3)
    program = Program.of(*compile_spec(spec, trace), 0)
    fast, plain = compiled_engine.run(program), simpy_engine.run(program)
    assert (fast.end_s == plain.end_s).all() and (fast.visits == plain.visits).all()
    assert np.isfinite(fast.end_s).all()


def test_the_demands_of_links_and_drives_are_known_without_simulation():
    trace = trace_of(["GET"] * 500, [f"k{i}" for i in range(500)], size_bytes=MIB)
    found = mean_demands(*compile_spec(cluster(), trace))
    by_role: Counter[str] = Counter()
    for resource, low_s in zip(found.resources, found.low_s.tolist(), strict=True):
        by_role[resource.role] += low_s
    part = shard(MIB)
    assert by_role["host network"] == pytest.approx((6 * (part + MESSAGE_BYTES) + MIB) / NIC, rel=0.03)
    assert by_role["drive"] == pytest.approx(8 * META_READ_S + 4 * (READ_S + part * READ_BYTE_S), rel=1e-3)


def test_the_limit_of_requests_refuses_at_once_since_2024_08():
    trace = trace_of(["GET"] * 50, [f"k{i}" for i in range(50)], size_bytes=4096)
    for release, refused in (("2026-02-12", True), ("2024-01-01", False)):
        spec = cluster(release=release, hosts={"max_requests": 8})
        outcome = compiled_engine.run(Program.of(*compile_spec(spec, trace), 0))
        assert (outcome.failure > 0).any() == refused


def test_new_objects_go_to_pools_by_free_space():
    n = 600
    pool = {
        "hosts": {"count": 4, "nic": NIC},
        "drives": {"count": 2, "read": "1ms", "write": "1ms", "commit": 0, "commit_in": "queue"},
        "weight": 3,
    }
    outcome, network = ran(cluster(pools=[pool]), "PUT", MIB, n)
    drives = [k for k, s in enumerate(network.stations) if s.role == "drive"]
    first, second = outcome.visits[drives[:8]].sum(), outcome.visits[drives[8:]].sum()
    assert second / (first + second) == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize("engine", [compiled_engine, simpy_engine])
def test_hosts_on_one_machine_share_its_cores(engine):
    count, work_s = 4, CPU_S["PUT"]
    times = {}
    for shared in (False, True):
        spec = cluster(hosts={"cores": {"count": 1, "shared": shared}}, drives={"write": 0, "commit": 0, "read": 0})
        trace = trace_of(["PUT"] * count, [f"k{i}" for i in range(count)], size_bytes=0, arrival_s=np.zeros(count))
        network, requests = compile_spec(spec, trace)
        cores = [k for k, station in enumerate(network.stations) if station.role == "host cpu"]
        outcome = engine.run(Program.of(network, requests, 0))
        assert outcome.busy_s[cores].sum() == pytest.approx(count * work_s)
        assert len(cores) == (1 if shared else count)
        times[shared] = float(outcome.end_s.max())
    assert times[True] == pytest.approx(times[False] + (count - 1) * work_s)
