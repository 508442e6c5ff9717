from __future__ import annotations

from typing import Any

import pytest

import tests.stores.caching_proxy
import tests.stores.fifo_disk  # noqa: F401  # registers the store
from models.spec.origins import Origin, Written, origins_of
from models.store import spec_of
from tests.specs import minio
from traces.spec.spec_file import override, replaced

WORKLOAD = {"clients": 1, "operations": 10, "object_size": "4KiB"}


def origins(data: dict[str, Any], *written: Written, **changed: Any) -> dict[str, Origin]:
    """The origins by path; `written` and `changed` values are part of the validated spec."""
    whole = replaced(data, {each.path: each.value for each in written})
    return {o.path: o for o in origins_of(spec_of(whole, "spec"), data, "spec.yaml", written)}


def kinds(found: dict[str, Origin], *paths: str) -> list[tuple[str, str]]:
    return [(found[path].kind, found[path].source) for path in paths]


def test_each_value_has_one_origin_and_its_unit():
    found = origins(minio())
    assert found["hosts.cpu.GET.constant"] == Origin(
        "hosts.cpu.GET.constant", 0.38e-3, "s", "given", "spec.yaml", None, None, "hosts.cpu.GET"
    )
    assert found["hosts.cpu.GET.per_byte"].unit == "s/B"
    assert found["workload.object_size.size"].value == 4096 and found["workload.object_size.size"].kind == "given"
    assert found["hosts.setup_time"].kind == "default"
    assert found["hosts.cpu.GET.block"].kind == "default"


def test_the_short_form_of_a_demand_gives_its_constant_only():
    found = origins(minio("drives.read=5ms"))
    assert kinds(found, "drives.read.constant", "drives.read.per_byte") == [
        ("given", "spec.yaml"),
        ("default", found["drives.read.per_byte"].source),
    ]


def test_overrides_and_profiles_are_over_the_file():
    fitted = Written("hosts.cpu.GET.constant", 1e-3, "profile", "p.yaml", 0.9e-3, 1.2e-3)
    other = Written("drives.commit.constant", 2e-3, "profile", "p.yaml", 1e-3, 3e-3)
    overridden = Written("hosts.cpu.GET.constant", 5e-3, "set", "override")
    section = Written("network", {"latency": "1ms"}, "set", "override")
    found = origins(minio(), fitted, other, overridden, section)
    assert kinds(found, "hosts.cpu.GET.constant", "network.latency") == [("set", "override")] * 2
    assert (found["drives.commit.constant"].low, found["drives.commit.constant"].high) == (1e-3, 3e-3)
    assert found["hosts.cpu.GET.constant"].low is None
    assert found["hosts.cpu.GET.per_byte"].kind == "given" and found["network.bandwidth"].kind == "default"


def test_presets_supply_what_is_not_given():
    data = override(minio(), ["hosts={cores: 16, preset: epyc-2-cores, cpu: {GET: {constant: 1ms}}}"])
    found = origins(data, Written("drives", {"count": 4, "preset": "nvme", "write": "1ms"}, "set", "override"))
    preset = ("preset", "epyc-2-cores")
    assert kinds(found, "hosts.cpu.GET.per_byte", "hosts.cpu.PUT.constant", "hosts.after_response") == [preset] * 3
    assert kinds(found, "hosts.cpu.GET.constant", "hosts.preset") == [("given", "spec.yaml")] * 2
    assert kinds(found, "drives.read.per_byte", "drives.commit.constant") == [("preset", "nvme")] * 2
    assert kinds(found, "drives.write.constant", "drives.count") == [("set", "override")] * 2
    assert found["hosts.quantum"].kind == "default"


@pytest.mark.parametrize("device", ["nvme", {"preset": "nvme", "capacity": "1TB"}])
def test_devices_come_from_their_preset(device):
    found = origins({"store": "ceph", "workload": WORKLOAD, "device": device})
    assert kinds(found, "device.read.per_byte", "device.write_latency.distribution.cv") == [("preset", "nvme")] * 2
    assert found["device.capacity"].kind == ("preset" if device == "nvme" else "given")
    assert found["device.read.per_byte"].part_of == "device"
    assert found["pools.data.replicas"].kind == "default"


def test_times_of_a_changed_disk_are_derived():
    found = origins({"store": "ceph", "workload": WORKLOAD, "device": {"preset": "hdd-7k2", "disk": {"rpm": 5400}}})
    assert found["device.disk.rpm"].kind == "given" and found["device.disk.outer"].kind == "preset"
    assert found["device.read.constant"].kind == "derived"


def test_short_forms_with_several_values_give_all_of_them():
    found = origins({"store": "ceph", "workload": WORKLOAD, "pools": {"data": "ec 2+1"}, "access": "rados"})
    assert kinds(found, "pools.data.data", "pools.data.parity", "access.kind") == [("given", "spec.yaml")] * 3
    assert found["pools.data.replicas"].kind == "default" and found["pools.pg_num"].kind == "default"


def test_an_underlying_spec_has_origins_too():
    below = {"store": "fifo-disk", "disk": {"read": "4ms"}}
    found = origins({"store": "caching-proxy", "workload": WORKLOAD, "lookup": "1us", "below": below})
    assert kinds(found, "below.disk.read.constant", "lookup.constant") == [("given", "spec.yaml")] * 2
    assert found["below.disk.actuators"].kind == "default"
    assert found["below.workload.clients"].kind == "derived"  # the proxy's own


def test_elements_of_lists_have_origins():
    found = origins(minio("faults=[{kind: slow_drive, drive: 0, at: 1s, speed: 0.5}]"))
    assert kinds(found, "faults.0.at", "faults.0.kind") == [("given", "spec.yaml")] * 2
    assert found["faults.0.until"].kind == "default"
