from __future__ import annotations

import numpy as np
import pytest
import yaml

from models.devices.devices import DEVICE_PRESETS
from models.minio.spec.sections import Drives, Hosts
from models.store import load_spec, spec_of
from tests.models.minio.test_compile import BASE, alone
from tests.paths import EXAMPLES
from traces.errors import InputError


def test_the_host_s_preset_is_the_example_with_its_profile():
    profile = yaml.safe_load((EXAMPLES / "recorded" / "profile.yaml").read_text())["parameters"]
    fitted = [f"{path}={estimate['value']}" for path, estimate in profile.items() if path.startswith("hosts.")]
    measured = load_spec(EXAMPLES / "minio.yaml", fitted).hosts
    preset = Hosts(preset="epyc-2-cores")
    for op, demand in measured.cpu.items():
        sizes = np.array([4096, 1 << 20])
        assert preset.cpu[op].mean_s(sizes) == pytest.approx(demand.mean_s(sizes), rel=0.01)
        assert type(preset.cpu[op].distribution) is type(demand.distribution)
    assert preset.garbage_collector == measured.garbage_collector
    for name in ("after_commit", "after_response", "age_bias"):
        assert getattr(preset, name) == pytest.approx(getattr(measured, name), rel=0.01)
    assert preset.cpu_caches.cold_penalty == pytest.approx(measured.cpu_caches.cold_penalty, rel=0.01)


@pytest.mark.parametrize("name", DEVICE_PRESETS)
def test_a_lone_read_takes_the_latency_and_the_transfer_of_the_device(name):
    device, free = DEVICE_PRESETS[name].device, {"cpu": dict.fromkeys(("GET", "PUT", "HEAD", "DELETE", "LIST"), 0)}
    data = {"store": "minio", "workload": BASE["workload"], "hosts": free, "drives": {"preset": name}}
    size = np.array([1 << 20])
    accesses = np.array([1024, size[0]])  # of the metadata and of the data
    expected_s = float((device.read.mean_s(accesses) + device.read_latency.mean_s(accesses)).sum())
    steady = {part: {"distribution": {"kind": "deterministic"}} for part in ("read", "read_latency")}
    outcome, _ = alone(spec_of(data | {"drives": {"preset": name, **steady}}, "spec"), "GET", 1 << 20)
    assert outcome.end_s[0] == pytest.approx(expected_s)


def test_values_next_to_a_preset_replace_its_own():
    drives = Drives.model_validate({"preset": "nvme", "read": {"constant": "1ms"}, "commit": "2ms", "queue_depth": 4})
    nvme = DEVICE_PRESETS["nvme"].device
    assert (drives.read.constant, drives.read.per_byte) == (1e-3, nvme.read.per_byte)
    assert (drives.commit.constant, drives.queue_depth) == (2e-3, 4)
    assert drives.write == nvme.write


def test_a_spec_with_a_preset_survives_a_dump():
    spec = spec_of(BASE | {"hosts": {"preset": "epyc-2-cores"}, "drives": {"preset": "nvme"}}, "spec")
    assert spec_of(spec.model_dump(mode="json", exclude_unset=True), "again") == spec


@pytest.mark.parametrize(
    ("section", "name", "said"), [("drives", "nvmee", "did you mean nvme"), ("hosts", "x", "epyc")]
)
def test_an_unknown_preset_is_refused(section, name, said):
    with pytest.raises(InputError, match=f"{section}.*{name}.*{said}"):
        spec_of(BASE | {section: {"preset": name}}, "spec")
