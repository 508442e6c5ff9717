"""Samples of requests: each kind as often as among all of them, so chance does not change the rate at saturation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.network.joined_table import take
from models.network.station import Member
from models.store import Spec, compile_spec, spec_of
from sim.analysis.bounds import bounds_of
from sim.saturation.capacity import capacity_of
from sim.saturation.enough_requests import LEAST, _in_time_of, with_enough_requests
from sim.saturation.even_sample import Kinds
from sim.saturation.saturation import _at_saturation
from sim.saturation.stable_rate import pools_of
from sim.simulate import simulate
from tests.contradictions import served_fraction
from tests.paths import EXAMPLES
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

PACING = ("rate", "clients", "think_time", "duration", "operations")


def paced(name: str, *changes: str, **workload: Any) -> Spec:
    """An example with another pacing."""
    data = load_mapping(EXAMPLES / name)
    kept = {key: value for key, value in data["workload"].items() if key not in PACING}
    return spec_of(override(data | {"workload": kept | workload}, changes), name)


def rate_of(spec: Spec, seed: int = 0) -> float:
    found = capacity_of(spec, generate(spec.workload, seed)).capacity_ops
    assert found is not None
    return found


def test_a_sample_has_each_kind_as_often_as_all() -> None:
    kind, size = np.arange(10_000) % 7, np.repeat([1, 2, 3, 4], 2500)
    rows = Kinds((kind, size)).sample(1000)
    assert len(np.unique(rows)) == 1000
    assert (np.diff(rows) > 0).all()
    assert np.abs(np.bincount(kind[rows]) - 1000 / 7).max() <= 2
    assert np.abs(np.bincount(size[rows])[1:] - 250).max() <= 7
    assert not np.array_equal(Kinds((kind, size)).sample(1000, seed=1), rows)


def test_a_sample_has_each_bucket_index_shard_as_often_as_all_requests() -> None:
    """Of eleven shards with a tenth of the requests, a random sample gives the busiest 15 % more than it has."""
    threads = "osd.shards=8", "osd.threads_per_shard=2"  # as on flash
    spec = paced("ceph/box.yaml", *threads, rate=1.0, operations=40_000, mix={"GET": 0.7, "PUT": 0.075})
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    rows = Kinds.of(network, requests, pools_of(network, requests)).sample(8000)
    puts = [k for k, route in enumerate(network.routes) if route.name.startswith("PUT")]
    shard = next(
        visit.station
        for visit in network.routes[puts[0]].visits
        if isinstance(visit.station, Member) and visit.station.part == ("shard",)
    )
    table = network.placements[shard.table]
    at = take(table, (requests.key_hash % np.uint64(len(table))).astype(np.int64), np.array([shard.position]))[:, 0]
    at = np.where(np.isin(requests.route, puts), at, -1)
    for station in np.unique(at).tolist():
        assert abs((at[rows] == station).sum() - (at == station).sum() / 5) <= 2
    assert len(np.unique(at)) == 12


@pytest.mark.parametrize("size", [204_051, 1_090_793])
def test_open_and_closed_loops_of_two_pools_saturate_at_the_same_rate(size: int) -> None:
    """Their rows are others, with more or fewer reads of the slow pool."""
    open_loop, closed = (
        paced("minio/two-pools.yaml", f"network.queue={size}", **pacing)
        for pacing in ({"rate": 1.0, "operations": 1000}, {"clients": 10, "operations": 1000})
    )
    found = bounds_of(closed, generate(closed.workload, 0)).max_throughput_ops
    assert found == pytest.approx(rate_of(open_loop), rel=0.005)


def test_the_own_work_of_a_store_does_not_keep_its_requests_few() -> None:
    """Swift's auditor and replicator work throughout, so there are as many requests in the same time at all rates."""
    few, many = (
        paced("swift/cluster.yaml", "drives.count=16", "drives.lookup=3ms", rate=rate, operations=count)
        for rate, count in ((1.0, 1000), (1400.0, 20_000))
    )
    trace = generate(few.workload, 0)
    longer = with_enough_requests(few, trace)
    assert len(longer) == LEAST
    assert longer.arrival_s[-1] == with_enough_requests(many, generate(many.workload, 0)).arrival_s[-1] == 10
    assert with_enough_requests(few, trace, at_load=True) is trace
    assert rate_of(few) == rate_of(many)


@pytest.mark.parametrize(
    ("fault", "lasts"),
    [
        ("{kind: drive_down, drive: 0, at: 0s}", True),
        ("{kind: slow_drive, drive: 0, speed: 0.1, at: 0s}", True),
        ("{kind: drive_down, drive: 0, at: 0s, back_at: 3s}", False),
        ("{kind: drive_down, drive: 0, at: 1s}", False),
    ],
)
def test_faults_that_last_throughout_have_the_same_requests_at_all_rates(
    fault: str, lasts: bool, few_requests: None
) -> None:
    """So a search with a failure in force calculates the rate at saturation once."""
    loads = [paced("minio/two-pools.yaml", f"faults=[{fault}]", rate=rate, operations=900) for rate in (90.0, 200.0)]
    one, other = (with_enough_requests(spec, generate(spec.workload, 0)) for spec in loads)
    assert (one == other) == lasts
    assert len(one) == len(other) > 900


def test_a_fault_that_lasts_throughout_has_the_rate_at_saturation_of_any_time(few_requests: None) -> None:
    fault = "faults=[{kind: slow_drive, drive: 0, speed: 0.1, at: 0s}]"
    spec = paced("minio/two-pools.yaml", fault, rate=200.0, operations=900)
    trace = with_enough_requests(spec, generate(spec.workload, 0))
    at_once = _at_saturation(spec, trace).limits
    assert len(at_once) == 1 and at_once[0].is_tried
    assert _at_saturation(spec, _in_time_of(trace, trace, 123.0)).limits == at_once


def test_objects_that_move_have_the_time_of_the_run() -> None:
    """Of a pool that is decommissioned, ever fewer objects are there."""
    stored = ("stored={objects: 1000000, object_size: 4MB}", "faults=[{kind: decommission, pool: 1, at: 0s}]")
    spec = paced("minio/two-pools.yaml", *stored, rate=200.0, operations=1000)
    trace = generate(spec.workload, 0)
    assert with_enough_requests(spec, trace).arrival_s[-1] == pytest.approx(trace.arrival_s[-1])


def test_own_work_that_ends_has_its_time_in_the_run() -> None:
    """Scrubs last throughout the run, but not in a longer one."""
    load = "background={loads: [{name: scrub, rate: 5/s, demand: 1ms, until: 8s}]}"
    spec = paced("minio/two-pools.yaml", load, rate=200.0, operations=1000)
    trace = generate(spec.workload, 0)
    assert 4 < trace.arrival_s[-1] < 6
    assert with_enough_requests(spec, trace).arrival_s[-1] == pytest.approx(trace.arrival_s[-1])


def test_batches_and_pauses_do_not_make_a_rate_unstable() -> None:
    """The number in flight at a moment wanders by a tenth of the requests of a trial."""
    found = rate_of(paced("ceph/rocksdb-pacific.yaml", "hosts.count=2", rate=1.0, operations=1000))
    assert found > 43_000
    for factor in (0.9, 1.1):
        spec = paced("ceph/rocksdb-pacific.yaml", "hosts.count=2", rate=factor * found, operations=24_000)
        assert (served_fraction(simulate(spec, generate(spec.workload, 1), seed=1)) > 0.98) == (factor < 1)
