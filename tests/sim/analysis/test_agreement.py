"""The verdict on a run, the rate at saturation and the station that limits it agree with each other and with long runs.

Cases that random specs found (`tests/contradictions.py`), each for its kind.
"""

from __future__ import annotations

from typing import Any

import pytest

from models.store import Spec, load_spec, spec_of
from sim.saturation.capacity import Capacity, capacity_of
from sim.saturation.stable_rate import RateLimit
from sim.saturation.station_load import StationLoad
from sim.simulate import simulate
from sim.verdict.first_saturated import saturation_of
from sim.verdict.offered_load import OfferedLoad
from sim.verdict.verdict import LoadVerdict, verdict_on_run
from tests.contradictions import served_fraction
from tests.paths import EXAMPLES
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

SLOW_LINK = {"kind": "slow_link", "host": 2, "speed": 0.7, "at": 1.0, "until": 2.0}

LOAD = {"object_size": "1MiB", "mix": {"PUT": 1}, "keys": {"kind": "uniform", "count": 100_000}}
CLUSTER = {
    "store": "minio",
    "client": {"placement": "storage_hosts"},
    "hosts": {"count": 3, "cores": 4, "nic": "5.05Gbit/s", "cpu": {"PUT": {"constant": "5ms", "per_byte": "10ns"}}},
    "drives": {"count": 2, "read": "0.1ms", "write": {"constant": "0.1ms", "per_byte": "0.6ns"}, "commit": "10ms"},
}


def cluster(workload: dict[str, Any], *changes: str, faults: tuple[dict[str, Any], ...] = ()) -> Spec:
    return spec_of(override(CLUSTER | {"workload": LOAD | workload, "faults": [*faults]}, changes), "spec")


def judged(spec: Spec) -> LoadVerdict:
    trace = generate(spec.workload, 1)
    found = verdict_on_run(simulate(spec, trace, seed=1), capacity_of(spec, trace))
    assert found is not None and found.saturates_first is not None
    return found


def capacity(spec: Spec) -> Capacity:
    return capacity_of(spec, generate(spec.workload, 0))


@pytest.mark.parametrize("faults", [(), (SLOW_LINK,)])
@pytest.mark.parametrize(("rate", "status"), [(150, "healthy"), (500, "healthy"), (650, "near saturation")])
def test_journals_that_are_always_busy_are_not_full(rate: int, status: str, faults: tuple[dict[str, Any], ...]) -> None:
    """Commits that come while one is in progress are the next group: no idle time at a fifth of the capacity."""
    spec = cluster({"rate": rate, "operations": 6 * rate}, faults=faults)
    trace = generate(spec.workload, 1)
    run = simulate(spec, trace, seed=1)
    assert run.stations is not None
    assert max(row["utilization"] for row in run.stations.to_pylist() if row["role"] == "journal") > 0.98
    found = verdict_on_run(run, capacity_of(spec, trace))
    assert found is not None and found.saturates_first is not None
    assert found.status == status
    assert found.saturates_first.capacity_ops == pytest.approx(
        capacity(cluster({"rate": 1.0, "operations": 1000})).capacity_ops, rel=0.01
    )


def test_more_clients_than_those_that_keep_journals_busy_get_more() -> None:
    few, many = (judged(cluster({"clients": clients, "operations": 3000})) for clients in (3, 40))
    assert few.saturates_first is not None
    assert few.status == "healthy"
    assert few.served_ops < many.served_ops / 5 < few.saturates_first.capacity_ops / 5


def test_a_station_that_is_full_throughout_a_run_counts_though_the_store_changes() -> None:
    limits = (RateLimit("a", "cpu", 1000.0, 0.0, 5.0), RateLimit("a", "cpu", 900.0, 5.0, 10.0, bound="at most"))
    busy = [StationLoad("a", "cpu", 0.4, 1e4), StationLoad("b", "drive", 0.99, 1e4)]
    for batching, station in (([], "b"), (["b"], "a")):
        known = Capacity(limits, None, frozenset(batching), (), frozenset(batching))
        found = saturation_of(busy, 400.0, None, 0.0, known, False, False)
        assert found is not None
        assert found.station == station
    grows = saturation_of(busy, 400.0, 500.0, 0.0, Capacity(limits, None, frozenset({"b"})), True, False)
    assert grows is not None
    assert grows.station == "b" and grows.capacity_ops < 500, "what is overloaded is not served more than arrives"


@pytest.mark.parametrize(("burst", "station"), [(95, "a"), (200, "b")])
def test_chance_of_the_arrivals_in_a_short_stretch_is_no_load(burst: int, station: str) -> None:
    """Of 80 arrivals in each twentieth of a run, 95 are chance and 200 are not."""
    limits = (RateLimit("a", "cpu", 1000.0, 0.0, 0.95), RateLimit("b", "cpu", 1050.0, 0.95, 1.0, bound="at most"))
    arrivals = [80] * 19 + [burst]
    load = OfferedLoad("open", None, 1600.0, 900.0, 0.0, 1600, [], True, end_s=1.0, arrivals=arrivals)
    busy = [StationLoad("a", "cpu", 1.0, 1e4), StationLoad("b", "cpu", 1.0, 1e4)]
    found = saturation_of(busy, 900.0, 1600.0, 0.0, Capacity(limits, 1600.0, frozenset()), True, True, [load])
    assert found is not None
    assert found.station == station


def test_a_bent_station_serves_at_least_its_rate_over_its_utilisation() -> None:
    """If the demands do not tell more."""
    busy = [StationLoad("drive", "drive", 0.99, 1e4)]
    at_most = (RateLimit("cpu", "cpu", 1000.0, bound="at most"),)
    found = saturation_of(busy, 200.0, 200.0, 0.0, Capacity(at_most, None, frozenset({"drive"})), False, False)
    assert found is not None
    assert (found.station, found.bound) == ("drive", "at least")


def test_the_bytes_of_clients_on_hosts_count_where_they_pass() -> None:
    """One host coordinates all requests, and sends its part of those of the clients on all hosts."""
    single = cluster({"rate": 1.0, "operations": 1000}, "balance=single", "hosts.cpu.PUT.per_byte=2ns")
    most_ops = capacity(single).capacity_ops
    assert most_ops is not None
    for factor in (0.9, 1.1):
        loaded = cluster(
            {"rate": factor * most_ops, "operations": 6000}, "balance=single", "hosts.cpu.PUT.per_byte=2ns"
        )
        run = simulate(loaded, generate(loaded.workload, 1), seed=1)
        assert (served_fraction(run) > 0.98) == (factor < 1)


def test_luck_does_not_raise_the_rate_at_saturation() -> None:
    """Proxies that ask a second server after a time make a store that gets slower once it is slow."""
    data = load_mapping(EXAMPLES / "recorded-swift/swift.yaml")
    kept = {key: value for key, value in data["workload"].items() if key not in ("clients", "rate", "duration")}
    kept |= {"object_size": "5KiB", "mix": {"GET": 80, "PUT": 2}, "rate": 1.0, "operations": 1000}
    changes = ("ring.part_power=6", "proxies.concurrency_timeout=62ms")
    spec = spec_of(override(data | {"workload": kept}, changes), "spec")
    limit = capacity(spec).least
    assert limit is not None and limit.is_tried
    loaded = spec_of(
        override(data | {"workload": kept | {"rate": 0.9 * limit.ops, "operations": 24_000}}, changes), "spec"
    )
    assert served_fraction(simulate(loaded, generate(loaded.workload, 1), seed=1)) > 0.99


def test_a_store_that_refuses_requests_saturates_where_it_does() -> None:
    spec = load_spec(EXAMPLES / "minio.yaml")
    workload = spec.workload.model_copy(update={"rate": 1.0, "operations": 1000, "clients": 1, "duration": None})
    hosts = spec.hosts.model_copy(update={"max_requests": 6})  # type: ignore[attr-defined]
    limit = capacity(spec.model_copy(update={"workload": workload, "hosts": hosts})).least
    assert limit is not None
    assert limit.role == "requests"


def test_capacity_and_headroom_of_a_short_run_agree():
    """The last responses take two fifths of the run: chance decides how busy a station is, so the demands count."""
    busy = [StationLoad("osd 1 threads", "threads", 0.67, 50.0)]
    known = Capacity((RateLimit("drive", "drive", 300.0),), None, frozenset())
    found = saturation_of(busy, 126.0, 200.0, 0.0, known, False, False)
    assert (found.station, found.capacity_ops, found.headroom) == ("drive", 300.0, 1.5)
    for completed_ops in (126.0, 199.0, 200.0):
        alone = saturation_of(busy, completed_ops, 200.0, 0.0, None, False, False)
        assert alone.headroom * 200.0 == pytest.approx(alone.capacity_ops)


def test_a_light_load_is_one_of_the_store_and_not_of_demands_that_hide_its_limit() -> None:
    """With three requests at a time, 3 % fail at a tenth of the rate by demands, and 6 % where 644/s were stated."""
    spec = load_spec(EXAMPLES / "minio.yaml", ["hosts.max_requests=3", "hosts.cores.count=8"])
    ends = {"clients": 1, "duration": None}
    workload = spec.workload.model_copy(update=ends | {"rate": 1.0, "operations": 1000})
    most_ops = capacity(spec.model_copy(update={"workload": workload})).capacity_ops
    assert most_ops is not None
    workload = spec.workload.model_copy(update=ends | {"rate": 0.9 * most_ops, "operations": 24_000})
    run = simulate(spec.model_copy(update={"workload": workload}), generate(workload, 1), seed=1)
    assert float(run.failed.mean()) < 0.025
