from __future__ import annotations

from dataclasses import replace

import pytest

from cli.tables.forecast.verdict import few_note, quantile, verdict_line
from cli.tables.operations import ordered
from sim.replication.slo import Slo
from sim.verdict.first_saturated import Saturation
from sim.verdict.stretches import FailingStretch, Jam
from sim.verdict.verdict import LoadVerdict, OpVerdict

FIRST = Saturation("host cpu", "host cpu", 0.62, 13_000.0, "demands", 1.6)
HEALTHY = LoadVerdict("healthy", "open", None, 8000.0, 8000.0, 0.0, FIRST, [1.0, 2.0, 1.0, 2.0])


def test_operations_with_objectives_come_first_and_then_the_most_frequent():
    counts = {"GET": 50, "PUT": 20, "HEAD": 5, "LIST": 30}
    slos = [Slo("", "HEAD", "p99", 0.1), Slo("", "PUT", "p99", 0.1), Slo("", "PUT", "p50", 0.1)]
    assert ordered(counts) == ["GET", "LIST", "PUT", "HEAD"]
    assert ordered(counts, slos) == ["HEAD", "PUT", "GET", "LIST"]
    assert ordered(counts, [Slo("", "drive", "utilization", 0.8)]) == ordered(counts)


def test_a_verdict_is_a_line_that_begins_with_the_status():
    line = verdict_line(HEALTHY)
    assert line.startswith("healthy: 8,000 of 8,000 op/s")
    assert all(text in line for text in ("host cpu", "62%", "13,000 op/s", "1.6x"))
    overloaded = verdict_line(
        replace(HEALTHY, status="overloaded", overloaded=True, offered_ops=20_000.0, served_ops=12_900.0)
    )
    assert overloaded.startswith("overloaded: 12,900 of 20,000 op/s")
    assert "Latency grows" in overloaded
    drained = replace(HEALTHY, status="overloaded", overloaded=True, served_ops=800.0, drain_s=80.0)
    assert "800 of 8,000 op/s served until the last response, 80.0 s after the last arrival;" in verdict_line(drained)
    closed = replace(HEALTHY, status="saturated", loop="closed", clients=8, offered_ops=None, errors=0.02)
    assert all(text in verdict_line(closed) for text in ("8 clients", "2%", "only wait"))
    assert "100% of the requests fail" in verdict_line(replace(HEALTHY, errors=1.0))
    assert "no station" in verdict_line(replace(HEALTHY, saturates_first=None))
    for verdict in (HEALTHY, closed):
        assert "\n" not in verdict_line(verdict)


@pytest.mark.parametrize(
    ("utilization", "headroom", "said"),
    [
        (0.62, 1.6, "host cpu (62% busy) saturates first, at 13,000 op/s (1.6x)."),
        (0.82, 2.1, "(82% busy, not in proportion to the rate) saturates first, at 13,000 op/s (2.1x)."),
        (0.17, 17.3, "(17% busy, not in proportion to the rate)"),
        (0.03, 16.6, "(3% busy) saturates first"),
        (0.004, 250.4, "(0% busy) saturates first, at 13,000 op/s (250x)."),
        (1e-6, 403_328.8, "at 13,000 op/s (over 1,000x)."),
    ],
)
def test_a_busy_fraction_that_does_not_follow_the_rate_is_marked(utilization, headroom, said):
    first = replace(FIRST, utilization=utilization, headroom=headroom)
    assert said in verdict_line(replace(HEALTHY, saturates_first=first))


def test_a_verdict_says_what_fails_when_and_why():
    ops = {
        "GET": OpVerdict(9000, 90.0, 0.0, 1.0, None),
        "PUT": OpVerdict(1000, 4.0, 0.6, 2.0, FailingStretch(60.0, 420.0, 600, 600)),
        "LIST": OpVerdict(100, 0.98, 0.02, 1.0, FailingStretch(1.0, 2.0, 100, 4)),
    }
    failing = replace(
        HEALTHY, status="failing", errors=0.06, attempts=1.1, ops=ops, jam=Jam(61.0, 62.0, 1234),
        faults=[(60.0, "reshard: bucket 0")],
    )  # fmt: skip
    line = verdict_line(failing)
    assert line.startswith("failing: 8,000 of 8,000 op/s served, 6% of the requests fail (PUT 60%, LIST 2%); ")
    assert "all PUTs fail from 60.0 s to 420 s" in line
    assert "4% of the LISTs fail from 1.00 s to 2.00 s" in line
    assert "1.10 attempts per request" in line
    assert "up to 1,234 requests pile up from 61.0 s to 62.0 s" in line
    assert "reshard: bucket 0 from 60.0 s" in line
    assert "99.9% of the requests fail" in verdict_line(replace(failing, errors=0.99999))


def test_a_quantile_that_too_few_requests_support_is_marked_and_explained():
    assert quantile("p99", 0.0123, ["p99", "p99_9"]) == "12.3 ms (few)"
    assert quantile("p99", 0.0123, ["p99_9"]) == "12.3 ms"
    (note,) = few_note(["p99_9", "p99", "p99"])
    assert "p99 needs 1,000" in note
    assert "p99.9 needs 10,000" in note
    assert few_note([]) == []
