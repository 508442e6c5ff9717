"""What helps a store of several hosts: faster links, and a proxy that leaves out hosts that are down."""

from __future__ import annotations

import pytest

from models.store import load_spec, store_of
from tests.paths import EXAMPLES

CLUSTERS = {
    "bob/cluster.yaml": ["hosts.nic"],
    "garage/three-nodes.yaml": ["hosts.nic"],
    "minio/nvme-8x8.yaml": ["hosts.nic"],
    "openio/cluster.yaml": ["gateways.nic", "hosts.nic"],
    "seaweedfs/cluster.yaml": ["hosts.nic"],
    "swift/cluster.yaml": ["proxies.nic", "hosts.nic"],
    "versitygw/nfs.yaml": ["hosts.nic"],
}


@pytest.mark.parametrize("example", CLUSTERS)
def test_faster_links_are_among_the_remedies_unless_there_is_no_limit(example):
    for nic, rates in (("1Gbit/s", ["10Gbit/s", "25Gbit/s"]), ("400Gbit/s", []), ("0", [])):
        spec = load_spec(EXAMPLES / example, [f"{path}={nic}" for path in CLUSTERS[example]])
        remedies = store_of(spec).remedies
        assert remedies is not None
        found = [change for change in remedies.changes(spec, spec) if change.keys() & set(CLUSTERS[example])]
        assert found == [{path: rate} for path in CLUSTERS[example] for rate in rates]


@pytest.mark.parametrize("example", ["garage/three-nodes.yaml", "minio/nvme-8x8.yaml", "seaweedfs/cluster.yaml"])
def test_a_proxy_is_tried_where_clients_go_on_using_a_host_that_is_down(example):
    spec = load_spec(EXAMPLES / example)
    for name, kind in store_of(spec).faults.items():
        if kind.refuses:
            assert {"balance": "proxy"} in kind.helps, name
