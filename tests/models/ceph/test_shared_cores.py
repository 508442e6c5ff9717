"""Daemons and clients that share the cores of a host, as on small clusters of one core a host."""

from __future__ import annotations

import pytest

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.given import unused
from models.shared.clients import ClientMachines
from sim.simulate import simulate
from tests.ceph_clusters import CPU, READ_CPU, alone, ceph, compiled, of_role
from traces.errors import InputError

MIB = 1 << 20
_ONE_CORE = (
    "hosts.count=1", "hosts.drives=2", "hosts.cores=1", "pools.failure_domain=osd", "pools.data=replica 2",
    "pools.index_replicas=1", "gateways.count=1", "gateways.collocated=true", "device.read=0.01ms",
    "workload.clients=8", "workload.operations=1000", "workload.mix={GET: 1}",
)  # fmt: skip
SHARED = (*_ONE_CORE, "gateways.cores=shared")


def rate(*assignments: str) -> float:
    run = simulate(ceph(*assignments))
    return len(run.requests) / float(run.column("end_s").max())


def test_one_core_serves_gateway_and_osd_together():
    """Cores of the gateway's own, which the host must have in addition, serve as many as the slower of both parts."""
    one_core_s = CPU["GET"] + READ_CPU
    assert rate(*SHARED) == pytest.approx(1 / one_core_s, rel=0.01)
    apart = rate(*_ONE_CORE, "hosts.cores=2", "gateways.cores=1")
    assert apart == pytest.approx(1 / CPU["GET"], rel=0.02)


def test_clients_on_a_host_take_its_core_from_the_daemons():
    client = ("client.placement=storage_hosts", "client.cpu={GET: 0.7ms}")
    assert rate(*SHARED, *client) == pytest.approx(1 / (CPU["GET"] + READ_CPU + 0.7e-3), rel=0.01)


_MACHINE = (
    "hosts.count=3", "hosts.drives=1", "hosts.cores={count: 2, shared: true}", "pools.data=replica 3",
    "gateways.count=2", "gateways.collocated=true", "gateways.cores=shared",
    "device.read=0.01ms", "device.write=0.01ms",
)  # fmt: skip
_CLIENT = ("client.placement=storage_hosts", "client.cpu={GET: 0.7ms, PUT: 0.7ms}")


def test_hosts_of_one_machine_have_its_cores_together():
    """Two cores serve gateways, OSDs and clients of three hosts, and machines of their own more."""
    load = ("workload.clients=24", "workload.operations=1500", "workload.mix={GET: 1}")
    reads = (*_MACHINE, *_CLIENT, *load)
    on_one = rate(*reads)
    assert on_one == pytest.approx(2 / (CPU["GET"] + READ_CPU + 0.7e-3), rel=0.02)
    assert rate(*reads, "hosts.cores={count: 2}") > 1.5 * on_one


def test_one_machine_has_one_station_of_cores():
    run = simulate(
        ceph(*_MACHINE, *_CLIENT, "workload.mix={GET: 70, PUT: 30}", "workload.operations=200", "workload.clients=4")
    )
    (cores,) = [row for row in run.stations.to_pylist() if row["role"] == "osd host cpu"]
    assert (cores["name"], cores["servers"]) == ("host cpu", 2)


@pytest.mark.parametrize("fault", ["", "{kind: gateway_down, gateway: 1, at: 1s}", "{kind: osd_down, osd: 1, at: 1s}"])
def test_both_engines_agree_on_one_machine(fault):
    load = ("workload.mix={GET: 70, PUT: 30}", "workload.rate=100/s", "workload.operations=300")
    spec = ceph(*_MACHINE, *_CLIENT, *load, f"faults=[{fault}]")
    a, b = (simulate(spec, engine=engine) for engine in ("compiled", "simpy"))
    assert a.requests.equals(b.requests)


def visits(run) -> list[int]:
    """Number of visits to the cores of each host."""
    found = {row["name"]: row["visits"] for row in run.stations.to_pylist()}
    return [found[f"host {h} cpu"] for h in range(8)]


@pytest.mark.parametrize("hosts", ["[0]", "[2]", "[1, 2]"])
def test_clients_run_on_the_named_hosts_only(hosts):
    named = ("client.placement=storage_hosts", f"client.hosts={hosts}", "client.cpu={GET: 10ms}", "workload.clients=4")
    own = simulate(ceph("workload.clients=4", "workload.operations=400", "workload.mix={GET: 1}"))
    run = simulate(ceph(*named, "workload.operations=400", "workload.mix={GET: 1}"))
    more = {h: visits(run)[h] - visits(own)[h] for h in range(8)}
    named_hosts = [int(h) for h in hosts.strip("[]").split(",")]
    assert more == {h: 400 / len(named_hosts) if h in named_hosts else 0 for h in range(8)}


@pytest.mark.parametrize(("hosts", "remote"), [("[0]", 0), ("[2]", 1), ("[0, 2]", 1 / 2), ("[0, 1, 2, 3]", 3 / 4)])
def test_transfers_between_clients_and_gateways_on_one_host_use_no_nic(hosts, remote):
    one = ("gateways.collocated=true", "gateways.count=1", "gateways.cores=shared", "hosts.nic=1GB/s")
    spec = ceph(*one, "client.placement=storage_hosts", f"client.hosts={hosts}")
    network, _ = compiled(spec, "GET", MIB)
    sent_s = of_role(network, alone(spec, "GET", MIB).busy_s, "network")
    once_s = MIB / 1e9 / spec.network.payload
    # Sent by the OSD to seven of eight gateways, by the gateway, and received by the client.
    assert sent_s == pytest.approx((7 / 8 + 2 * remote) * once_s, rel=1e-3)


def test_both_engines_agree_on_shared_cores():
    spec = ceph(*SHARED, "client.placement=storage_hosts", "client.cpu={GET: 0.7ms}", "workload.operations=100")
    a, b = (simulate(spec, engine=engine) for engine in ("compiled", "simpy"))
    assert a.requests.equals(b.requests)


@pytest.mark.parametrize("fault", ["{kind: gateway_down, gateway: 1,", "{kind: host_down, host: 1, peering: 0.1s,"])
def test_a_gateway_fails_without_the_osds_of_its_host(fault):
    """Requests to it fail until the load balancer detects it; all others are served as before."""
    cluster = ("gateways.collocated=true", "gateways.cores=shared", "gateways.count=8", "workload.operations=null")
    load = ("workload.rate=400/s", "workload.duration=20s", "workload.mix={GET: 50, PUT: 50}", "device.read=0.1ms")
    spec = ceph(*cluster, *load, f"faults=[{fault} at: 5s, back_at: 15s}}]", "device.write=0.1ms")
    a, b = (simulate(spec, engine=engine) for engine in ("compiled", "simpy"))
    assert a.requests.equals(b.requests)
    failed, start_s = a.column("status") != 200, a.column("start_s")
    assert not failed[(start_s < 4.9) | (start_s > 11.2)].any()
    detected = (start_s > 5) & (start_s < 11)
    assert failed[detected].mean() == pytest.approx(1 / 8, rel=0.2)


def test_shared_cores_have_no_number():
    assert {"gateways.cores.count", "gateways.scales_to"} <= set(unused(ceph(*SHARED), ["GET"]))
    assert "gateways.cores.count" not in unused(ceph(), ["GET"])


@pytest.mark.parametrize(
    ("assignments", "says"),
    [
        (("gateways.cores=shared",), r"gateways\.cores\.shared: requires gateways\.collocated"),
        (("hosts.cores.shared=true", "gateways.collocated=true"), r"gateways\.cores: must be shared"),
        (("hosts.groups={a: {count: 4, drives: 2, cores: {count: 4, shared: true}}}",),
         r"hosts\.cores\.shared: is for equal hosts"),
        (("hosts.cores.shared=true", "faults=[{kind: noisy_neighbour, host: 1, fraction: 0.5, at: 1s}]"),
         r"faults\.0\.kind: noisy_neighbour slows the cores of one host"),
        (("gateways.cores=none",), r"gateways\.cores"),
        (("client.hosts=[1]",), r"client: hosts: require placement storage_hosts"),
        (("client.placement=storage_hosts", "client.hosts=[8]"), r"client\.hosts: there is no host 8; .* 0 to 7"),
        (("client.placement=storage_hosts", "client.hosts=[1, 1]"), r"client: hosts: one is named twice"),
        (("client.placement=storage_hosts", "client.hosts=[]"), r"client\.hosts"),
    ],
)  # fmt: skip
def test_mistakes_are_named(assignments, says):
    with pytest.raises(InputError, match=says):
        ceph(*assignments)


def test_clients_use_all_hosts_by_default():
    assert ClientMachines(placement="storage_hosts").hosts_among(3) == (0, 1, 2)


def test_osds_that_take_a_device_for_a_hard_disk_have_the_defaults_of_one():
    """Small writes are deferred, as virtual disks on flash report themselves as rotational."""
    as_seen, as_is = (CostFunctions(ceph("release=tentacle", *more), 4096) for more in (("osd.device_class=hdd",), ()))
    assert as_seen.is_deferred(4096) and not as_is.is_deferred(4096)
    assert as_seen.drive.rotational is False
    assert not CostFunctions(ceph("device=hdd-7k2", "osd.device_class=ssd"), 4096).is_deferred(4096)
