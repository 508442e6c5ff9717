from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ceph.spec.spec import CephSpec
from models.shared.prices import cost
from models.store import load_spec, spec_of
from sim.capacity.growth import Growth, UncertainNumber, check_growth, likely, read_growth, scenarios, spec_at
from tests.ceph_clusters import WITH_DB, ceph
from tests.paths import EXAMPLES
from tests.specs import minio
from traces.errors import InputError
from traces.spec.spec_file import validated

GROWTH = {
    "months": 12,
    "objects": {"now": 1e6, "per_month": {"low": 1e5, "likely": 2e5, "high": 4e5}},
    "rate": {"now": "100/s", "growth": {"low": 0.0, "likely": 0.02, "high": 0.05}},
    "object_size": "64KiB",
    "scenarios": 40,
}


def growth(**changes: object) -> Growth:
    return validated(Growth, GROWTH | changes, "growth")


def three(low: float, likely: float, high: float, distribution: str = "triangular") -> UncertainNumber[float]:
    return UncertainNumber[float].model_validate(
        {"low": low, "likely": likely, "high": high, "distribution": distribution}
    )


def test_a_triangular_range_has_its_mean_its_ends_and_its_mode():
    wide = three(1, 2, 6)
    u = (np.arange(100_000) + 0.5) / 100_000
    values = wide.quantile(u)
    assert values.mean() == pytest.approx((1 + 2 + 6) / 3, rel=1e-6)  # of a triangle: the mean of its corners
    assert wide.quantile(np.array([0.0, 0.2, 1.0])).tolist() == pytest.approx([1, 2, 6])  # (2 - 1) / (6 - 1) is below


def test_a_lognormal_range_leaves_one_in_twenty_on_either_side():
    skewed = three(1, 10, 40, distribution="lognormal")
    assert skewed.quantile(np.array([0.05, 0.5, 0.95])).tolist() == pytest.approx([1, 10, 40])


@given(st.tuples(*[st.floats(0, 1e9)] * 3).map(sorted), st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted))
def test_quantiles_ascend_within_the_range(ends, u):
    low, high = three(*ends).quantile(np.array(u))
    assert ends[0] - 1e-6 <= low <= high * (1 + 1e-12) + 1e-6 <= (ends[2] + 2e-6) * (1 + 1e-9)


def test_scenarios_take_one_draw_from_each_part_of_a_law():
    drawn = np.sort([s.objects_a_month for s in scenarios(growth(), seed=3)])
    edges = three(1e5, 2e5, 4e5).quantile(np.linspace(0, 1, 41))
    assert ((edges[:-1] <= drawn) & (drawn <= edges[1:])).all()


def test_scenarios_are_a_function_of_the_seed():
    assert scenarios(growth(), 1) == scenarios(growth(), 1) != scenarios(growth(), 2)


def test_nothing_uncertain_is_one_scenario():
    sure = growth(objects={"now": 1e6, "per_month": 2e5}, rate={"now": 100, "growth": 0.02})
    assert scenarios(sure, 0) == [likely(sure)]


def test_a_store_grows_and_is_asked_for_more():
    grown = spec_at(ceph(), growth(), likely(growth()), 10)
    assert isinstance(grown, CephSpec)
    assert grown.stored.objects == 3e6
    assert grown.workload.rate == pytest.approx(100 * 1.02**10)
    assert grown.stored.object_size == 65536
    assert grown.workload.object_size.quantile(np.array([0.5]))[0] == 65536


def test_changes_and_utilization_may_be_percentages():
    written = growth(rate={"now": 100, "growth": "-2%"}, utilization="80%")
    assert written == growth(rate={"now": 100, "growth": -0.02}, utilization=0.8)
    spread = {"low": "1%", "likely": "2 %", "high": 0.04}
    assert growth(rate={"growth": spread}).rate.growth.likely == 0.02
    with pytest.raises(InputError, match=r"utilization: .*did you mean 80%"):
        growth(utilization=80)
    with pytest.raises(InputError, match=r"rate\.growth"):
        growth(rate={"growth": "much%"})


def test_growth_begins_with_what_the_spec_has():
    given_none = growth(objects={"per_month": 10}, rate=None, object_size=None, clients={"growth": 0.1})
    spec = ceph("stored.objects=500", "workload.clients=20")
    grown = spec_at(spec, given_none, likely(given_none), 2)
    assert isinstance(grown, CephSpec)
    assert (grown.stored.objects, grown.workload.clients) == (520, round(20 * 1.1**2))


def test_buckets_are_resharded_on_the_way():
    dynamic = ceph("buckets={shards: 1, resharding: {dynamic: true}}")
    later = spec_at(dynamic, growth(), likely(growth()), 1)
    assert isinstance(later, CephSpec)
    assert later.buckets.shards > 1.2e6 / 1e5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"objects": {"per_month": {"low": 2, "likely": 1, "high": 3}}},
            "objects.per_month: low, likely, high are 2, 1",
        ),
        ({"objects": {"per_month": -1}}, "objects.per_month"),
        ({"clients": {"growth": 0.1}}, "rate is for an open loop, clients for a closed one"),
        ({"rate": {"now": "3 parsecs"}}, "unknown unit"),
        ({"months": 0}, "months"),
        ({"weeks": 3}, "unknown field; allowed are months, objects"),
        (
            {"objects": {"per_month": {"low": 0, "likely": 1, "high": 3, "distribution": "lognormal"}}},
            "it must be above 0",
        ),
    ],
)
def test_mistakes_name_the_field(change, said):
    with pytest.raises(InputError, match="growth: ") as raised:
        growth(**change)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("store", "change", "said"),
    [
        (load_spec(EXAMPLES / "bob" / "one-host.yaml"), {}, "objects: store bob: its model has no growth"),
        (ceph("workload.rate=10/s"), {"rate": None, "clients": {"growth": 0.1}}, "has no clients"),
        (ceph(), {"rate": {"growth": 0.1}}, "rate.now: is missing"),
        (ceph("workload.keys=write_once_read_once"), {}, "need a closed loop"),
    ],
)
def test_growth_that_does_not_fit_the_store_is_refused(store, change, said):
    with pytest.raises(InputError, match=said):
        check_growth(store, growth(**change))


def test_the_example_is_read():
    example = EXAMPLES / "ceph" / "growth.yaml"
    assert read_growth(example).months == 24


def test_a_cluster_costs_the_sum_of_its_parts():
    prices = "prices={gateway: 100, gateway_core: 10, osd_host: 1000, drive: 30, db_gb: 0.5, copied_tb: 7}"
    spec = ceph(*WITH_DB, prices, "gateways.count=3", "gateways.cores=4")
    assert cost(spec) == 3 * 100 + 12 * 10 + 8 * 1000 + 16 * 30 + 16 * 80 * 0.5
    assert cost(ceph(*WITH_DB)) is None


def test_a_minio_costs_the_sum_of_its_parts():
    spec = spec_of(minio("prices={host: 500, core: 20, drive: 40}", "drives.count=4"), "spec")
    assert cost(spec) == 500 + 2 * 20 + 4 * 40


def test_gateways_that_stand_idle_cost_nothing():
    assert cost(ceph("access=rados", "prices={gateway: 100, drive: 1}", "workload.mix={GET: 1}")) == 16
