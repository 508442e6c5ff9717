from __future__ import annotations

import json
import math
import re
import time
from functools import partial

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim.experiments.sweep
import sim.parallel.worker_map
from cli.parse.slo import parse_slo
from cli.parse.vary import parse_variation
from models.ceph.spec.spec import CephSpec
from models.minio.spec.spec import MinioSpec
from models.spec.field_paths import paths_of, resolved
from models.store import spec_of
from sim.experiments.measures import Measures, difference
from sim.experiments.sweep import PointTask, Settings, simulated, sweep
from sim.experiments.variation import grid, sampled
from sim.experiments.whatif import WhatIfExperiment, whatif
from sim.experiments.whatif_table import points_table
from sim.json_form import to_json
from sim.parallel.result_cache import ResultFolder
from sim.parallel.worker_map import WorkerMap
from sim.replication.replicate import Precision, replicate
from sim.replication.summaries import FIGURES, Interval
from sim.simulate import simulate
from tests.sim.replication.paired_differences import paired
from tests.specs import minio
from traces.errors import InputError

SETTINGS = Settings(seed=3, replications=3)
SMALL = minio("workload.operations=400", "workload.clients=4", "workload.mix={GET: 3, PUT: 1}")


def job(*assignments: str, settings: Settings = SETTINGS) -> PointTask:
    return PointTask(spec_of(minio("workload.operations=400", "workload.clients=4", *assignments), "small"), settings)


def cores(*counts: int) -> list[PointTask]:
    return [job(f"hosts.cores.count={count}") for count in counts]


def question(*varied: str, slos=(), data=SMALL, settings=SETTINGS, **more) -> WhatIfExperiment:
    return WhatIfExperiment(
        data, "small", [parse_variation(text) for text in varied], [parse_slo(text) for text in slos],
        settings=settings, **more,
    )  # fmt: skip


def without_times(result):
    return {name: value for name, value in result.items() if name != "engine"}


def same(a: list[Measures], b: list[Measures]) -> bool:
    def text(measures: Measures) -> str:
        return json.dumps(without_times(measures.to_json()))

    return list(map(text, a)) == list(map(text, b))


@pytest.fixture(scope="module")
def found():
    return sweep(cores(1, 2, 3, 4, 6, 8))


# Paths


def test_short_paths_are_found_where_they_are_clear():
    short = {"gateways": "gateways.count", "clients": "workload.clients",
             "hedge.after": "client.hedge.after", "buckets.shards": "buckets.shards"}  # fmt: skip
    assert {path: resolved(CephSpec, path, counted=True) for path in short} == short
    assert resolved(CephSpec, "gateways") == "gateways"
    assert resolved(MinioSpec, "mix") == "workload.mix"  # rather than that of groups
    assert resolved(MinioSpec, "hosts.cpu.GET.constant") in paths_of(MinioSpec)
    # What only reading the spec can tell is left to it.
    assert [resolved(CephSpec, path) for path in ("faults.0.at", "device.preset")] == ["faults.0.at", "device.preset"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("bucket.shards", r"no such field; .*buckets\.shards"),
        ("client.hedge.aftr.x", "no such field"),
        ("count", r"gateways\.count or hosts\.count"),
        ("zzz", "zzz: no such field$"),
    ],
)
def test_other_paths_are_refused_with_close_ones(path, said):
    with pytest.raises(InputError, match=said):
        resolved(CephSpec, path)


# Variations


def test_a_grid_has_all_combinations():
    points = grid([parse_variation("a=1..2"), parse_variation("b=x,none")])
    assert points == [{"a": a, "b": b} for a in "12" for b in ("x", "null")]
    with pytest.raises(InputError, match="needs discrete values"):
        grid([parse_variation("a=0.1..0.5")])
    with pytest.raises(InputError, match="1,000,000 points; at most"):
        grid([parse_variation("a=1..1000"), parse_variation("b=1..1000")])


@given(st.integers(1, 60), st.integers(0, 99))
def test_samples_are_spread_evenly(samples, seed):
    varied = [parse_variation("a=0.0..1.0"), parse_variation("b=10ms..20ms")]
    points = sampled(varied, samples, seed)
    assert points == sampled(varied, samples, seed)
    for path, low, width, unit in (("a", 0, 1, ""), ("b", 10, 10, "ms")):
        strata = [math.floor((float(point[path].removesuffix(unit)) - low) / width * samples) for point in points]
        off = np.abs(np.sort(strata) - np.arange(samples))
        assert off.max() <= 1, "written with six digits, a value may fall beside its stratum"
        assert (off > 0).mean() < 0.2 or samples < 10


def test_samples_of_listed_values_take_each_equally_often():
    points = sampled([parse_variation("a=1..4"), parse_variation("b=0.0..1.0")], 40, 1)
    assert [sum(point["a"] == value for point in points) for value in "1234"] == [10] * 4
    assert len(sampled([parse_variation("a=1..3")], 40, 1)) == 3


# What is kept of replications


@pytest.mark.parametrize("counts", [(6, 6), (6, 9), (9, 3)])
def test_differences_are_those_of_pairs(counts):
    both = [
        replicate(partial(simulate, job(f"hosts.cores.count={n}").spec), seed=3, replications=count)
        for n, count in zip((1, 2), counts, strict=True)
    ]
    kept = [Measures.from_json(json.loads(json.dumps(Measures.of(each, 3).to_json()))) for each in both]
    expected = paired(*both)
    found = difference(*kept)
    for op, figures in expected.ops.items():
        for name in {name for each in kept for name in each.ops[op].few}:
            assert math.isnan(found.ops[op].latency_s[name].low)
            del figures.latency_s[name], found.ops[op].latency_s[name]
        del figures.latency_s["min"], figures.latency_s["max"]
    assert found == expected
    for measures, replications in zip(kept, both, strict=True):
        for op, figures in replications.figures.items():
            for name in set(FIGURES) - set(measures.ops[op].few):
                assert measures.interval(op, name) == figures[name].interval()


# Sweeps


def test_a_point_is_what_replications_give(found):
    alone = replicate(partial(simulate, cores(2)[0].spec), seed=3, replications=3)
    figures = alone.summary().ops["GET"]
    assert found[1].interval("GET", "p99") == figures.latency_s["p99"]
    assert found[1].interval("GET", "throughput_ops") == figures.throughput_ops
    assert found[0].interval("GET", "p99").low > figures.latency_s["p99"].high, "one core is slower than two"


def test_number_of_workers_changes_nothing(found, monkeypatch):
    monkeypatch.setattr("sim.parallel.worker_map.START_S", 0.0)  # so that processes gain
    assert same(sweep(cores(1, 2, 3, 4, 6, 8), workers=2), found)


def test_equal_points_are_simulated_once():
    told: list[int] = []
    first, second = sweep(cores(2, 2), progress=told.append)
    assert same([first], [second])
    assert told == [0, 2]


def test_a_key_is_of_all_that_counts():
    first = job("hosts.cores.count=2")
    assert first.key == job("hosts.cores.count=2", "prices={core: 3}").key
    others = [job("hosts.cores.count=3"), job("hosts.cores.count=2", settings=Settings(seed=4, replications=3)),
              job("hosts.cores.count=2", settings=Settings(seed=3, replications=3, steady=True)),
              job("hosts.cores.count=2", settings=Settings(seed=3, replications=3, precision=Precision(0.1))),
              ]  # fmt: skip
    assert len({first.key, *(other.key for other in others)}) == 5


def test_what_is_interrupted_goes_on(tmp_path, monkeypatch, found):
    jobs, done = cores(1, 2, 3, 4, 6, 8), []

    def interrupted(one: PointTask):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(one)
        return simulated(one)

    monkeypatch.setattr(sim.experiments.sweep, "simulated", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(jobs, cache=ResultFolder(tmp_path / "out"))
    assert len(list((tmp_path / "out" / "finished").iterdir())) == 2
    done.clear()
    monkeypatch.setattr(sim.experiments.sweep, "simulated", lambda one: done.append(one) or simulated(one))
    told: list[int] = []
    assert same(sweep(jobs, cache=ResultFolder(tmp_path / "out"), progress=told.append), found)
    assert len(done) == 4
    assert told == [2, 3, 4, 5, 6]
    again = sweep([*jobs, job("hosts.cores.count=2", "workload.clients=5")], cache=ResultFolder(tmp_path / "out"))
    assert len(done) == 5
    assert same(again[:6], found)


def test_results_come_as_they_are_done(monkeypatch):
    monkeypatch.setattr(sim.parallel.worker_map, "START_S", 0.0)  # processes for work that is not worth their start
    with WorkerMap(2) as mapping:
        assert [index for index, _ in mapping.completed(time.sleep, [0.0, 1.5, 0.0])] == [0, 2, 1]


# What-ifs


def test_points_have_figures_verdicts_and_differences():
    result = whatif(question("hosts.cores.count=1,2,4", slos=["GET.p90<2ms", "host cpu.utilization<99%"]))
    json.dumps(to_json(result))
    assert (result.base, result.vary) == (0, {"hosts.cores.count": [1, 2, 4]})
    first, _, last = result.points
    assert [point.set for point in result.points] == [{"hosts.cores.count": n} for n in (1, 2, 4)]
    assert first.slo == {"GET.p90<2ms": "fail", "host cpu.utilization<99%": "fail"}
    assert last.slo == {"GET.p90<2ms": "pass", "host cpu.utilization<99%": "pass"}
    assert (first.verdict, last.verdict) == ("fail", "pass")
    for point in result.points:
        figures, against = point.ops["GET"], point.difference.ops["GET"].latency_s["p90"]
        low, high = figures.interval.latency_s["p90"]
        assert low <= figures.latency_s["p90"] <= high
        assert figures.latency_s["min"] < figures.latency_s["p50"] < figures.latency_s["max"]
        base_s = first.ops["GET"].latency_s["p90"]
        assert against.value == pytest.approx(figures.latency_s["p90"] - base_s)
    assert result.pareto == {}
    assert last.cost is None


def test_the_base_can_be_chosen():
    result = whatif(question("hosts.cores.count=1,2", "clients=2,4", base={"hosts.cores.count": "2", "clients": "4"}))
    assert result.base == 3
    zero = result.points[3].difference.ops["GET"].latency_s["p90"]
    assert zero == Interval(0, 0, 0)
    with pytest.raises(InputError, match="no point has these values"):
        whatif(question("hosts.cores.count=1,2", base={"hosts.cores.count": "3"}))


def test_precision_adds_replications_where_they_are_needed():
    settings = Settings(replications=3, precision=Precision(0.02, ("p50",), most=30))
    result = whatif(question("hosts.cores.count=1,8", settings=settings))
    counts = [point.replications for point in result.points]
    assert min(counts) < max(counts), "else there is nothing to see here"
    assert all(point.precise or point.replications == 30 for point in result.points)
    assert result.points[1].difference.replications == min(counts)


def test_a_front_has_what_nothing_cheaper_beats():
    data = minio("workload.operations=400", "workload.clients=8", "prices={core: 10, host: 100}")
    result = whatif(question("hosts.cores.count=1,2,3,16", "hosts.setup_time=0,1ms", data=data))
    at = [(point.cost, point.ops["GET"].latency_s["p99"]) for point in result.points]
    assert [cost for cost, _ in at] == [110, 110, 120, 120, 130, 130, 260, 260]
    front = result.pareto["GET"].points
    beaten = {i for i, a in enumerate(at) if any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in at)}
    assert {at[i] for i in front} == {at[i] for i in set(range(8)) - beaten}
    assert sorted(front, key=at.__getitem__) == front
    assert beaten


def test_a_point_that_cannot_be_is_told_and_the_others_go_on():
    result = whatif(question("drives.count=1,4", "erasure.parity=0,2"))
    assert [sorted(point.ops) for point in result.points] == [["GET", "PUT"], [], ["GET", "PUT"], ["GET", "PUT"]]
    assert "parity: is 2" in result.points[1].error
    with pytest.raises(InputError, match="parity: is 2"):
        whatif(question("erasure.parity=2,3"))
    with pytest.raises(InputError, match="parity: is 2"):
        whatif(question("erasure.parity=0,2", base={"erasure.parity": "2"}))


@pytest.mark.parametrize(
    ("varied", "slos", "said"),
    [
        ([], [], "nothing is varied"),
        (["hosts.coers=1,2"], [], "did you mean"),
        (["coers=1,2"], [], "vary coers: no such field"),
        (["hosts.cores.count=1,2", "hosts.cores.count=3,4"], [], "vary hosts.cores.count: is given twice"),
        (["hosts.cores.count=1,2"], ["LIST.p99<1s"], "the workload has no LIST requests; it has GET, PUT"),
        (
            ["hosts.cores.count=1,2"],
            ["rgw cpu.utilization<80%"],
            "no station has the role 'rgw cpu'; allowed are host cpu, network",
        ),
    ],
)
def test_questions_without_sense_are_refused_before_the_work(monkeypatch, varied, slos, said):
    monkeypatch.setattr(sim.experiments.sweep, "simulated", None)
    with pytest.raises(InputError, match=re.escape(said)):
        whatif(question(*varied, slos=slos))


def test_a_folder_has_whole_results(tmp_path):
    folder = ResultFolder(tmp_path / "out")
    result = whatif(
        question("hosts.cores.count=1,2", "client.hedge.after=none,p95,10ms", slos=["GET.p99<3ms"]), cache=folder
    )
    folder.write_table("points.parquet", points_table(result))
    rows = pq.read_table(tmp_path / "out" / "points.parquet").to_pylist()
    assert [(row["hosts.cores.count"], row["client.hedge.after"], row["op"]) for row in rows] == [
        (n, after, op) for n in (1, 2) for after in (None, "p95", "10ms") for op in ("GET", "PUT")
    ]
    for row in rows:
        point = next(p for p in result.points if p.set["hosts.cores.count"] == row["hosts.cores.count"]
                     and p.set["client.hedge.after"] == row["client.hedge.after"])  # fmt: skip
        figures = point.ops[row["op"]]
        assert row["latency_p90_s"] == figures.latency_s["p90"]
        assert [row["latency_p90_s_low"], row["latency_p90_s_high"]] == figures.interval.latency_s["p90"]
        assert row["GET.p99<3ms"] == point.slo["GET.p99<3ms"]
    with pytest.raises(InputError, match="exists and holds no results"):
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "file").touch()
        ResultFolder(tmp_path / "other")


def test_values_of_several_types_are_json_in_a_table():
    column = points_table(whatif(question("client.hedge.after=none,p95,0.01"))).column("client.hedge.after").to_pylist()
    assert column[::2] == ["null", '"p95"', "0.01"]
