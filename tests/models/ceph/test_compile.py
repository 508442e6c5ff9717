"""The Ceph model: what one request takes on an idle cluster, and what it loads, by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from models.ceph.spec.object_size import object_bytes
from models.network.network import Network
from models.network.scenario import Action, ActionKind
from models.store import compile_spec, load_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.simulate import simulate
from tests.ceph_clusters import (
    COMMIT,
    COMMIT_MEMBER,
    CPU,
    HOP,
    LOG_WRITE,
    READ,
    READ_CPU,
    WITH_DB,
    WRITE,
    WRITE_CPU,
    alone,
    ceph,
    compiled,
    latency_s,
    of_name,
    of_role,
)
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.operations import GET
from traces.workload.generate import generate

MIB = 1 << 20
LOG = LOG_WRITE + COMMIT + COMMIT_MEMBER  # a commit on block.db
LOG_ON_DATA = WRITE + COMMIT + COMMIT_MEMBER
INDEX = HOP + WRITE_CPU + (HOP + WRITE_CPU + HOP) + HOP  # without its commit: to the primary, a replica, and back


NO_METADATA = "rocksdb.metadata_bytes_per_object=1"
NO_CPU = (
    "buckets.listed_entry=0", "buckets.shard_query=0", "buckets.gateway_query=0", "buckets.gateway_entry=0",
    "gateways.cpu.LIST=0",
)  # fmt: skip
CODING = 2e-6  # more than it takes to encode 4 KiB


def put_s(commit_s: float, log_s: float) -> float:
    """A PUT whose data is committed in `commit_s`, and its index entry in `log_s`."""
    member_s = HOP + WRITE_CPU + commit_s + HOP
    return HOP + CPU["PUT"] + INDEX + log_s + HOP + WRITE_CPU + member_s + HOP + HOP


@pytest.mark.parametrize("protection", ["replica 3", "ec 4+2"])
def test_put_takes_the_sum_of_its_stages(protection):
    spec = ceph(f"pools.data={protection}")
    assert latency_s(spec, "PUT") == pytest.approx(put_s(WRITE + LOG_ON_DATA, LOG_ON_DATA), abs=CODING)
    spec = ceph(f"pools.data={protection}", *WITH_DB)
    assert latency_s(spec, "PUT") == pytest.approx(put_s(WRITE + LOG, LOG), abs=CODING)


@pytest.mark.parametrize("protection", ["replica 3", "ec 4+2"])
def test_deferred_put_does_not_wait_for_the_data_device(protection):
    spec = ceph(f"pools.data={protection}", "bluestore.prefer_deferred_size=64KiB", *WITH_DB)
    assert latency_s(spec, "PUT") == pytest.approx(put_s(LOG, LOG), abs=CODING)
    network, _ = compiled(spec, "PUT")
    outcome = alone(spec, "PUT")
    width = spec.pools.data.width
    assert of_role(network, outcome.visits, "drive") == width
    assert of_role(network, outcome.busy_s, "drive") == pytest.approx(width * WRITE)
    assert outcome.clock_s > outcome.end_s[0]


def test_put_of_one_replica_waits_for_no_other_osd():
    spec = ceph("pools.data=replica 1", "pools.index_replicas=1", *WITH_DB)
    index_s = HOP + WRITE_CPU + LOG + HOP
    data_s = HOP + WRITE_CPU + WRITE + LOG + HOP
    assert latency_s(spec, "PUT") == pytest.approx(HOP + CPU["PUT"] + index_s + data_s + HOP)


def test_entry_is_completed_after_the_response():
    spec = ceph(*WITH_DB)
    network, _ = compiled(spec, "PUT")
    outcome = alone(spec, "PUT")
    # Entry prepared, data and entry completed, on three OSDs each.
    assert of_role(network, outcome.visits, "kv sync") == 9
    assert of_role(network, outcome.busy_s, "osd host cpu") == pytest.approx(9 * WRITE_CPU)
    after_s = HOP + WRITE_CPU + LOG + HOP
    assert outcome.clock_s == pytest.approx(outcome.end_s[0] - HOP + after_s)


def test_put_waits_for_the_slowest_member():
    spec = ceph(*WITH_DB)
    network, requests = compiled(spec, "PUT")
    row = network.placements[0][int(requests.key_hash[0]) % len(network.placements[0])]
    drives = [k for k in row[:24] if network.stations[k].role == "drive"]
    assert len(set(drives)) == 3
    for slow in drives:
        outcome = compiled_engine.run(Program.of(with_slow(network, slow), requests, 0))
        assert outcome.end_s[0] > 1, network.stations[slow].name


def with_slow(network: Network, station: int) -> Network:
    """The network with a station a thousand times slower."""
    return dataclasses.replace(network, scenario=(Action(ActionKind.SPEED, station, value=1e-3),))


def test_get_of_a_replica_reads_from_one_osd():
    spec = ceph()
    network, _ = compiled(spec, "GET")
    outcome = alone(spec, "GET")
    assert outcome.end_s[0] == pytest.approx(HOP + CPU["GET"] + HOP + READ_CPU + READ + HOP + HOP)
    assert of_role(network, outcome.visits, "drive") == 1
    assert of_role(network, outcome.visits, "kv sync") == of_role(network, outcome.visits, "index shard") == 0


@pytest.mark.parametrize("fast_read", [False, True])
def test_get_of_an_erasure_code_reads_from_as_many_as_hold_data(fast_read):
    spec = ceph("pools.data=ec 4+2", f"pools.fast_read={str(fast_read).lower()}")
    network, _ = compiled(spec, "GET")
    outcome = alone(spec, "GET")
    members_s = HOP + READ_CPU + READ + HOP
    assert outcome.end_s[0] == pytest.approx(HOP + CPU["GET"] + HOP + READ_CPU + members_s + HOP + HOP)
    assert of_role(network, outcome.visits, "drive") == (6 if fast_read else 4)
    assert network.routes[0].stages[2].need == 4


def test_head_and_delete_move_no_payload():
    spec = ceph(*WITH_DB)
    assert latency_s(spec, "HEAD", 100 * MIB) == pytest.approx(HOP + CPU["HEAD"] + HOP + READ_CPU + HOP + HOP)
    removed_s = HOP + (HOP + WRITE_CPU + LOG + HOP) + HOP
    expected = HOP + CPU["DELETE"] + INDEX + LOG + removed_s + HOP
    assert latency_s(spec, "DELETE", 100 * MIB) == pytest.approx(expected)
    network, _ = compiled(spec, "DELETE", 100 * MIB)
    removed = of_role(network, alone(spec, "DELETE", 100 * MIB).visits, "kv sync") - 6  # of the index entry
    assert removed == 3 * 25, "garbage collection removes the tail's stripes"


def test_list_queries_every_shard_for_its_part():
    shards, of_shard = 11, ("shard_query=1ms", "listed_entry=10us", "gateway_query=2ms", "gateway_entry=3us")
    spec = ceph(f"buckets.shards={shards}", *(f"buckets.{value}" for value in of_shard))
    entries = 112  # of each of 11 shards for the 1001 keys that RGW requests
    gateway_s = CPU["LIST"] + shards * (2e-3 + entries * 3e-6)
    network, _ = compiled(spec, "LIST")
    outcome = alone(spec, "LIST")
    assert outcome.end_s[0] == pytest.approx(HOP + gateway_s + HOP + (1e-3 + entries * 10e-6) + HOP + HOP)
    assert of_role(network, outcome.visits, "osd host cpu") == shards


@pytest.mark.parametrize(("shards", "entries"), [(11, 112), (1999, 8)])
def test_a_page_takes_a_query_of_each_shard_and_the_entries_that_it_needs(shards, entries):
    spec = ceph(f"buckets.shards={shards}", "hosts.cores=64")
    network, _ = compiled(spec, "LIST")
    work_s = sum(
        visit.demand.constant
        for stage in network.routes[0].stages for branch in stage.branches for visit in branch
        if isinstance(visit.station, int) and network.stations[visit.station].role == "osd host cpu"
    )  # fmt: skip
    assert work_s == pytest.approx(shards * (0.1e-3 + entries * 4e-6))
    assert shards < 1999 or work_s == pytest.approx(0.264, abs=1e-3), "not the 0.72 s of reads behind gateways"


def test_list_asks_128_shards_at_a_time():
    assert latency_s(ceph("buckets.shards=128", "hosts.cores=64", *NO_CPU), "LIST") == pytest.approx(4 * HOP)
    assert latency_s(ceph("buckets.shards=129", "hosts.cores=64", *NO_CPU), "LIST") == pytest.approx(6 * HOP)


def test_lists_before_nautilus_read_a_whole_page_of_each_shard():
    of_entries = [
        latency_s(ceph(f"release={release}", "buckets.shards=11", "buckets.listed_entry=1ms", *NO_CPU[1:]), "LIST")
        for release in ("mimic", "nautilus")
    ]
    assert of_entries == pytest.approx([1.001 + 4 * HOP, 0.112 + 4 * HOP])


@pytest.mark.parametrize(("size", "objects"), [(1, 1), (4 * MIB, 1), (4 * MIB + 1, 2), (40 * MIB, 10)])
@pytest.mark.parametrize("protection", ["replica 3", "ec 4+2"])
def test_object_is_cut_into_a_head_and_stripes(size, objects, protection):
    spec = ceph(f"pools.data={protection}", *WITH_DB)
    for op, reads in (("PUT", spec.pools.data.width), ("GET", spec.pools.data.data_shards)):
        network, _ = compiled(spec, op, size)
        drives = of_role(network, alone(spec, op, size).visits, "drive")
        assert drives == pytest.approx(objects * reads)


# Bytes


@pytest.mark.parametrize(("protection", "received"), [("replica 3", 3.0), ("ec 4+2", 1 + 5 / 4)])
def test_network_carries_an_objects_bytes_once_to_the_gateway_and_to_every_member(protection, received):
    # An erasure code's primary gets all of it, and sends a quarter to each of the others.
    nics = ("hosts.nic=1GB/s", "client.nic=1GB/s", "gateways.nic=1GB/s")
    spec, size = ceph(f"pools.data={protection}", *nics), 4 * MIB
    network, _ = compiled(spec, "PUT", size)
    busy_s = alone(spec, "PUT", size).busy_s
    gateway_s = of_name(network, busy_s, "rgw 0 down")
    assert gateway_s == pytest.approx(size / 1e9 / spec.network.payload)
    assert of_role(network, busy_s, "client network") == pytest.approx(size / 1e9 / spec.network.payload)
    hosts_s = sum(of_name(network, busy_s, f"host {h} down") for h in range(8))
    assert hosts_s == pytest.approx(received * gateway_s, rel=1e-3)


@pytest.mark.parametrize(("protection", "sent"), [("replica 3", 1.0), ("ec 4+2", 1 + 3 / 4)])
def test_network_carries_what_is_read_from_members_to_the_client(protection, sent):
    nics = ("hosts.nic=1GB/s", "client.nic=1GB/s", "gateways.nic=1GB/s")
    spec, size = ceph(f"pools.data={protection}", *nics), 4 * MIB
    network, _ = compiled(spec, "GET", size)
    busy_s = alone(spec, "GET", size).busy_s
    gateway_s = of_name(network, busy_s, "rgw 0 up")
    assert gateway_s == pytest.approx(size / 1e9 / spec.network.payload)
    hosts_s = sum(of_name(network, busy_s, f"host {h} up") for h in range(8))
    assert hosts_s == pytest.approx(sent * gateway_s, rel=1e-3)


def test_client_with_1gbe_receives_94_percent_of_its_rate():
    nics = ("client.nic=125MB/s", "hosts.nic=12.5GB/s", "gateways.nic=12.5GB/s")
    fast = ("device.read=1us", "gateways.cpu.GET=1us", "workload.mix.GET=1", "workload.object_size=1MiB")
    run = simulate(ceph(*nics, *fast, "workload.clients=16", "workload.operations=400"))
    received = run.column("transfer_bytes").sum() / run.duration_s / 125e6
    assert received == pytest.approx(0.9415, rel=0.01)


def test_connection_has_a_largest_rate_and_many_have_that_of_the_nic():
    nics = ("client.nic=12.5GB/s", "hosts.nic=50GB/s", "gateways.nic=50GB/s", "network.connection_rate=1.177GB/s")
    fast = ("device.read=1us", "gateways.cpu.GET=1us", "osd.read=1us", "network.latency=1us", "workload.mix.GET=1")
    spec = ceph(*nics, *fast, "workload.object_size=32MiB", "workload.operations=300")
    rate = spec.network.payload * 12.5e9
    network, _ = compiled(spec, "GET", 32 * MIB)
    client_s = of_role(network, alone(spec, "GET", 32 * MIB).busy_s, "client network")
    assert client_s == pytest.approx(10 * 32 * MIB / rate)  # a tenth of the NIC
    run = simulate(ceph(*nics, *fast, "workload.object_size=32MiB", "workload.operations=1500", "workload.clients=64"))
    # Equal requests of clients that begin at once stay together, so that the NIC is idle while all of them are read.
    assert 0.8 * rate < run.column("transfer_bytes").sum() / run.duration_s <= rate


def test_window_limits_a_connection_to_a_far_store():
    near, far = (
        ceph("client.nic=3GB/s", f"network.latency={latency}", "network.window=6MiB") for latency in ("50us", "10ms")
    )
    seconds = [
        of_role(compiled(spec, "GET", MIB)[0], alone(spec, "GET", MIB).busy_s, "client network") for spec in (near, far)
    ]
    assert seconds[0] == pytest.approx(MIB / (3e9 * near.network.payload))
    assert seconds[1] == pytest.approx(MIB / (6 * MIB / 20e-3), rel=0.05)


@pytest.mark.parametrize(
    ("protection", "op", "public", "cluster"),
    [("replica 3", "PUT", 1, 2), ("ec 4+2", "PUT", 1, 5 / 4), ("replica 3", "GET", 1, 0), ("ec 4+2", "GET", 1, 3 / 4)],
)
def test_replicas_and_chunks_use_the_cluster_network(protection, op, public, cluster):
    spec = ceph(f"pools.data={protection}", "hosts.nic=1GB/s", "hosts.cluster_nic=2GB/s")
    network, _ = compiled(spec, op, 4 * MIB)
    busy_s = alone(spec, op, 4 * MIB).busy_s
    once_s = 4 * MIB / 1e9 / spec.network.payload
    way = "down" if op == "PUT" else "up"
    hosts = [
        (of_name(network, busy_s, f"host {h} {way}"), of_name(network, busy_s, f"host {h} cluster {way}"))
        for h in range(8)
    ]
    assert sum(of_public for of_public, _ in hosts) == pytest.approx(public * once_s, rel=1e-3)
    assert sum(of_cluster for _, of_cluster in hosts) == pytest.approx(cluster * once_s / 2, rel=1e-3)


@pytest.mark.parametrize(
    ("protection", "op", "moved"),
    [
        # On eight hosts 7/8 of the transfers to and from clients and gateways leave a host; each has two ends. Every
        # replica or chunk crosses once between two hosts, and to or from a drive.
        ("replica 3", "PUT", 4 * 7 / 8 + 2 * 2 + 3),
        ("ec 4+2", "PUT", 4 * 7 / 8 + 2 * 5 / 4 + 6 / 4),
        ("replica 3", "GET", 4 * 7 / 8 + 1),
        ("ec 4+2", "GET", 4 * 7 / 8 + 2 * 3 / 4 + 1),
    ],
)
def test_dma_of_hosts_counts_what_nics_and_drives_move(protection, op, moved):
    own = (
        "client.placement=storage_hosts",
        "gateways.collocated=true",
        "gateways.count=8",
        "hosts.dma_bandwidth=1GB/s",
    )
    spec = ceph(f"pools.data={protection}", *own)
    network, _ = compiled(spec, op, 4 * MIB)
    assert of_role(network, alone(spec, op, 4 * MIB).busy_s, "host dma") == pytest.approx(
        moved * 4 * MIB / 1e9, rel=1e-3
    )


def test_collocated_gateways_use_the_nics_and_cores_of_their_hosts():
    nics = ("hosts.nic=1GB/s", "client.nic=1GB/s")
    spec, size = ceph("gateways.collocated=true", "gateways.count=16", "gateways.cores=5", *nics), 4 * MIB
    network, _ = compiled(spec, "PUT", size)
    down_s = sum(of_name(network, alone(spec, "PUT", size).busy_s, f"host {h} down") for h in range(8))
    once_s = size / 1e9 / spec.network.payload
    # To the gateway; to the primary, which is on the same host for one in eight; to two replicas.
    assert down_s == pytest.approx((1 + 7 / 8 + 2) * once_s, rel=1e-3)
    assert not any(station.name.startswith("rgw 0 down") for station in network.stations)
    cores = {station.role: station.servers for station in network.stations}
    assert (cores["rgw cpu"], cores["osd host cpu"]) == (5, 16 - 2 * 5)


@pytest.mark.parametrize(
    ("protection", "size", "written"),
    [("replica 3", 4 * MIB, 3.0), ("ec 4+2", 4 * MIB, 1.5), ("replica 3", 1024, 3 * 4.0), ("ec 4+2", 1024, 6 * 4.0)],
)
def test_drives_write_an_objects_bytes_with_redundancy_and_padding(protection, size, written):
    spec = ceph(f"pools.data={protection}", 'device.write={"per_byte": "1ns"}', *WITH_DB)
    network, _ = compiled(spec, "PUT", size)
    busy_s = of_role(network, alone(spec, "PUT", size).busy_s, "drive")
    assert busy_s == pytest.approx(written * size * 1e-9)


def test_log_without_a_device_of_its_own_is_written_to_the_drives():
    spec = ceph("bluestore.prefer_deferred_size=64KiB", 'device.write={"per_byte": "1ns"}', NO_METADATA)
    network, _ = compiled(spec, "PUT", 32 << 10)
    busy_s = of_role(network, alone(spec, "PUT", 32 << 10).busy_s, "drive")
    # Data twice: in the log and at its place; metadata of nine transactions, about 2 KB each.
    assert busy_s == pytest.approx((3 * 2 * 32768 + 9 * 2000) * 1e-9, rel=1e-3)


def test_filestore_writes_every_byte_twice():
    spec = ceph("osd.backend=filestore", "release=jewel", 'device.write={"per_byte": "1ns"}')
    network, _ = compiled(spec, "PUT", MIB)
    busy_s = of_role(network, alone(spec, "PUT", MIB).busy_s, "drive")
    assert busy_s == pytest.approx(3 * 2 * MIB * 1e-9, rel=0.02)


# Placement


def test_shards_and_placement_groups_are_spread_evenly():
    spec = ceph("pools.data=ec 4+2", "buckets.shards=8", "workload.buckets=4", "pools.pg_num=512")
    network, _ = compiled(spec, "PUT")
    table = np.hstack(network.placements)
    tokens = np.bincount([k for k in table.ravel() if network.stations[k].role == "index shard"])
    assert len(set(tokens[tokens > 0])) == 1
    assert (tokens > 0).sum() == 32
    cpus, drives = (
        [c for c, k in enumerate(table[0]) if network.stations[k].role == role] for role in ("osd host cpu", "drive")
    )
    assert all(len(set(row)) == 6 for row in table[:, cpus[:6]]), "a placement group has one OSD a host"
    primaries = np.bincount(table[:, drives[0]])
    mean = len(table) / 16
    assert abs(primaries[primaries > 0] - mean).max() < 6 * math.sqrt(mean)


def test_writes_that_wait_for_each_others_deferred_writes_go_on():
    """Each PUT is deferred on several OSDs of which each takes one at a time; they must not hold each other up."""
    spec = ceph(
        "osd.backend=filestore", "filestore.flusher_ios=1", "workload.operations=200", "workload.clients=50",
        "workload.object_size=10MiB", 'workload.mix={"PUT": 1}', "pools.pg_num=16",
    )  # fmt: skip
    outcome = compiled_engine.run(Program.of(*compile_spec(spec, generate(spec.workload, 0)), 0))
    assert outcome.in_flight == 0
    assert np.isfinite(outcome.end_s).all()


def test_reads_served_from_caches_need_no_drive():
    quincy = EXAMPLES / "ceph" / "nvme-quincy.yaml"
    few = ["workload.mix={GET: 1}", "workload.operations=200", "workload.clients=10", "workload.object_size=4KiB"]
    cached, mixed = (load_spec(quincy, [*few, f"osd.cache.hit_ratio={warm}"]) for warm in ("1", "0.5"))
    read_s = [simulate(spec).stations.to_pylist() for spec in (cached, mixed)]
    drives = [sum(row["utilization"] for row in rows if row["role"] == "drive") for rows in read_s]
    assert drives[0] < drives[1] / 2


def test_native_access_needs_no_hosts_for_an_index():
    radosbench = EXAMPLES / "ceph" / "radosbench.yaml"
    few = ["workload.operations=100", "pools.data=replica 2", "hosts.count=2"]
    assert len(simulate(load_spec(radosbench, few))) == 100
    with pytest.raises(InputError, match=r"pools\.index_replicas: .* 3 hosts, there are 2"):
        load_spec(radosbench, [*few, "access=s3"])


def test_lists_leave_the_stored_objects_their_size():
    quincy = EXAMPLES / "ceph" / "nvme-quincy.yaml"
    few = ["stored.objects=2e8", "workload.object_size=4KiB", "workload.operations=100", "workload.clients=10"]
    lists, puts = (load_spec(quincy, [*few, f"workload.mix={{{op}: 1}}"]) for op in ("LIST", "PUT"))
    assert object_bytes(lists, generate(lists.workload, 0)) == object_bytes(puts, generate(puts.workload, 0)) == 4096
    assert len(simulate(lists)) == 100


@pytest.mark.parametrize("pool", ["replica 3", "ec 4+2"])
def test_reads_that_the_cache_of_osds_serves_make_no_access_for_data(pool: str) -> None:
    spec = ceph(f"pools.data={pool}", "osd.cache.size=1GiB", "stored.objects=1e6")
    plain = ceph(f"pools.data={pool}", "stored.objects=1e6")
    ops = ["GET", "GET", "PUT", "GET", "GET"]
    arrival_s = np.arange(5) * 10.0
    trace = trace_of(ops, ["a"] * 5, size_bytes=1 << 20, arrival_s=arrival_s)
    latency_s, usual_s = (
        compiled_engine.run(Program.of(*compile_spec(each, trace), 0)).end_s - arrival_s for each in (spec, plain)
    )
    miss, hit, put, after_put, again = usual_s - latency_s
    assert [miss, put, after_put] == pytest.approx([0, 0, 0])
    assert [hit, again] == pytest.approx([READ, READ])


def test_each_gateway_has_a_cache_of_its_own():
    spec, ops = ceph("gateways.count=2", "gateways.cache.size=1GiB"), ["GET"] * 4 + ["PUT"] + ["GET"] * 3
    arrival_s = np.arange(8) * 10.0
    trace = trace_of(ops, ["a"] * 8, arrival_s=arrival_s)
    latency_s = compiled_engine.run(Program.of(*compile_spec(spec, trace), 0)).end_s - arrival_s
    miss_s, hit_s = 2 * HOP + CPU["GET"] + 2 * HOP + READ_CPU + READ, 2 * HOP + CPU["GET"]
    assert latency_s[[0, 1, 5, 6]] == pytest.approx([miss_s] * 4)
    assert latency_s[[2, 3, 7]] == pytest.approx([hit_s] * 3)


def test_what_a_gateway_has_does_not_reach_the_caches_of_osds():
    spec = ceph("gateways.cache.size=4KiB", "osd.cache.size=1GiB")
    trace = trace_of(["GET"] * 5, list("aabab"))
    network, requests = compile_spec(spec, trace)
    names = [network.routes[route].name for route in requests.route]
    assert names == ["GET", "GET cached at gateway", "GET", "GET cached", "GET cached"]


def test_a_cache_of_osds_has_a_size_or_a_hit_ratio() -> None:
    with pytest.raises(InputError, match=r"osd\.cache: hit_ratio: size"):
        ceph("osd.cache.size=1GiB", "osd.cache.hit_ratio=0.5")


def test_reads_that_a_cache_serves_do_not_wait_for_writes():
    """Of 1,000 reads, 999 pass by the hard disks, which PUTs keep busy for more than half of the time."""
    latency_ms = []
    for warm in (0.999, 1.0):
        spec = ceph(
            "hosts.count=2", "hosts.drives=2", "pools.data=replica 2", "pools.index_replicas=2", "device=hdd-7k2",
            'db={"device": "nvme"}', f"osd.cache.hit_ratio={warm}", "workload.rate=640", "workload.operations=2000",
            "workload.object_size=256KiB", "workload.mix={GET: 0.5, PUT: 0.5}",
        )  # fmt: skip
        run = simulate(spec, seed=1)
        latency_ms.append(np.percentile(1000 * run.latency_s[run.op == GET], [50, 99]))
    assert latency_ms[0] == pytest.approx(latency_ms[1], rel=0.1)
