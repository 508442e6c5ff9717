"""Demands of equal stations: what is chance goes, what is not stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Member, Station
from models.store import compile_spec, load_spec
from sim.analysis.bounds import bounds
from sim.demands.chance import are_keys_even, without_chance
from sim.demands.service_demands import Demands, MeanDemands, mean_demands
from tests.paths import EXAMPLES
from traces.trace import Pacing
from traces.workload.generate import generate

DRIVES, ROWS = 40, 4000


def network(table: np.ndarray) -> Network:
    """Drives of 1 ms, each request at that of its row in the table."""
    stations = tuple(Station(f"drive {d}", "drive", Discipline.FIFO, indices=(d,)) for d in range(DRIVES))
    visit = Visit(Member(0, 0), ServiceDemand(constant=1e-3))
    return Network(stations, (Route("GET", (single(visit),)),), (table.astype(np.int32)[:, None],))


def requests(keys: np.ndarray) -> Requests:
    zeros = np.zeros(len(keys))
    return Requests(
        zeros.astype(np.int32), zeros.astype(np.int64), keys.astype(np.uint64), zeros, zeros, zeros.astype(np.int32),
        Pacing("closed", 8),
    )  # fmt: skip


def random_keys(seed: int, count: int = ROWS) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, count)


def low_s(demands: Demands) -> np.ndarray:
    return without_chance(demands).low_s[:DRIVES]


EVEN = np.arange(DRIVES * 10) % DRIVES


def test_equal_drives_have_their_mean() -> None:
    """But for the level of the two tests, of 1 % each."""
    different = 0
    for seed in range(200):
        drawn = mean_demands(network(EVEN), requests(random_keys(seed)))
        assert drawn.low_s.max() > 1.05 * drawn.low_s.mean()
        different += np.ptp(low_s(drawn)) > 1e-9
    assert different <= 12  # of 4 expected


def test_the_error_is_that_of_a_random_number_of_visits() -> None:
    found = [mean_demands(network(EVEN), requests(random_keys(seed))) for seed in range(50)]
    spread_s = np.std([each.low_s for each in found])
    assert np.mean([each.low_error_s for each in found]) == pytest.approx(spread_s, rel=0.05)


def test_a_drive_with_a_popular_object_keeps_its_load() -> None:
    keys = np.where(np.arange(ROWS) % 20 == 0, 7, random_keys(1))
    drawn = mean_demands(network(EVEN), requests(keys))
    assert not are_keys_even(network(EVEN), requests(keys), 0)
    assert low_s(drawn).argmax() == 7
    assert low_s(drawn)[7] == pytest.approx(drawn.low_s[7])


def test_uneven_placement_is_found_exactly_from_few_requests() -> None:
    """The placement says which drive has most rows, not the few keys that are drawn."""
    table = np.append(EVEN, np.full(40, 3))
    for seed in range(10):
        few = requests(random_keys(seed, 500))
        assert are_keys_even(network(table), few, 0)
        expected_s = np.bincount(table, minlength=DRIVES) / len(table) * 1e-3
        assert low_s(mean_demands(network(table), few, any_keys=[0])) == pytest.approx(expected_s)


def test_stations_that_share_a_server_saturate_together() -> None:
    drive, log = Station("drive", "drive", Discipline.FIFO), Station("log", "log", Discipline.FIFO, shares_server=True)
    visits = [Visit(k, ServiceDemand(constant=time_s)) for k, time_s in enumerate((3e-3, 2e-3))]
    both = Network((drive, log), (Route("PUT", (single(*visits),)),), ())
    found = bounds(both, requests(np.zeros(10)))
    assert (found.bottleneck, found.max_throughput_ops) == ("drive, log", pytest.approx(200))
    apart = bounds(replace(both, stations=(drive, replace(log, shares_server=False))), requests(np.zeros(10)))
    assert (apart.bottleneck, apart.max_throughput_ops) == ("drive", pytest.approx(1000 / 3))


def test_uneven_placement_stays_if_keys_seem_uneven() -> None:
    """Few requests cannot show it themselves: then it is that of other keys, apart from popular objects."""
    table = np.append(EVEN, np.full(40, 3))
    expected_s = np.bincount(table, minlength=DRIVES) / len(table) * 1e-3
    for seed in range(10):
        few = requests(random_keys(seed, 500))
        usual = without_chance(mean_demands(network(table), few, any_keys=[0]))
        found_s = without_chance(mean_demands(network(table), few), usual).low_s[:DRIVES]
        assert found_s.argmax() == 3
        assert found_s[3] == pytest.approx(expected_s[3], rel=0.35)
        popular = requests(np.where(np.arange(500) % 5 == 0, 7, random_keys(seed, 500)))
        found_s = without_chance(mean_demands(network(table), popular), usual).low_s[:DRIVES]
        assert found_s.argmax() == 7
        assert found_s[7] > 0.2e-3


@pytest.mark.parametrize(
    "name", ["minio.yaml", "ceph/nvme-squid.yaml", "swift/cluster.yaml", "bob/cluster.yaml", "openio/cluster.yaml"]
)
def test_least_demands_of_other_keys_and_clients_are_those_of_their_own_sums(name: str) -> None:
    spec = load_spec(EXAMPLES / name)
    network, requests = compile_spec(spec, generate(spec.workload.limited(500), 1))
    first, then, routes = *(MeanDemands(network, requests, True) for _ in range(2)), np.unique(requests.route).tolist()
    first.demands()
    for keys, even in (([], True), (routes, False), (routes, True)):
        own = MeanDemands(network, requests, True).demands(keys, even)
        for found in (first.least(keys, even), then.least(keys, even)):
            assert found.resources == own.resources
            assert found.low_s.tolist() == own.low_s.tolist()
            assert found.low_error_s.tolist() == own.low_error_s.tolist()
    whole, own = then.demands(), first.demands()
    for name, value in vars(own).items():
        assert np.array_equal(value, getattr(whole, name)), name
