"""All commands that simulate say whether what they simulate is too short for what is read from it."""

from __future__ import annotations

from typing import Any

import pytest

from cli.parse.failure import parse_failure
from cli.parse.slo import parse_slo
from cli.tables.experiments import failures as failure_tables
from cli.tables.experiments import plan as plan_tables
from cli.tables.experiments import timeline as timeline_tables
from cli.tables.forecast.steadiness import points_lines, unsettled_lines
from models.store import spec_of
from sim.capacity.growth import Growth
from sim.capacity.health import HealthAssessment, HealthCheck, assess
from sim.capacity.plan import plan
from sim.capacity.timeline import TimelinePlan, timeline
from sim.experiments.failures import FailureExperiment, failures
from sim.experiments.sweep import Settings
from sim.replication.steadiness import Unsettled
from traces.spec.spec_file import validated

HEAVY, LIGHT = 950.0, 300.0
"""Rates of a station that serves 1,000/s: the queue fills in thousands of requests, or in few."""


def ceph(rate: float) -> dict[str, Any]:
    """A cluster whose gateway has one core, on which a GET takes a millisecond."""
    return {
        "store": "ceph",
        "workload": {"duration": "2s", "rate": rate, "object_size": "4KiB", "mix": {"GET": 1}},
        "hosts": {"count": 4, "drives": 2, "cores": 64, "nic": 1e12},
        "osd": {"read": "0.01ms"},
        "gateways": {"count": 1, "cores": 1, "nic": 1e12, "cpu": {"GET": "1ms"}, "max_requests": 100_000},
        "device": {"read": "0.001ms", "write": "0.01ms", "capacity": "4TB"},
        "stored": {"objects": 1000},
    }


def minio(rate: float, duration: str) -> dict[str, Any]:
    return {
        "store": "minio",
        "workload": {"rate": rate, "duration": duration, "object_size": "1KB", "mix": {"GET": 1}},
        "hosts": {"count": 1, "cores": {"count": 1}, "cpu": {"GET": {"constant": "1ms"}}},
        "drives": {"count": 4, "read": "0.01ms", "write": "0.01ms", "commit": "0s"},
        "network": {"latency": "0.1ms"},
        "erasure": {"parity": 2},
    }


def growth(now: float) -> Growth:
    return validated(Growth, {"months": 2, "rate": {"now": now, "growth": 0.01}}, "growth")


def test_a_plan_warns_of_short_windows() -> None:
    slo = parse_slo("GET.p99<10s")
    short = plan(ceph(HEAVY), growth(HEAVY), [slo], window_s=1.0)
    (line,) = (line for line in plan_tables.opening(short) if line.startswith("warning"))
    assert "Simulate with --window" in line and "--steady" not in line and "months" in line
    enough = plan(ceph(LIGHT), growth(LIGHT), [slo], window_s=30.0)
    assert not any(line.startswith("warning") for line in plan_tables.opening(enough))
    assert any(moment["unsettled"] for moment in short.to_json()["likely"])


def test_a_kept_assessment_keeps_it() -> None:
    found = assess(HealthCheck(spec_of(ceph(HEAVY), "spec"), (parse_slo("GET.p99<10s"),), 1.0))
    assert found.unsettled
    assert HealthAssessment.from_cache(found.to_cache()) == found


def test_failures_warn_of_short_windows() -> None:
    def opening(rate: float, duration: str) -> list[str]:
        settings = Settings(replications=2)
        result = failures(
            FailureExperiment(minio(rate, duration), "store.yaml", [parse_failure("drive")], settings=settings)
        )
        return [line for line in failure_tables.opening(result) if line.startswith("warning")]

    (line,) = opening(HEAVY, "3s")
    assert "window" in line and "--steady" not in line
    assert not opening(LIGHT, "60s")


def test_a_timeline_warns_of_short_windows() -> None:
    def opening(rate: float, window_s: float) -> list[str]:
        result = timeline(spec_of(ceph(rate), "spec"), TimelinePlan(1e3, 1e4, states=2, window_s=window_s))
        return [line for line in timeline_tables.opening(result) if line.startswith("warning")]

    (line,) = opening(HEAVY, 1.0)
    assert "Simulate with --window" in line and "states" in line
    assert not opening(LIGHT, 40.0)


@pytest.mark.parametrize("can_leave_out", [True, False])
def test_a_remedy_is_an_option_that_the_command_has(can_leave_out: bool) -> None:
    found = [Unsettled("start", 4.0, "GET", "response time", 0.5)]
    (line,) = unsettled_lines(found, {"duration": 2.0}, can_leave_out=can_leave_out)
    assert ("--steady" in line) == can_leave_out and "workload.duration of at least 8 s" in line
    (line,) = points_lines([("month 0", found), ("month 1", [])], window_s=2.0, can_leave_out=False, points="months")
    assert "Simulate with --window 8s at least." in line
    assert line.endswith("1 of 2 months are too short, month 0 the most.")
