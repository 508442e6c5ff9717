from __future__ import annotations

from typing import get_args

import pytest

from models import store
from models.ceph.faults.faults import Fault as CephFault
from models.minio.spec.faults import Fault as MinioFault
from models.spec.field_paths import paths_of
from models.store import load_spec
from sim.capacity.growth import Growth, ObjectGrowth, UncertainNumber
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.spec.renamed_fields import MOVED, RENAMED
from validate.calibration.profile import FittedRun, Profile


def test_a_former_name_gets_one_line_with_the_present_one() -> None:
    for path, present in (
        ("events=[]", "faults"),
        ("hosts.wake=1us", "setup_time"),
        ("client.hedge.share=0.1", "budget"),
        ("hosts.cpu.GET.later_bytes=1", "later_byte_factor"),
        ("workload.ranges={share: 1, size: 1KiB}", "fraction"),
    ):
        with pytest.raises(InputError, match=f"is now called {present}$"):
            load_spec(EXAMPLES / "minio.yaml", [path])


@pytest.mark.parametrize(
    ("example", "former", "present"),
    [
        ("minio.yaml", "distribution=proxy", "is now balance"),
        ("minio.yaml", "hosts.requests_max=8", "is now called max_requests"),
        ("minio.yaml", "stored={objects: 1, bytes_each: 1}", "is now called object_size"),
        ("bob/cluster.yaml", "hosts.nodes=2", "is now called processes"),
        ("bob/cluster.yaml", "drives.cached=50%", r"is now hosts\.page_cache\.hit_ratio"),
        ("swift/cluster.yaml", "network.internal_latency=1ms", r"is now hosts\.internode\.latency"),
        ("swift/cluster.yaml", "faults=[{kind: link_down, avoided_after: 1s}]", "is now called detected_after"),
        ("ceph/two-groups.yaml", "stored.warm=0.5", r"is now osd\.cache\.hit_ratio"),
        ("ceph/two-groups.yaml", "osd.threads=16", r"is now osd\.shards and osd\.threads_per_shard"),
        ("ceph/two-groups.yaml", "distribution=proxy", "unknown field of a ceph spec"),
    ],
)
def test_each_thing_has_one_name_in_all_stores(example: str, former: str, present: str) -> None:
    with pytest.raises(InputError, match=f"{present}(;.*)?$"):
        load_spec(EXAMPLES / example, [former])


def test_present_paths_are_fields_and_former_ones_are_not() -> None:
    of_stores = [set(paths_of(store.store_named(name).Spec)) for name in store.MODULES]
    assert not any(set(MOVED) & paths for paths in of_stores)
    assert all(any(set(present.split(" and ")) <= paths for paths in of_stores) for present in MOVED.values())


def test_present_names_are_fields_and_former_ones_are_not() -> None:
    fields = {
        part for name in store.MODULES for path in paths_of(store.store_named(name).Spec) for part in path.split(".")
    }
    fields |= set(UncertainNumber.model_fields) | set(Growth.model_fields) | set(ObjectGrowth.model_fields)
    fields |= set(Profile.model_fields) | set(FittedRun.model_fields)
    kinds = get_args(get_args(MinioFault)[0]) + get_args(get_args(CephFault)[0])
    fields |= {name for kind in kinds for name in kind.model_fields}
    assert set(RENAMED.values()) <= fields
    assert not {path for path in RENAMED if "." not in path} & (fields - {"after"})
