"""Cores of OSD hosts and gateways: their number and speed, and hyper-threads."""

from __future__ import annotations

import pytest

from models.store import spec_of
from tests.ceph_clusters import alone, ceph, compiled, latency_s, of_role
from traces.errors import InputError
from traces.spec.spec_file import override

_OWN = ("gateways.cores.count=4",)
_ON_HOSTS = ("gateways.collocated=true", "gateways.count=8", "gateways.cores=4")


@pytest.mark.parametrize("op", ["GET", "PUT", "LIST"])
@pytest.mark.parametrize(
    ("assignments", "hosts", "gateways"),
    [
        ((*_OWN, "hosts.cores.speed=2"), 2, 1),
        ((*_OWN, "gateways.cores.speed=0.5"), 1, 0.5),
        ((*_ON_HOSTS, "hosts.cores.speed=2"), 2, 2),  # they run on the cores of the hosts
        ((*_ON_HOSTS, "gateways.cores.speed=2"), 1, 1),
    ],
)
def test_cpu_times_are_those_of_the_cores_speed(assignments, hosts, gateways, op):
    plain, fast = ceph(*(one for one in assignments if "speed" not in one)), ceph(*assignments)
    network, _ = compiled(plain, op)
    busy_s = [alone(spec, op).busy_s for spec in (plain, fast)]
    for role, speed in (("osd host cpu", hosts), ("rgw cpu", gateways)):
        assert of_role(network, busy_s[1], role) == pytest.approx(of_role(network, busy_s[0], role) / speed)
    assert (latency_s(fast, op) == latency_s(plain, op)) == (hosts == gateways == 1)


def test_hyper_threads_add_a_part_of_a_core():
    spec = ceph("hosts.cores={count: 16, threads_per_core: 2, thread_gain: 25%}")
    cores = {station.role: station.servers for station in compiled(spec, "GET")[0].stations}
    assert cores["osd host cpu"] == 8 + 2
    assert cores["rgw cpu"] == 8, "gateways have hosts of their own"
    spec = ceph("hosts.cores={count: 32, threads_per_core: 2}", *_ON_HOSTS)
    cores = {station.role: station.servers for station in compiled(spec, "GET")[0].stations}
    assert (cores["osd host cpu"], cores["rgw cpu"]) == (round(28 / 2 * 1.25), round(4 / 2 * 1.25))


def test_bare_number_is_the_count_and_keeps_the_rest():
    data = override({"hosts": {"cores": {"count": 8, "speed": 2}}, "gateways": {"cores": 4}}, ["hosts.cores=48"])
    assert data["hosts"]["cores"] == {"count": 48, "speed": 2}
    assert override(data, ["gateways.cores.speed=2"])["gateways"]["cores"] == {"count": 4, "speed": 2}
    assert override(data, ["gateways.cores=6"])["gateways"]["cores"] == 6
    assert override(data, ["hosts.cores={count: 2}"])["hosts"]["cores"] == {"count": 2}
    assert ceph("hosts.cores=48").hosts.cores.count == ceph("hosts.cores.count=48").hosts.cores.count == 48


def test_no_cores_are_refused():
    with pytest.raises(InputError, match=r"hosts\.cores: is 0"):
        spec_of({"store": "ceph", "workload": {"operations": 1, "object_size": 1}, "hosts": {"cores": 0}}, "spec")
