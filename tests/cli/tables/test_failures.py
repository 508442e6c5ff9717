"""Sentences about failures."""

from __future__ import annotations

import pytest

from cli.tables.experiments.failures import described, failing
from sim.experiments.failing import Remedy


@pytest.mark.parametrize(
    ("failure", "event", "text"),
    [
        ("host:1", {"kind": "host_down", "host": 1}, "host 1 is down"),
        ("link:1", {"kind": "link_down", "host": 1}, "link of host 1 is cut"),
        ("frozen-drive:5", {"kind": "drive_frozen", "drive": 5}, "drive 5 is frozen"),
        ("slow-link:1=10", {"kind": "slow_link", "host": 1, "speed": 0.1}, "link of host 1 is 10 times slower"),
        ("drive:5", {"kind": "drive_down", "drive": 5}, "drive 5 is down"),
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
        "While host 0 is down, 16.5% of the requests fail; it would help to set balance=proxy (none would) or "
        "gateways.redispatch=true (1.0% would)."
    )
    assert "no change that was simulated would halve that" in failing(what, 0.165, [])
