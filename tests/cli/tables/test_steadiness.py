"""The line on runs that have not settled."""

from __future__ import annotations

from cli.tables.forecast.steadiness import points_lines, unsettled_lines
from sim.replication.steadiness import Unsettled

START = Unsettled("start", 4.0, "PUT", "op/s", ratio=2.14)
SLOW = Unsettled("correlation", 15.1, "PUT", "response time", independent=4.2)
CYCLE = Unsettled("cycle", 2.5, work="garbage collection", period_s=1.5)
TAIL = Unsettled("tail", 2.0, "GET", independent=6.3)


def test_settled_runs_have_no_line():
    assert unsettled_lines([], {"operations": 5}) == []
    assert points_lines([("clients=8", []), ("clients=9", [])]) == []


def test_a_start_names_the_length_needed_and_steady():
    assert unsettled_lines([START], {"operations": 5000}) == [
        "warning: the run has not settled: at its start, PUT op/s is 214% of the later value. Simulate "
        "workload.operations of at least 20,000; --steady leaves out the start."
    ]


def test_the_length_needed_is_the_longest_of_all_causes():
    (line,) = unsettled_lines([SLOW, START, CYCLE, TAIL], {"operations": 5000, "duration": 2.0})
    assert "workload.operations of at least 76,000 and workload.duration of at least 31 s" in line
    assert "only about 4 independent parts" in line
    assert "garbage collection, one in 1.50 s" in line
    assert "about 6 independent" in line


def test_a_short_run_has_no_start_to_leave_out():
    (line,) = unsettled_lines([TAIL], {"duration": 10.0})
    assert line.startswith("warning: the run is short: p99 of GET rests on about 6 independent slow requests.")
    assert line.endswith("Simulate workload.duration of at least 20 s.")


def test_runs_of_a_trace_or_that_were_lengthened_say_so():
    assert "Simulate at least 4 times as long;" in unsettled_lines([START], {})[0]
    (line,) = unsettled_lines([TAIL], {"duration": 10.0}, longer=8)
    assert "the run, even 8 times as long, is short" in line
    assert "workload.duration of at least 160 s" in line


def test_the_worst_point_stands_for_all():
    (line,) = points_lines([("clients=8", [TAIL]), ("clients=9", [SLOW]), ("clients=10", [])])
    assert line.endswith("2 of 3 points are too short, clients=9 the most.")
    assert "PUT response time" in line
