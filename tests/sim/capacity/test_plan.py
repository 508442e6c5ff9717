from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from cli.parse.slo import parse_slo
from models.ceph.growth import GROWTH
from models.ceph.mechanisms.rocksdb import level_targets, rocksdb_defaults
from models.shared.prices import cost
from models.store import spec_of
from sim.capacity.contradictions import contradictions, created_rate_ops
from sim.capacity.growth import Growth, likely, scenarios, spec_at, with_object_size
from sim.capacity.health import HealthAssessment, HealthAssessor, HealthCheck, assess, state_of
from sim.capacity.limits import RANGE, GrowingStore, Limit, find_limits
from sim.capacity.plan import plan as planned
from sim.capacity.remedies import candidates
from tests.ceph_clusters import ceph
from tests.paths import EXAMPLES
from tests.specs import minio
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override, validated

pytestmark = pytest.mark.usefixtures("few_requests")

EXAMPLE = EXAMPLES / "ceph" / "billion-objects.yaml"
CORES, RATE, MONTHS = 8, 4000.0, 24

# A cluster whose gateway is its first limit: a GET takes 1 ms of its 8 cores, and next to nothing of anything else.
GATEWAY_BOUND: dict[str, Any] = {
    "store": "ceph",
    "workload": {"operations": 1, "rate": "1/s", "object_size": "4KiB", "mix": {"GET": 1}},
    "hosts": {"count": 4, "drives": 2, "cores": 64, "nic": 1e12},
    "osd": {"read": "0.01ms"},
    "gateways": {"count": 1, "cores": CORES, "nic": 1e12, "cpu": {"GET": "1ms"}, "max_requests": 100_000},
    "device": {"read": "0.001ms", "write": "0.01ms", "capacity": "4TB"},
    "stored": {"objects": 1000},
}


def growth(**fields: Any) -> Growth:
    return validated(Growth, {"months": MONTHS} | fields, "growth")


def plan(*arguments: Any, **named: Any) -> dict[str, Any]:
    """A plan as the command prints it."""
    return planned(*arguments, **named).to_json()


def limits_of(data: dict[str, Any], grows: Growth) -> list[Limit]:
    """The limits of a plan without objectives, without the search for a change."""
    spec = with_object_size(spec_of(data, "spec"), 0)
    store = GrowingStore(spec, grows, (), HealthCheck(spec))
    return find_limits(store, likely(grows), scenarios(grows, 0), HealthAssessor(map))


FIVE_PER_CENT = {"now": RATE, "growth": 0.05}
SPILLING = growth(objects={"now": 1e8, "per_month": 3.3e7})
FILLING = growth(objects={"now": 1e8, "per_month": 1e7})
SHARDS: dict[str, Any] = override(
    load_mapping(EXAMPLE), ["workload.buckets=1", "buckets.resharding.dynamic=false", "buckets.shards=11"]
)


@cache
def gateway_bound() -> dict[str, Any]:
    """The plan of a store whose gateway saturates, without prices."""
    return plan(GATEWAY_BOUND, growth(rate=FIVE_PER_CENT), [])


@cache
def spilling() -> dict[str, Any]:
    """The plan of a billion objects, of which those of the next months no longer fit its databases."""
    return plan(load_mapping(EXAMPLE), SPILLING, [])


@cache
def short_of_shards() -> dict[str, Any]:
    """The plan of a bucket whose index has too few shards already."""
    return plan(SHARDS, FILLING, [])


def by_name(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(limit for limit in result["limits"] if limit["name"] == name)


def test_a_billion_objects_spill_first_where_the_levels_are_full():
    result = spilling()
    rocks = rocksdb_defaults("luminous")
    # L0 … L3 of every OSD full; of each object 6 of 112 OSDs hold a chunk.
    at_levels = sum(level_targets(rocks)[:4]) / rocks.metadata_bytes_per_object * 112 / 6
    assert result["first"] == "spill L4"
    assert result["limits"][0]["objects"] == pytest.approx(at_levels, rel=0.1)
    assert result["limits"][0]["month"]["likely"] == pytest.approx((at_levels - 1e8) / 3.3e7, rel=0.1)
    assert [limit["name"] for limit in result["limits"]] == ["spill L4"]
    assert result["best"]["set"] == {}
    assert result["best"]["next"]["name"] == "nearfull"  # after the period


def test_what_is_reached_already_is_in_month_0():
    filling = growth(objects={"now": 3e8, "per_month": 1e7})
    assert by_name(plan(load_mapping(EXAMPLE), filling, []), "spill L4")["month"]["likely"] == 0


def test_a_range_is_that_of_the_scenarios():
    filling = growth(objects={"now": 1e8, "per_month": {"low": 1e7, "likely": 2e7, "high": 6e7}}, scenarios=20)
    limit = plan(load_mapping(EXAMPLE), filling, [], seed=5)["limits"][0]
    months = [(limit["objects"] - 1e8) / s.objects_a_month for s in scenarios(filling, 5)]
    low, high = np.quantile(months, RANGE, method="inverted_cdf")
    assert limit["month"] == pytest.approx({"low": low, "likely": (limit["objects"] - 1e8) / 2e7, "high": high})
    assert limit["fraction"] == np.mean(np.array(months) <= MONTHS)


def test_index_shards_and_fill_are_limits():
    spec = override(load_mapping(EXAMPLE), ["workload.buckets=100", "db=null"])
    result = plan(spec, growth(objects={"now": 1e8, "per_month": 1e8}), [])
    assert by_name(result, "index shards")["objects"] == 100 * 16 * 100_000 + 1
    assert {"nearfull", "full"} <= {limit["name"] for limit in result["limits"]}
    assert not result["changes"][0]["holds"]
    assert "full, so the cluster takes no writes" in result["changes"][0]["evidence"]["reason"]


def test_a_gateway_saturates_when_arithmetic_says():
    limit = gateway_bound()["limits"][0]
    assert limit["name"] == "rgw cpu saturated"
    assert limit["month"]["likely"] == math.ceil(math.log(CORES * 1000 / RATE) / math.log(1.05))


def test_the_limit_of_utilisation_may_be_lower():
    limit = limits_of(GATEWAY_BOUND, growth(rate=FIVE_PER_CENT, utilization=0.8))[0]
    assert limit.name == "rgw cpu above 80%"
    assert limit.month.likely == math.ceil(math.log(0.8 * CORES * 1000 / RATE) / math.log(1.05))


@pytest.mark.parametrize(
    ("gateway", "core", "cheapest", "extra"),
    [
        (1000, 10, {"gateways.cores.count": 14}, 6 * 10),  # 4000 x 1.05^24 = 12,900/s want 13 cores; a process uses 14
        (1, 100, {"gateways.count": 2}, 1 + 8 * 100),
    ],
)
def test_the_cheapest_change_goes_by_the_prices(gateway, core, cheapest, extra):
    scales_to = 8 if "gateways.count" in cheapest else 14
    spec = override(GATEWAY_BOUND, [f"gateways.scales_to={scales_to}"])
    priced = override(spec, [f"prices={{gateway: {gateway}, gateway_core: {core}, osd_host: 5000}}"])
    best = plan(priced, growth(rate=FIVE_PER_CENT), [])["best"]
    assert (best["set"], best["cost"], best["fraction"]) == (cheapest, extra, 1.0)
    # It has as much more room as it has more cores.
    capacity = best["set"].get("gateways.cores.count", 16) * 1000
    assert best["next"]["name"] == "rgw cpu saturated"
    assert best["next"]["month"]["likely"] == math.ceil(math.log(capacity / RATE) / math.log(1.05))


def test_two_things_that_are_short_take_a_pair():
    spec = override(GATEWAY_BOUND, ["device.read=1ms", "device.write=0.01ms", "gateways.scales_to=8"])
    priced = override(spec, ["prices={gateway: 100, osd_host: 1000, drive: 200}"])
    result = plan(priced, growth(rate=FIVE_PER_CENT), [])
    assert not any(change["holds"] for change in result["changes"] if len(change["set"]) < 2)
    assert set(result["best"]["set"]) == {"gateways.count", "hosts.drives"}  # a drive is cheaper without a host
    holding = [change["cost"] for change in result["changes"] if change["holds"]]
    assert result["best"]["cost"] == min(holding)


def tried(*assignments: str, **more: Any) -> list[dict[str, Any]]:
    spec = with_object_size(spec_of(override(GATEWAY_BOUND, assignments), "spec"), 0)
    grows = growth(**more)
    return list(candidates(GrowingStore(spec, grows, (), HealthCheck(spec)), likely(grows)))


def test_drives_and_a_database_of_their_own_are_changes():
    filling = {"objects": {"now": 1e8, "per_month": 1e7}}
    drives = [change["hosts.drives"] for change in tried(**filling) if "hosts.drives" in change]
    assert drives == [3, 4, 6]
    assert not any("db.size" in change for change in tried(**filling)), "flash has its RocksDB on itself"
    (added,) = (c["db.size"] for c in tried("device=hdd-7k2", "stored.object_size=4KiB", **filling) if "db.size" in c)
    spec = with_object_size(spec_of(override(GATEWAY_BOUND, ["device=hdd-7k2", f"db.size={added}"]), "spec"), 0)
    held = spec.model_copy(update={"stored": spec.stored.model_copy(update={"objects": 1e8 + MONTHS * 1e7})})
    assert state_of(GROWTH, held)["spilled_bytes"] == 0
    priced = override(GATEWAY_BOUND, ["device=hdd-7k2", f"db.size={added}", "prices={db_gb: 2, drive: 100}"])
    osds = 4 * 2
    assert cost(spec_of(priced, "spec")) == osds * (100 + 2 * int(added.removesuffix("GB")))


def test_without_prices_there_is_no_cost():
    result = gateway_bound()
    assert result["cost"] is None
    assert result["best"]["cost"] is None
    assert result["best"]["set"]


def test_nothing_helps_where_everything_is_far_too_small():
    result = plan(GATEWAY_BOUND, growth(rate={"now": 1e6}), [])
    assert result["best"] is None
    assert result["limits"][0]["month"] == {"low": 0, "likely": 0, "high": 0}


# Agreement of limits, best change and growth

WRITES = [
    "workload={operations: 1, rate: 1000/s, object_size: 64KiB, mix: {PUT: 1, GET: 1}, buckets: 1}",
    "stored.working_set=null",
]


def test_what_avoids_a_limit_is_the_least_value_that_does():
    result = short_of_shards()
    first = result["limits"][0]
    assert (result["first"], first["month"]["likely"]) == ("index shards", 0)
    least = math.ceil((1e8 + MONTHS * 1e7) / 100_000)
    assert first["set"] == {"buckets.shards": least}
    for shards, avoids in ((least, True), (least - 1, False)):
        again = limits_of(override(SHARDS, [f"buckets.shards={shards}"]), FILLING)
        assert ("index shards" not in [limit.name for limit in again]) is avoids


def test_a_larger_database_avoids_the_spill():
    (limit,) = spilling()["limits"]
    least = int(limit["set"]["db.size"].removesuffix("GB"))
    assert limits_of(override(load_mapping(EXAMPLE), [f"db.size={least}GB"]), SPILLING) == []
    assert limits_of(override(load_mapping(EXAMPLE), [f"db.size={least - 1}GB"]), SPILLING) != []


def test_warnings_within_the_period_come_before_what_follows():
    result = short_of_shards()
    assert result["best"]["set"] == {}
    within = [(limit["name"], limit["month"]["likely"]) for limit in result["best"]["within"]]
    assert within == [(limit["name"], limit["month"]["likely"]) for limit in result["limits"]]
    assert not any(limit["blocks"] for limit in result["limits"])
    months = [limit["month"]["likely"] for limit in result["best"]["within"]]
    assert months == sorted(months)
    assert result["best"]["next"] is None or result["best"]["next"]["month"]["likely"] > MONTHS


def test_the_unchanged_store_is_not_best_above_the_limit_of_utilisation():
    more = growth(rate={"now": 0.85 * CORES * 1000}, utilization=0.8)
    result = plan(override(GATEWAY_BOUND, ["gateways.scales_to=14"]), more, [])
    assert result["first"] == "rgw cpu above 80%"
    assert result["best"]["set"] == result["limits"][0]["set"] != {}
    assert result["best"]["within"] == []


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        ({"now": 2.9e8, "per_month": 1e7}, (1e7, 1.296e9)),
        ({"now": 2.9e8, "per_month": 1e10}, (1e10, 1.296e9)),
        (None, (0.0, 1.296e9)),
        ({"now": 2.9e8, "per_month": 1.2e9}, None),
    ],
)
def test_growth_and_workload_that_contradict_each_other_are_found(objects, found):
    spec = spec_of(override(load_mapping(EXAMPLE), WRITES), "spec")
    given = growth(objects=objects)
    each = contradictions(spec, given, likely(given), HealthAssessment({}, None))
    assert [(one.of_growth, pytest.approx(one.of_spec)) for one in each] == ([] if found is None else [found])


def test_deletes_count_against_new_objects():
    spec = spec_of(override(load_mapping(EXAMPLE), [*WRITES, "workload.mix={PUT: 60, DELETE: 40}"]), "spec")
    assert created_rate_ops(spec) == pytest.approx(200)


def test_the_writes_of_a_closed_loop_are_those_that_it_makes():
    spec = with_object_size(ceph("workload.mix={PUT: 1}", "workload.clients=4"), 0)
    slo = parse_slo("PUT.throughput>1/s")
    now = assess(HealthCheck(spec, (slo,), 0.5, 2))
    assert now.created_ops == pytest.approx(now.slos[slo.text].value)
    given = growth(objects={"now": spec.stored.objects, "per_month": 1})
    (found,) = contradictions(spec, given, likely(given), now)
    assert found.of_spec == pytest.approx(now.created_ops * 30 * 86400)


def test_a_beginning_that_differs_from_the_spec_is_found():
    spec = spec_of(override(load_mapping(EXAMPLE), WRITES), "spec")
    given = growth(objects={"now": 1e8, "per_month": 1.3e9}, rate={"now": 1500})
    each = contradictions(spec, given, likely(given), HealthAssessment({}, None))
    assert [(one.field, one.other) for one in each] == [
        ("objects.now", "stored.objects"),
        ("rate.now", "workload.rate"),
    ]


# Objectives

SLO = parse_slo("GET.p99<2.2ms")
MORE_GETS = growth(months=12, rate={"now": 500, "growth": 0.13})


def test_an_objective_is_broken_in_the_first_month_in_which_it_is():
    spec = spec_of(minio("drives.count=4"), "spec")
    result = plan(minio("drives.count=4"), MORE_GETS, [SLO], window_s=0.5, replications=2)
    kept = []
    for month in range(13):
        at = spec_at(spec, MORE_GETS, likely(MORE_GETS), month)
        kept.append(assess(HealthCheck(at, (SLO,), 0.5, 2)).meets(SLO))
    first = kept.index(False)
    assert 0 < first < 12
    limit = by_name(result, SLO.text)
    assert limit["month"]["likely"] == first
    assessed = limit["evidence"]["months"]
    assert [at["month"] for at in assessed] == [first - 1, first]
    assert result["best"]["set"] == {"hosts.cores.count": 3}
    assert result["best"]["evidence"]["slos"][SLO.text]["value"] < SLO.limit


@pytest.mark.nightly("processes are those of validations, whose test runs many times a day")
def test_workers_find_the_same():
    more = growth(months=4, clients={"now": 2, "growth": 0.3})
    one, two = (plan(minio(), more, [SLO], workers=n, window_s=0.2, replications=2) for n in (1, 2))
    assert one == two
    assert one["visits"] > 1000


def test_reads_and_writes_have_windows_of_their_own():
    spec = ceph("workload.keys=write_once_read_once", "workload.operations=1000", "workload.clients=4")
    slos = tuple(map(parse_slo, ("PUT.p99<1s", "GET.p99<1s", "drive.utilization<100%")))
    both = assess(HealthCheck(spec, slos, 0.5, 2))
    writes = assess(HealthCheck(spec, slos[:1], 0.5, 2))
    assert set(both.slos) == {slo.text for slo in slos}
    assert both.slos["PUT.p99<1s"] == writes.slos["PUT.p99<1s"]
    assert writes.visits < both.visits
    assert both.slos["GET.p99<1s"].value > 5e-3  # a read of the drive


def test_what_is_known_is_not_looked_at_again():
    requested = []

    def mapping(function, health_checks):
        new = list(health_checks)
        requested.extend(new)
        return map(function, new)

    assessor = HealthAssessor(mapping)
    health_check = HealthCheck(ceph("workload.rate=10/s"))
    assert assessor([health_check]) == assessor([health_check, health_check])[:1]
    assert len(requested) == 1


def test_one_window_tells_where_a_figure_is_far_from_its_limit():
    windows = []

    def mapping(function, health_checks):
        new = list(health_checks)
        windows.extend(check.replications for check in new)
        return map(function, new)

    assessor = HealthAssessor(mapping)
    far = parse_slo("GET.mean<1s")
    slow, fast = (HealthCheck(spec_of(minio(f"workload.rate={rate}/s"), "spec"), (far,), 0.2) for rate in (100, 120))
    (found,) = assessor.decided([slow])
    assert windows == [3], "how much windows differ is not known yet"
    (decided,) = assessor.decided([fast])
    assert windows == [3, 1] and decided.meets(far)
    near = replace(far, text="near", limit=found.slos[far.text].value)
    assessor([replace(slow, slos=(near,))])
    (again,) = assessor.decided([replace(fast, slos=(near,))])
    assert windows == [3, 1, 3, 1, 3]
    assert assessor([replace(fast, slos=(near,))]) == [again]
    assert len(windows) == 5


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"window_s": 0.0}, "window is 0"),
        ({"replications": 0}, "replications is 0"),
        ({"slos": [parse_slo("PUT.p99<8ms")]}, "the workload has no PUT"),
        ({"slos": [parse_slo("tape.utilization<8%")]}, "no station has the role 'tape'"),
    ],
)
def test_mistakes_are_said(how, said):
    with pytest.raises(InputError, match=said):
        plan(minio(), MORE_GETS, how.pop("slos", []), **{"window_s": 0.2, "replications": 1} | how)
