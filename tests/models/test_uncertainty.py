"""Values that are not known: which they are, and specs with others from their ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.assumptions import assumptions
from models.field_paths import paths_of
from models.origins import Written, origins_of
from models.store import MODULES, spec_of, store_named
from models.uncertainty import Uncertain, uncertain
from tests.paths import EXAMPLES
from tests.specs import minio
from traces.errors import InputError
from traces.spec_file import load_mapping, override

CEPH: dict[str, Any] = {"store": "ceph", "workload": {"rate": 10, "duration": 1, "object_size": "4KiB"}}


def of(data: dict[str, Any], *written: Written, known: tuple[str, ...] = ()) -> Uncertain:
    spec = spec_of(data, "spec")
    return uncertain(spec, data, "spec", origins_of(spec, data, "spec", written), known)


def paths(data: dict[str, Any]) -> list[str]:
    return [unknown.path for unknown in of(data).unknowns]


def test_defaults_are_unknown_until_they_are_given():
    assert {"osd.read", "gateways.cpu", "client.nic", "device.read"} <= set(paths(CEPH))
    assert "osd.write" not in paths(CEPH)  # only GETs
    given = override(CEPH, ["osd.read=0.2ms", "client.nic=10Gbit/s", "workload.mix={PUT: 1}"])
    found = paths(given)
    assert "osd.read" not in found and "client.nic" not in found and "osd.write" in found


def test_presets_are_unknown_and_given_times_are_known():
    assert "device.read" in paths(override(CEPH, ["device=nvme"]))
    assert "device.read" not in paths(override(CEPH, ["device={read: 1ms, write: 1ms, capacity: 1TB}"]))
    assert paths(minio()) == []  # all of its times are given
    with_preset = override(minio(), ["hosts={preset: epyc-2-cores}"])
    assert "hosts.cpu" in paths(with_preset)


def test_every_assumed_value_has_a_range_with_a_source():
    for data in (
        CEPH,
        override(CEPH, ["workload.mix={PUT: 1, LIST: 1, DELETE: 1}", "osd.backend=filestore"]),
        override(CEPH, ["access=rbd", "db={device: nvme}", "device=hdd-7k2", "workload.mix={PUT: 1, GET: 1}"]),
        minio(),
    ):
        spec = spec_of(data, "spec")
        origins = origins_of(spec, data, "spec")
        unknowns = uncertain(spec, data, "spec", origins).unknowns
        assert all(unknown.source for unknown in unknowns)
        for assumption in assumptions(spec, origins):
            inside = [u for u in unknowns if f"{u.path}.".startswith(f"{assumption.path}.")]
            above = [u for u in unknowns if f"{assumption.path}.".startswith(f"{u.path}.")]
            assert inside or above, assumption.path


@pytest.mark.parametrize("store", MODULES)
def test_ranges_are_of_fields_that_exist(store):
    known = paths_of(store_named(store).Spec)
    for path, spread in store_named(store).spreads.items():
        assert path in known and 0 < spread.low < spread.high and spread.source, path
        assert spread.low <= 1 <= spread.high, path


def test_a_factor_scales_all_times_of_a_section():
    unknown = of(CEPH)
    before, after = unknown.spec({}), unknown.spec({"gateways.cpu": 2.0, "gateways.cpu.GET.per_byte": 3e-9})
    for op in ("GET", "PUT"):
        assert after.gateways.cpu[op].constant == pytest.approx(2 * before.gateways.cpu[op].constant)
    assert after.gateways.cpu["GET"].per_byte == pytest.approx(
        2 * 3e-9
    )  # a range of its own within that of the section
    assert after.gateways.cpu["GET"].distribution == before.gateways.cpu["GET"].distribution
    assert unknown.spec({"network.latency": 20e-6}).network.latency == pytest.approx(20e-6)


def test_draws_are_a_latin_hypercube():
    unknown, draws = of(CEPH), 8
    latency = next(u for u in unknown.unknowns if u.path == "network.latency")
    values = [unknown.drawn(k, draws, seed=3).network.latency for k in range(draws)]
    assert latency.low is not None and latency.high is not None
    fractions = np.log(np.array(values) / latency.low) / np.log(latency.high / latency.low)
    assert sorted((fractions * draws).astype(int).tolist()) == list(range(draws))  # one in each part
    fewer = of(override(CEPH, ["gateways.cpu={GET: 1ms}"]))
    assert [fewer.drawn(k, draws, seed=3).network.latency for k in range(draws)] == values  # whatever else is unknown
    assert [unknown.drawn(k, draws, seed=4).network.latency for k in range(draws)] != values


@pytest.mark.parametrize(
    ("path", "without", "with_effect"),
    [
        ("client.nic", "client={placement: storage_hosts}", "client={placement: own}"),
        ("osd.read_depth", "device=nvme", "device=hdd-7k2"),
        ("gateways.key_request", "gateways.sse=false", "gateways.sse=true"),
    ],
)
def test_what_has_no_effect_is_not_drawn(path, without, with_effect):
    assert path not in [unknown.path for unknown in of(override(CEPH, [without])).unknowns]
    assert path in [unknown.path for unknown in of(override(CEPH, [with_effect])).unknowns]


def test_ranges_of_given_values_are_in_the_spec():
    ranged = override(
        CEPH,
        [
            "client={nic: 10Gbit/s}",
            "hosts.cores=16",
            "assumed={client.nic: {low: 1Gbit/s, high: 25Gbit/s, source: s}, "
            "hosts.cores: {low: 8, high: 64, source: s}, device: {values: [nvme, sata-ssd], source: s}}",
        ],
    )
    unknown = of(ranged)
    by_path = {u.path: u for u in unknown.unknowns}
    assert (by_path["client.nic"].low, by_path["client.nic"].high) == (1.25e8, 3.125e9)
    drawn = [unknown.drawn(k, 10, 0) for k in range(10)]
    assert all(isinstance(spec.hosts.cores.count, int) and 8 <= spec.hosts.cores.count <= 64 for spec in drawn)
    assert len({spec.device.capacity for spec in drawn}) == 1 and len({spec.device.read.per_byte for spec in drawn}) > 1
    known = [u.path for u in of(ranged, known=("client.nic", "hosts")).unknowns]
    assert "client.nic" not in known and "hosts.cores.count" not in known


ASSUMING = [path for path in sorted(EXAMPLES.rglob("*.yaml")) if "\nassumed:\n" in path.read_text()]


@pytest.mark.parametrize("path", ASSUMING, ids=lambda path: path.stem)
def test_the_ranges_of_examples_can_be_drawn(path):
    data = load_mapping(path)
    found = of(data)
    given = [unknown.path for unknown in found.unknowns if unknown.is_given]
    assert len(given) == len(data["assumed"])
    assert found.drawn(0, 4, 1) != spec_of(data, "test")


def test_values_of_a_profile_have_its_intervals():
    data = override(minio(), ["hosts.cpu.GET={constant: 0.5ms}"])
    fitted = Written("hosts.cpu.GET.constant", 0.5e-3, "profile", "mine.yaml", 0.4e-3, 0.6e-3)
    (only,) = of(data, fitted).unknowns
    assert (only.path, only.low, only.high) == ("hosts.cpu.GET.constant", 0.4e-3, 0.6e-3)
    assert of(data, fitted).spec({only.path: 0.6e-3}).hosts.cpu["GET"].constant == pytest.approx(0.6e-3)


@pytest.mark.parametrize(
    ("assumed", "named"),
    [
        ("{client.nix: {low: 1, high: 2, source: s}}", "client.nix"),
        ("{client.nic: {low: 1, source: s}}", "low and high"),
        ("{client.nic: {low: 1, high: 2, values: [1], source: s}}", "low and high"),
        ("{client.nic: {low: 1, high: 2}}", "source"),
    ],
)
def test_ranges_are_checked_with_the_spec(assumed, named):
    with pytest.raises(InputError, match=named):
        spec_of(override(CEPH, [f"assumed={assumed}"]), "spec")


@pytest.mark.parametrize(
    ("assumed", "named"),
    [
        ("{client.nic: {low: 25Gbit/s, high: 1Gbit/s, source: s}}", "ascending"),
        ("{client.nic: {low: fast, high: 1Gbit/s, source: s}}", "client.nic"),
        ("{device: {values: [nvme, tape], source: s}}", "tape"),
    ],
)
def test_ranges_are_checked_with_their_fields(assumed, named):
    with pytest.raises(InputError, match=named):
        of(override(CEPH, [f"assumed={assumed}"]))
