"""Load balancers on the hosts of the gateways, as cephadm's ingress has them."""

from __future__ import annotations

import pytest

from tests.ceph_clusters import HOP, alone, ceph, compiled, latency_s, of_role

MIB = 1 << 20
NICS = ("hosts.nic=1GB/s", "gateways.nic=1GB/s", "network.payload_fraction=1", "client.nic=0")
ON_HOSTS = "gateways={collocated: true, count: 8, cores: 2, tcp_nodelay: true}"
INGRESS = "proxy={placement: gateway_hosts, cpu: 0}"


def network_s(spec, op: str, size: int) -> float:
    """Time of one request on the NICs of gateways and OSDs."""
    network, _ = compiled(spec, op, size)
    return of_role(network, alone(spec, op, size).busy_s, "network")


@pytest.mark.parametrize("op", ["GET", "PUT"])
@pytest.mark.parametrize("on_hosts", [True, False])
def test_bytes_pass_two_more_nics_unless_the_gateway_is_on_the_host(op, on_hosts):
    setting = (*NICS, ON_HOSTS if on_hosts else "gateways.count=8")
    more_s = network_s(ceph(*setting, INGRESS), op, MIB) - network_s(ceph(*setting), op, MIB)
    assert more_s == pytest.approx(2 * 7 / 8 * MIB / 1e9, rel=1e-6)


def test_one_gateway_has_its_load_balancer_on_its_host():
    setting = (*NICS, "gateways.count=1")
    one, none = (network_s(ceph(*setting, *proxy), "GET", MIB) for proxy in ((INGRESS,), ()))
    assert one == pytest.approx(none)


@pytest.mark.parametrize("op", ["HEAD", "DELETE", "LIST"])
def test_requests_without_a_body_take_a_hop_more(op):
    assert latency_s(ceph(INGRESS), op) - latency_s(ceph(), op) == pytest.approx(2 * HOP)


def test_stripes_pass_it_too():
    setting = (*NICS, ON_HOSTS)
    for op in ("GET", "PUT"):
        more_s = network_s(ceph(*setting, INGRESS), op, 12 * MIB) - network_s(ceph(*setting), op, 12 * MIB)
        assert more_s == pytest.approx(2 * 7 / 8 * 12 * MIB / 1e9, rel=1e-6)


def test_each_host_has_cores_for_it():
    def cores(*assignments: str) -> int:
        stations = compiled(ceph(*assignments), "GET")[0].stations
        (found,) = (station.servers for station in stations if station.role == "proxy cpu")
        return found

    assert cores(ON_HOSTS, "proxy={placement: gateway_hosts, cores: 4}") == 8 * 4
    assert cores(ON_HOSTS, "gateways.count=20", "proxy={placement: gateway_hosts, cores: 4}") == 8 * 4
    assert cores("gateways.count=3", "proxy={placement: gateway_hosts, cores: 4}") == 3 * 4
    assert cores("gateways.count=3", "proxy={cores: 4}") == 4


def test_transfers_of_the_host_take_its_dma():
    setting = (*NICS, ON_HOSTS, "hosts.dma_bandwidth=1GB/s")
    network, _ = compiled(ceph(*setting), "GET", MIB)
    plain, more = (alone(ceph(*setting, *proxy), "GET", MIB).busy_s for proxy in ((), (INGRESS,)))
    after, _ = compiled(ceph(*setting, INGRESS), "GET", MIB)
    dma_s = of_role(after, more, "host dma") - of_role(network, plain, "host dma")
    assert dma_s == pytest.approx(2 * 7 / 8 * MIB / 1e9, rel=1e-6)
