from __future__ import annotations

import pytest

import tests.stores.caching_proxy
import tests.stores.fifo_disk  # noqa: F401  # registers the store
from models.basis.assumptions import assumptions, free_demands, ops_of, require_demands
from models.spec.origins import origins_of
from models.store import compile_spec, spec_of
from tests.specs import minio
from traces.errors import InputError
from traces.workload.generate import generate

WORKLOAD = {"clients": 1, "operations": 100, "object_size": "4KiB", "mix": {"GET": 1, "PUT": 1}}
BARE = {"store": "minio", "workload": WORKLOAD}
REQUIRED = {
    "GET": {"hosts.cpu.GET", "drives.read"},
    "PUT": {"hosts.cpu.PUT", "drives.write", "drives.commit"},
    "HEAD": {"hosts.cpu.HEAD", "drives.read"},
    "DELETE": {"hosts.cpu.DELETE", "drives.read"},
    "LIST": {"hosts.cpu.LIST", "drives.read"},
}


def refusal(data: dict) -> str:
    spec = spec_of(data, "spec")
    with pytest.raises(InputError) as refused:
        compile_spec(spec, generate(spec.workload, 0))
    (message,) = refused.value.args
    return message


@pytest.mark.parametrize("op", REQUIRED)
def test_each_operation_requires_its_own_demands(op):
    message = refusal(BARE | {"workload": WORKLOAD | {"mix": {op: 1}}})
    assert set(message.partition(": not given")[0].split(", ")) == REQUIRED[op]


def test_the_refusal_names_presets_that_would_supply_them():
    message = refusal(BARE)
    assert "hosts.preset: epyc-2-cores" in message and "nvme" in message and "\n" not in message
    data = BARE | {"drives": {"preset": "nvme"}}
    assert "drives" not in refusal(data)
    spec = spec_of(data | {"hosts": {"preset": "epyc-2-cores"}}, "spec")
    compile_spec(spec, generate(spec.workload, 0))


def test_demands_below_a_proxy_are_named_by_their_whole_path():
    message = refusal({"store": "caching-proxy", "workload": WORKLOAD, "below": {"store": "minio"}})
    assert message.startswith("below.hosts.cpu.GET, below.hosts.cpu.PUT, below.drives.read")
    assert "below.drives.preset: hdd-7k2" in message


def test_a_demand_of_0_is_accepted_and_reported():
    spec = spec_of(minio("hosts.cpu.GET=0s", "network.latency=1ms"), "spec")
    compile_spec(spec, generate(spec.workload, 0))
    assert free_demands(spec) == ["network.bandwidth", "hosts.cpu.GET", "drives.read"]


def test_assumptions_are_defaults_that_take_time_in_this_spec():
    data = {"store": "ceph", "workload": WORKLOAD | {"mix": {"GET": 1}}, "gateways": {"cores": 4}}
    spec = spec_of(data, "spec")
    found = {a.path: a for a in assumptions(spec, origins_of(spec, data))}
    assert found["gateways.cpu.GET"].values == pytest.approx({"constant": 0.99e-3, "per_byte": 1.5e-9})
    assert found["gateways.cpu.GET"].units == {"constant": "s", "per_byte": "s/B"}
    assert found["network.latency"].values == {"": 50e-6}
    assert {"device", "hosts.cores.count", "hosts.nic", "osd.read"} <= set(found)
    assert not {"gateways.cores.count", "gateways.cpu.PUT", "osd.write", "buckets.resharding.poll"} & set(found)
    rados = spec_of(data | {"access": "rados"}, "spec")
    assert not any(a.path.startswith("gateways") for a in assumptions(rados, origins_of(rados, data)))


def test_the_device_that_is_assumed_is_named():
    data = {"store": "ceph", "workload": WORKLOAD}
    spec = spec_of(data, "spec")
    (device,) = (a for a in assumptions(spec, origins_of(spec, data)) if a.path == "device")
    assert device.source


def test_write_once_read_once_has_both_operations():
    data = {
        "store": "minio",
        "workload": {"clients": 1, "operations": 9, "object_size": 1, "keys": "write_once_read_once"},
    }
    spec = spec_of(data, "spec")
    assert set(ops_of(spec)) == {"GET", "PUT"}
    with pytest.raises(InputError, match=r"hosts\.cpu\.PUT.*drives\.commit"):
        require_demands(spec)
