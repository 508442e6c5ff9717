"""The network of all stores: the queue before each link of limited bandwidth, and the headers on it."""

from __future__ import annotations

import numpy as np
import pytest

from models.network.discipline import Discipline
from models.network.service_demand import NOTHING
from models.shared.links import QUEUED_BYTES
from models.shared.store_spec import Link
from models.store import compile_spec, load_spec
from sim.demands.service_demands import mean_demands
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.workload.generate import generate

SPECS = ("minio/homelab.yaml", "minio/two-pools.yaml", "ceph/box.yaml", "swift/box.yaml", "bob/cluster.yaml",
         "openio/cluster.yaml")  # fmt: skip
QUEUE = 1 << 20


def links(path: str, queue: int):
    spec = load_spec(EXAMPLES / path, [f"network.queue={queue}", "workload.operations=10", "workload.duration=null"])
    network, _ = compile_spec(spec, generate(spec.workload, 0))
    return [s for s in network.stations if "network" in s.role and s.discipline is Discipline.PROCESSOR_SHARING]


@pytest.mark.parametrize("path", SPECS)
def test_every_link_has_the_queue(path):
    found = [link for link in links(path, QUEUE) if link.queue_s]
    assert found
    for link in found:
        rate = QUEUE / link.queue_s
        assert link.queued_each_s == pytest.approx(QUEUED_BYTES / rate * link.servers)
    unlimited = {"network up", "network down"}
    assert {link.name for link in links(path, QUEUE)} - {link.name for link in found} <= unlimited


@pytest.mark.parametrize("path", SPECS)
def test_by_default_links_have_no_queue(path):
    assert not any(link.queue_s for link in links(path, 0))


def test_a_negative_queue_is_refused():
    with pytest.raises(InputError, match=r"network\.queue: -1 is negative; a size is at least 0"):
        load_spec(EXAMPLES / "minio/homelab.yaml", ["network.queue=-1"])


def link_s(path: str, fraction: float) -> tuple[float, float]:
    """The mean service time of the requests at links, and at all other stations."""
    changes = [f"network.payload_fraction={fraction}", "network.latency=0", "workload.operations=50"]
    spec = load_spec(EXAMPLES / path, [*changes, "workload.duration=null", "workload.object_size=1MiB"])
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    demands = mean_demands(network, requests)
    each_s = demands.fraction @ (demands.visits * demands.mean_s)
    of_links = np.array([each.discipline is Discipline.PROCESSOR_SHARING for each in network.stations])
    return float(each_s[of_links].sum()), float(each_s[~of_links].sum())


@pytest.mark.parametrize(
    "path",
    ["minio/homelab.yaml", "swift/cluster.yaml", "bob/cluster.yaml", "openio/cluster.yaml", "garage/three-nodes.yaml",
     "seaweedfs/cluster.yaml", "versitygw/nfs.yaml"],
)  # fmt: skip
def test_headers_take_their_part_of_every_link(path):
    whole, half = link_s(path, 1), link_s(path, 0.5)
    assert half[0] == pytest.approx(2 * whole[0], rel=1e-9) and half[0] > 0
    assert half[1] == pytest.approx(whole[1], rel=0.05)


def test_headers_follow_from_the_size_of_packets():
    assert Link().wire(1e9).per_byte == pytest.approx(1e-9 / (1448 / 1538))
    assert Link(mtu=9000).wire(1e9).per_byte == pytest.approx(1e-9 / (8948 / 9038))
    assert Link(payload_fraction=1).wire(1e9).per_byte == 1e-9
    assert Link().wire(0) == NOTHING
