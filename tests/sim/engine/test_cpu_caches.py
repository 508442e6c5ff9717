"""Caches that idle servers lose: by hand, by their fixed point, and where a store has them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from models.network.discipline import DISCIPLINES, Discipline
from models.network.service_demand import ServiceDemand
from models.network.station import Caches, Station
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import closed, one_station, poisson
from tests.small_traces import trace_of

ENGINES = (compiled_engine, simpy_engine)
WITH_QUEUE = (Discipline.FIFO, Discipline.SIRO, Discipline.PRIORITY, Discipline.WEIGHTED_SHARE)
CACHES = Caches(cold_penalty_s=0.8, warm_up_s=2.0, decay_s=3.0)
WORK_S = 0.5


def station(servers=1, discipline=Discipline.FIFO, caches=CACHES) -> Station:
    return Station("s", "server", discipline, servers=servers, caches=caches, weights=(1.0,))


def spent_s(engine, servers: int, arrival_s: list[float], **changes) -> list[float]:
    """What each of these requests takes."""
    network = one_station(station(servers, **changes), ServiceDemand(constant=WORK_S))
    requests = replace(poisson(len(arrival_s), 1.0, 0), arrival_s=np.array(arrival_s))
    outcome = engine.run(Program.of(network, requests, 0))
    return (outcome.end_s - outcome.start_s).tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("discipline", WITH_QUEUE)
def test_work_after_a_pause_takes_longer_and_warms(engine, discipline):
    # the first begins after 2 s of idling, the second waits for it, the third comes 4 s after both
    filled = 1 - math.exp(-WORK_S / 2)
    lost = 1 - math.exp(-2 / 3)
    first_s = WORK_S + 0.8 * lost * filled
    lost *= 1 - filled
    second_s = WORK_S + 0.8 * lost * filled
    lost = 1 - (1 - lost * (1 - filled)) * math.exp(-4 / 3)
    third_s = WORK_S + 0.8 * lost * filled
    third_at_s = 2 + first_s + second_s + 4
    found_s = spent_s(engine, 1, [2.0, 2.0, third_at_s], discipline=discipline)
    assert found_s == pytest.approx([first_s, first_s + second_s, third_s])


@pytest.mark.parametrize("engine", ENGINES)
def test_several_servers_share_their_warmth(engine):
    # one of two servers works: the other cools, and the first warms a half
    filled, half_filled = 1 - math.exp(-WORK_S / 2), 1 - math.exp(-WORK_S / 4)
    lost = 1 - math.exp(-2 / 3)
    first_s = WORK_S + 0.8 * lost * filled
    lost = 1 - (1 - lost * (1 - half_filled)) * math.exp(-(first_s / 2 + 1) / 3)
    assert spent_s(engine, 2, [2.0, 3.0 + first_s]) == pytest.approx([first_s, WORK_S + 0.8 * lost * filled])


def test_even_arrivals_settle_at_the_fixed_point():
    every_s = 1.7
    filled, lost, service_s = 1 - math.exp(-WORK_S / 2), 0.0, WORK_S
    for _ in range(200):
        lost = 1 - (1 - lost * (1 - filled)) * math.exp(-(every_s - service_s) / 3)
        service_s = WORK_S + 0.8 * lost * filled
    found_s = spent_s(compiled_engine, 1, [every_s * n for n in range(201)])
    assert found_s[-1] == pytest.approx(service_s)
    assert WORK_S < service_s < WORK_S + 0.8 * filled


def test_servers_that_are_never_idle_stay_warm():
    network = one_station(station(2), ServiceDemand(constant=WORK_S))
    outcome = compiled_engine.run(Program.of(network, closed(60, 0.0, 0, clients=6), 0))
    assert outcome.busy_s[0] == pytest.approx(60 * WORK_S)


@pytest.mark.parametrize("discipline", sorted(set(DISCIPLINES) - set(WITH_QUEUE), key=repr))
def test_other_stations_have_no_caches(discipline):
    with pytest.raises(ValueError, match="may have no caches"):
        station(discipline=discipline)


@pytest.mark.parametrize("wrong", ["cold_penalty_s", "warm_up_s", "decay_s"])
def test_caches_without_size_or_time_are_refused(wrong):
    with pytest.raises(ValueError, match="must be above 0"):
        replace(CACHES, **{wrong: 0.0})


def test_a_lone_get_of_minio_is_slower_after_idling():
    data = {
        "store": "minio",
        "workload": {"operations": 1, "object_size": "4KiB"},
        "hosts": {
            "cores": {"count": 2},
            "cpu": {"GET": "1ms"},
            "cpu_caches": {"cold_penalty": "2ms", "warm_up": "4ms", "decay": "5ms"},
        },
        "drives": {"read": 0},
    }
    taken_s = []
    for cold_penalty in ("2ms", "0"):
        data["hosts"]["cpu_caches"]["cold_penalty"] = cold_penalty
        network, requests = compile_spec(spec_of(data, "spec"), trace_of(["GET"] * 2, ["k"] * 2, arrival_s=[0.0, 0.02]))
        outcome = compiled_engine.run(Program.of(network, requests, 0))
        taken_s.append((outcome.end_s - outcome.start_s).tolist())
    lost = 1 - math.exp(-(0.001 / 2 + 0.019) / 5e-3)
    assert taken_s[1] == pytest.approx([0.001, 0.001])
    assert taken_s[0] == pytest.approx([0.001, 0.001 + 0.002 * lost * (1 - math.exp(-1 / 4))])
