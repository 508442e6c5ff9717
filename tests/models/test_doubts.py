"""What is probably not meant in a valid spec is found, and what is usual is not."""

from __future__ import annotations

from typing import Any

import pytest

from cli.parse.spec import described
from cli.tables.spec.origins import implausible_text
from models.basis.doubts import doubts
from models.spec.origins import origins_of
from models.spec.plausibility import implausible
from models.store import MODULES, spec_of, store_named
from tests.paths import EXAMPLES, SPECS
from tests.specs import minio
from traces.spec.spec_file import load_mapping, override

CEPH = load_mapping(EXAMPLES / "ceph" / "nvme-quincy.yaml")
BILLION = load_mapping(EXAMPLES / "ceph" / "billion-objects.yaml")
SWIFT = load_mapping(EXAMPLES / "swift" / "cluster.yaml")
BOB = load_mapping(EXAMPLES / "bob" / "one-host.yaml")
LAYER = load_mapping(EXAMPLES / "juicefs" / "mount.yaml")
HDDS = ["drives={count: 12, preset: hdd-7k2}", "stored={objects: 5e6, object_size: 500KB}"]


def found(data: dict[str, Any], *assignments: str) -> dict[str, str]:
    """The doubts about a spec by their paths."""
    changed = override(data, assignments)
    spec = spec_of(changed, "spec")
    return {doubt.path: doubt.text for doubt in doubts(spec, changed, origins_of(spec, changed, "spec"))}


@pytest.mark.parametrize(
    ("data", "assignments", "path", "text"),
    [
        (minio(*HDDS), ["scanner={}"], "scanner", "is off, because speed is not given"),
        (minio(*HDDS), ["scanner={cycles: 4}"], "scanner.cycles", "has no effect"),
        (minio(), ["release=2019-08-21"], "release", "is before 2021-04-06"),
        (minio(), ["release=2031-01-01"], "release", "is after"),
        (minio(), ["workload.mix={GET: 0.7, PUT: 30}"], "workload.mix.GET", "0.7 next to 30 is 2.28% of all"),
        (minio(), ["workload.mix={GET: 60%, PUT: 0.4}"], "workload.mix.PUT", "0.4 next to 60"),
        (
            minio(),
            ["workload.object_size={kind: mixture, components: [{weight: 80, size: 4KiB}, {weight: 0.2, size: 1MiB}]}"],
            "workload.object_size.components.1.weight",
            "0.2 next to 80",
        ),
        (
            minio(),
            ["workload.object_size={kind: histogram, edges: [1, 2, 3], weights: [70, 0.3]}"],
            "workload.object_size.weights.1",
            "0.3 next to 70",
        ),
        (minio(), ["hosts.nic=25GB/s"], "hosts.nic", "25 GB/s are 200 Gbit/s; did you mean 25Gbit/s?"),
        (minio(), ["hosts.nic=25GB"], "hosts.nic", "did you mean 25Gbit/s?"),
        (minio(), ["workload.mix={GET: 70%, PUT: 40%}"], "workload.mix", "its percentages are 110 % together"),
        (SWIFT, ["workload.mix={GET: 0.7%, PUT: 0.3%}"], "workload.mix", "its percentages are 1 % together"),
        (CEPH, ["hosts.cluster_nic=100GB/s"], "hosts.cluster_nic", "did you mean 100Gbit/s?"),
        (CEPH, ["client={nic: 40GB/s}"], "client.nic", "did you mean 40Gbit/s?"),
        (SWIFT, ["proxies.nic=10GB/s"], "proxies.nic", "did you mean 10Gbit/s?"),
        (BILLION, ["db.osds_per_device=6", "db.size=80GB"], "db.size", "6 of 80 GB do not fit on a device of 375 GB"),
        (
            BILLION,
            ["stored.objects=1e10", "buckets.shards=11", "workload.buckets=1", "device.capacity=100TB"],
            "buckets.shards",
            "each index shard has 909,090,909 entries, above 100,000; at least 100,000 shards have fewer",
        ),
        (
            BILLION,
            ["stored.objects=1e10", "buckets={shards: 11, resharding: {dynamic: false}}", "workload.buckets=1"],
            "buckets.shards",
            "at least 100,000 shards have fewer",
        ),
        (BILLION, ["stored.objects=1e10"], "stored.objects", "full"),
        (BILLION, ["stored.working_set=1e9"], "stored.working_set", "more than the 290,000,000 objects"),
        (CEPH, ["workload.object_size=6GiB"], "workload.object_size", "above the largest upload by one request"),
        (
            CEPH,
            ["workload.object_size=60TiB", "client.multipart={part_size: 5GiB}"],
            "workload.object_size",
            "above the largest object",
        ),
        (minio(), ["workload.object_size=6TiB"], "workload.object_size", "above the largest upload by one request"),
        (
            minio(),
            ["workload.object_size=60TiB", "client.multipart={part_size: 5GiB}"],
            "workload.object_size",
            "above the largest object",
        ),
        (
            BILLION,
            ["workload={rate: 10/s, duration: 1s, object_size: 1MiB, mix: {PUT: 1}}", "stored.object_size=1MiB"],
            "osd.random_write_fraction",
            "its default was fitted at 1 to 65,536 B for each object; here are 1,048,576",
        ),
        (SWIFT, ["workload.object_size=6GB"], "workload.object_size", "5,368,709,122 B"),
        (BOB, ["workload.object_size=2GB"], "workload.object_size", "blobs.max_size"),
        (
            CEPH,
            ["hosts.cores.count=112", "hosts.drives=1", "hosts.osds_per_drive=1"],
            "osd.contention",
            "its default was fitted at 1 to 20 threads for each OSD; here are 84",  # without those of the gateways
        ),
        (
            minio("workload.duration=5s"),
            ["faults=[{kind: slow_drive, drive: 0, at: 5s, speed: 50%}]"],
            "faults.0.at",
            "5 s is after the end of the workload",
        ),
        (minio(), ["client.nic=1GB/s"], "client.nic", "has no effect"),
        (LAYER, ["below.workload.rate=5/s"], "below.workload", "has no effect: the requests that reach this store"),
    ],
)
def test_what_is_probably_not_meant_is_found(data, assignments, path, text):
    notes = found(data, *assignments)
    assert path in notes
    assert text in notes[path]


@pytest.mark.parametrize(
    ("data", "assignments", "path"),
    [
        (minio(*HDDS), ["scanner={speed: default}"], "scanner"),
        (minio(*HDDS), ["scanner={speed: off}"], "scanner"),
        (minio(), ["release=2021-04-06"], "release"),
        (minio(), ["workload.mix={GET: 70, PUT: 29.3, DELETE: 0.7}"], "workload.mix.DELETE"),
        (minio(), ["workload.mix={GET: 0.7, PUT: 0.3}"], "workload.mix.PUT"),
        (minio(), ["workload.mix={GET: 1, PUT: 30}"], "workload.mix.GET"),
        (minio(), ["workload.mix={GET: 66.7%, PUT: 33.3%}"], "workload.mix"),
        (minio(), ["workload.mix={GET: 60%}"], "workload.mix"),
        (minio(), ["hosts.nic=25Gbit/s"], "hosts.nic"),
        (minio(), ["hosts.nic=3.125GB/s"], "hosts.nic"),
        (minio(), ["hosts.nic=200Gbit/s"], "hosts.nic"),
        (BILLION, ["db.osds_per_device=4", "db.size=80GB"], "db.size"),
        (BILLION, [], "buckets.shards"),
        (CEPH, ["workload.object_size=6GiB", "client.multipart={}"], "workload.object_size"),
        (CEPH, ["hosts.cores.count=112", "hosts.drives=8"], "osd.contention"),
        (CEPH, ["hosts.cores.count=112", "hosts.drives=1", "osd.contention=0.03"], "osd.contention"),
    ],
)
def test_what_is_usual_is_not_found(data, assignments, path):
    assert path not in found(data, *assignments)


@pytest.mark.parametrize(
    ("assignment", "text"),
    [
        ("network.latency=50", "network.latency is 50.0 s; real stores have 5.00 µs to 5.00 ms; did you mean 50.0 µs?"),
        ("hosts.nic=25", "did you mean 3.12 GB/s?"),
        ("hosts.nic=2e11", "did you mean 25.0 GB/s?"),
    ],
)
def test_a_bare_number_in_another_unit_is_said(assignment, text):
    (doubtful,) = implausible(spec_of(minio(assignment), "spec"))
    assert text in implausible_text(doubtful)


def test_examples_have_none_but_what_they_are_about():
    """Each of these is as published, or has large objects; no other example has a doubt."""
    known = {
        "hosts.internode": {"bob/minio-same-host.yaml"},
        "buckets.shards": {"ceph/hdd-quincy.yaml", "ceph/two-groups.yaml"},
        "osd.contention": {"ceph/rocksdb-pacific.yaml", "ceph/rbd-pg-reef.yaml"},
        "release": {"minio/nvme-8x8.yaml"},
        "gateways.scales_to": {"ceph/nvme-squid.yaml"},
        "osd.random_write_fraction": {
            "ceph/hdd-quincy.yaml",
            "ceph/radosbench.yaml",
            "ceph/two-groups.yaml",
            "ceph/two-pools.yaml",
        },
    }
    others = []
    for path in SPECS:
        if "store" in (load_mapping(path) if path.name != "growth.yaml" else {}) and "workload" in load_mapping(path):
            read = described(path, None, None, None)
            name = str(path.relative_to(EXAMPLES))
            each = doubts(read.spec, read.whole, read.origins)
            others += [(name, one.path, one.text) for one in each if name not in known.get(one.path, set())]
    assert others == []


def test_quantities_of_fits_are_known_to_the_stores():
    for name in MODULES:
        assert all(callable(condition) for condition in store_named(name).conditions.values())
