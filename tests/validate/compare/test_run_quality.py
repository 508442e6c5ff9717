"""Runs with one thing wrong, each found; Runs with nothing wrong, left alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from models.store import load_spec
from sim.simulate import simulate
from tests.models.test_store import EXAMPLE
from tests.profiles import examples
from tests.runs import run_of
from traces.run import Run
from validate.compare import drift
from validate.compare.run_quality import check_quality

CLOSED = {"pacing": {"loop": "closed"}}
OPEN = {"pacing": {"loop": "open"}, "max_in_flight": 256}
CPU = {"client_s": 1.0, "server_s": 5.0, "other_share": 0.01, "steal_share": 0.0}


@cache
def simulated(seed: int, *load: str, duration: str = "3s") -> Run:
    spec = load_spec(EXAMPLE, [f"workload.duration={duration}", *load])
    return simulate(spec, seed=seed)


def steady(n: int = 3000, seed: int = 0, **changes) -> Run:
    """A closed loop of one client with independent lognormal latencies."""
    latency = np.random.default_rng(seed).lognormal(-6, 0.4, n)
    return one_after_the_other(latency, **changes)


def one_after_the_other(latency, info=None, **columns) -> Run:
    arrival = np.concatenate([[0.0], np.cumsum(latency)[:-1]])
    return run_of(latency, info=CLOSED | (info or {}), arrival_s=arrival, start_s=arrival, **columns)


def open_loop(n: int = 2000, seed: int = 0, lag_s=0.0, **info) -> Run:
    """Return an open loop on an infinitely fast store with response times of a millisecond."""
    arrival = np.cumsum(np.random.default_rng(seed).exponential(0.005, n))
    start = arrival + lag_s
    return run_of(start + 0.001 - arrival, info=OPEN | info, arrival_s=arrival, start_s=start, end_s=start + 0.001)


def test_a_quiet_measurement_is_usable_and_its_figures_are_told():
    quality = check_quality(steady(info={"cpu": CPU}))
    assert quality.usable and quality.reasons == []
    assert quality.figures["errors"] == {"failed": 0, "fraction": 0.0}
    assert quality.figures["disturbed"] == {
        "other_share": 0.01, "steal_share": 0.0, "stalled_share": 0.0, "wake_late_p99_s": None,
    }  # fmt: skip
    assert quality.warnings == []
    assert {change["figure"] for change in quality.figures["drifted"]["changes"]} == {"median latency", "throughput"}


@pytest.mark.parametrize(
    "load", [("workload.clients=1",), ("workload.clients=16",), ("workload.rate=300/s",), ("workload.rate=700/s",)]
)
def test_stationary_simulations_are_usable(load):
    judged = [check_quality(simulated(seed, *load)) for seed in range(12)]
    assert sum(not quality.usable for quality in judged) <= 1, [j.reasons for j in judged]


def test_independent_blocks_are_called_changed_as_rarely_as_the_level_says():
    found = sum(
        any(change.p_value < 0.05 for change in drift.latency_changes(steady(400, seed=seed))) for seed in range(300)
    )
    # The test is exact for a distribution without atoms: 5 % of 300 are 15.
    assert stats.binomtest(found, 300, 0.05).pvalue > 1e-3


@examples(25)
@given(st.floats(0.25, 0.75), st.sampled_from([0.6, 1.5, 2.0]), st.integers(0, 10_000))
def test_a_store_that_becomes_slower_or_faster_has_drifted(when, factor, seed):
    latency = np.random.default_rng(seed).lognormal(-6, 0.4, 3000)
    latency[int(when * 3000) :] *= factor
    quality = check_quality(one_after_the_other(latency))
    assert list(quality.issues) == ["drifted"]
    assert ("rose" if factor > 1 else "fell") in quality.issues["drifted"] or "throughput" in quality.reasons[0]
    change = next(c for c in quality.figures["drifted"]["changes"] if c["figure"] == "median latency")
    # A change within one of the 20 blocks is found at one of its ends, and the block mixes both levels.
    assert change["log_ratio"] == pytest.approx(np.log(factor), abs=0.2)
    assert np.searchsorted(latency.cumsum(), change["at_s"]) / 3000 == pytest.approx(when, abs=0.1)


def test_a_small_change_and_a_cold_start_are_no_drift():
    latency = np.random.default_rng(1).lognormal(-6, 0.4, 4000)
    slower = latency * np.where(np.arange(4000) < 2000, 1, 1.1)
    cold = latency * np.where(np.arange(4000) < 150, 3, 1)
    assert check_quality(one_after_the_other(slower)).usable
    assert check_quality(one_after_the_other(cold)).usable


def test_an_open_loop_whose_asked_rate_changes_is_not_expected_to_stay():
    gap = np.random.default_rng(0).exponential(0.005, 4000) * np.where(np.arange(4000) < 2000, 2, 1)
    arrival = np.cumsum(gap)
    latency = np.where(np.arange(4000) < 2000, 0.001, 0.003) * np.random.default_rng(1).lognormal(0, 0.2, 4000)
    changing = run_of(latency, info=OPEN, arrival_s=arrival, start_s=arrival, end_s=arrival + latency)
    assert check_quality(changing).usable and check_quality(changing).figures["drifted"] == {}
    even = np.arange(4000) * 0.005
    as_asked = run_of(latency, info=OPEN, arrival_s=even, start_s=even, end_s=even + latency)
    assert "drifted" in check_quality(as_asked).issues


def test_more_than_the_store_can_do_is_saturated():
    quality = check_quality(simulated(1, "workload.rate=2500/s"))
    assert "saturated" in quality.issues and "client-limited" not in quality.issues
    assert quality.figures["saturated"]["growth_share"] > 0.05
    assert "backlog grew" in quality.issues["saturated"]


def test_a_client_behind_its_schedule_is_late():
    late = np.where(np.arange(2000) % 20 == 0, 0.02, 0.0)
    quality = check_quality(open_loop(lag_s=late))
    assert list(quality.issues) == ["late"] and quality.warnings == quality.reasons
    assert "5 % of the requests" in quality.issues["late"] and "p99 20 ms" in quality.issues["late"]
    assert check_quality(open_loop(lag_s=late / 10)).usable


def test_a_client_that_falls_ever_further_behind_is_late():
    quality = check_quality(open_loop(lag_s=np.linspace(0, 1, 2000)))
    assert quality.figures["late"]["rate_ratio"] < 0.98
    assert "issue 197.6/s on time" in quality.issues["late"] and "it reached" in quality.issues["late"]


def test_lateness_with_the_maximum_in_progress_is_caused_by_the_store():
    # Four workers and a store that hangs for a second: who is due in it begins late.
    arrival = np.arange(1000) * 0.01
    end = np.where((arrival > 4) & (arrival < 5), 5.001, arrival + 0.002)
    start = np.where((arrival > 4.035) & (arrival < 5), 5.0, arrival)
    run = run_of(end - arrival, info=OPEN | {"max_in_flight": 4}, arrival_s=arrival, start_s=start, end_s=end)
    quality = check_quality(run)
    assert list(quality.issues) == ["late"]
    assert "maximum of 4 requests" in quality.issues["late"] and "the client could" not in quality.issues["late"]


@pytest.mark.parametrize(
    ("info", "said", "not_said"),
    [
        ({"processes": 2, "cores": 2, "kind": "loopback"}, "use fewer processes", "more processes"),
        ({"processes": 2, "cores": 2, "kind": "remote"}, "a lower rate", "fewer processes"),
        ({"processes": 1, "cores": 8, "kind": "loopback"}, "use more processes", "fewer processes"),
        ({"processes": 1, "cores": None, "kind": "remote"}, "with 1 process", "core"),
    ],
)
def test_a_late_client_is_told_what_would_help(info, said, not_said):
    machine = {"processes": info["processes"], "environment": {"cores": info["cores"]},
               "endpoint": {"kind": info["kind"]}}  # fmt: skip
    late = np.where(np.arange(2000) % 20 == 0, 0.02, 0.0)
    sentence = check_quality(open_loop(lag_s=late, **machine)).issues["late"]
    assert said in sentence and not_said not in sentence
    assert "could not issue" in sentence and "197.6/s" in sentence


def test_other_work_is_named_as_the_cause_of_lateness():
    late = np.where(np.arange(2000) % 20 == 0, 0.02, 0.0)
    quality = check_quality(open_loop(lag_s=late, cpu=CPU | {"other_share": 0.6}))
    assert list(quality.issues) == ["late", "disturbed"]
    assert "other work took 60 %" in quality.issues["late"] and "could not" not in quality.issues["late"]


def test_a_machine_that_stops_for_a_while_disturbs_a_closed_loop():
    rng = np.random.default_rng(0)
    latency = rng.lognormal(-6, 0.4, 3000)
    stops = np.where(np.arange(3000) % 300 == 150, 0.1, 0.0)  # of 8.5 s, a second in ten pieces
    begin = np.concatenate([[0.0], np.cumsum(latency + stops)[:-1]])

    def quality_of(stops_s):
        due = begin
        return check_quality(run_of(latency + stops_s, info=CLOSED, arrival_s=due, start_s=due + stops_s,
                                    end_s=due + stops_s + latency))  # fmt: skip

    assert list(quality_of(stops).issues) == ["disturbed"]
    assert quality_of(stops).figures["disturbed"]["stalled_share"] == pytest.approx(0.11, abs=0.02)
    assert quality_of(np.where(np.arange(3000) == 150, 0.1, 0)).usable


def test_stalls_of_several_clients_at_once_count_once():
    arrival = np.repeat(np.arange(1000) * 0.01, 4)
    lag = np.where(np.isclose(arrival, 5.0), 0.5, 0.0)  # the four requests due at 5 s
    run = run_of(lag + 0.005, info=CLOSED, arrival_s=arrival, start_s=arrival + lag, end_s=arrival + lag + 0.005)
    quality = check_quality(run)
    assert quality.figures["disturbed"]["stalled_share"] == pytest.approx(0.05, abs=1e-3)
    assert "5 % of the time" in quality.issues["disturbed"]


def test_sleeps_that_end_late_disturb():
    assert check_quality(steady(info={"floor": {"wake_late_p99_s": 0.0005}})).usable
    quality = check_quality(steady(info={"floor": {"wake_late_p99_s": 0.012}}))
    assert list(quality.issues) == ["disturbed"] and "12 ms" in quality.issues["disturbed"]


def test_a_store_that_drifts_is_no_warning_about_the_measurement():
    latency = np.random.default_rng(0).lognormal(-6, 0.4, 3000) * np.where(np.arange(3000) < 1500, 1, 2)
    quality = check_quality(one_after_the_other(latency))
    assert list(quality.issues) == ["drifted"] and not quality.warnings


def busy_client(cores: float, data_path: str, endpoint: str, processes: int = 1) -> Run:
    run = steady()
    return replace(run, info=run.info | {
        "cpu": CPU | {"client_s": cores * run.duration_s}, "data_path": {"name": data_path},
        "endpoint": {"kind": endpoint}, "environment": {"cores": 2}, "processes": processes,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("cores", "data_path", "endpoint", "processes", "usable"),
    [
        (0.9, "boto3", "loopback", 1, False),
        (0.9, "boto3", "loopback", 2, True),
        (0.7, "boto3", "loopback", 1, True),
        (1.9, "obstore", "loopback", 1, True),  # the models have the client on the store's cores
        (1.9, "obstore", "remote", 1, False),
        (1.9, "boto3", "remote", 8, False),
        (1.2, "obstore", "remote", 1, True),
    ],
)
def test_a_closed_loop_s_client_may_use_what_the_models_know_of(cores, data_path, endpoint, processes, usable):
    quality = check_quality(busy_client(cores, data_path, endpoint, processes))
    assert list(quality.issues) == ([] if usable else ["client-limited"])
    assert quality.figures["client-limited"]["client_cores"] == pytest.approx(cores)


def test_errors_beyond_one_percent_are_an_issue():
    failing = steady(error=["timeout" if i % 50 == 0 else None for i in range(3000)])
    assert list(check_quality(failing).issues) == ["errors"]
    assert check_quality(failing).figures["errors"] == {"failed": 60, "fraction": 0.02}
    assert check_quality(steady(error=["timeout" if i % 200 == 0 else None for i in range(3000)])).usable


@pytest.mark.parametrize("what", ["other_share", "steal_share"])
def test_other_load_and_steal_disturb(what):
    quality = check_quality(steady(info={"cpu": CPU | {what: 0.2}}))
    assert list(quality.issues) == ["disturbed"]
    assert "20 %" in quality.issues["disturbed"]


def test_what_the_server_itself_used_is_no_disturbance_where_its_share_is_not_known():
    cpu = CPU | {"server_s": None, "other_share": 0.7}
    assert check_quality(steady(info={"cpu": cpu, "endpoint": {"kind": "loopback"}})).usable
    assert not check_quality(steady(info={"cpu": cpu, "endpoint": {"kind": "remote"}})).usable


def test_interrupted_short_and_empty_runs_are_told():
    assert list(check_quality(steady(info={"aborted": True})).issues) == ["aborted"]
    assert list(check_quality(steady(20)).issues) == ["too short"]
    assert list(check_quality(steady(100)).issues) == ["too short"]  # a quarter of a second
    assert list(check_quality(run_of([])).issues) == ["too short"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [0, 1, 2, 29, 31])
def test_tiny_and_constant_runs_are_judged_without_a_warning(n):
    for info in ({}, CLOSED, OPEN):
        assert "too short" in check_quality(run_of(np.full(n, 0.001), info=info)).issues
        check_quality(run_of(np.zeros(n), info=info, arrival_s=np.zeros(n)))
        check_quality(run_of(np.ones(n), info=info, error=pa.array(["timeout"] * n, pa.string())))


def test_every_reason_is_one_sentence_with_its_figures():
    many = busy_client(0.95, "boto3", "loopback")
    many = replace(many, info=many.info | {"aborted": True, "cpu": many.info["cpu"] | {"other_share": 0.3}})
    reasons = check_quality(many).reasons
    assert len(reasons) == 3
    for reason in reasons:
        assert "\n" not in reason and any(character.isdigit() for character in reason)
