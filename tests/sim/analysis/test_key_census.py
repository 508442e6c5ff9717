"""How unevenly keys load stations: exact, so neither length nor seed of a run changes the rate at saturation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.network.station import Member
from models.store import compile_spec, spec_of
from sim.demands.key_odds import REPEATS, KeyOdds, odds_of_routes
from sim.saturation.capacity import capacity_of
from sim.saturation.enough_requests import with_enough_requests
from sim.saturation.key_census import census_of
from sim.saturation.saturation import mix_at_saturation
from tests.paths import EXAMPLES
from tests.sim.analysis.test_chance import DRIVES, EVEN, network, requests
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate


@pytest.mark.parametrize("name", ["swift/cluster.yaml", "reference/minio-nvme32.yaml"])
def test_the_length_and_the_seed_of_a_run_do_not_change_the_rate_at_saturation(name: str) -> None:
    """Swift saturated at 1,092 op/s by 27,000 requests, and at 1,018 by 60,000."""
    data, found = load_mapping(EXAMPLES / name), set()
    for operations, seed in ((1_000, 0), (60_000, 1), (90_000, 2)):
        changes = [f"workload.operations={operations}", "workload.duration=null"]
        spec = spec_of(override(data, changes), name)
        found.add(capacity_of(spec, generate(spec.workload, seed)).capacity_ops)
    assert len(found) == 1 and None not in found


def test_loads_are_those_of_all_keys() -> None:
    """Some of 24 drives have a third more of 500 keys that are equally popular than others."""
    changes = ["workload.keys={kind: uniform, count: 500}", "workload.operations=3000", "workload.mix={GET: 1}"]
    spec = spec_of(override(load_mapping(EXAMPLES / "seaweedfs/cluster.yaml"), changes), "few keys")
    trace = with_enough_requests(spec, generate(spec.workload, 5))
    mix = mix_at_saturation(spec, trace)
    drives = [k for k, each in enumerate(mix.least().resources) if each.role == "drive"]
    load = mix.least().low_s[drives] / mix.least().low_s[drives].mean()
    longer = spec.workload.model_copy(update={"operations": 400_000, "duration": None})
    compiled, many = compile_spec(spec, generate(longer, 0), math.inf, saturated=True)
    visits = [v.station for v in compiled.routes[int(many.route[0])].visits]
    place = next(each for each in visits if isinstance(each, Member) and each.part[-1] == "drive")
    table = compiled.placements[place.table]
    row = (many.key_hash % np.uint64(len(table))).astype(np.int64)
    counts = np.bincount(np.asarray(table)[row, place.position], minlength=len(compiled.stations))[drives]
    assert load.std() > 0.1
    assert load == pytest.approx(counts / counts.mean(), abs=0.06)


def test_rows_that_a_store_draws_are_no_property_of_keys() -> None:
    drawn = np.random.default_rng(1).integers(0, 2**40, 4_000).astype(np.uint64)
    repeat = np.arange(len(drawn)) * REPEATS // len(drawn)
    at = next(v.station for v in network(EVEN).routes[0].visits if isinstance(v.station, Member))
    by_chance = KeyOdds(drawn, repeat).fraction(network(EVEN), at)[:DRIVES]
    of_keys = KeyOdds(np.tile(drawn[: len(drawn) // 2], 2), repeat).fraction(network(EVEN), at)[:DRIVES]
    found = np.bincount((drawn[: len(drawn) // 2] % np.uint64(DRIVES)).astype(int), minlength=DRIVES)
    assert of_keys == pytest.approx(found / found.sum())
    assert by_chance.std() < 0.5 * of_keys.std()


def test_requests_of_other_keys_are_told_apart() -> None:
    """A popular object in the requests at hand, which the workload does not have, keeps its load."""
    rng = np.random.default_rng(2)
    census = requests(np.tile(rng.integers(0, 2**32, 5_000), 2))
    same = requests(rng.choice(census.key_hash, 3_000))
    other = requests(np.where(np.arange(3_000) % 20 == 0, 7, rng.integers(0, 2**32, 3_000)))
    assert list(odds_of_routes(network(EVEN), same, census)) == [0]
    assert not odds_of_routes(network(EVEN), other, census)


@pytest.mark.parametrize("keys", ["{kind: zipf, count: 1000000, exponent: 1.2}", "{kind: uniform, count: 3000}"])
def test_a_census_has_popular_keys_as_often_as_requests(keys: str) -> None:
    changes = [f"workload.keys={keys}", "workload.operations=3000", "workload.mix={GET: 1}"]
    spec = spec_of(override(load_mapping(EXAMPLES / "swift/cluster.yaml"), changes), "keys")
    trace = with_enough_requests(spec, generate(spec.workload, 0))
    compiled, few = compile_spec(spec, trace, math.inf, saturated=True)
    census = census_of(spec, compiled, math.inf)
    assert census is not None
    partition = np.uint64(len(compiled.placements[0]))
    first, often = np.unique(few.key_hash % partition, return_counts=True)
    top = first[often.argmax()]
    is_top = [float((each.key_hash % partition == top).mean()) for each in (census, few)]
    assert is_top[0] == pytest.approx(is_top[1], rel=0.1, abs=2e-3)
