"""The field `network.queue` of all stores: the queue before each link of limited bandwidth."""

from __future__ import annotations

import pytest

from models.network.discipline import Discipline
from models.shared.links import QUEUED_BYTES
from models.store import compile_spec, load_spec
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
