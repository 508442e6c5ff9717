"""Groups of clients that run at the same time: both engines agree, and figures are those of queueing theory."""

from __future__ import annotations

import dataclasses
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.network.demand_sheet import Requests, draw_sheet
from models.network.discipline import Discipline
from models.network.service_demand import ServiceDemand
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import closed, networks, one_station, poisson, requests_for
from tests.profiles import examples, random_examples
from tests.sim.engine.test_engines import assert_identical
from tests.sim.engine.test_theory import CUSTOMERS, assert_holds, erlang_c, replicate, station
from traces.trace import Pacing
from traces.workload.distributions import Exponential

COLUMNS = ("route", "size_bytes", "key_hash", "arrival_s", "think_s", "phase")
JOB = ServiceDemand(constant=1.0, distribution=Exponential())


def together(**groups: Requests) -> Requests:
    """Requests of several groups, those of closed loops first, then those of open loops by arrival."""
    ordered = sorted(groups, key=lambda name: groups[name].pacing.loop == "open")
    columns = {c: np.concatenate([getattr(groups[name], c) for name in ordered]) for c in COLUMNS}
    group = np.concatenate([np.full(len(groups[name]), i, np.int32) for i, name in enumerate(ordered)])
    order = np.argsort(columns["arrival_s"], kind="stable")
    is_open = all(each.pacing.loop == "open" for each in groups.values())
    pacing = (
        Pacing() if is_open else Pacing("mixed", groups=tuple((name, each.pacing) for name, each in groups.items()))
    )
    return Requests(
        **{name: values[order] for name, values in columns.items()}, pacing=pacing, group=group[order],
        groups=tuple(ordered),
    )  # fmt: skip


@st.composite
def mixes(draw):
    """A random network with up to three groups, whose closed loops have a single phase."""
    network = draw(networks())
    groups = {}
    for name in draw(st.sampled_from([("a",), ("a", "b"), ("a", "b", "c")])):
        requests = draw(requests_for(network))
        groups[name] = dataclasses.replace(requests, phase=np.zeros(len(requests), np.int32))
    return Program.of(network, together(**groups), draw(st.integers(0, 2**32)), draw(st.booleans()))


@given(mixes())
@random_examples(60)
def test_engines_agree_to_the_bit(program):
    assert_identical(simpy_engine.run(program), compiled_engine.run(program))


def test_engines_agree_over_many_chunks():
    network = one_station(station(Discipline.SIRO, 4), JOB)
    groups = {
        "a": closed(20_000, 3.0, 1, clients=3),
        "b": poisson(9_000, 1.0, 2),
        "c": closed(9_000, 9.0, 3, clients=7),
    }
    program = Program.of(network, together(**groups), 5)
    assert_identical(simpy_engine.run(program), compiled_engine.run(program))


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 5), st.integers(1, 5))
@examples(30)
def test_no_request_of_a_group_is_lost(first, second, clients, others):
    network = one_station(station(Discipline.FIFO), JOB)
    groups = {"a": closed(first, 1.0, 1, clients), "b": closed(second, 2.0, 2, others), "c": poisson(50, 0.3, 3)}
    run = compiled_engine.run(Program.of(network, together(**groups), 0))
    of_loop = np.select([run.client < 0, run.client < clients], [2, 0], 1)
    assert np.bincount(of_loop, minlength=3).tolist() == [first, second, 50]
    assert run.in_flight == 0
    assert set(run.client[of_loop == 1]) <= set(range(clients, clients + others))


def test_the_requests_of_a_group_do_not_depend_on_other_groups():
    network = one_station(station(Discipline.INFINITE_SERVER), JOB)
    alone, joined = together(a=poisson(500, 1.0, 1)), together(a=poisson(500, 1.0, 1), b=poisson(300, 2.0, 2))
    one, both = (draw_sheet(network, each, 7, 0, len(each)) for each in (alone, joined))
    mine = joined.group == joined.groups.index("a")
    np.testing.assert_array_equal(both.demand_s[both.first_visit[mine]], one.demand_s)
    halves = [draw_sheet(network, joined, 7, first, 400) for first in (0, 400)]
    parts = [half.demand_s[half.first_visit] for half in halves]
    np.testing.assert_array_equal(np.concatenate(parts), both.demand_s[both.first_visit])


def test_two_poisson_groups_are_one_of_the_summed_rate():
    servers, rates = 3, (0.7, 1.4)
    network = one_station(station(Discipline.FIFO, servers), JOB)

    def requests_of(seed: int) -> Requests:
        a, b = (poisson(round(CUSTOMERS * rate / sum(rates)), rate, 1000 * i + seed) for i, rate in enumerate(rates))
        return together(a=a, b=b)

    theory = 1 + erlang_c(servers, sum(rates)) / (servers - sum(rates))
    assert_holds(theory, replicate(network, requests_of, lambda run: (run.end_s - run.start_s)[2000:-2000].mean()))


def mva(clients: tuple[int, ...], think_s: tuple[float, ...], service_s: float) -> tuple[float, ...]:
    """Throughput of each class at one station by exact mean value analysis (Reiser and Lavenberg, JACM 27(2), 1980)."""
    queue: dict[tuple[int, ...], float] = {}
    rates: tuple[float, ...] = ()
    for present in product(*(range(n + 1) for n in clients)):
        rates = ()
        for k, n in enumerate(present):
            fewer = tuple(m - (i == k) for i, m in enumerate(present))
            rates += (n / (think_s[k] + service_s * (1 + queue[fewer])) if n else 0.0,)
        queue[present] = sum(
            rate * service_s * (1 + queue[tuple(m - (i == k) for i, m in enumerate(present))])
            for k, rate in enumerate(rates) if rate
        )  # fmt: skip
    return rates


@pytest.mark.parametrize("discipline", [Discipline.FIFO, Discipline.PROCESSOR_SHARING])
def test_two_closed_groups_by_mean_value_analysis(discipline):
    clients, think_s, horizon_s = (3, 2), (4.0, 1.0), 6000.0
    network = one_station(station(discipline), JOB)

    def requests_of(seed: int) -> Requests:
        several = [
            closed(CUSTOMERS, think, seed + 500 * i, n, duration_s=horizon_s)
            for i, (n, think) in enumerate(zip(clients, think_s, strict=True))
        ]
        return together(a=several[0], b=several[1])

    for of_group, theory in zip((lambda c: c < 3, lambda c: c >= 3), mva(clients, think_s, 1.0), strict=True):
        assert_holds(
            theory, replicate(network, requests_of, lambda run, mine=of_group: mine(run.client).sum() / horizon_s)
        )


def test_mean_value_analysis_of_one_class_is_the_repairman():
    empty = 1 / sum(math.factorial(6) / math.factorial(6 - k) * 0.25**k for k in range(7))
    assert mva((6,), (4.0,), 1.0)[0] == pytest.approx(1 - empty)
