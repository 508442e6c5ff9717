"""Client machines of every store: cores, NICs, placement."""

from __future__ import annotations

import numpy as np
import pytest

from models.store import compile_spec, load_spec, spec_of
from sim.simulate import simulate
from tests.paths import EXAMPLES
from tests.specs import minio
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.workload.generate import generate

OWN = ("client.placement=own", "workload.operations=400")
CEPH = {
    "store": "ceph",
    "workload": {"clients": 6, "operations": 400, "object_size": "1MiB", "mix": {"GET": 1, "PUT": 1}},
    "client": {"cpu": {"GET": "0.2ms", "PUT": "0.3ms"}},
    "hosts": {"count": 3, "drives": 2},
}


def ceph(*assignments):
    return spec_of(override(CEPH, assignments), "spec")


def of_minio(*assignments):
    return spec_of(minio(*OWN, *assignments), "spec")


def stations(run):
    return {row["name"]: row for row in run.stations.to_pylist()}


@pytest.mark.parametrize("spec", [of_minio, ceph])
def test_clients_stay_on_their_machine(spec):
    run = simulate(spec("workload.clients=5", "client.machines=2", "client.cores=4"))
    issued = np.bincount(run.column("client") % 2)
    assert [stations(run)[f"client {machine} cpu"]["visits"] for machine in range(2)] == issued.tolist()


def test_an_open_loop_uses_the_machines_in_turn():
    run = simulate(of_minio("workload.rate=300/s", "client.machines=4"))
    assert [stations(run)[f"client {machine} cpu"]["visits"] for machine in range(4)] == [100] * 4


def test_all_attempts_of_a_request_come_from_its_machine():
    run = simulate(
        of_minio("workload.clients=3", "client.machines=3", "client.timeout=0.7ms", "client.retry.retries=2")
    )
    assert run.column("attempts").max() > 1
    attempts = np.bincount(run.column("client"), run.column("attempts"))
    assert [stations(run)[f"client {machine} cpu"]["visits"] for machine in range(3)] == attempts.tolist()


@pytest.mark.parametrize("way", ["GET", "PUT"])
def test_a_transfer_takes_its_time_on_the_nic_of_the_client(way):
    sets = (
        f"workload.mix={{{way}: 1}}",
        "workload.object_size=1MB",
        "hosts.cpu.GET=1ms",
        "hosts.cpu.PUT=1ms",
        "client.cpu={}",
        "network.payload_fraction=1",
    )
    fast, slow = (simulate(of_minio(*sets, *more)) for more in ((), ("client.nic=100MB/s",)))
    np.testing.assert_allclose(slow.latency_s - fast.latency_s, 0.010, rtol=1e-6)
    used = "down" if way == "GET" else "up"
    assert stations(slow)[f"client {used}"]["visits"] == 400


def test_cores_twice_as_fast_halve_the_time_of_the_client():
    slow, fast = (of_minio(f"client.cores.speed={speed}").client.cpu_demand("GET") for speed in (1, 2))
    assert (slow.constant, slow.per_byte) == (2 * fast.constant, 2 * fast.per_byte)


def test_clients_without_a_number_of_cores_do_not_wait_for_them():
    assert "client cpu" not in stations(simulate(ceph()))
    one = stations(simulate(ceph("client.cores=1", "client.cpu={GET: 50ms, PUT: 50ms}")))
    assert one["client cpu"]["mean_queue"] > 1


@pytest.mark.parametrize("name", ["bob/one-host.yaml", "swift/criterion.yaml"])
def test_cpu_time_of_clients_needs_no_number_of_cores(name):
    short = ["workload.duration=null", "workload.operations=200"]
    first_s, longer_s = (
        np.median(simulate(load_spec(EXAMPLES / name, [*short, *more]), seed=1).latency_s)
        for more in ((), ("client.cpu={GET: 7ms, PUT: 7ms}",))
    )
    assert longer_s - first_s == pytest.approx(7e-3, rel=0.2)


def test_clients_on_storage_hosts_use_their_cores_and_nics():
    sets = ("client.placement=storage_hosts", "access=rados")
    own, shared = simulate(ceph("access=rados")), simulate(ceph(*sets))
    assert not any(name.startswith("client") for name in stations(shared))
    before, after = (sum(stations(run)[f"host {h} cpu"]["visits"] for h in range(3)) for run in (own, shared))
    assert after == before + 400


def test_local_transfers_use_no_nic():
    one = (
        "hosts.count=1",
        "pools.failure_domain=osd",
        "pools.data=replica 2",
        "pools.index_replicas=1",
        "access=rados",
    )
    run = simulate(ceph(*one, "client.placement=storage_hosts", "workload.mix={GET: 1}"))
    assert stations(run)["host 0 down"]["utilization"] == 0


HEDGED = ("client.hedge.after=2ms", "client.hedge.budget=1")


@pytest.mark.parametrize(
    "more",
    [
        ("client.machines=3", "client.cores=2", "client.nic=50MB/s"),
        ("client.machines=3", "client.nic=50MB/s", "workload.rate=200/s", *HEDGED),
        ("client.placement=storage_hosts",),
        ("hosts.count=4", "hosts.nic=50MB/s", "client.placement=storage_hosts"),
    ],
)
@pytest.mark.parametrize("spec", [of_minio, ceph])
def test_both_engines_agree(spec, more):
    spec = spec(*more, "workload.operations=150")
    a, b = (simulate(spec, engine=engine) for engine in ("compiled", "simpy"))
    assert a.requests.equals(b.requests)
    assert a.stations.equals(b.stations)


def test_a_single_machine_has_no_group():
    spec = of_minio("client.nic=1GB/s")
    network, _ = compile_spec(spec, generate(spec.workload, 0))
    assert not network.groups


@pytest.mark.parametrize(
    ("assignment", "field", "says"),
    [
        ("client.machines=0", "client.machines", "1"),
        ("client.cores.count=0", "client.cores.count", "1"),
        ("client.cores.speed=0", "client.cores.speed", "0"),
        ("client.placement=somewhere", "client.placement", "storage_hosts"),
        ("client.nic=-1", "client.nic", "0"),
        ("client.nodes=2", "client.nodes", "machines"),
        ("client.on_host=true", "client.on_host", "placement"),
    ],
)
@pytest.mark.parametrize("spec", [of_minio, ceph])
def test_mistake_is_named_with_its_field(spec, assignment, field, says):
    with pytest.raises(InputError) as refused:
        spec(assignment)
    (message,) = refused.value.messages
    assert f": {field}: " in message and says in message


@pytest.mark.parametrize("spec", [of_minio, ceph])
def test_a_host_that_fails_cannot_have_clients(spec):
    fault = ("hosts.count=4", "network.latency=1ms", "faults=[{kind: host_down, host: 1, at: 1s}]")
    assert spec(*fault)
    with pytest.raises(InputError, match=r"faults\.0\.kind: .*client\.placement"):
        spec(*fault, "client.placement=storage_hosts")


@pytest.mark.parametrize(
    "spec",
    [
        of_minio(
            "workload.clients=4",
            "drives.count=4",
            "faults=[{kind: drive_down, drive: 0, at: 0.05s}]",
            "client.machines=2",
            "network.latency=1ms",
        ),
        ceph("faults=[{kind: osd_down, osd: 0, at: 0.05s}]", "client.machines=2", "network.latency=1ms"),
        ceph("faults=[{kind: osd_down, osd: 0, at: 0.05s}]", "client.machines=2", "access=rados"),
    ],
    ids=["minio", "ceph", "rados"],
)
def test_machines_and_faults_go_together(spec):
    a, b = (simulate(spec, engine=engine) for engine in ("compiled", "simpy"))
    assert a.requests.equals(b.requests)
    parts = {"client cpu", "client network"} & {row["role"] for row in a.stations.to_pylist()}
    visits = [sum(r["visits"] for r in stations(a).values() if r["name"].startswith(f"client {m} ")) for m in (0, 1)]
    assert parts and min(visits) > 0
