from __future__ import annotations

import os
import signal
from functools import partial

import numpy as np
import pytest

from models.store import load_spec
from sim.replication.replicate import Precision, PrecisionVerdict, replicate, seed_of
from sim.replication.summaries import Replications
from sim.simulate import simulate
from tests.models.test_store import EXAMPLE
from tests.sim.replication.paired_differences import paired
from tests.sim.replication.test_replications import mm1, theory
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.run import Run
from traces.trace import Pacing


def minio(*assignments: str):
    """Simulations of the example, each of 2000 requests."""
    spec = load_spec(EXAMPLE, ["workload.duration=null", "workload.operations=2000", *assignments])
    return partial(simulate, spec)


def killed(parent: int, *, seed: int) -> Run:
    """A Run in the process `parent`; elsewhere the end."""
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return minio()(seed=seed)


def assert_same(a: Replications, b: Replications) -> None:
    assert a.seeds == b.seeds
    assert a.summary() == b.summary()
    for mine, other in zip(a.runs, b.runs, strict=True):
        assert mine.latency_s.keys() == other.latency_s.keys()
        assert all((mine.latency_s[op] == other.latency_s[op]).all() for op in mine.latency_s)


@pytest.mark.parametrize("steady", [False, True])
def test_number_of_workers_changes_nothing(steady, monkeypatch):
    monkeypatch.setattr("sim.parallel.worker_map.START_S", 0.0)  # so that processes gain
    requested = {"seed": 5, "replications": 3, "steady": steady, "precision": Precision(1e-6, most=7)}
    told: list[int] = []
    alone = replicate(minio(), workers=1, progress=told.append, **requested)
    assert_same(alone, replicate(minio(), workers=2, **requested))
    assert told == [1, 2, 3, 4, 5, 6, 7]
    assert alone.seeds == tuple(seed_of(5, i) for i in range(7))


def test_a_replication_is_the_run_of_its_seed():
    replications = replicate(minio(), seed=5, replications=2)
    assert replicate(minio(), seed=5, replications=3).seeds[:2] == replications.seeds
    run = minio()(seed=replications.seeds[1])
    assert np.array_equal(
        np.sort(run.latency_s), np.sort(np.concatenate(list(replications.runs[1].latency_s.values())))
    )
    assert replications.runs[0].summary != replications.runs[1].summary


def test_of_a_trace_only_the_services_differ():
    trace = trace_of(["PUT", "GET", "GET"], ["a", "a", "b"], Pacing("closed", clients=1), size_bytes=10)
    replications = replicate(partial(minio(), trace), replications=4)
    assert [run.summary["ops"]["GET"]["count"] for run in replications.runs] == [2, 2, 2, 2]
    assert len({run.latency_s["PUT"][0] for run in replications.runs}) == 4


def test_goes_on_until_it_is_precise():
    precision = Precision(0.04, ("mean", "p90"))
    replications = replicate(mm1, precision=precision, replications=5)
    verdict = precision.verdict(replications)
    assert verdict.reached
    assert len(replications) % 5 == 0
    fewer = precision.verdict(Replications(replications.runs[:-5]))
    assert not fewer.reached
    assert fewer.widest > 0.04 >= verdict.widest
    assert verdict.figure in ("GET mean", "GET p90")


def test_ends_at_most_replications_and_says_that_it_was_not_reached():
    precision = Precision(1e-4, most=7)
    replications = replicate(mm1, precision=precision, replications=5)
    assert len(replications) == 7
    assert not precision.verdict(replications).reached


def test_one_replication_is_never_precise():
    precision = Precision(0.5, most=1)
    verdict = precision.verdict(replicate(mm1, replications=1, precision=precision))
    assert verdict == PrecisionVerdict(0.5, False, np.inf, "GET p99")


def test_warm_up_is_left_out_of_all_replications_alike():
    crowded, truth = partial(mm1, burst=100), theory(0.5)
    whole = replicate(crowded, replications=20).figures["GET"]["mean"].interval(0.99)
    rest = replicate(crowded, replications=20, steady=True)
    settled = rest.figures["GET"]["mean"].interval(0.99)
    assert whole.low > truth["mean"], "the burst at the beginning does not show"
    assert settled.low <= truth["mean"] <= settled.high
    assert len({run.info["warm_up"]["GET"]["settling_s"] for run in rest.runs}) == 1
    assert rest.summary().ops["GET"].left_out + rest.summary().ops["GET"].count == 20 * 3000


def test_leaving_the_warm_up_out_takes_nothing_from_the_tail():
    # Each run cut where its own samples say has 2 % less p99: a busy spell at the beginning passes for a transient.
    # The time that several agree on has no such preference.
    def p99_s(seed: int, steady: bool) -> float:
        return replicate(mm1, seed=seed, steady=steady).figures["GET"]["p99"].value

    assert np.mean([p99_s(seed, True) / p99_s(seed, False) for seed in range(20)]) == pytest.approx(1, abs=0.005)


# Of 2,000 requests, some runs have a garbage collection and others none, whose cost differs with the cores.
OPEN = ["workload.rate=250/s", "hosts.garbage_collector.mark_work=0s"]


@pytest.mark.parametrize(("loop", "names"), [(OPEN, ("mean", "p50")), ([], ("throughput_ops",))])
def test_common_random_numbers_sharpen_differences(loop, names):
    small, large = (minio(cores, *loop) for cores in ("hosts.cores.count=2", "hosts.cores.count=3"))
    a, b = (replicate(variant, seed=1, replications=30) for variant in (small, large))
    other = replicate(large, seed=2, replications=30)
    for op in ("GET", "PUT"):
        for name in names:
            mine, common, independent = (each.figures[op][name] for each in (a, b, other))
            # Were there no difference, half the variance would be a chance of 1 in 30.
            assert (common - mine).each.var(ddof=1) < 0.5 * (independent - mine).each.var(ddof=1), (op, name)
    assert paired(a, b).ops["GET"].latency_s["mean"].high < 0, "a third core makes it faster"


@pytest.mark.parametrize("requested", [{"replications": 0}, {"workers": 0}, {"precision": Precision(0.1, most=5)}])
def test_impossible_counts_are_refused(requested):
    with pytest.raises(InputError, match=r"must be at least 1|must be at most 5"):
        replicate(mm1, **requested)


@pytest.mark.parametrize(
    "requested",
    [{"relative": 0.0}, {"relative": np.nan}, {"relative": 0.1, "figures": ("p42",)}, {"relative": 0.1, "figures": ()},
     {"relative": 0.1, "confidence": 1.0}],
)  # fmt: skip
def test_impossible_precision_is_refused(requested):
    with pytest.raises(InputError, match=r"precision is|figures are|confidence is"):
        Precision(**requested)


def test_what_a_simulation_refuses_is_refused_in_a_worker_too():
    nothing = ("hosts.cpu={GET: 0}", "client.cpu={}", "network.latency=0")
    endless = minio(*nothing, "workload.operations=null", "workload.duration=1s")
    for workers in (1, 2):
        with pytest.raises(InputError, match="take no time"):
            replicate(endless, replications=2, workers=workers)


def test_a_killed_worker_is_said_in_a_line(monkeypatch):
    monkeypatch.setattr("sim.parallel.worker_map.START_S", 0.0)  # so that processes gain
    with pytest.raises(InputError, match="a worker was killed"):
        replicate(partial(killed, os.getpid()), replications=3, workers=2)
