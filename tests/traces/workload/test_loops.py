from __future__ import annotations

import pytest

from traces.spec.spec_file import override
from traces.workload.loops import loop_note, one_loop

OPEN = {"workload": {"rate": 5, "arrivals": "mmpp2", "operations": 3}}
CLOSED = {"workload": {"clients": 2, "think_time": 1, "stagger": 1, "operations": 3}}


@pytest.mark.parametrize(
    ("data", "assignments", "left"),
    [
        (CLOSED, ["workload.rate=7"], {"rate": 7, "operations": 3}),
        (OPEN, ["workload.clients=4"], {"clients": 4, "operations": 3}),
        (OPEN, ["workload.rate=7"], {"rate": 7, "arrivals": "mmpp2", "operations": 3}),
        (CLOSED, ["workload.clients=4"], {**CLOSED["workload"], "clients": 4}),
        (CLOSED, ["workload.rate=null"], {**CLOSED["workload"], "rate": None}),
        # Both at once stay, and the workload refuses them.
        (OPEN, ["workload.clients=4", "workload.rate=7"], {"rate": 7, "clients": 4, "operations": 3}),
    ],
)
def test_an_override_switches_the_loop(data, assignments, left):
    assert override(data, assignments)["workload"] == left


def test_other_rates_and_clients_are_no_loops():
    data = {"background": {"rate": 5, "clients": 3}, "workload": {"clients": 1}}
    assert override(data, ["background.rate=6"]) == {
        "background": {"rate": 6, "clients": 3},
        "workload": {"clients": 1},
    }


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        (CLOSED, "workload.rate", ["open loop", "clients", "think_time"]),
        (CLOSED, "rate", ["open loop"]),
        (OPEN, "workload.clients", ["closed loop", "rate", "arrivals"]),
        ({"workload": {"operations": 3}}, "workload.rate", ["open loop"]),
        (OPEN, "workload.rate", None),
        (CLOSED, "workload.clients", None),
        (CLOSED, "background.rate", None),
        ({}, "workload.rate", None),
    ],
)
def test_a_switch_is_noted(data, path, words):
    note = loop_note(data, path)
    assert (note is None) == (words is None)
    assert all(word in (note or "") for word in words or ())


def test_a_recorded_spec_with_both_keeps_the_rate():
    both = {"store": "x", "workload": {"rate": 5, "clients": 2, "think_time": 1, "operations": 3}}
    assert one_loop(both) == {"store": "x", "workload": {"rate": 5, "operations": 3}}
    assert one_loop(CLOSED) == CLOSED
