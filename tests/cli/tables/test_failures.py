"""Sentences about failures."""

from __future__ import annotations

import pytest

from cli.tables.experiments.failures import described, failing, slowed
from sim.experiments.failing import Remedy
from sim.experiments.failure_result import FailureEffect, FailureWindow, HealthyWindow
from sim.experiments.failure_windows import FailureTimeline
from sim.experiments.whatif import OpEnds, OpFigures
from sim.replication.summaries import Differences


@pytest.mark.parametrize(
    ("failure", "event", "text"),
    [
        ("host:1", {"kind": "host_down", "host": 1}, "host 1 is down"),
        ("link:1", {"kind": "link_down", "host": 1}, "link of host 1 is cut"),
        ("frozen-drive:5", {"kind": "drive_frozen", "drive": 5}, "drive 5 is frozen"),
        ("slow-link:1=10", {"kind": "slow_link", "host": 1, "speed": 0.1}, "link of host 1 is 10 times slower"),
        ("drive:5", {"kind": "drive_down", "drive": 5}, "drive 5 is down"),
        ("hung-host:1", {"kind": "host_hung", "host": 1}, "host 1 does not respond"),
        ("file-system", {"kind": "file_system_hung"}, "the file-system does not respond"),
        ("replaced-drive:5", {"kind": "drive_replaced", "drive": 5}, "drive 5 is being replaced"),
        ("decommission:1", {"kind": "decommission", "pool": 1}, "pool 1 is emptied"),
    ],
)
def test_failures_of_different_kinds_read_differently(failure, event, text):
    assert described(failure, event | {"at": 1.0}) == text


def test_failing_requests_come_with_what_would_help():
    what = described("host", {"kind": "host_down", "host": 0, "at": 1.0})
    helped = [Remedy({"balance": "proxy"}, 0.0), Remedy({"gateways.redispatch": True}, 0.01)]
    assert failing(what, 0.165, helped) == (
        "While host 0 is down, 16.5% of the requests fail; it would help to set balance=proxy (none would fail) or "
        "gateways.redispatch=true (1.0% would fail)."
    )
    assert "no change that was simulated would halve that" in failing(what, 0.165, [])


def figures(rate_ops: float, p99_s: float, errors: int = 0, few: tuple[str, ...] = ()) -> OpFigures:
    ends = OpEnds([rate_ops, rate_ops], [0.0, 0.0], {})
    return OpFigures(1000, errors, 0, rate_ops, 0.0, {"p99": p99_s}, ends, list(few))


@pytest.mark.parametrize(
    ("during", "said"),
    [
        (figures(99.0, 0.011), []),
        (figures(99.0, 0.5), ["While host 0 does not respond, GET p99 is 500 ms instead of 10.0 ms."]),
        (figures(99.0, 0.5, few=("p99",)), []),
        (figures(8.5, 0.5), ["While host 0 does not respond, 8.50 of 100 GET/s are served; the others wait."]),
        (figures(66.0, 0.011, 340), []),  # the others fail, which another sentence states
        (figures(30.0, 0.011, 340), ["While host 0 does not respond, 30.0 of 100 GET/s are served; the others wait."]),
    ],
)
def test_requests_that_wait_during_a_failure_are_stated_first(during: OpFigures, said: list[str]) -> None:
    healthy = HealthyWindow({"GET": figures(100.0, 0.01)})
    window = FailureWindow(10.0, 20.0, {"GET": during}, healthy, Differences(3, 0.95, {}), {}, {}, "pass", None)
    timeline = FailureTimeline([], [], {}, {})
    event = {"kind": "host_hung", "host": 0, "at": 10.0}
    effect = FailureEffect("hung-host", event, 3, None, {"during": window}, timeline, [], 0.0, [])
    assert slowed(effect) == said
