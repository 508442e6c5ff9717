"""Hard disks of MinIO under load: times by mechanism, and the order in which a disk serves what waits."""

from __future__ import annotations

import pytest

from models.devices.devices import DEVICE_PRESETS
from models.minio.disk_order import with_disk_order
from models.minio.sections import Drives
from models.minio.spec import MinioSpec
from models.store import spec_of
from sim.simulate import simulate
from traces.statistics.summary import latencies
from traces.workload.generate import generate

DISK = DEVICE_PRESETS["hdd-7k2"].device.disk
assert DISK is not None


def cluster(drives: dict[str, object] | None = None, **workload: object) -> MinioSpec:
    data = {
        "store": "minio",
        "workload": {"operations": 2000, "object_size": "64KiB", "mix": {"GET": 1}, **workload},
        "hosts": {"count": 4, "cpu": {"GET": 1e-5, "PUT": 1e-5}},
        "drives": {"count": 2, "preset": "hdd-7k2"} | (drives or {}),
    }
    spec = spec_of(data, "spec")
    assert isinstance(spec, MinioSpec)
    return spec


def at_load(spec: MinioSpec) -> Drives:
    return with_disk_order(spec, generate(spec.workload, 0)).drives


def test_times_follow_from_the_mechanism():
    """A spec without preset, and one with it, which has the same disk."""
    spec = cluster({"preset": None, "disk": DISK.model_dump()})
    assert spec.drives.read == DISK.access("read") == cluster().drives.read
    assert spec.drives.commit == cluster().drives.commit
    assert spec.drives.commit.constant == pytest.approx(
        DISK.access("write").constant + 4096 / 129e6 + 1 / 120, rel=1e-3
    )


@pytest.mark.parametrize(
    ("workload", "depth"),
    [
        ({"clients": 1}, 1),
        ({"clients": 16}, 16 / 2.718),  # of 8 accesses, 8 / (1 + 1/2 + ... + 1/8) wait, on 8 drives
        ({"clients": 1000}, 32),
        ({"rate": 1}, 1),
        ({"rate": 1000}, 32),
    ],
)
def test_a_disk_chooses_among_the_accesses_that_wait(workload, depth):
    drives = at_load(cluster(**workload))
    assert drives.read.constant == pytest.approx(
        DISK.model_copy(update={"depth": depth}).access("read").constant, rel=1e-3
    )


def test_a_disk_that_serves_in_order_has_the_times_of_one_access():
    spec = cluster({"reorder_depth": 1}, clients=1000)
    assert with_disk_order(spec, generate(spec.workload, 0)) is spec


def test_flash_and_given_commits_stay_as_they_are():
    flash = cluster({"preset": "nvme"}, clients=1000)
    assert at_load(flash) == flash.drives
    given = cluster({"commit": 0.02, "read": {"constant": 0.01}}, clients=1000)
    drives, many = at_load(given), DISK.model_copy(update={"depth": 32})
    assert drives.commit == given.drives.commit
    gain = many.access("read").constant / DISK.access("read").constant
    assert drives.read.constant == pytest.approx(0.01 * gain)
    assert at_load(cluster(clients=1000)).commit.constant < cluster().drives.commit.constant


def test_an_access_is_served_sooner_but_none_if_alone():
    def p50_s(depth: int, clients: int) -> float:
        spec = cluster({"reorder_depth": depth}, clients=clients, operations=500)
        return float(sorted(latencies(simulate(spec, seed=1), "GET"))[250])

    assert p50_s(32, 1) == p50_s(1, 1)
    assert p50_s(32, 64) < 0.7 * p50_s(1, 64)
