from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import sentences
from cli.tables.forecast.runs import attribution_grid
from tests.profiles import examples
from tests.runs import run_of
from traces.run import EARLIER_ATTEMPTS, Run
from traces.statistics.critical_path import ATTRIBUTED, CLIENT_LAG, attribution
from traces.statistics.summary import QUANTILES, latencies, quantiles


def rows_of(role, waiting_s, service_s):
    """Rows of a critical path, one for each request."""
    return [
        {"request": i, "role": role, "waiting_s": w, "service_s": s}
        for i, (w, s) in enumerate(zip(waiting_s, service_s, strict=True))
    ]


def ladder(n: int, **columns) -> Run:
    """Request i takes i ms of waiting for the cpu and 1 ms of service at the drive; rows in a shuffled order."""
    rank = np.random.default_rng(n).permutation(n)
    wait_s, zero = rank * 1e-3, np.zeros(n)
    path = rows_of("drive", zero, zero + 1e-3) + rows_of("cpu", wait_s, zero)
    return run_of(wait_s + 1e-3, critical_path=sorted(path, key=lambda row: row["request"]), **columns)


def test_bands_and_parts_of_a_ladder_computed_by_hand():
    bands = attribution(ladder(1000))["GET"]
    assert list(bands) == ["p50", "p90", "p99"]
    assert [band["requests"] for band in bands.values()] == [100, 100, 10]
    for name, first, last in (("p50", 450, 549), ("p90", 850, 949), ("p99", 985, 994)):
        middle = (first + last) / 2
        latency_s = bands[name]["latency_s"]
        assert [latency_s[k] * 1e3 for k in ("mean", "min", "max")] == pytest.approx([middle + 1, first + 1, last + 1])
        assert bands[name]["roles"]["cpu"] == {"waiting_s": pytest.approx(middle * 1e-3), "service_s": 0}
        assert bands[name]["roles"]["drive"] == {"waiting_s": 0, "service_s": pytest.approx(1e-3)}


@pytest.mark.parametrize(
    ("n", "names"),
    [(99, []), (100, ["p50", "p90"]), (999, ["p50", "p90"]), (1000, ["p50", "p90", "p99"]), (10_000, list(ATTRIBUTED))],
)
def test_a_quantile_needs_ten_requests_around_it(n, names):
    found = attribution(ladder(n))
    assert list(found.get("GET", {})) == names
    assert all(band["requests"] >= 10 for band in found.get("GET", {}).values())


def test_failed_requests_and_other_operations_do_not_count():
    n = 400
    alone = attribution(ladder(n))["GET"]
    # Between its requests stand failed GETs without a path, and PUTs whose time all went into a journal.
    kind = np.tile(np.arange(3), n)
    wait_s = np.repeat(ladder(n).latency_s - 1e-3, 3)
    path = [
        {"request": i, "role": role, "waiting_s": w, "service_s": s}
        for i in np.flatnonzero(kind != 1).tolist()
        for role, w, s in ([("cpu", wait_s[i], 0.0), ("drive", 0.0, 1e-3)] if kind[i] == 0 else [("journal", 0.0, 7.0)])
    ]
    mixed = run_of(
        np.where(kind == 0, wait_s + 1e-3, np.where(kind == 1, 50.0, 7.0)),
        op=np.array(["GET", "GET", "PUT"])[kind].tolist(),
        error=[None, "timeout", None] * n,
        critical_path=path,
    )
    found = attribution(mixed)
    assert set(found["GET"]["p90"]["roles"]) == {"cpu", "drive"}
    for name, band in found["GET"].items():
        assert band["requests"] == alone[name]["requests"]
        assert band["latency_s"] == pytest.approx(alone[name]["latency_s"])
        for role, spent in band["roles"].items():
            assert spent == pytest.approx(alone[name]["roles"][role])
    assert found["PUT"]["p50"]["roles"] == {"journal": {"waiting_s": 0, "service_s": 7}}


def test_client_lag_is_a_separate_part():
    n = 200
    lag_s, arrival_s = np.linspace(0, 0.2, n), np.arange(n) * 0.01
    path = rows_of("cpu", np.zeros(n), np.full(n, 0.1))
    late = run_of(lag_s + 0.1, arrival_s=arrival_s, start_s=arrival_s + lag_s, critical_path=path)
    median = attribution(late)["GET"]["p50"]["roles"]
    assert median[CLIENT_LAG] == {"waiting_s": pytest.approx(0.1), "service_s": 0}
    assert CLIENT_LAG not in attribution(run_of(np.full(n, 0.1), critical_path=path))["GET"]["p50"]["roles"]


def test_a_run_without_a_critical_path_has_no_attribution():
    assert attribution(run_of(np.ones(2000))) == {}
    assert attribution(run_of([], critical_path=[])) == {}


def test_requests_without_latency_have_no_parts():
    bands = attribution(run_of(np.zeros(200), critical_path=[]))["GET"]
    assert bands["p50"]["roles"] == {}
    assert sentences.tail_parts("GET", bands) == "GET takes no time."


@examples(40)
@given(st.integers(0, 1500), st.integers(1, 5), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_parts_add_up_to_the_latency_around_the_quantile(n, roles, seed, lagging, tied):
    rng = np.random.default_rng(seed)
    spent_s = rng.exponential(rng.random((roles, 2, 1)), (roles, 2, n)) * (rng.random((roles, 2, n)) < 0.7)
    spent_s = np.round(spent_s, 0 if tied else 9)
    lag_s = rng.exponential(0.1, n) * lagging
    arrival_s = np.arange(n) * 0.01
    path = [row for i in range(roles) for row in rows_of(f"role {i}", *spent_s[i])]
    run = run_of(
        spent_s.sum((0, 1)) + lag_s,
        arrival_s=arrival_s,
        start_s=arrival_s + lag_s,
        op=rng.choice(["GET", "PUT"], n, p=[0.7, 0.3]).tolist(),
        critical_path=sorted((row for row in path if row["waiting_s"] or row["service_s"]), key=lambda r: r["request"]),
    )
    for op, bands in attribution(run).items():
        for name, band in bands.items():
            parts_s = sum(s for spent in band["roles"].values() for s in spent.values())
            latency_s = band["latency_s"]
            assert parts_s == pytest.approx(latency_s["mean"])
            assert latency_s["min"] <= quantiles(latencies(run, op), QUANTILES[name]) <= latency_s["max"]
        highest = [band["latency_s"]["max"] for band in bands.values()]
        lowest = [band["latency_s"]["min"] for band in bands.values()]
        assert all(high <= low for high, low in zip(highest, lowest[1:], strict=False))


def tail_of_waiting(n: int = 1000) -> Run:
    """At the median 4 ms at the drive and 1 ms waiting for the cpu; in the slowest tenth 91 ms, and a retry of 5 ms."""
    slow = np.arange(n) >= n * 0.9
    wait_s, retry_s = np.where(slow, 91e-3, 1e-3), np.where(slow, 5e-3, 0.0)
    path = rows_of("cpu", wait_s, np.zeros(n)) + rows_of("drive", np.zeros(n), np.full(n, 4e-3))
    path += rows_of(EARLIER_ATTEMPTS, retry_s, np.zeros(n))
    return run_of(wait_s + retry_s + 4e-3, critical_path=sorted(path, key=lambda row: row["request"]))


def test_the_tail_is_compared_with_the_median():
    bands = attribution(tail_of_waiting())["GET"]
    assert sentences.tail_parts("GET", bands) == "p99 of GET: 91% waiting for cpu; at p50 it is 20%."
    # Where no part alone is most of the tail, several are named, and the outermost quantile that is known is taken.
    median = {"a": {"waiting_s": 0.2, "service_s": 0.8}, EARLIER_ATTEMPTS: {"waiting_s": 0.0, "service_s": 0.0}}
    tail = {"a": {"waiting_s": 1.0, "service_s": 0.9}, EARLIER_ATTEMPTS: {"waiting_s": 2.1, "service_s": 0.0}}
    few = {"p50": {"latency_s": {"mean": 1.0}, "roles": median}, "p90": {"latency_s": {"mean": 4.0}, "roles": tail}}
    said = "p90 of PUT: 52% earlier attempts, 25% waiting for a; at p50 they are 0% and 20%."
    assert sentences.tail_parts("PUT", few) == said


def test_the_table_has_median_and_tail_of_each_role():
    found = attribution(tail_of_waiting())
    grid = attribution_grid(found)
    assert grid.columns[2:] == ["p50 waiting", "p50 service", "p99 waiting", "p99 service"]
    assert [list(row) for row in grid.rows] == [
        ["GET", "cpu", "1.00 ms", "0 s", "91.0 ms", "0 s"],
        ["GET", EARLIER_ATTEMPTS, "0 s", "0 s", "5.00 ms", "0 s"],  # most of the tail first
        ["GET", "drive", "0 s", "4.00 ms", "0 s", "4.00 ms"],
    ]
    rare = attribution_grid(found | {"PUT": {name: found["GET"][name] for name in ("p50", "p90")}})
    assert [list(row) for row in rare.rows][3] == ["PUT", "cpu", "1.00 ms", "0 s", "–", "–"]
