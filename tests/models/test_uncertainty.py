"""Values that are not known: which they are, and specs with others from their ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.basis.assumptions import assumptions
from models.basis.uncertainty import Uncertain, Unknown, drawn_fractions, uncertain
from models.spec.field_paths import paths_of
from models.spec.origins import Written, origins_of
from models.spec.spec_values import parts_of, with_part
from models.store import MODULES, Spec, spec_of, store_named
from sim.experiments.probability import band_of
from sim.simulate import simulate
from tests.paths import EXAMPLES, SPECS
from tests.profiles import others_nightly
from tests.specs import minio
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override

CEPH_EXAMPLES = sorted(path.stem for path in (EXAMPLES / "ceph").glob("*.yaml"))
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
        assert path.replace("hosts.groups.*.", "") in known and 0 < spread.low < spread.high and spread.source, path
        assert spread.low <= 1 <= spread.high, path


def test_values_of_pools_can_be_changed():
    spec = spec_of(load_mapping(EXAMPLES / "minio/two-pools.yaml"), "spec")
    changed = with_part(spec, "pools.0.hosts.count", 7)
    assert parts_of(changed, "pools.0.hosts.count")[-1] == 7
    assert changed.pools[0].drives == spec.pools[0].drives and changed.hosts == spec.hosts


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
    low, assumed, high = latency.low, latency.value, latency.high
    assert low is not None and assumed is not None and high is not None
    ends = [low * (assumed / low) ** (k / 4) for k in range(4)] + [
        assumed * (high / assumed) ** (k / 4) for k in range(5)
    ]
    counts, _ = np.histogram(values, ends)
    assert counts.tolist() == [1] * draws  # one in each part
    fewer = of(override(CEPH, ["gateways.cpu={GET: 1ms}"]))
    assert [fewer.drawn(k, draws, seed=3).network.latency for k in range(draws)] == values  # whatever else is unknown
    assert [unknown.drawn(k, draws, seed=4).network.latency for k in range(draws)] != values


@given(
    numbers=st.lists(st.one_of(st.integers(0, 10**6), st.floats(1e-9, 1e9)), min_size=3, max_size=3),
    is_whole=st.booleans(),
    draws=st.integers(1, 60),
    seed=st.integers(0, 2**32),
)
def test_half_of_the_draws_lie_on_each_side_of_the_assumed_value(numbers, is_whole, draws, seed):
    low, value, high = sorted(round(number) if is_whole else float(number) for number in numbers)
    one = Unknown("network.latency", "s", value, low, high, "s")
    fractions = drawn_fractions(one.path, draws, seed)
    drawn = [one.at(fraction) for fraction in fractions]
    assert min(low, value) <= min(drawn) * (1 + 1e-9) and max(drawn) <= high * (1 + 1e-9)
    assert sum(each <= value for each in drawn) >= draws // 2 <= sum(each >= value for each in drawn)
    assert [one.at(fraction) for fraction in sorted(fractions)] == sorted(drawn)
    assert one.at(0.5) == pytest.approx(value) and one.at(0.0) == pytest.approx(low)
    # So the forecast of a figure that grows with the value is in every band, and about the median of the draws.
    figures = [(3 * each + 1) ** 0.5 for each in drawn]
    bottom, top = band_of(figures, 0.5)
    forecast = (3 * value + 1) ** 0.5
    assert draws < 4 or bottom / (1 + 1e-9) <= forecast <= top * (1 + 1e-9)


def test_a_whole_number_of_a_range_with_fractions_is_whole_and_a_fraction_is_not():
    assert isinstance(Unknown("hosts.cores.count", "", 8, 1, 768, "s").at(0.3), int)
    pause = Unknown("scanner.pause", "s", 0.01, 0, 0.25, "s")  # as the range of its field is written
    assert 0 < pause.at(0.2) < 0.01 < pause.at(0.8) < 0.25


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


ASSUMING = [path for path in SPECS if "\nassumed:\n" in path.read_text()]


@pytest.mark.parametrize("path", ASSUMING, ids=lambda path: path.stem)
def test_the_ranges_of_examples_can_be_drawn(path):
    data = load_mapping(path)
    found = of(data)
    given = [unknown.path for unknown in found.unknowns if unknown.is_given]
    assert len(given) == len(data["assumed"])
    assert any(found.drawn(draw, 4, 1) != spec_of(data, "test") for draw in range(4))


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
        ("{client.nic: {low: 40Gbit/s, high: 100Gbit/s, source: s}}", "outside of the range"),
    ],
)
def test_ranges_are_checked_with_their_fields(assumed, named):
    with pytest.raises(InputError, match=named):
        of(override(CEPH, [f"assumed={assumed}"]))


def _ends(spec: Spec) -> bytes:
    run = simulate(spec.model_copy(update={"workload": spec.workload.limited(100)}), seed=1)
    return run.column("end_s").tobytes()


@pytest.mark.parametrize(
    "name",
    others_nightly(
        CEPH_EXAMPLES,
        [name for name in CEPH_EXAMPLES if name != "exabyte"],
        "its idle values are those of other examples, and each of them compiles 12,000 drives",
    ),
)
def test_values_that_are_not_drawn_because_they_have_no_effect_have_none(name):
    data = load_mapping(EXAMPLES / "ceph" / f"{name}.yaml")
    if "workload" not in data:
        return
    spec = spec_of(data, "spec")
    store = store_named(spec.store)
    assert store.unused is not None
    idle = [one for one in store.unused(spec, spec.workload.ops) if one in store.spreads]
    before = _ends(spec)
    for one in idle:
        value = parts_of(spec, one)[-1]
        is_number = isinstance(value, int | float)
        unknown = Unknown(one, "", value if is_number else 1.0, 0, 0, "s", is_factor=not is_number)
        ends = [(value if is_number else 1) * factor for factor in (store.spreads[one].low, store.spreads[one].high)]
        for end in ends:
            changed = Uncertain(data, "spec", (unknown,)).spec({one: round(end) if isinstance(value, int) else end})
            assert _ends(changed) == before, one


def test_most_values_without_effect_are_known_to_the_stores():
    flash = override(CEPH, ["device=nvme", "workload.mix={PUT: 1}"])
    assert not {"osd.random_write_fraction", "osd.read_depth", "hosts.cores.thread_gain"} & set(paths(flash))
    assert {"device.write", "device.write_latency"} <= set(paths(flash))
    assert not {"device.write", "device.write_latency"} & set(paths(CEPH))  # only GETs
    assert "osd.random_write_fraction" in paths(override(flash, ["device=hdd-7k2"]))
    assert "hosts.cores.thread_gain" in paths(override(CEPH, ["hosts.cores={count: 32, threads_per_core: 2}"]))
    assert "gateways.scales_to" in paths(override(CEPH, ["gateways.cores=16"]))
    assert "gateways.scales_to" not in paths(override(CEPH, ["gateways.cores=8"]))


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("bob/cluster.yaml", {"hosts.cpu", "hosts.internode.call", "drives.read"}),
        ("swift/cluster.yaml", {"proxies.cpu", "hosts.cpu", "hosts.update_cpu", "drives.sync"}),
        ("openio/cluster.yaml", {"gateways.cpu", "hosts.cpu", "directory.write", "drives.read"}),
    ],
)
def test_presets_of_other_stores_have_ranges(example, expected):
    assert expected <= set(paths(load_mapping(EXAMPLES / example)))


@pytest.mark.parametrize("draws", [5, 10, 20])
def test_a_band_of_a_latin_hypercube_contains_what_it_says(draws):
    contained = [np.ptp(band_of(sorted(drawn_fractions("a value", draws, seed)), 0.8)) for seed in range(200)]
    assert np.mean(contained) == pytest.approx(0.8, abs=0.01)
