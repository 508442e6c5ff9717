"""Erasure sets over hosts, as MinIO lays them out."""

from __future__ import annotations

import numpy as np
import pytest

from models.minio.spec.layout import Layout, default_parity, set_size
from models.store import spec_of
from tests.models.minio.test_compile import BASE
from traces.errors import InputError


@pytest.mark.parametrize(
    ("hosts", "drives", "size"),
    [
        (4, 4, 16),
        (6, 4, 12),
        (8, 8, 16),
        (32, 8, 16),
        (4, 2, 8),
        (3, 4, 12),
        (3, 2, 6),
        (2, 1, 2),
        (32, 1, 16),
        (5, 3, 15),
    ],
)
def test_set_sizes_are_those_of_minio(hosts, drives, size):
    assert set_size(hosts * drives, hosts) == size


@pytest.mark.parametrize(("hosts", "drives", "size"), [(4, 4, 16), (3, 4, 6), (32, 8, 16), (4, 2, 8)])
def test_each_set_has_as_many_drives_of_each_of_its_hosts(hosts, drives, size):
    layout = Layout(hosts, 1, drives, size, default_parity(size))
    assert sorted(layout.sets.ravel().tolist()) == list(range(hosts * drives))
    for row in layout.host_of(layout.sets):
        assert set(np.unique(row, return_counts=True)[1].tolist()) == {max(1, size // hosts)}


def test_hosts_vary_fastest_in_a_set():
    assert Layout(3, 1, 4, 6, 3).sets.tolist() == [[0, 4, 8, 1, 5, 9], [2, 6, 10, 3, 7, 11]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"hosts": {"count": 3}, "drives": {"count": 4}, "erasure": {"set_size": 8}},
            r"erasure\.set_size: 12 .* 3, 6, 12",
        ),
        (
            {"hosts": {"count": 17}, "drives": {"count": 1}},
            r"erasure\.set_size: 17 drives of 17 hosts allow no erasure",
        ),
        ({"hosts": {"count": 4, "racks": 5}}, r"hosts\.racks: is 5; 4 hosts allow at most as many"),
        ({"pools": [{"hosts": {"count": 17}}]}, r"pools\.0\.erasure\.set_size: 17"),
    ],
)
def test_layouts_that_minio_refuses_are_refused(change, said):
    with pytest.raises(InputError, match=said):
        spec_of({"store": "minio", "workload": BASE["workload"]} | change, "spec")


def test_releases_are_dates():
    def release(value) -> str:
        return spec_of({"store": "minio", "workload": BASE["workload"], "release": value}, "spec").release

    assert release("RELEASE.2025-07-23T15-54-02Z") == release("2025-07-23") == "2025-07-23"
    for wrong in ("latest", "2025-13-01", 7):
        with pytest.raises(InputError, match=r"release: .* is not a release"):
            release(wrong)


def test_the_default_parity_follows_the_release():
    drives = {"count": 16}
    for release, parity in (("2019-12-30", 8), ("2026-02-12", 4)):
        data = {"store": "minio", "workload": BASE["workload"], "drives": drives, "release": release}
        assert spec_of(data, "spec").layout.parity == parity


def test_a_moved_field_is_named():
    with pytest.raises(InputError, match=r"drives: parity is now in the section erasure"):
        spec_of({"store": "minio", "workload": BASE["workload"], "drives": {"parity": 1}}, "spec")
    with pytest.raises(InputError, match=r"host: unknown field of a minio spec; did you mean hosts"):
        spec_of({"store": "minio", "workload": BASE["workload"], "host": {}}, "spec")
