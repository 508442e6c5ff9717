"""Reshards: when they happen, whom they hold up, and the same in the engines."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from models.ceph.faults.reshard_gates import Gates
from models.ceph.mechanisms.releases import RELEASES
from models.ceph.mechanisms.resharding import (
    Reshard,
    Resharding,
    copy_entries_per_s,
    default_mode,
    one_by_one,
    release_times,
    reshard,
    schedule,
)
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Failure, Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import closed, poisson
from tests.profiles import examples
from tests.sim.engine.test_engines import assert_identical
from traces.errors import InputError

HOUR_S = 3600.0
PUT_S = 0.05
SMALL = Resharding(per_shard=1000, interval=10.0, batch_latency=0.78)
"""The two-core Ceph 16.2.15 whose reshards were measured: 10.5 K entries a second."""


def test_speed_of_the_copy():
    assert copy_entries_per_s(64, 128, 0.1) == pytest.approx(81_920)
    assert SMALL.entries_per_s("reef") == pytest.approx(20_633 / 1.97, rel=0.01)


@pytest.mark.parametrize(
    ("release", "objects", "shards", "measured_s"),
    [
        ("squid", 20e6, (401, 10_001), 262),
        ("tentacle", 20e6, (307, 10_001), 220),
        ("squid", 500e6, (10_001, 1999), 5663),
        ("octopus", 30e6, (300, 1000), 1050),
    ],
)
def test_published_durations(release, objects, shards, measured_s):
    event = reshard(objects, *shards, Resharding(), release, growth_ops=300)
    assert event.copy_s == pytest.approx(measured_s, rel=0.2)
    assert event.blocked_s < 1 if release == "tentacle" else event.blocked_s == event.copy_s


def test_defaults_by_release():
    assert [default_mode(release) for release in ("luminous", "squid", "tentacle")] == [
        "blocking",
        "blocking",
        "two_phase",
    ]
    assert [release for release in RELEASES if one_by_one(release)] == ["nautilus", "octopus", "pacific", "quincy"]
    assert reshard(1e6, 11, 23, Resharding(mode="blocking"), "tentacle").mode == "blocking"


def test_section_refuses_what_it_does_not_know():
    for wrong in ({"mode": "online"}, {"poll": 0}, {"batch": 0}, {"rounding": "up"}, {"intervall": 600}):
        with pytest.raises(ValidationError):
            Resharding.model_validate(wrong)


# The schedule.


def test_schedule_of_a_real_bucket():
    events = schedule(0, 20_000, 125.0, SMALL, "pacific", shards=1)
    assert [(e.at_s, e.objects, e.old_shards, e.new_shards) for e in events] == [
        (10, 1250, 1, 2), (20, 2500, 2, 5), (50, 6250, 5, 13), (110, 13_750, 13, 29)
    ]  # fmt: skip
    assert schedule(0, 20_000, 125.0, SMALL.model_copy(update={"dynamic": False}), "pacific", shards=1) == ()


def test_schedule_of_the_published_series():
    growth_ops = 29.2e6 / (43 * HOUR_S)
    events = schedule(0.8e6, 30e6, growth_ops, Resharding(), "luminous", shards=16)
    assert [e.new_shards for e in events] == [32, 64, 128, 256, 512]
    # The other bucket: 190 M objects in 50 hours, with dips in rounds 14 and 28; 512 shards are a guess that fits.
    events = schedule(0, 190e6, 190e6 / (50 * HOUR_S), Resharding(), "luminous", shards=512)
    assert [e.at_s / HOUR_S for e in events] == pytest.approx([14, 28], abs=1.1)


def test_buckets_that_cross_the_limit_together_wait_for_each_other():
    quick = Resharding(min_shards=1)
    events = schedule(0, 1.2e6, 100.0, quick, "squid", shards=11, buckets=5, workers=2)
    assert sorted(e.bucket for e in events) == [0, 1, 2, 3, 4]
    first_s = math.floor(1.1e6 / 100 / 600 + 1) * 600
    assert [e.at_s for e in events[:2]] == [first_s, first_s]
    assert [e.at_s for e in events[2:4]] == [e.end_s for e in events[:2]]
    assert events[4].objects > events[0].objects
    alone = schedule(0, 1.2e6, 100.0, quick, "squid", shards=11, buckets=5)
    assert [e.at_s for e in alone[1:]] == [e.end_s for e in alone[:-1]]


@examples(50)
@given(
    st.sampled_from(RELEASES), st.floats(0.1, 5000), st.floats(0, 1e6), st.floats(0, 1e8), st.integers(1, 64),
    st.integers(1, 6), st.integers(1, 4),
)  # fmt: skip
def test_schedules_keep_their_invariants(release, growth_ops, start, grown, shards, buckets, workers):
    events = schedule(
        start, start + grown, growth_ops, Resharding(), release, shards=shards, buckets=buckets, workers=workers
    )
    count = dict.fromkeys(range(buckets), shards)
    for event in events:
        assert event.old_shards == count[event.bucket] < event.new_shards <= 1999
        assert event.objects >= event.old_shards * 100_000
        assert event.objects == pytest.approx(start + growth_ops * event.at_s, rel=1e-6, abs=1)
        assert sum(other.at_s <= event.at_s < other.end_s for other in events) <= workers
        count[event.bucket] = event.new_shards
    # Nobody is left out: whoever is over the limit at the end got there lately, or waits for a worker.
    last_s = grown / growth_ops
    busy_s = max((e.end_s for e in events), default=0.0)
    for shards_now in count.values():
        over_s = max((shards_now * 100_000 - start) / growth_ops, 0.0)
        assert shards_now == 1999 or over_s + 600 >= last_s * (1 - 1e-9) or busy_s >= last_s


@pytest.mark.parametrize(
    "wrong", [{"shards": 0}, {"buckets": 0}, {"workers": 0}, {"growth_ops": 0.0}, {"objects_end": 5}]
)
def test_schedule_refuses(wrong):
    given_ = {"objects_start": 10, "objects_end": 1e6, "growth_ops": 1.0, "shards": 1} | wrong
    with pytest.raises(InputError, match="must be at least 1, growth above 0"):
        schedule(**given_, settings=Resharding(), release="reef")


# Who waits.


def blocked(seconds: float) -> Reshard:
    return Reshard(0.0, 0, 1, 1, 2, "blocking", seconds, seconds)


def test_blocked_requests_are_released_in_rounds():
    assert release_times(blocked(2), 4, Resharding(), "pacific") == (5, 10, 15, 20)
    assert release_times(blocked(7), 3, Resharding(), "pacific") == (10, 15, 20)
    assert release_times(blocked(7), 3, Resharding(), "squid") == (10, 10, 10)
    assert release_times(blocked(2), 12, Resharding(), "quincy")[9:] == (50, math.inf, math.inf)
    assert release_times(blocked(262), 1, Resharding(), "squid") == (math.inf,)
    assert release_times(blocked(35), 1, Resharding(poll=30.0), "luminous") == (60,)


MEASURED_S = (
    (5.3, 10.5, 15.4, 20.5),
    (5.2, 10.2, 20.2, 25.3, 30.3, 35.3, 40.3, 45.2),
    (5.2, 10.3, 15.3, 20.4, 25.2, 35.2, 40.2),
)
"""Latencies of the PUTs that a reshard blocked on Ceph 16.2.15; copies of 2 s or less."""


@pytest.mark.parametrize("measured_s", MEASURED_S)
def test_measured_rounds(measured_s):
    predicted_s = release_times(blocked(2), len(measured_s), Resharding(), "pacific")
    assert np.mean(predicted_s) == pytest.approx(np.mean(measured_s), rel=0.2)
    for measured, predicted in zip(measured_s, predicted_s, strict=True):
        assert measured % 5 < 0.6  # all in rounds of 5 s,
        assert predicted <= measured < predicted + 5.6  # of which one may be missed


# The same in the engines.


def network(gates: Gates, events: list[Reshard]) -> Network:
    """Closed-loop clients whose PUTs pass the gates and then take 50 ms."""
    work = Station("osd", "osd", Discipline.INFINITE_SERVER)
    stations = (work, *gates.stations(0))
    put = Route("PUT", (single(*gates.passage(), Visit(0, ServiceDemand(constant=PUT_S))),))
    return Network(stations, (put,), groups=(gates.choice(),), scenario=gates.scenario(events))


def run(release: str, event: Reshard, clients: int, duration_s: float, engine=compiled_engine) -> Outcome:
    gates = Gates.of(Resharding(), release, group=0, first=1, writers=clients)
    requests = closed(100, 0.0, seed=0, clients=clients, stagger_s=0.006, duration_s=duration_s, repeat=True)
    return engine.run(Program.of(network(gates, [event]), requests, seed=0))


def test_eight_writers_come_through_one_by_one():
    event = reshard(13_736, 13, 29, SMALL, "pacific", at_s=10.0)
    outcome = run("pacific", event, 8, 60.0)
    latency_s = outcome.end_s - outcome.start_s
    waited = latency_s > 1
    # Just before 10 s each of them has polled: the k-th waits k rounds.
    np.testing.assert_allclose(np.sort(latency_s[waited]), release_times(event, 8, SMALL, "pacific"), atol=2 * PUT_S)
    np.testing.assert_allclose(latency_s[~waited], PUT_S)
    # Throughput: nothing for a round, then one client's more in each.
    ends, _ = np.histogram(outcome.end_s, np.arange(10.1, 60, 5))
    np.testing.assert_allclose(ends[:9] * PUT_S / 5, np.arange(9), atol=0.1)
    assert np.diff(np.sort(outcome.end_s)).max() == pytest.approx(5, abs=PUT_S)  # 4.5 to 5.2 s were measured
    assert (outcome.failure == Failure.NONE).all()
    assert_identical(outcome, run("pacific", event, 8, 60.0, simpy_engine))


def test_who_is_tenth_in_line_is_the_last_to_get_through():
    outcome = run("quincy", reshard(13_736, 13, 29, SMALL, "quincy", at_s=10.0), 13, 80.0)
    waits_s = (outcome.end_s - outcome.start_s)[outcome.failure == Failure.GATE_SHUT]
    np.testing.assert_allclose(waits_s, [50, 50, 50])


def test_twenty_million_objects_block_all_writers_to_the_end():
    event = reshard(20e6, 401, 10_001, Resharding(), "squid", at_s=10.0)
    outcome = run("squid", event, 16, 300.0)
    done = outcome.failure == Failure.NONE
    during = (outcome.end_s > 10.1) & (outcome.end_s < event.end_s)
    assert not (done & during).any()
    assert (outcome.failure[during] == Failure.GATE_SHUT).sum() == 16 * (event.blocked_s // 50)
    # All are back one round after the end at the latest.
    back, _ = np.histogram(outcome.end_s[done], [event.end_s + 5.1, event.end_s + 10.1])
    assert back[0] == pytest.approx(16 * 5 / PUT_S, rel=0.02)


def test_two_phases_block_for_a_round_at_most():
    event = reshard(20e6, 307, 10_001, Resharding(), "tentacle", growth_ops=16 / PUT_S, at_s=10.0)
    outcome = run("tentacle", event, 16, 300.0)
    assert (outcome.failure == Failure.NONE).all()
    waited = outcome.end_s - outcome.start_s > 2 * PUT_S
    assert waited.sum() == 16
    assert (outcome.end_s - outcome.start_s).max() == pytest.approx(5, abs=2 * PUT_S)
    # The copy runs concurrently with the writes; those that the replay blocks wait.
    assert (outcome.start_s[waited] >= 10 + event.copy_s - PUT_S).all()
    assert event.end_s == 10 + event.copy_s + event.blocked_s


def test_only_the_bucket_that_is_resharded_is_blocked():
    # Stations: the OSD, then a passage and two gates for each of two buckets; a row of the table is a bucket's.
    table = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    gates = [Gates(0, first, 2, 5.0, 10, columns=(0, 0)) for first in (1, 4)]
    put = Route("PUT", (single(*gates[0].passage(), Visit(0, ServiceDemand(constant=PUT_S))),))
    stations = (Station("osd", "osd", Discipline.INFINITE_SERVER), *gates[0].stations(0), *gates[1].stations(1))
    scenario = gates[0].scenario([dataclasses.replace(blocked(2), at_s=1.0)]) + gates[1].scenario([])
    both = Network(stations, (put,), (table,), groups=(gates[0].choice(),), scenario=scenario)
    arrival_s = np.repeat(np.arange(0.5, 4.0), 2)
    requests = dataclasses.replace(poisson(8, 1.0, seed=0), arrival_s=arrival_s, key_hash=np.arange(8, dtype=np.uint64))
    outcome = compiled_engine.run(Program.of(both, requests, seed=0))
    waits_s = np.round(outcome.end_s - outcome.start_s - PUT_S, 9)
    assert waits_s[1::2].tolist() == [0, 0, 0, 0]
    # Blocked from 1 s to 3 s: the one of 1.5 s looks again at 6.5 s, that of 2.5 s finds gate 2 shut until 8 s.
    assert waits_s[0::2].tolist() == [0, 5, 10, 0]


def test_windows_that_begin_in_or_after_a_reshard():
    gates = Gates.of(Resharding(), "squid", group=0, first=1, writers=9)
    first, second = blocked(10), dataclasses.replace(blocked(10), at_s=100.0)
    actions = gates.scenario([first, second], zero_s=105.0)
    assert sorted({action.at_s for action in actions}) == [0, 5]
    assert len(gates.scenario([first], zero_s=10.0)) == 1
