"""Changes of a MinIO cluster after which it may meet its objectives."""

from __future__ import annotations

from typing import Any

from models.minio.remedies import changes
from models.minio.spec.spec import MinioSpec
from models.shared.prices import cost
from models.store import spec_of
from traces.spec.spec_file import replaced


def cluster(**hosts: Any) -> dict[str, Any]:
    """Return a cluster of four drives per host."""
    return {
        "store": "minio",
        "workload": {"rate": 10, "duration": "1s", "object_size": "1MiB", "mix": {"GET": 1}},
        "hosts": {"preset": "epyc-2-cores", "cores": 16, **hosts},
        "drives": {"count": 4, "preset": "nvme"},
        "prices": {"host": 1000, "nic_gbit": 10},
    }


def changed(data: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the values that are tried, by path; each must be valid."""
    spec = spec_of(data, "it")
    assert isinstance(spec, MinioSpec)
    found: dict[str, list[Any]] = {}
    for change in changes(spec, spec):
        spec_of(replaced(data, change), "it")
        for path, value in change.items():
            found.setdefault(path, []).append(value)
    return found


def test_hosts_and_links_of_a_cluster():
    found = changed(cluster(count=4, nic="25Gbit/s", internode={"latency": "50us"}))
    assert found["hosts.nic"] == ["40Gbit/s", "50Gbit/s"]
    assert found["hosts.count"] == [8, 16]
    assert found["drives.count"] == [8, 16]


def test_one_host_stays_alone():
    found = changed(cluster(count=1))
    assert found.keys() == {"hosts.cores.count", "drives.count"}


def test_links_and_hosts_cost():
    data = cluster(count=4, nic="25Gbit/s", internode={"latency": "50us"})
    assert cost(spec_of(data, "it")) == 4 * (1000 + 25 * 10)
    assert cost(spec_of(replaced(data, {"hosts.nic": "50Gbit/s"}), "it")) == 4 * (1000 + 50 * 10)
    assert cost(spec_of(replaced(data, {"hosts.count": 8}), "it")) == 8 * (1000 + 25 * 10)
