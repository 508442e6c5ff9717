"""Figures of requests that are not kept, against those of the same requests in a Run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from cli.main import main
from models.store import load_spec, spec_of
from sim.replication.summaries import Replication, Replications
from sim.simulate import simulate
from sim.tally.course import Course
from sim.tally.simulated import simulate_figures
from sim.verdict.offered_load import load_of
from tests.paths import EXAMPLES
from tests.specs import minio
from traces.statistics.latency_sketch import ERROR
from traces.statistics.summary import QUANTILES

GROUPS = {
    "duration": "20s",
    "groups": {
        "backup": {"object_size": "1MiB", "mix": {"PUT": 1}, "rate": "5/s"},
        "app": {"object_size": "64KiB", "mix": {"GET": 3, "PUT": 1}, "clients": 2},
    },
}
SPECS = {
    "closed": load_spec(EXAMPLES / "minio.yaml", ["workload.duration=20s"]),
    "closed with rows": load_spec(EXAMPLES / "minio.yaml", ["workload.duration=null", "workload.operations=20000"]),
    "open": load_spec(EXAMPLES / "minio.yaml", ["workload.rate=900/s", "workload.duration=20s"]),
    "overloaded": load_spec(EXAMPLES / "minio.yaml", ["workload.rate=2000/s", "workload.duration=20s"]),
    "failing": load_spec(
        EXAMPLES / "minio.yaml",
        ["workload.rate=1500/s", "workload.duration=20s", "client.timeout=15ms"],
    ),
    "groups": spec_of(minio() | {"workload": GROUPS}, "spec"),
}


@cache
def both(name: str) -> tuple[Replication, Replication]:
    run = simulate(SPECS[name], seed=3)
    return Replication.of(run, 3, load_of(run)), simulate_figures(SPECS[name], seed=3)


@pytest.mark.parametrize("name", SPECS)
def test_figures_are_those_of_the_requests(name):
    kept, counted = both(name)
    assert counted.stations == kept.stations
    assert counted.attempts == pytest.approx(kept.attempts, rel=1e-12)
    assert counted.summary["duration_s"] == kept.summary["duration_s"]
    assert list(counted.summary["ops"]) == list(kept.summary["ops"])
    for op, exact in kept.summary["ops"].items():
        found = counted.summary["ops"][op]
        for figure in ("count", "errors", "throughput_ops", "throughput_bytes"):
            assert found[figure] == exact[figure], (op, figure)
        latency_s, exact_s = found["latency_s"], exact["latency_s"]
        assert (latency_s["min"], latency_s["max"]) == (exact_s["min"], exact_s["max"])
        assert latency_s["mean"] == pytest.approx(exact_s["mean"], rel=1e-11)
        assert [latency_s[q] for q in QUANTILES] == pytest.approx([exact_s[q] for q in QUANTILES], rel=ERROR)


@pytest.mark.parametrize("name", SPECS)
def test_the_load_is_nearly_that_of_the_requests(name):
    kept, counted = (each.load for each in both(name))
    assert kept is not None and counted is not None
    for figure in ("loop", "clients", "requests", "errors", "completed_ops", "offered_ops", "end_s", "grows"):
        assert getattr(counted, figure) == getattr(kept, figure), figure
    assert list(counted.ops) == list(kept.ops)
    for op, exact in kept.ops.items():
        found = counted.ops[op]
        assert (found.requests, found.failed, found.attempts) == (exact.requests, exact.failed, exact.attempts)
        assert (found.worst is None) == (exact.worst is None)
        if exact.worst is not None and found.worst is not None:
            assert found.worst.errors == pytest.approx(exact.worst.errors, rel=0.05)
    assert (counted.jam is None, counted.slump is None) == (kept.jam is None, kept.slump is None)
    assert counted.backlog == pytest.approx(kept.backlog, rel=0.02, abs=12)
    for found, exact in ((counted.arrivals, kept.arrivals), (counted.completions, kept.completions)):
        assert sum(found) == pytest.approx(sum(exact), abs=len(exact))
        assert found == pytest.approx(exact, rel=0.02, abs=12)


@pytest.mark.parametrize("name", ["closed", "open", "overloaded"])
def test_parts_are_nearly_those_of_the_requests(name):
    kept, counted = (each.parts for each in both(name))
    assert list(counted) == list(kept) != []
    for op, exact in kept.items():
        found = counted[op]
        assert found.span_s == exact.span_s
        assert found.count == pytest.approx(exact.count, rel=0.05, abs=6)
        assert found.response_s == pytest.approx(exact.response_s, rel=0.1, abs=0.05)
        assert found.ended == pytest.approx(exact.ended, rel=0.05, abs=6)
        assert found.beyond.sum() == pytest.approx(exact.beyond.sum(), rel=0.25)


def test_replications_are_merged():
    runs = [simulate_figures(SPECS["open"], seed=seed) for seed in (1, 2)]
    exact = [simulate(SPECS["open"], seed=seed) for seed in (1, 2)]
    found = Replications(tuple(runs)).figures["GET"]
    merged = Replications(tuple(Replication.of(run, 0) for run in exact)).figures["GET"]
    assert list(found) == list(merged)
    for name, figure in merged.items():
        assert found[name].value == pytest.approx(figure.value, rel=ERROR), name


def test_faults_are_as_in_a_run():
    spec = spec_of(
        minio() | {"faults": [{"kind": "slow_drive", "drive": 0, "at": "1s", "until": "2s", "speed": 0.1}]}, "spec"
    )
    found, exact = simulate_figures(spec, seed=1), simulate(spec, seed=1)
    assert found.info["course"] == exact.info["course"]
    assert found.info["course"]["changes"] == ["faults"]
    assert found.parts == {}
    assert found.stations == exact.station_rows


def test_both_engines_count_the_same():
    spec = load_spec(EXAMPLES / "minio.yaml", ["workload.duration=null", "workload.operations=500"])
    a, b = (simulate_figures(spec, seed=1, engine=engine) for engine in ("simpy", "compiled"))
    assert a.summary == b.summary
    assert a.load == b.load


def test_times_double_when_a_run_exceeds_them():
    course = Course(4)
    at_s = np.array([0.0, 1.0, 2.5, 3.0, 7.9])
    for one in at_s:
        course.add("a", np.array([one]))
    course.add("b", at_s, np.full(5, 2.0))
    assert course.each_s == 2.0
    assert course.sums("a")[:, 0].tolist() == [2, 2, 0, 1]
    assert course.sums("b")[:, 0].tolist() == [4, 4, 0, 2]
    assert course.between("a", np.array([0.0, 1.0, 8.0])).tolist() == [1, 4]


@pytest.mark.parametrize("option", [["--out", "run"], ["--steady", "--replications", "2"], ["--uncertainty", "90%"]])
def test_what_needs_requests_is_refused_without_them(option, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["simulate", str(EXAMPLES / "minio.yaml"), "--no-requests", *option])
    assert stopped.value.code == 2
    assert f"{option[0]} needs the requests; leave out --no-requests" in capsys.readouterr().err
