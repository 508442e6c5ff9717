"""Ceph clusters of real devices: what a full, a spilled or a cold one does to requests, and any cluster at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.main import main
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.releases import RELEASES
from models.ceph.spec.spec import CephSpec
from models.devices.devices import PRESETS
from models.store import compile_spec, spec_of
from sim.analysis.bounds import bounds
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.ceph_clusters import alone, ceph, compiled, latency_s, of_role
from tests.profiles import random_examples
from tests.sim.engine.test_engines import assert_identical
from traces.errors import InputError
from traces.trace import Pacing
from traces.workload.generate import generate

HDD = ("device=hdd-7k2", 'db={"device": "optane", "size": "80GB"}')
KIB, MIB = 1 << 10, 1 << 20


def simulated(spec: CephSpec) -> tuple[Outcome, float]:
    """A run of the spec's own workload, and its throughput in requests a second."""
    outcome = compiled_engine.run(Program.of(*compile_spec(spec, generate(spec.workload, 0)), 0))
    return outcome, len(outcome.end_s) / float(np.nanmax(outcome.end_s))


# Devices


@pytest.mark.parametrize(("name", "iops"), [("nvme", 540_000), ("nvme-p3700", 460_000), ("optane", 550_000)])
def test_drive_gives_the_reads_of_its_data_sheet(name, iops):
    spec = ceph(f"device={name}")
    network, _ = compiled(spec, "GET")
    outcome = alone(spec, "GET")
    drive = next(station for station in network.stations if station.role == "drive")
    busy_s = of_role(network, outcome.busy_s, "drive")
    assert drive.servers / busy_s == pytest.approx(iops, rel=1e-6)


def test_read_of_an_idle_drive_takes_its_published_latency():
    at_once = ceph('device={"read": 0, "write": 0, "capacity": "1TB"}')
    assert latency_s(ceph("device=nvme"), "GET") - latency_s(at_once, "GET") == pytest.approx(85e-6, rel=1e-3)


def test_small_put_is_faster_than_small_get_on_hard_disks_with_flash_for_metadata_and_slower_on_flash():
    cpu = ("gateways.cpu.GET=1ms", "gateways.cpu.PUT=1ms", "stored.objects=50000000", "osd.read_depth=1")
    disks, flash = ceph(*HDD, "pools.data=ec 4+2", *cpu), ceph("device=nvme", "pools.data=ec 4+2", *cpu)
    assert latency_s(disks, "PUT", 64 * KIB) < 0.5 * latency_s(disks, "GET", 64 * KIB)
    assert latency_s(flash, "PUT", 64 * KIB) > latency_s(flash, "GET", 64 * KIB)


def test_larger_put_on_hard_disks_waits_for_them():
    spec = ceph(*HDD, "release=quincy", "stored.objects=50000000")
    deferred_s, direct_s = (latency_s(spec, "PUT", size) for size in (60 * KIB, 64 * KIB))
    assert direct_s > deferred_s + 2e-3


def test_a_write_waits_for_the_slowest_commit_of_its_replicas():
    # The mean of the slowest of three commits; none is slower if each takes the same time.
    light = (
        "workload.clients=1",
        "workload.think_time=1s",
        "workload.operations=2000",
        'workload.mix={"PUT": 1}',
        "device.flush=100ms",
    )
    equal, varied = (simulated(ceph(*light, f"osd.commit_cv={cv}"))[0] for cv in (0, 0.3))
    equal_s, varied_s = ((run.end_s - run.start_s) for run in (equal, varied))
    assert np.quantile(equal_s, 0.9) < 1.03 * np.quantile(equal_s, 0.1)
    assert 1.2 < varied_s.mean() / equal_s.mean() < 1.35


def test_limit_of_deferred_writes_is_the_releases():
    sizes = (32 * KIB, 33 * KIB, 60 * KIB, 64 * KIB)
    assert [CostFunctions(ceph(*HDD, "release=luminous"), size).is_deferred(size) for size in sizes] == [1, 0, 0, 0]
    assert [CostFunctions(ceph(*HDD, "release=quincy"), size).is_deferred(size) for size in sizes] == [1, 1, 1, 0]
    assert not any(CostFunctions(ceph("device=nvme", "release=quincy"), size).is_deferred(size) for size in sizes)


# State


def latencies_s(op: str, *assignments: str, objects: tuple[float, ...]) -> list[float]:
    """Return it for one request of 64 KiB, on a cluster with this number of objects."""
    return [latency_s(ceph(*HDD, *assignments, f"stored.objects={count}"), op, 64 * KIB) for count in objects]


def test_put_gets_slower_once_metadata_spill():
    # 16 OSDs, 3 shards an object, 2050 bytes each: L3 does not fit into 80 GB, so what is beyond some 30 GB spills.
    release = "release=luminous"
    before, after, later = (
        CostFunctions(ceph(*HDD, release, f"stored.objects={n}"), 64 * KIB) for n in (2e7, 2e8, 3e8)
    )
    assert before.state.spilled_bytes == 0 < after.state.spilled_bytes < later.state.spilled_bytes
    young, old, older = latencies_s("PUT", release, objects=(2e7, 2e8, 3e8))
    assert young < old < older


def test_get_gets_slower_as_onodes_leave_the_cache_and_reads_go_to_the_disks():
    flat = latencies_s("GET", "release=luminous", objects=(0, 1e6))
    assert flat[0] == pytest.approx(flat[1], rel=0.05)
    spilled = latencies_s("GET", "release=luminous", objects=(2e7, 3e8))
    assert spilled[1] > spilled[0] + 1e-3
    recent = latencies_s("GET", "release=luminous", "stored.working_set=1e5", objects=(3e8,))[0]
    assert recent < spilled[1] - 1e-3
    hits = "osd.cache.hit_ratio=0.75"
    warm = latencies_s("GET", "release=luminous", "stored.working_set=1e5", hits, objects=(3e8,))[0]
    assert warm < 0.6 * recent


def test_filestore_reads_collapse_as_inodes_leave_the_cache():
    old = latencies_s("GET", "release=luminous", "osd.backend=filestore", objects=(1e6, 5e7))
    new = latencies_s("GET", "release=luminous", objects=(1e6, 5e7))
    assert old[1] > 2 * old[0]
    assert new[1] < 1.4 * new[0]  # seeks get longer


def test_compression_takes_cpu_and_saves_bytes():
    pool = 'bluestore.compression={"mode": "force", "ratio": 0.5}'
    plain, packed = ceph("device=nvme"), ceph("device=nvme", pool)
    for op in ("PUT", "GET"):
        network, _ = compiled(plain, op, MIB)
        busy = [alone(spec, op, MIB).busy_s for spec in (plain, packed)]
        cpu, drive = ([of_role(network, b, role) for b in busy] for role in ("osd host cpu", "drive"))
        assert cpu[1] > cpu[0]
        assert drive[1] < 0.6 * drive[0]


def test_tls_takes_cpu_of_the_gateway_only():
    plain, tls = ceph("device=nvme"), ceph("device=nvme", "gateways.tls=true")
    for op in ("GET", "PUT", "HEAD"):
        network, _ = compiled(plain, op)
        busy = [alone(spec, op).busy_s for spec in (plain, tls)]
        assert of_role(network, busy[1], "rgw cpu") > of_role(network, busy[0], "rgw cpu")
        assert of_role(network, busy[1], "osd host cpu") == of_role(network, busy[0], "osd host cpu")


# Cores of each of 48 gateways and requests per second, without TLS and with it (ceph.io 2025, part 3)
_PUBLISHED_TLS = {
    ("GET", 64 << 10): ((6.11, 137226), (6.37, 130089)), ("GET", 4 * MIB): ((3.19, 24088), (4.46, 23991)),
    ("PUT", 64 << 10): ((2.20, 75074), (2.45, 67013)), ("PUT", 4 * MIB): ((3.62, 14522), (6.19, 13913)),
}  # fmt: skip


@pytest.mark.parametrize(("op", "size"), _PUBLISHED_TLS)
def test_tls_takes_what_was_published_at_two_sizes(op, size):
    plain, tls = (ceph("device=nvme", f"gateways.tls={on}") for on in ("false", "true"))
    network, _ = compiled(plain, op, size)
    model = [of_role(network, alone(spec, op, size).busy_s, "rgw cpu") for spec in (plain, tls)]
    published = [48 * cores / rate_ops for cores, rate_ops in _PUBLISHED_TLS[op, size]]
    assert model[1] - model[0] == pytest.approx(published[1] - published[0], rel=0.05)


def test_encryption_of_objects_needs_cpu_and_a_key():
    plain, sse = ceph("device=nvme"), ceph("device=nvme", "gateways.sse=true", "gateways.key_request=7ms")
    for op, per_byte_s in (("GET", 0.15e-9), ("PUT", 1.2e-9)):
        network, _ = compiled(plain, op, 4 * MIB)
        outcomes = [alone(spec, op, 4 * MIB) for spec in (plain, sse)]
        cpu_s = [of_role(network, outcome.busy_s, "rgw cpu") for outcome in outcomes]
        assert cpu_s[1] - cpu_s[0] == pytest.approx(0.2e-3 + per_byte_s * 4 * MIB)
        assert outcomes[1].end_s[0] - outcomes[0].end_s[0] == pytest.approx(7e-3 + cpu_s[1] - cpu_s[0])


@pytest.mark.parametrize(
    ("protection", "op", "ends"),
    # Bytes that OSDs send or receive for each byte of the object.
    [
        ("replica 3", "PUT", 1 + 2 * 2), ("replica 3", "GET", 1),
        ("ec 4+2", "PUT", 1 + 2 * 5 / 4), ("ec 4+2", "GET", 1 + 2 * 3 / 4),
    ],
)  # fmt: skip
def test_secure_mode_takes_cpu_at_both_ends_of_each_transfer(protection, op, ends):
    plain, secure = (
        ceph("device=nvme", f"pools.data={protection}", f"network.secure={on}") for on in ("false", "true")
    )
    network, _ = compiled(plain, op, 4 * MIB)
    busy_s = [alone(spec, op, 4 * MIB).busy_s for spec in (plain, secure)]
    for role, expected in (("rgw cpu", 1), ("osd host cpu", ends)):
        more_s = of_role(network, busy_s[1], role) - of_role(network, busy_s[0], role)
        assert more_s == pytest.approx(expected * 4 * MIB * 0.3e-9, rel=1e-3)


# Throughput

_LOADED = (
    *HDD, "workload.clients=200", "workload.operations=6000", "hosts.count=3", "hosts.drives=1", "gateways.cores=1",
    "gateways.cpu.GET=10ms", "workload.object_size=64KiB", "workload.keys.count=100000", "stored.objects=10000000",
)  # fmt: skip


def test_gateways_scale_until_the_drives_are_busy():
    rate = {n: simulated(ceph(*_LOADED, f"gateways.count={n}"))[1] for n in (1, 2, 4, 16, 32)}
    assert rate[1] == pytest.approx(100, rel=0.05)
    assert rate[2] == pytest.approx(2 * rate[1], rel=0.05)
    assert rate[4] == pytest.approx(4 * rate[1], rel=0.08)
    assert rate[16] < 0.7 * 16 * rate[1]
    assert rate[32] == pytest.approx(rate[16], rel=0.1)


@pytest.mark.parametrize("op", ["GET", "PUT"])
@pytest.mark.parametrize(
    "assignments",
    [
        (*_LOADED, "gateways.count=1"),
        (*_LOADED, "gateways.count=32"),
        ("device=nvme", "workload.clients=100", "workload.operations=6000", "workload.object_size=1MiB",
         "hosts.nic=1GB/s", "client.nic=3GB/s"),
    ],
)  # fmt: skip
def test_throughput_keeps_the_bounds_that_follow_from_demands(op, assignments):
    spec = ceph(*assignments, f'workload.mix={{"{op}": 1}}')
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    limits = bounds(network, requests).throughput_ops
    outcome, rate = simulated(spec)
    assert limits.high is not None
    assert rate < 1.03 * limits.high
    assert rate > 0.6 * limits.high, "the bound is the bottleneck's, which 100 clients keep busy"
    servers = np.array([station.servers for station in network.stations])
    serving = [k for k, s in enumerate(network.stations) if s.role in ("drive", "rgw cpu", "network", "client network")]
    busy = outcome.busy_s[serving] / servers[serving] / outcome.clock_s
    assert 0.6 < busy.max() <= 1 + 1e-9


@pytest.mark.parametrize("op", ["GET", "PUT", "HEAD", "DELETE", "LIST"])
def test_least_response_without_simulation_is_that_of_an_idle_cluster(op):
    spec = ceph("pools.data=ec 4+2")
    network, requests = compiled(spec, op)
    least_s = bounds(network, replace(requests, pacing=Pacing("closed"))).response_s.low
    assert least_s == pytest.approx(latency_s(spec, op))


def test_gateway_refuses_whom_it_has_no_room_for():
    few = ("workload.clients=20", "workload.operations=200", "gateways.max_requests=2")
    assert not simulated(ceph(*few))[0].failure.any()
    refused = simulated(ceph(*few, "gateways.queue=4"))[0].failure > 0
    assert 0 < refused.sum() < 200


# Any cluster


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, object]:
    """Hardware as it comes, of which some cannot be."""
    protection = draw(st.sampled_from(["replica 1", "replica 2", "replica 3", "ec 2+1", "ec 4+2", "ec 8+3", "ec 2+4"]))
    flag = st.booleans()
    spec: dict[str, object] = {
        "store": "ceph",
        "release": draw(st.sampled_from(RELEASES)),
        "workload": {
            "clients": draw(st.integers(1, 64)),
            "operations": 200,
            "object_size": {"kind": "lognormal", "mean": draw(st.integers(1, 40 * MIB)), "cv": 1.5, "max": "40MiB"},
            "mix": {op: draw(st.integers(1, 5)) for op in ("GET", "PUT", "HEAD", "DELETE", "LIST")},
            "keys": {"kind": "uniform", "count": 500},
            "buckets": draw(st.integers(1, 20)),
        },
        "hosts": {
            "count": draw(st.integers(1, 12)), "drives": draw(st.integers(1, 24)), "cores": draw(st.integers(1, 64)),
        },
        "device": draw(st.sampled_from(sorted(PRESETS))),
        "gateways": {
            "count": draw(st.integers(1, 6)), "collocated": draw(flag), "cores": draw(st.integers(1, 8)),
            "tls": draw(flag), "frontend": draw(st.sampled_from(["beast", "civetweb"])),
            "threads": draw(st.integers(1, 4)),
            "balance": draw(st.sampled_from(["round_robin", "random", "least_outstanding", "power_of_two"])),
        },
        "osd": {
            "backend": draw(st.sampled_from(["bluestore", "filestore"])),
            "cache": {"hit_ratio": draw(st.sampled_from([0, 0.5]))},
        },
        "bluestore": {"deferred_batch_ops": draw(st.sampled_from([1, 2, 64]))},
        "filestore": {"flusher_ios": draw(st.sampled_from([1, 2, 500]))},
        "pools": {
            "data": protection, "index_replicas": draw(st.integers(1, 3)), "pg_num": draw(st.integers(1, 512)),
            "failure_domain": draw(st.sampled_from(["host", "osd"])), "fast_read": draw(flag),
        },
        "buckets": {"shards": draw(st.integers(1, 200))},
        "stored": {
            "objects": draw(st.sampled_from([0.0, 1e4, 1e6, 1e8, 1e10])), "churn": draw(st.sampled_from([0, 1])),
        },
    }  # fmt: skip
    if draw(flag):
        spec["db"] = {"device": draw(st.sampled_from(sorted(PRESETS))), "size": draw(st.integers(1, 1 << 38))}
    return spec


@given(clusters())
@random_examples(25, "TAILCAST_CLUSTERS")
def test_any_cluster_is_simulated_alike_on_both_engines_or_refused_in_one_line(data):
    try:
        spec = spec_of(data, "spec")
        network, requests = compile_spec(spec, generate(spec.workload, 1))
    except InputError as error:
        assert "\n" not in str(error)
        assert any(field in str(error) for field in ("pools.", "gateways.cores", "stored.objects")), error
        return
    program = Program.of(network, requests, 1)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    assert outcome.in_flight == 0
    assert np.isfinite(outcome.end_s).all()
    assert np.isfinite(outcome.busy_s).all()
    assert not outcome.held.any()


# Mistakes


@pytest.mark.parametrize(
    ("assignment", "field"),
    [
        ("release=bobtail", "release"),
        ("access=nfs", "access"),
        ("client.machines=0", "client.machines"),
        ("client.nic=-1", "client.nic"),
        ("network.latency=-1ms", "network.latency"),
        ("network.payload_fraction=2", "network.payload_fraction"),
        ("hosts.drives=0", "hosts.drives"),
        ("hosts.count=many", "hosts.count"),
        ("osd.backend=zfs", "osd.backend"),
        ("osd.read_depth=0", "osd.read_depth"),
        ("gateways.frontend=apache", "gateways.frontend"),
        ("gateways.cores=0", "gateways.cores"),
        ("gateways.cpu.COPY=1ms", "gateways.cpu"),
        ("device=floppy", "device"),
        ('db={"size": 0}', "db.size"),
        ("bluestore.min_alloc_size=0", "bluestore.min_alloc_size"),
        ("bluestore.compression.mode=sometimes", "bluestore.compression.mode"),
        ("filestore.split_multiple=0", "filestore.split_multiple"),
        ("rocksdb.levels=1", "rocksdb.levels"),
        ("pools.data=raid 5", "pools.data"),
        ("pools.data=ec 12+3", "pools.data"),
        ("pools.index_replicas=9", "pools.index_replicas"),
        ("pools.pg_num=0", "pools.pg_num"),
        ("pools.failure_domain=rack", "pools.failure_domain"),
        ("buckets.shards=0", "buckets.shards"),
        ("stored.objects=-1", "stored.objects"),
        ("osd.cache.hit_ratio=1.5", "osd.cache.hit_ratio"),
        ("stored.working_set=0", "stored.working_set"),
        ("racks=3", "racks"),
    ],
)
def test_mistake_is_named_with_its_field(assignment, field):
    with pytest.raises(InputError) as refused:
        ceph(assignment)
    assert field in str(refused.value)
    assert "\n" not in str(refused.value)


def test_mistake_ends_the_command_with_2(tmp_path, capsys):
    spec = tmp_path / "ceph.yaml"
    spec.write_text("store: ceph\nworkload: {operations: 10, object_size: 4KiB}\npools: {data: ec 40+2}\n")
    with pytest.raises(SystemExit) as ended:
        main(["simulate", str(spec)])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert str(spec) in said
    assert "pools.data" in said


def test_gateways_that_leave_no_cores_to_their_hosts_are_refused():
    with pytest.raises(InputError, match=r"gateways\.cores: 2 gateways of 8 cores .* at most 7 "):
        ceph("gateways.collocated=true", "gateways.count=16", "gateways.cores=8")


# block.db

SLOW_LOG = '"device": {"read": "0.1ms", "write": {"constant": "0.1ms", "per_byte": "100ns"}, "capacity": "800GB"}'


def put_on_db_s(spec: CephSpec) -> float:
    """Time of a PUT on devices of block.db: 2,000 log bytes for each of nine transactions, and compaction of three."""
    accesses = CostFunctions(spec, 4096).compaction_accesses
    compaction_s = sum(access.fraction * access.exclusive.constant for access in accesses if access.on == "db")
    return 9 * 2000 * 100e-9 + 3 * compaction_s


@pytest.mark.parametrize(("osds_per_device", "devices"), [(1, 8), (2, 4), (3, 4), (12, 2)])
def test_osds_of_a_host_share_devices_of_block_db(osds_per_device, devices):
    db = f'db={{{SLOW_LOG}, "osds_per_device": {osds_per_device}}}'
    spec = ceph("hosts.count=2", "hosts.drives=4", "pools.failure_domain=osd", db)
    network, _ = compiled(spec, "PUT")
    assert sum(station.role == "db device" for station in network.stations) == devices
    assert of_role(network, alone(spec, "PUT").busy_s, "db device") == pytest.approx(put_on_db_s(spec))


def test_a_shared_device_of_block_db_limits_puts():
    """Logs at 10 MB/s: a device for all four OSDs of a host gives a quarter of what a device for each gives."""
    ops = []
    for osds_per_device in (1, 4):
        db = f'db={{{SLOW_LOG}, "osds_per_device": {osds_per_device}}}'
        spec = ceph(
            "hosts.count=4", "hosts.drives=4", "hosts.cores=512", "gateways.count=8", "gateways.cores=64",
            "gateways.scales_to=64", "device=nvme", "workload.clients=2000", "workload.operations=20000",
            "osd.shards=1", "osd.threads_per_shard=16",
            "workload.mix={PUT: 1}", "workload.buckets=100", "osd.commit=1us", "osd.commit_member=1us", db,
        )  # fmt: skip
        ops.append(simulated(spec)[1])
    assert ops[1] == pytest.approx(4 / put_on_db_s(spec), rel=0.15)
    assert ops[0] / ops[1] > 2.5


def test_lookups_that_miss_the_caches_read_block_db():
    """A lookup of a cold object reads its onode, and filters, from block.db."""
    spec = ceph(f'db={{{SLOW_LOG}, "size": "2TB"}}', "stored.objects=2e9", "stored.object_size=4KiB")
    state = CostFunctions(spec, 4096).state
    assert state.spilled_bytes == state.slow_reads_per_lookup == 0
    missed = (1 - state.onode_hit_fraction) * state.fast_reads_per_lookup
    assert missed > 0.8
    network, _ = compiled(spec, "HEAD")
    assert of_role(network, alone(spec, "HEAD").busy_s, "db device") == pytest.approx(missed * 0.1e-3)
