"""Profiles: what was written is read, and lands where the spec has it."""

from __future__ import annotations

import json

import pytest
import yaml

from models.spec.spec_values import with_values
from models.store import spec_of
from tests.cli.commands.test_simulate import tailcast
from tests.models.test_store import EXAMPLE
from tests.specs import minio
from traces.errors import InputError
from validate.calibration.profile import Estimate, FittedRun, Profile, Residual

VALUES = {
    "hosts.cpu.GET.constant": 0.0123,
    "client.cpu.HEAD.constant": 0.0007,
    "drives.commit.distribution.factor": 33.0,
}


def profile_of(values: dict[str, float], store: str = "minio") -> Profile:
    return Profile(
        store=store,
        spec="minio.yaml",
        confidence=0.95,
        parameters={
            path: Estimate(
                value=v, low=v * 0.9, high=v * 1.2, identified=True, guess=v * 2, bounds=(v / 30, v * 30)
            )
            for path, v in values.items()
        },
        runs=(
            FittedRun(name="light", configuration="1 client, GET, 4KiB", started_at="2024-05-01T12:00:00", requests=10),
        ),
        residuals=(
            Residual(run="light", op="GET", figure="p50", measured=1e-3, fitted=1.1e-3, log_ratio=0.095, noise=0.01),
        ),
        noise={"p50": 0.01},
        discrepancy=0.02,
        rms_log_error=0.095,
        notes=("a Run drifted",),
        together=(("hosts.cpu.GET.per_byte",),),
        seed=3,
        simulations=100,
        versions={"tailcast": "0"},
    )  # fmt: skip


def test_what_was_written_is_read(tmp_path):
    profile = profile_of(VALUES)
    profile.write(tmp_path / "p.yaml")
    assert Profile.read(tmp_path / "p.yaml") == profile
    assert [file.name for file in tmp_path.iterdir()] == ["p.yaml"]


def test_values_go_where_the_spec_has_them_and_nowhere_else():
    data = minio()
    before, spec = minio(), spec_of(data, "spec")
    fitted = spec_of(profile_of(VALUES).applied_to(data, "spec"), "spec")
    assert data == before
    assert fitted.hosts.cpu["GET"].constant == 0.0123
    assert fitted.hosts.cpu["GET"].distribution == spec.hosts.cpu["GET"].distribution
    assert fitted.client.cpu["HEAD"].constant == 0.0007  # a bare duration in the spec
    assert fitted.client.cpu["GET"] == spec.client.cpu["GET"]
    assert fitted.drives.commit.distribution.factor == 33
    assert fitted.workload == spec.workload


@pytest.mark.parametrize("device", ["nvme", {"preset": "nvme"}, {"preset": "nvme", "flush": "1ms"}])
def test_a_device_s_preset_keeps_what_is_not_fitted(device):
    data = {"store": "ceph", "workload": {"clients": 1, "operations": 1, "object_size": 1}, "device": device}
    spec = spec_of(data, "spec")
    values = {"device.read.constant": 0.0123, "device.read_latency.distribution.cv": 0.7}
    fitted = spec_of(profile_of(values, store="ceph").applied_to(data, "spec"), "spec")
    assert fitted == with_values(spec, values) != spec


def test_another_store_s_profile_is_refused():
    with pytest.raises(InputError, match=r"mine\.yaml: store is 'minio'; the profile is for 'ceph'"):
        profile_of(VALUES, store="ceph").applied_to(minio(), "mine.yaml")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p.pop("store"), "store: is missing"),
        (lambda p: p.update(colour="red"), "colour: unknown field"),
        (lambda p: p["parameters"]["hosts.cpu.GET.constant"].update(low=1.0), "must be between low"),
        (lambda p: p["parameters"]["hosts.cpu.GET.constant"].update(value="fast"), "value: is 'fast'"),
        (lambda p: p.update(parameters={}), "parameters: is {}"),
        (lambda p: p.update(confidence=1.5), "confidence: is 1.5"),
    ],
)
def test_a_broken_profile_is_refused_in_one_line(tmp_path, change, said):
    path = tmp_path / "p.yaml"
    data = profile_of(VALUES).model_dump(mode="json")
    change(data)
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(InputError, match=said) as caught:
        Profile.read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_missing_profile_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Profile.read(tmp_path / "p.yaml")


def test_simulate_takes_a_profile_and_set_goes_before_it(capsys, tmp_path):
    path = tmp_path / "p.yaml"
    profile_of({"hosts.cpu.GET.constant": 0.05}).write(path)
    requested = ["simulate", str(EXAMPLE), "--set", "workload.duration=null", "--set", "workload.operations=300"]
    requested += [
        "--set",
        "workload.clients=1",
        "--set",
        "workload.mix={GET: 1}",
        "--set",
        "hosts.after_response=0",
        "--json",
    ]
    p50 = []
    for more in ([], ["--profile", str(path)], ["--profile", str(path), "--set", "hosts.cpu.GET.constant=0.2"]):
        code, out, _ = tailcast(capsys, *requested, *more)
        assert code == 0
        p50.append(json.loads(out)["ops"]["GET"]["latency_s"]["p50"])
    assert p50[0] < 0.002
    assert 0.02 < p50[1] < 0.08
    assert 0.1 < p50[2] < 0.3
    code, _, err = tailcast(capsys, *requested, "--profile", str(tmp_path / "absent.yaml"))
    assert code == 2
    assert "absent.yaml: no such file" in err
