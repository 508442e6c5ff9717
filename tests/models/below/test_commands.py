"""Commands treat a layer and the store below it as one store, with paths of both."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from models.store import spec_of
from sim.capacity.contradictions import contradictions
from sim.capacity.growth import Growth, likely
from sim.capacity.health import HealthAssessment
from tests.cli.commands.test_simulate import tailcast
from tests.models.below.test_blocks import DISK, STORES, WORKLOAD
from tests.models.test_store_seam import written
from tests.stores import blocks, caching_proxy
from traces.spec.spec_file import override, validated

pytestmark = pytest.mark.usefixtures("few_requests_of_module")

FEW = {"rate": "40/s", "operations": None, "duration": "6s", "object_size": "12MiB", "mix": {"GET": 3, "PUT": 1}}
LAYERS = {blocks.STORE.name: {"hit_ratio": 0.2}, caching_proxy.STORE.name: {"lookup": "0.1ms"}}


def layered(layer: str, below: dict[str, Any], *assignments: str) -> dict[str, Any]:
    data = {"store": layer, "workload": WORKLOAD | FEW, **LAYERS[layer], "below": below}
    return override(data, assignments)


def answer(capsys, *arguments: str) -> dict[str, Any]:
    code, out, err = tailcast(capsys, *arguments, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize(
    ("below", "failure"),
    [("minio", "host:1"), ("ceph", "osd:1"), ("swift", "host:1"), ("bob", "host:1"), ("openio", "host:1")],
)
def test_failures_below(layer, below, failure, tmp_path, capsys):
    """Each fault of the store below has its name there; one that slows it down shows in the layer."""
    spec = written(tmp_path, layered(layer, STORES[below], *(["workload.object_size=2MiB"] if below == "bob" else [])))
    failure = failure if below != "ceph" else "drive:1"
    found = answer(capsys, "failures", spec, failure, "slow-drive:0=50", "--replications", "1", "--workers", "1")
    down, slow = found["failures"]
    assert down["event"]["kind"] in ("host_down", "osd_down", "drive_down")
    gets = slow["windows"]["during"]["ops"]["GET"], slow["windows"]["during"]["healthy"]["ops"]["GET"]
    assert gets[0]["latency_s"]["mean"] > gets[1]["latency_s"]["mean"]


def test_failures_of_the_layer(tmp_path, capsys):
    spec = written(tmp_path, layered("blocks", DISK, "workload.mix={GET: 1}", "workload.rate=5/s", "cpu=20ms"))
    (found,) = answer(capsys, "failures", spec, "slow-client=3", "--replications", "1")["failures"]
    window = found["windows"]["during"]
    slower_s = window["ops"]["GET"]["latency_s"]["p50"] - window["healthy"]["ops"]["GET"]["latency_s"]["p50"]
    assert slower_s == pytest.approx(40e-3, rel=0.1)


def test_a_limit_is_found_with_a_failure_below(tmp_path, capsys):
    spec = written(tmp_path, layered("blocks", DISK, "workload.mix={GET: 1}", "hit_ratio=0", "workload.duration=20s"))
    arguments = ["max workload.rate in 1..60", "--slo", "GET.p50<60ms", "--replications", "1", "--workers", "1"]
    healthy, failing = (
        answer(capsys, "find", spec, *arguments, *more)["value"] for more in ([], ["--with-failure", "slow-drive=2"])
    )
    assert failing < 0.6 * healthy


@pytest.mark.parametrize("layer", LAYERS)
def test_fields_below_are_varied(layer, tmp_path, capsys):
    spec = written(tmp_path, layered(layer, STORES["minio"]))
    varied = ["--vary", "below.hosts.nic=1Gbit/s,25Gbit/s", "--replications", "1", "--workers", "1"]
    slow, fast = answer(capsys, "whatif", spec, *varied)["points"]
    assert slow["ops"]["GET"]["latency_s"]["p50"] > 2 * fast["ops"]["GET"]["latency_s"]["p50"]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_timeline_is_that_of_the_store_below(layer, tmp_path, capsys):
    spec = written(tmp_path, layered(layer, STORES["ceph"], "workload.object_size=4MiB"))
    arguments = ["--objects", "1e5..3e6", "--states", "2", "--window", "1s", "--workers", "1"]
    found = answer(capsys, "timeline", spec, *arguments)
    direct = written(tmp_path, STORES["ceph"] | {"workload": WORKLOAD | FEW | {"object_size": "4MiB"}})
    own = answer(capsys, "timeline", direct, *arguments)
    columns = ("objects", "fill_fraction", "metadata_bytes")
    for state, of_own in zip(found["states"], own["states"], strict=True):
        assert [state[name] for name in columns] == [of_own[name] for name in columns]
    assert found["events"] == own["events"]


def test_a_plan_changes_the_store_below(tmp_path, capsys):
    spec = written(
        tmp_path, layered("blocks", DISK | {"prices": {"actuator": 100}}, "workload.mix={GET: 1}", "workload.rate=30/s")
    )
    growth = tmp_path / "growth.yaml"
    growth.write_text("months: 4\nrate: {growth: 0.3}\n")
    arguments = ["--growth", str(growth), "--slo", "GET.p50<300ms", "--replications", "1", "--workers", "1"]
    found = answer(capsys, "plan", spec, *arguments)
    assert found["best"]["set"] == {"below.disk.actuators": 2}
    assert found["best"]["cost"] == 100
    assert found["limits"][0]["name"] == "disk saturated"


def test_growth_that_contradicts_the_workload_is_told_by_blocks():
    """10 PUTs of 3 blocks a second create 30 objects below, 79 million in a month."""
    spec = spec_of(layered("blocks", STORES["ceph"], "workload.mix={PUT: 1}", "workload.rate=10/s"), "test")
    for per_month, contradicts in ((79e6, False), (26.3e6 / 2, True)):
        growth = validated(Growth, {"months": 1, "objects": {"per_month": per_month}}, "growth")
        found = contradictions(spec, growth, likely(growth), HealthAssessment({}, None))
        assert bool(found) == contradicts, found


def test_paths_of_both_are_checked_and_explained(tmp_path, capsys):
    spec = written(tmp_path, layered("blocks", STORES["minio"], "below.hosts.nic=25GB/s", "block=128MiB"))
    result = answer(capsys, "check", spec)
    assert {"below.hosts.nic", "block"} <= {doubt["path"] for doubt in result["doubts"]}
    assert "below.client.cores.count" in {assumed["path"] for assumed in result["assumptions"]}
    assert not any("workload" in doubt["path"] for doubt in result["doubts"])
    _, out, _ = tailcast(capsys, "explain", "below.hosts.nic", "--store", spec)
    assert out.startswith("below.hosts.nic (store blocks)\n  Bandwidth of a host's network interface")
    code, _, err = tailcast(capsys, "explain", "below.workload.rate", "--store", spec)
    assert code == 2 and "below.workload.rate: no such field" in err


def test_a_given_value_below_without_effect_is_named(tmp_path, capsys):
    spec = written(tmp_path, layered("blocks", STORES["bob"], "below.hosts.count=1", "below.vdisks.replicas=1",
                                     "below.hosts.internode={latency: 1ms}"))  # fmt: skip
    assert "below.hosts.internode" in {doubt["path"] for doubt in answer(capsys, "check", spec)["doubts"]}


def test_assumed_values_of_both_have_effects(tmp_path, capsys):
    ranges = "below.assumed={hosts.nic: {low: 10Gbit/s, high: 40Gbit/s, source: test}}"
    spec = written(tmp_path, layered("blocks", STORES["minio"], "workload.duration=1s", ranges))
    found = answer(capsys, "sensitivity", spec, "--assumed", "--replications", "1", "--workers", "1")
    paths = set(re.findall(r'"path": "([a-z._]+)"', json.dumps(found)))
    assert {"cpu", "below.hosts.nic", "below.drives.read"} <= paths


def test_bounds_name_the_stations_of_both(tmp_path, capsys):
    found = answer(
        capsys, "bounds", written(tmp_path, layered("blocks", DISK, "workload.mix={GET: 1}", "hit_ratio=0.5"))
    )
    assert found["max_throughput_ops"] == pytest.approx(1 / (0.5 * 3 * 5e-3), rel=0.1)
    assert {"blocks cpu", "disk"} <= {row["role"] for row in found["stations"]}
