from __future__ import annotations

import pytest

from models.basis.preset_list import all_presets
from models.spec.explained import Explained
from models.spec.explained import explained as explained_fields
from models.spec.field_paths import paths_of
from models.spec.plausibility import implausible
from models.store import load_spec, names, spec_of, store_named
from tests.paths import EXAMPLES
from tests.specs import minio
from traces.errors import InputError

MINIO, CEPH = store_named("minio").Spec, store_named("ceph").Spec


def explained(store, form, path) -> Explained:
    return explained_fields(store, form, path)[0]


@pytest.mark.parametrize("store", ["minio", "ceph"])
def test_every_field_can_be_explained(store):
    form = store_named(store).Spec
    for path in paths_of(form):
        assert explained(store, form, path).path == path


def test_facts_of_a_field():
    latency = explained("minio", MINIO, "network.latency")
    assert (latency.unit, latency.default, latency.is_required) == ("s", 0.0, False)
    assert latency.fitted == (1e-7, 1.0) and latency.meaning
    assert explained("minio", MINIO, "workload.object_size").is_required
    assert "above 0" in explained("minio", MINIO, "workload.rate").allowed
    assert "at least 1" in explained("minio", MINIO, "hosts.cores.count").allowed
    assert explained("ceph", CEPH, "gateways.cpu.GET").default["constant"] == pytest.approx(0.99e-3)
    assert explained("ceph", CEPH, "device").default == "nvme"
    assert "nvme" in explained("ceph", CEPH, "device").presets
    assert "zipf" in explained("ceph", CEPH, "workload.keys").type
    assert explained("minio", MINIO, "faults.0.speed").is_required


def test_fields_of_the_same_name_are_told_apart_by_kind():
    cv = {each.kinds: each for each in explained_fields("minio", MINIO, "drives.read.distribution.cv")}
    lognormal = next(each for kinds, each in cv.items() if "lognormal" in kinds)
    hyperexponential = next(each for kinds, each in cv.items() if "hyperexponential" in kinds)
    assert "at least 1" in hyperexponential.allowed and "at least 1" not in lognormal.allowed
    (kind,) = explained_fields("minio", MINIO, "drives.read.distribution.kind")
    assert {"exponential", "lognormal", "empirical"} <= kind.fields.keys() and all(kind.fields.values())


def test_sections_have_fields():
    assert {"count", "read", "preset"} <= set(explained("minio", MINIO, "drives").fields)
    assert set(explained("minio", MINIO, "hosts.cpu").fields) == {"GET", "PUT", "HEAD", "DELETE", "LIST"}
    assert {"workload", "hosts", "drives"} <= set(explained("minio", MINIO, "").fields)


@pytest.mark.parametrize(
    ("path", "said"), [("hosts.coers", "cores"), ("latncy", "latency"), ("preset", "drives.preset")]
)
def test_wrong_and_ambiguous_paths_are_refused_with_candidates(path, said):
    with pytest.raises(InputError, match=said):
        explained("minio", MINIO, path)


def test_implausible_values_are_outside_of_what_stores_have():
    spec = spec_of(minio("hosts.cpu.GET.constant=20s", "drives.read={per_byte: 0.05ns}"), "spec")
    found = {each.path: each for each in implausible(spec)}
    assert set(found) == {"hosts.cpu.GET.constant", "drives.read.per_byte"}
    assert found["hosts.cpu.GET.constant"].high == 10 and found["hosts.cpu.GET.constant"].unit == "s"
    assert found["drives.read.per_byte"].value == pytest.approx(20e9) and found["drives.read.per_byte"].unit == "B/s"
    deep = spec_of(minio("drives.queue_depth=8", "drives.read={per_byte: 0.5ns}"), "spec")
    assert [each.value for each in implausible(deep)] == pytest.approx([16e9])


@pytest.mark.parametrize(
    "path", ["minio.yaml", "minio-12-hdd.yaml", "ceph/nvme-quincy.yaml", "ceph/redhat-112-hdd.yaml"]
)
def test_examples_are_plausible(path):
    assert implausible(load_spec(EXAMPLES / path)) == ()


def test_presets_are_listed_with_figures_and_fields():
    found = {preset.name: preset for preset in all_presets()}
    assert all(preset.source and preset.values for preset in found.values())
    nvme = found["nvme"]
    assert {"minio", "ceph"} <= set(nvme.used_by) <= set(names())
    assert "device" in nvme.used_by["ceph"] and nvme.used_by["minio"] == ["drives.preset", "pools.drives.preset"]
    assert nvme.drive.read_iops == pytest.approx(540_000) and nvme.drive.write_latency_s == pytest.approx(50e-6)
    assert nvme.drive.read_bytes_per_s == pytest.approx(3e9) and nvme.drive.capacity_bytes == 3_840_000_000_000
    host = {value.path: value for value in found["epyc-2-cores"].values}
    assert (host["cpu.GET.constant"].unit, host["garbage_collector.allocations.GET.constant"].unit) == ("s", "B")
