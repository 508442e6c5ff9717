"""JuiceFS over each of the stores: both engines, queueing theory, buffers, the data's way, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.juicefs import presets
from models.juicefs.files import OPERATIONS
from models.juicefs.metadata import READS, rounds
from models.store import compile_spec, spec_of, store_of
from sim.analysis.check import check
from sim.simulate import simulate
from tests.models.below.test_blocks import STORES
from tests.models.juicefs.test_counts import DISK, MIB, juicefs, outcome_of, requests
from traces.errors import InputError
from traces.operations import FILE
from traces.spec.spec_file import override
from traces.workload.generate import generate

WORKLOAD: dict[str, Any] = {
    "rate": "60/s", "operations": 60,
    "object_size": {
        "kind": "mixture",
        "components": [
            {"weight": 1, "size": "100MiB"}, {"weight": 4, "size": {"kind": "lognormal", "mean": "2MiB", "cv": 1}},
        ],
    },
    "mix": {"GET": 3, "PUT": 3, "HEAD": 1, "DELETE": 1, "LIST": 1},
    "keys": {"kind": "uniform", "count": 30},
}  # fmt: skip
ACCESS: dict[str, list[str]] = {
    "mount": [],
    "mounts": ["mounts.count=3", "cache.size=64MiB", "cache.read={per_byte: 1ns}", "metadata.preset=postgresql"],
    "write-back": ["cache={writeback: true, write: {per_byte: 1ns}}", "metadata.preset=sqlite"],
    "gateway": ["access=gateway", "network.latency=0.2ms", "client.nic=10Gbit/s", "below.client.nic=10Gbit/s"],
    "gateways": [
        "access=gateway", "mounts.count=2", "client.machines=3", "client.nic=10Gbit/s", "metadata.preset=tikv",
        "client.multipart={threshold: 8MiB, part_size: 8MiB}", "client.cpu={PUT: 0.1ms}", "client.cores=4",
        "network.latency=0.2ms",
    ],
}  # fmt: skip


def layered(below: str, *assignments: str) -> Any:
    """The spec of a JuiceFS over one of the stores."""
    data = {
        "store": "juicefs", "workload": WORKLOAD, "below": STORES[below],
        "mounts": {"cores": 4, "cpu": {"GET": {"constant": "50us", "per_byte": "0.5ns"}, "PUT": {"per_byte": "1ns"}}},
        "metadata": {"preset": "redis", "latency": "0.1ms"},
    }  # fmt: skip
    large = ["below.blobs.max_size=8MiB"] if below == "bob" else []
    return spec_of(override(data, [*large, *assignments]), "test")


@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("below", STORES)
def test_both_engines_agree(below, access):
    mix = ["workload.mix={GET: 3, PUT: 3, HEAD: 1, DELETE: 1}"] if below == "bob" else []
    spec = layered(below, *ACCESS[access], *mix)
    outcome, program = outcome_of(spec, generate(spec.workload, 1))
    assert np.isfinite(outcome.end_s).all()
    pools = [k for k, station in enumerate(program.network.stations) if station.role == "uploads"]
    assert outcome.visits[pools].sum() > 0


# Queueing theory


def test_redis_serves_one_command_at_a_time():
    """A STAT without cached attributes has four commands of 50 us: GET, and a script with two more."""
    closed = ["workload.rate=null", "workload.clients=40", "workload.operations=8000", "workload.mix={HEAD: 1}"]
    run = simulate(layered("minio", *closed, "attributes.lifetime=0s", "metadata.command=50us"), seed=1)
    assert len(run) / run.column("end_s").max() == pytest.approx(1 / (4 * 50e-6), rel=0.01)


def test_statements_of_sql_are_served_side_by_side():
    """A look-up and an attribute are two statements of 50 us; with four at a time, as many clients do not wait."""
    closed = ["workload.rate=null", "workload.clients=4", "workload.operations=400", "workload.mix={HEAD: 1}"]
    sql = ["metadata={engine: sql, servers: 4, command: 50us}", "attributes.lifetime=0s"]
    assert simulate(layered("minio", *closed, *sql), seed=1).latency_s == pytest.approx(100e-6, rel=1e-6)


def test_uploads_limit_how_many_blocks_are_in_progress():
    """A disk that serves all at once takes 10 ms a block: 40 blocks take two rounds of 20, or ten of 4."""
    disk = DISK | {"disk": {"read": "0ms", "write": "10ms", "actuators": 1000}}
    put = requests([{"op": "PUT", "size": 160 * MIB}])
    for uploads, seconds in ((20, 0.02), (4, 0.1)):
        outcome, _ = outcome_of(juicefs(disk, f"blocks.uploads={uploads}", "metadata.latency=0s"), put)
        assert outcome.end_s[0] == pytest.approx(seconds, rel=1e-6)


def test_a_sync_waits_for_all_that_was_written_before():
    """Ten writes of a block end at once; one disk stores them in 10 x 10 ms, and the sync of their file waits."""
    disk = DISK | {"disk": {"read": "0ms", "write": "10ms"}}
    size = 400 * MIB
    writes = [{"op": "WRITE", "size": size, "start": 4 * MIB * k, "length": 4 * MIB, "at": 0.0} for k in range(10)]
    rows = [*writes, {"op": "FSYNC", "size": size, "at": 0.0}, {"op": "FSYNC", "key": "another", "at": 0.0}]
    outcome, _ = outcome_of(juicefs(disk, "metadata.latency=0s"), requests(rows))
    assert outcome.end_s[:10].max() == 0
    assert outcome.end_s[10] == pytest.approx(0.1, rel=1e-6)
    assert outcome.end_s[11] == 0


def test_syncs_of_files_with_one_hash_do_not_block_each_other():
    """More files than rows of the table of files: all syncs end, each when its own blocks are stored or later."""
    disk, files = DISK | {"disk": {"read": "0ms", "write": "1ms"}}, 200
    rows = [
        {"op": op, "key": str(k), "size": 8 * MIB, "start": 0, "length": 4 * MIB, "at": 0.0}
        for op in ("WRITE", "FSYNC") for k in range(files)
    ]  # fmt: skip
    outcome, _ = outcome_of(juicefs(disk, "metadata.latency=0s"), requests(rows))
    assert np.isfinite(outcome.end_s).all()
    assert outcome.end_s.max() == pytest.approx(files * 1e-3, rel=1e-6)


def test_writes_wait_for_a_full_buffer():
    """A buffer of 8 blocks, and a disk that stores one in 10 ms: the ninth write waits for the first block."""
    disk = DISK | {"disk": {"read": "0ms", "write": "10ms"}}
    rows = [{"op": "WRITE", "size": 400 * MIB, "start": 4 * MIB * k, "length": 4 * MIB, "at": 0.0} for k in range(10)]
    outcome, _ = outcome_of(juicefs(disk, "blocks.buffer=32MiB", "metadata.latency=0s"), requests(rows))
    assert outcome.end_s[:10].tolist() == pytest.approx([0] * 8 + [0.01, 0.02], abs=1e-9)


def test_write_back_ends_when_the_local_disk_has_the_blocks():
    disk = DISK | {"disk": {"read": "0ms", "write": "10ms"}}
    spec = juicefs(disk, "metadata.latency=0s", "cache={writeback: true, write: 1ms}")
    outcome, program = outcome_of(spec, requests([{"op": "PUT", "size": 8 * MIB}]))
    assert outcome.end_s[0] == pytest.approx(1e-3, rel=1e-6)
    (disk_at,) = (k for k, station in enumerate(program.network.stations) if station.role == "disk")
    assert outcome.visits[disk_at] == 2


def test_sequential_reads_have_the_read_ahead_in_progress():
    """64 blocks of 10 ms: four two at a time, then eight at a time."""
    disk = DISK | {"disk": {"read": "10ms", "write": "0ms", "actuators": 1000}}
    outcome, _ = outcome_of(juicefs(disk, "metadata.latency=0s"), requests([{"op": "GET", "size": 256 * MIB}]))
    assert outcome.end_s[0] == pytest.approx(0.02 + np.ceil(60 / 8) * 0.01, rel=1e-6)


def test_bytes_cross_the_network_of_a_gateway_twice():
    """A NIC of 100 MB/s in each direction: 100 MB come in and go out at the same time; another client's leave it."""
    nic = [
        "access=gateway",
        "below.client.nic=100MB/s",
        "below.network.payload_fraction=1",
        "workload.mix={PUT: 1}",
        "workload.operations=1",
    ]
    run = simulate(layered("minio", *nic, "workload.object_size=100MB", "mounts.cpu={}"), seed=1)
    found = {row["name"]: row["utilization"] * run.duration_s for row in run.stations.to_pylist()}
    assert found["client down"] == pytest.approx(1, rel=0.01)  # from the client to the gateway
    assert found["client up"] == pytest.approx(1, rel=0.05)  # from there to MinIO
    assert run.latency_s[0] == pytest.approx(1.1, abs=0.15)


def test_metadata_in_another_zone_costs_its_rounds():
    near, far = (
        simulate(layered("minio", "workload.mix={PUT: 1}", f"metadata.latency={latency}"), seed=1).latency_s.min()
        for latency in ("0.1ms", "1.1ms")
    )
    assert far - near >= 9 * 2e-3


@pytest.mark.parametrize("name", presets.engines())
def test_each_engine_has_rounds_for_all_operations(name):
    engine = presets.engines()[name].values["engine"]
    every = READS | {"mknod", "mkdir", "write", "setattr", "unlink", "rename", "copy", "usage", "purge", "heartbeat"}
    for operation in every:
        found = rounds(engine, operation)
        assert found and any(each.commits for each in found) == (operation not in READS and len(found) > 1 and (
            engine != "redis" or operation not in ("usage", "heartbeat")
        ))  # fmt: skip


# What a spec may not have, and what it needs


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("below.client.machines=3", r"below\.client\.machines: is 3; the clients of the store below are the mounts"),
        ("faults=[{kind: slow_mount, mount: 1, at: 1s, speed: 0.5}]", r"faults\.0\.mount: there is no mount 1"),
        ("client.placement=storage_hosts", r"client\.placement: clients on storage hosts are not modelled"),
        ("client.multipart={}", r"client\.multipart: is not modelled for mounts of JuiceFS"),
    ],
)
def test_what_is_not_possible_is_refused(assignment, message):
    with pytest.raises(InputError, match=message):
        layered("minio", assignment)


def test_gateways_serve_no_file_operations():
    spec = layered("minio", "access=gateway")
    with pytest.raises(
        InputError, match="has OPEN, READ; gateways of JuiceFS serve GET, PUT, HEAD, DELETE, LIST, COPY"
    ):
        compile_spec(spec, requests([{"op": "OPEN"}, {"op": "READ"}]))
    assert set(FILE) < set(OPERATIONS)


def test_the_time_of_a_command_must_be_given():
    spec = layered("minio", "metadata={engine: redis}")
    with pytest.raises(InputError, match=r"metadata\.command.*not given"):
        compile_spec(spec, generate(spec.workload, 1))


def test_doubts_are_told():
    spec = layered("minio", "metadata={preset: sqlite}", "mounts.count=2")
    assert "a file of one machine" in {d.path: d.text for d in check(spec, []).doubts}["metadata.engine"]
    spec = layered("minio", "metadata={preset: redis, memory: 16GB, files: 1e9}")
    assert "1e+09 files take 455 GB" in {d.path: d.text for d in check(spec, []).doubts}["metadata.memory"]


# Capabilities of both


@pytest.mark.parametrize(
    ("fault", "held_s"),
    [
        ("{kind: metadata_down, at: 1s, back_at: 3s}", 2.0),
        ("{kind: slow_metadata, at: 1s, until: 3s, speed: 0.001}", 0.02),
    ],
)  # fmt: skip
def test_operations_wait_for_the_engine(fault, held_s):
    few = ["workload.mix={HEAD: 1}", "workload.rate=5/s", "workload.operations=25", "workload.arrivals=constant"]
    run = simulate(layered("minio", *few, f"faults=[{fault}]"), seed=1)
    arrival_s = run.column("arrival_s")
    during, before = (arrival_s > 1) & (arrival_s < 3), arrival_s < 1
    assert run.latency_s[during].max() > 0.8 * held_s
    assert run.latency_s[before].max() < 5e-3
    assert not run.failed.any()


def test_operations_fail_if_the_engine_does_not_come_back():
    few = ["workload.mix={HEAD: 1}", "workload.rate=5/s", "workload.operations=25", "attributes.lifetime=0s"]
    run = simulate(layered("minio", *few, "faults=[{kind: metadata_down, at: 2s}]"), seed=1)
    assert run.failed.tolist() == (run.column("arrival_s") > 2).tolist()
    endless = ["workload.rate=null", "workload.clients=1", "metadata.latency=0s"]
    with pytest.raises(InputError, match="metadata_down makes requests fail, which takes no time"):
        layered("minio", *endless, "faults=[{kind: metadata_down, at: 2s}]")


def test_a_slow_mount_delays_its_clients_only():
    few = ["workload.mix={HEAD: 1}", "workload.rate=50/s", "workload.operations=100", "mounts.count=2"]
    slow = "faults=[{kind: slow_mount, mount: 1, at: 0s, speed: 0.01}]"
    run = simulate(layered("minio", *few, "mounts.cpu={HEAD: 50us}", slow), seed=1)
    assert run.latency_s[1::2].min() > 4e-3 > run.latency_s[::2].max()


def test_cpu_times_are_those_of_mounts_or_gateways_and_of_the_store():
    for access, side in (("mount", "client"), ("gateway", "server")):
        spec = layered(
            "minio", f"access={access}", "workload.mix={GET: 1}", "workload.object_size=16MiB", "cache.size=0"
        )
        cpu = store_of(spec).cpu
        assert cpu is not None
        found = cpu(spec, *compile_spec(spec, generate(spec.workload, 1)))
        expected = {"client": 4 * 0.2e-3, "server": 4 * 0.3e-3}
        expected[side] += 50e-6 + 0.5e-9 * 16 * MIB
        assert found == pytest.approx(expected, rel=1e-6)


def test_the_store_below_grows_by_blocks():
    spec = layered("ceph", "workload.mix={PUT: 1}", "workload.object_size=64MiB")
    growth = store_of(spec).growth
    assert growth is not None and growth.created_each(spec) == 16


def test_a_host_down_below_is_felt_by_files():
    """Clients of MinIO with retries reach another host; without, files fail as their blocks do."""
    down = ["below.faults=[{kind: host_down, at: 0s, host: 1}]", "workload.mix={PUT: 1}", "workload.operations=200"]
    failing, retried = (
        simulate(layered("minio", *down, *more), seed=1)
        for more in ([], ["below.client.retry={retries: 10, backoff: 10ms, jitter: 0}"])
    )
    assert failing.failed.any() and not retried.failed.any()


def test_uploads_to_a_store_that_was_killed_are_tried_again_after_5_and_14_seconds():
    few = ["workload.mix={PUT: 1}", "workload.rate=5/s", "workload.operations=60", "workload.arrivals=constant"]
    retry = "below.client.retry={retries: 10, backoff: 1s, growth: square, backoff_max: 100s, jitter: 0}"
    down = "below.faults=[{kind: host_down, at: 1s, back_at: 11s}]"
    run = simulate(layered("minio", *few, "below.hosts.count=1", "blocks.uploads=200", retry, down), seed=1)
    assert not run.failed.any()
    arrival_s = run.column("arrival_s")
    waits = np.round(run.latency_s)
    assert (waits[(arrival_s > 1.1) & (arrival_s < 5.9)] == 14).all()  # the attempt after 5 s comes too early
    assert (waits[(arrival_s > 6.1) & (arrival_s < 9.7)] == 5).all()


def test_operations_of_a_killed_mount_fail_until_it_is_mounted_again():
    """Clients use the mounts in turn, so every other operation is one of the mount that was killed."""
    few = ["workload.mix={HEAD: 1}", "workload.rate=10/s", "workload.operations=60", "workload.arrivals=constant"]
    fault = "faults=[{kind: mount_down, mount: 1, at: 1s, back_at: 3s}]"
    run = simulate(layered("minio", *few, "mounts.count=2", fault), seed=1)
    down = (run.column("arrival_s") > 1) & (run.column("arrival_s") < 3)
    assert 8 <= run.failed[down].sum() <= 12
    assert not run.failed[~down].any()
    with pytest.raises(InputError, match="mount_down makes requests fail, which takes no time"):
        layered("minio", "workload.rate=null", "workload.clients=1", fault, "mounts.count=2")
    with pytest.raises(InputError, match="there is no mount 1"):
        layered("minio", *few, fault)


def test_what_a_mount_has_in_progress_when_it_is_killed_fails():
    """The mount is killed, and mounted again only after the end of the upload."""
    few = ["workload.mix={PUT: 1}", "workload.rate=1/s", "workload.operations=1", "workload.object_size=512MiB"]
    alone = simulate(layered("minio", *few), seed=1)
    begin_s, end_s = alone.column("arrival_s")[0], alone.column("end_s")[0]
    for at_s, back_s, fails in ((begin_s + 0.01, end_s + 1, True), (end_s + 0.01, end_s + 1, False)):
        fault = f"faults=[{{kind: mount_down, at: {at_s}s, back_at: {back_s}s}}]"
        assert simulate(layered("minio", *few, fault), seed=1).failed.all() == fails
