from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cli.parse.slo import parse_slo
from sim.experiments.measures import Measures
from sim.replication.slo import Slo, overall
from sim.replication.summaries import Replication, Replications
from tests.runs import run_of
from traces.errors import InputError

STATIONS = [
    {"name": "drive 0", "role": "drive", "servers": 1, "utilization": 0.7, "visits": 1, "mean_queue": 0.0},
    {"name": "drive 1", "role": "drive", "servers": 1, "utilization": 0.9, "visits": 1, "mean_queue": 0.0},
    {"name": "cpu", "role": "host cpu", "servers": 2, "utilization": 0.2, "visits": 1, "mean_queue": 0.0},
    {"name": "wire", "role": "latency", "servers": None, "utilization": 7.0, "visits": 1, "mean_queue": 0.0},
]

INFO = {"engine": {"name": "compiled", "wall_s": 0.0, "visits": 0}}


def measures_of(*latencies_s, failed=0, **columns):
    """Of a replication for each list of latencies, the first `failed` requests of which failed."""
    runs = []
    for seed, latency_s in enumerate(latencies_s):
        error = ["refused"] * failed + [None] * (len(latency_s) - failed)
        run = run_of(latency_s, info=INFO, stations=STATIONS, error=error, **columns)
        runs.append(Replication.of(run, seed))
    return Measures.of(Replications(tuple(runs)))


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0, 10))
def test_a_verdict_takes_the_whole_interval(a, b, limit):
    low, high = sorted((a, b))
    below, above = Slo("", "GET", "p99", limit), Slo("", "GET", "throughput_ops", limit)
    assert (below.verdict(low, high) == "pass") == (high < limit)
    assert (below.verdict(low, high) == "fail") == (low >= limit)
    assert (above.verdict(low, high) == "pass") == (low > limit)
    assert (above.verdict(low, high) == "fail") == (high <= limit)
    assert below.verdict(-math.inf, math.inf) == above.verdict(-math.inf, math.inf) == "unsure"


def test_objectives_together():
    assert overall([]) == overall(["pass", "pass"]) == "pass"
    assert overall(["pass", "unsure"]) == "unsure"
    assert overall(["unsure", "fail", "pass"]) == "fail"


def test_latency_is_judged_by_its_interval():
    measures = measures_of([0.010] * 9, [0.012] * 9, [0.011] * 9)
    ratio = math.exp(stats.t.ppf(0.975, 2) * 0.001 / math.sqrt(3) / 0.011)
    for limit, verdict in ((0.0111 * ratio, "pass"), (0.011, "unsure"), (0.0109 / ratio, "fail")):
        judged = parse_slo(f"GET.mean<{limit}s").evaluate(measures)
        assert judged.verdict == verdict
        assert [judged.value, judged.low, judged.high] == pytest.approx([0.011, 0.011 / ratio, 0.011 * ratio])


def test_one_replication_tells_nothing():
    measures = measures_of([0.01] * 100)
    for text in ("GET.p99<1s", "GET.max<1s", "drive.utilization<99%", "GET.throughput>1/s", "GET.p99<1ms"):
        assert parse_slo(text).evaluate(measures).verdict == "unsure", text


def test_the_greatest_latency_is_that_of_a_run():
    measures = measures_of([0.01, 0.05], [0.01, 0.09])
    verdicts = [parse_slo(f"GET.max<{limit}").evaluate(measures).verdict for limit in ("0.1s", "0.07s", "0.04s")]
    assert verdicts == ["pass", "unsure", "fail"]


def test_no_error_seen_is_not_no_error():
    measures = measures_of([0.01] * 1000, [0.01] * 1000)
    judged = parse_slo("GET.errors<0.1%").evaluate(measures)
    assert judged.high == pytest.approx(1 - 0.025 ** (1 / 2000))  # Clopper and Pearson, where none was seen
    assert judged.verdict == "unsure"
    assert parse_slo("GET.errors<1%").evaluate(measures).verdict == "pass"


def test_errors_in_bursts_widen_their_interval():
    even = measures_of([0.01] * 1000, [0.01] * 1000, failed=10)
    runs = [run_of([0.01] * 1000, info=INFO, stations=STATIONS, error=["e"] * n + [None] * (1000 - n)) for n in (0, 20)]
    bursts = Measures.of(Replications(tuple(Replication.of(run, seed) for seed, run in enumerate(runs))))
    narrow, wide = (parse_slo("GET.errors<1%").evaluate(each) for each in (even, bursts))
    assert narrow.value == wide.value == 0.01
    assert wide.high > 0.05 > narrow.high
    assert wide.low == 0


def test_where_all_failed_nothing_is_kept():
    measures = measures_of([0.01] * 50, [0.01] * 50, failed=50)
    for text in ("GET.p99<1h", "GET.max<1h", "GET.throughput>1/h", "GET.errors<50%"):
        assert parse_slo(text).evaluate(measures).verdict == "fail", text


def test_an_objective_that_was_not_given_is_open():
    judged = parse_slo("PUT.p99<1s").evaluate(measures_of([0.01] * 10, [0.01] * 10))
    assert judged.verdict == "unsure"
    assert math.isnan(judged.value)


def test_utilization_is_the_busiest_stations():
    measures = measures_of([0.01] * 10, [0.01] * 10)
    found = {text: parse_slo(text).evaluate(measures) for text in ("drive.utilization<80%", "host cpu.utilization<80%")}
    assert [judged.verdict for judged in found.values()] == ["fail", "pass"]
    assert [judged.value for judged in found.values()] == pytest.approx([0.9, 0.2])
    assert parse_slo("utilization<95%").evaluate(measures).value == pytest.approx(0.9), (
        "no server is busy of infinitely many"
    )
    assert measures.busiest["drive"] == "drive 1"
    with pytest.raises(InputError, match="no station has the role 'latency'; allowed are drive, host cpu"):
        parse_slo("latency.utilization<80%").evaluate(measures)


def test_utilization_follows_the_station_that_is_busiest_on_average():
    runs = []
    for seed, (first, second) in enumerate([(0.9, 0.5), (0.5, 0.8), (0.5, 0.8)]):
        rows = [STATIONS[0] | {"utilization": first}, STATIONS[1] | {"utilization": second}]
        runs.append(Replication.of(run_of([0.01], info=INFO, stations=rows), seed))
    measures = Measures.of(Replications(tuple(runs)))
    assert measures.roles["drive"].value == pytest.approx(np.mean([0.5, 0.8, 0.8]))
