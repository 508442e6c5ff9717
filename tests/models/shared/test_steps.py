"""The vocabulary of routes: which visits and stages its words are, and what they mean, with theory as the oracle."""

from __future__ import annotations

import re

import pytest

from models import store as stores
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Chance, Route, Stage, Visit
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Station
from models.shared.steps import (
    Stages,
    access,
    acquire,
    append,
    call,
    changed,
    check,
    claiming,
    commit,
    delay,
    detached,
    fan_out,
    hold,
    in_series,
    instant,
    joined,
    pipelined,
    quiet,
    release,
    revised,
    round_trip,
    send,
    sometimes,
    timer,
    use,
    visit,
)
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import poisson
from tests.paths import ROOT
from tests.sim.engine.test_engines import assert_identical
from tests.sim.engine.test_theory import assert_holds, erlang_c, mean_time_in_system
from traces.workload.distributions import Exponential

LATENCY, SERVER, OTHER, POOL, LOG = range(5)
STATIONS = (
    Station("latency", "latency", Discipline.INFINITE_SERVER),
    Station("server", "server", Discipline.FIFO),
    Station("other", "other", Discipline.FIFO),
    Station("pool", "pool", Discipline.POOL, 3),
    Station("log", "log", Discipline.GROUP_COMMIT, flush_s=0.5),
)
SECOND = ServiceDemand(constant=1.0)
RANDOM = ServiceDemand(constant=1.0, distribution=Exponential())


def network(*stages: Stages) -> Network:
    return Network(STATIONS, (Route("GET", tuple(stage for some in stages for stage in some)),))


def run(net: Network, requests: int = 1, rate_ops: float = 1.0) -> Outcome:
    program = Program.of(net, poisson(requests, rate_ops, seed=1), seed=1)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    return outcome


def latency_s(*stages: Stages) -> float:
    outcome = run(network(*stages))
    return float(outcome.end_s[0] - outcome.start_s[0])


def busy_s(outcome: Outcome, station: int) -> float:
    return float(outcome.busy_s[station])


# Steps.


def test_what_takes_no_time_is_left_out_or_waits_for_its_server():
    assert use(SERVER, NOTHING) == use(SERVER, None) == append(SERVER, NOTHING) == delay(LATENCY, 0) == ()
    assert send(NOTHING, SERVER, OTHER) == hold(POOL) == hold(POOL, ()) == ()
    assert visit(SERVER) == check(SERVER) == instant(SERVER) == acquire(SERVER) == (Visit(SERVER, NOTHING),)
    assert commit(LOG, NOTHING) == access(LOG, NOTHING) == (Visit(LOG, NOTHING),)
    assert use(SERVER, SECOND) == append(SERVER, SECOND) == visit(SERVER, SECOND) == (Visit(SERVER, SECOND),)


def test_a_tombstone_locks_a_volume_without_the_bytes_of_the_object():
    record = ServiceDemand(constant=1.0, per_byte=1e-3)
    assert append(SERVER, record, tombstone=True) == visit(SERVER, SECOND)
    assert append(SERVER, ServiceDemand(per_byte=1e-3), tombstone=True) == visit(SERVER)


def test_links_receive_all_bytes_before_the_next_one_does_or_are_used_at_the_same_time():
    way = send(ServiceDemand(per_byte=2.0 / 4096), SERVER, OTHER)
    size_bytes = poisson(1, 1.0, seed=1).size_bytes[0]
    each_s = 2.0 * size_bytes / 4096
    assert latency_s(in_series(way)) == pytest.approx(2 * each_s)
    assert latency_s(fan_out(pipelined(way))) == pytest.approx(each_s)
    assert latency_s(fan_out(pipelined(way + delay(LATENCY, 3 * each_s)))) == pytest.approx(3 * each_s)


def test_a_call_works_on_both_sides_and_a_round_trip_goes_there_and_back():
    way = delay(LATENCY, 0.5)
    assert call(SERVER, OTHER, SECOND, way) == visit(SERVER, SECOND) + way + visit(OTHER, SECOND)
    assert call(SERVER, OTHER, NOTHING) == visit(SERVER) + visit(OTHER)
    assert round_trip(way, visit(SERVER, SECOND), visit(OTHER)) == way + visit(SERVER, SECOND) + visit(OTHER) + way
    assert latency_s(in_series(round_trip(way, call(SERVER, OTHER, SECOND, way)))) == pytest.approx(3.5)


def test_accesses_overlap_with_others_before_they_exclude_them():
    step = access(SERVER, SECOND, delay(LATENCY, 0.25), times=2)
    assert step == (delay(LATENCY, 0.25) + visit(SERVER, SECOND)) * 2
    two_at_once = run(network(fan_out([step, step])))
    assert two_at_once.end_s[0] - two_at_once.start_s[0] == pytest.approx(0.25 + 4.0)  # the drive is never idle


def test_commits_that_begin_together_are_one_batch_and_flush_once():
    together = fan_out([commit(LOG, SECOND, flushes=k == 1) for k in range(3)])
    outcome = run(network(together))  # the first is a batch of its own, as it finds the log idle
    assert outcome.end_s[0] - outcome.start_s[0] == pytest.approx(1.0 + 1.5)


def test_tokens_are_returned_in_the_reverse_order():
    step = hold(POOL, hold(LOG, visit(SERVER, SECOND)), visit(OTHER))
    assert [(each.station, each.releases) for each in step] == [
        (POOL, False), (LOG, False), (SERVER, False), (LOG, True), (OTHER, False), (POOL, True),
    ]  # fmt: skip
    assert release(POOL, early=True)[0].early
    assert acquire(POOL) + visit(SERVER) + release(POOL) == hold(POOL, visit(SERVER))


@pytest.mark.parametrize("load", [0.9, 2.4])
def test_a_held_pool_is_the_servers_of_an_m_m_c(load):
    held = hold(POOL, use(LATENCY, RANDOM))  # three tokens, each for the time of a service elsewhere
    theory = 1 + erlang_c(3, load) / (3 - load)
    assert_holds(theory, mean_time_in_system(network(in_series(held)), load))


# Stages.


def test_branches_that_take_no_time_are_left_out_of_a_wait_for_all():
    assert in_series() == in_series((), ()) == fan_out([]) == fan_out([(), ()]) == detached(LATENCY, [()]) == ()
    assert fan_out([(), visit(SERVER)], delivers=True) == (Stage((visit(SERVER),), 1, delivers=True),)
    with pytest.raises(ValueError, match="each branch at least one visit"):
        fan_out([(), visit(SERVER)], wait_for=1)
    with pytest.raises(ValueError, match="cannot need 3"):
        fan_out([visit(SERVER)] * 2, wait_for=3)


@pytest.mark.parametrize(("copies", "quorum"), [(3, 1), (3, 2), (5, 3), (4, 4)])
def test_a_quorum_is_an_order_statistic(copies, quorum):
    writes = fan_out([use(LATENCY, RANDOM) for _ in range(copies)], wait_for=quorum)
    theory = sum(1 / left for left in range(copies - quorum + 1, copies + 1))  # Renyi 1953: of exponential times
    assert_holds(theory, mean_time_in_system(network(writes), 0.1))


def test_no_request_waits_for_detached_work_which_loads_its_station():
    outcome = run(network(detached(LATENCY, [visit(SERVER, SECOND)] * 2), in_series(visit(OTHER, SECOND))))
    assert outcome.end_s[0] - outcome.start_s[0] == pytest.approx(1.0)
    assert busy_s(outcome, SERVER) == 2.0


@pytest.mark.parametrize(("after_s", "second_reads"), [(0.25, True), (2.0, False)])
def test_a_branch_behind_a_timer_is_a_hedge(after_s, second_reads):
    reads = [visit(SERVER, SECOND), timer(LATENCY, after_s) + visit(OTHER, SECOND)]
    outcome = run(network(fan_out(map(claiming, reads), wait_for=1, delivers=True)))
    assert outcome.end_s[0] - outcome.start_s[0] == pytest.approx(1.0)
    assert busy_s(outcome, OTHER) == second_reads


def test_a_branch_of_a_timer_limits_how_long_a_stage_waits():
    late = [visit(SERVER, SECOND), visit(OTHER, SECOND.scaled(10)), timer(LATENCY, 3.0)]
    assert latency_s(fan_out(late, wait_for=2)) == pytest.approx(3.0)


# Changes.


def test_steps_and_stages_are_changed_visit_by_visit():
    step = visit(SERVER, SECOND, ties=True) + release(POOL)
    assert changed(step, lambda demand: demand.scaled(2)) == visit(SERVER, SECOND.scaled(2), ties=True) + release(POOL)
    stages = fan_out([visit(SERVER), visit(OTHER)], wait_for=1, delivers=True)
    assert revised(stages, lambda each: visit(each.station + 1)[0]) == fan_out(
        [visit(OTHER), visit(POOL)], wait_for=1, delivers=True
    )
    assert quiet(stages) == fan_out([visit(SERVER), visit(OTHER)], wait_for=1)
    assert joined([visit(SERVER), (), visit(OTHER)]) == visit(SERVER) + visit(OTHER)


def test_what_is_made_sometimes_is_made_together():
    miss = Chance(0.5)
    branches = [visit(SERVER, RANDOM), access(OTHER, RANDOM) + visit(SERVER, RANDOM, chance=miss)]
    both, chance = fan_out(branches), Chance(0.25)
    found = [each for branch in sometimes(both[0].branches, chance) for each in branch]
    assert [each.fraction for each in found] == [0.25, 0.25, 0.125]
    assert found[2].chance.within is chance and found[0].chance is chance
    outcome = run(network(fan_out(sometimes(branches, chance)), in_series(instant(LATENCY))), requests=4000)
    assert outcome.visits[OTHER] / 4000 == pytest.approx(0.25, abs=0.03)
    assert outcome.visits[SERVER] / outcome.visits[OTHER] == pytest.approx(1.5, abs=0.1)


def test_stores_write_no_visits_and_stages_of_their_own():
    """A new word belongs into the vocabulary, where all stores find it."""
    folders = [ROOT / "models" / name for name in stores.MODULES]
    sources = [path for folder in folders for path in folder.rglob("*.py")]
    found = [path.name for path in sources if re.search(r"\b(Visit|Stage|single)\(", path.read_text())]
    assert len(sources) > 80 and not found
