"""Workloads with groups of clients, from the spec to figures of each group."""

from __future__ import annotations

import json

import numpy as np
import pytest

from models.spec.field_paths import resolved
from models.store import compile_spec, spec_of
from sim.analysis.bounds import bounds
from sim.replication.summaries import Replication, Replications
from sim.simulate import simulate
from tests.specs import minio
from traces.errors import InputError
from traces.fitting.workload import fit_workload
from traces.run import Run
from traces.spec.spec_file import override
from traces.statistics.summary import subjects_of, summarise
from traces.trace import Trace
from traces.transform.edit import cut, merge
from traces.transform.scale import scale
from traces.workload.generate import generate
from validate.compare.compare import compare
from validate.replay.plan import Options, plan_of

BACKUP = {"object_size": "1MiB", "mix": {"PUT": 1}, "buckets": 2}
APP = {"object_size": "64KiB", "mix": {"GET": 3, "PUT": 1}, "rate": "150/s"}
OPEN = {"duration": "4s", "groups": {"backup": BACKUP | {"rate": "5/s"}, "app": APP}}
MIXED = {"duration": "4s", "groups": {"backup": BACKUP | {"clients": 2, "think_time": "50ms"}, "app": APP}}
CEPH = {"store": "ceph", "client": {"machines": 2}, "hosts": {"count": 3, "drives": 2}, "gateways": {"count": 2}}


def of_minio(workload, *assignments):
    return spec_of(override(minio() | {"workload": workload}, assignments), "spec")


def of_ceph(workload, *assignments):
    return spec_of(override(CEPH | {"workload": workload}, assignments), "spec")


@pytest.mark.parametrize("workload", [OPEN, MIXED], ids=["open", "mixed"])
@pytest.mark.parametrize("spec", [of_minio, of_ceph])
def test_both_engines_give_the_same_figures_of_each_group(spec, workload):
    a, b = (simulate(spec(workload, "workload.duration=1s"), seed=2, engine=engine) for engine in ("compiled", "simpy"))
    assert a.requests.equals(b.requests)
    assert subjects_of(a) == ["GET", "PUT", "app.GET", "app.PUT", "backup.PUT"]


@pytest.mark.parametrize("workload", [OPEN, MIXED], ids=["open", "mixed"])
def test_the_whole_is_the_sum_of_its_groups(workload):
    run = simulate(of_minio(workload), seed=3)
    ops = summarise(run)["ops"]
    assert ops["PUT"]["count"] == ops["app.PUT"]["count"] + ops["backup.PUT"]["count"]
    assert ops["GET"] == ops["app.GET"]
    assert ops["app.GET"]["count"] + ops["app.PUT"]["count"] == pytest.approx(4 * 150, rel=0.2)
    assert run.latency_s.min() > 0
    sizes = run.column("size_bytes")
    assert set(sizes[run.has("backup.PUT")]) == {1 << 20} and set(sizes[run.has("app.GET")]) == {64 << 10}
    assert {name[:-2] for name in run.requests.column("bucket").to_pylist()} == {"app", "backup"}


def test_clients_of_a_group_have_one_request_at_a_time():
    run = simulate(of_minio(MIXED))
    for client in range(2):
        mine = run.column("client") == client
        start_s, end_s = np.sort(run.column("start_s")[mine]), np.sort(run.column("end_s")[mine])
        assert mine.sum() > 10 and (start_s[1:] - end_s[:-1] >= 0.05 - 1e-9).all()
    assert not (run.has("backup.PUT") & (run.column("client") < 0)).any()


def test_a_group_does_not_change_the_requests_of_another():
    more = OPEN | {"groups": OPEN["groups"] | {"backup": BACKUP | {"rate": "20/s"}}}
    a, b = (generate(of_minio(workload).workload, 5) for workload in (OPEN, more))
    rows = [trace.table.filter(np.array(trace.table.column("group").to_pylist()) == "app") for trace in (a, b)]
    for name in ("arrival_s", "op", "key", "bucket", "size_bytes"):
        assert rows[0].column(name).to_pylist() == rows[1].column(name).to_pylist()


def test_operations_of_open_groups_count_all_requests():
    spec = of_minio(OPEN, "workload.operations=100", "workload.duration=null")
    assert len(simulate(spec)) == 100
    assert len(generate(spec.workload.limited(40), 0)) == 40


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
@pytest.mark.parametrize("workload", [OPEN, MIXED], ids=["open", "mixed"])
def test_a_trace_keeps_its_groups(workload, name, tmp_path):
    spec = of_minio(workload, "workload.duration=1s")
    run = simulate(spec, seed=1)
    run.write(tmp_path / "run")
    run.trace.write(tmp_path / name)
    again = simulate(spec, Trace.read(tmp_path / name), seed=1)
    assert again.requests.to_pydict() == run.requests.to_pydict()
    assert Run.read(tmp_path / "run").groups == run.groups == ("app", "backup")


def test_two_runs_are_compared_group_by_group():
    a, b = (simulate(of_minio(MIXED, f"workload.groups.app.rate={rate}/s"), seed=1) for rate in (100, 150))
    found = compare(a, b, tolerance=0.1)
    assert list(found.ops) == ["GET", "PUT", "app.GET", "app.PUT", "backup.PUT"]
    assert "throughput" in json.dumps(found.ops["app.GET"].to_json())


def test_replications_have_intervals_for_each_group():
    runs = tuple(Replication.of(simulate(of_minio(OPEN), seed=seed), seed) for seed in range(3))
    summary = Replications(runs).summary()
    assert list(summary.ops) == ["GET", "PUT", "app.GET", "app.PUT", "backup.PUT"]
    interval = summary.ops["backup.PUT"].throughput_ops
    assert interval.low < 5 < interval.high


def test_fields_of_groups_have_paths():
    spec = of_minio(OPEN)
    assert resolved(spec, "groups.app.rate") == "workload.groups.app.rate"
    assert resolved(spec, "backup.object_size") == "workload.groups.backup.object_size"
    assert resolved(spec, "rate") == "workload.rate"
    with pytest.raises(InputError, match="no such field"):
        resolved(spec, "workload.groups.ap.rate")


def test_a_rate_makes_the_group_an_open_loop():
    spec = of_minio(MIXED, "workload.groups.backup.rate=3/s")
    assert spec.workload.groups["backup"].rate == 3
    assert spec.workload.total_rate == 153
    assert spec.workload.with_rate(306).groups["app"].rate == 300


def test_a_workload_with_groups_is_written_as_it_was_read():
    spec = of_minio(MIXED)
    dumped = spec.model_dump(mode="json", exclude_unset=True)
    assert "object_size" not in dumped["workload"]
    assert spec_of(dumped, "again") == spec
    assert spec_of(spec.model_dump(mode="json"), "full").workload.groups == spec.workload.groups


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"rate": "5/s"}, "workload", "rate"),
        ({"mix": {"GET": 1}}, "workload", "mix"),
        ({"duration": None}, "workload", "backup"),
        ({"operations": 50}, "workload", "duration"),
        ({"groups": {"app": {"object_size": 1}}}, "workload", "groups.app"),
        ({"groups": {"app": {"rate": 1}}}, "workload.groups.app.object_size", "missing"),
        ({"groups": {"app": {"rate": 1, "clients": 2, "object_size": 1}}}, "workload.groups.app", "rate and clients"),
        ({"groups": {"app": {"clients": 0, "object_size": 1}}}, "workload.groups.app.clients", "0"),
        ({"groups": {"app": {"rate": 0, "object_size": 1}}}, "workload.groups.app.rate", "0"),
        ({"groups": {"GET": {"rate": 1, "object_size": 1}}}, "workload.groups", "lower-case"),
        ({"groups": {"app": {"rate": 1, "object_size": 1, "mux": {}}}}, "workload.groups.app.mux", "mix"),
        (
            {"groups": {"app": {"clients": 1, "object_size": 1, "operations": 9, "keys": "write_once_read_once"}}},
            "workload",
            "write_once_read_once",
        ),
    ],
)
def test_mistake_is_named_with_its_field(changes, field, says):
    with pytest.raises(InputError) as refused:
        of_minio(MIXED | changes)
    (message,) = refused.value.messages
    assert f"spec: {field}" in message and says in message


def test_what_needs_one_loop_refuses_several():
    trace = generate(of_minio(MIXED, "workload.duration=0.2s").workload, 0)
    network = compile_spec(of_minio(MIXED, "workload.duration=0.2s"), trace)
    for refused in (
        lambda: scale(trace, 2.0),
        lambda: cut(trace, 0.0, 0.1),
        lambda: fit_workload(trace),
        lambda: plan_of(trace, Options()),
        lambda: bounds(*network),
    ):
        with pytest.raises(InputError, match="groups"):
            refused()


def test_groups_with_rates_can_be_scaled_and_merged_as_any_open_loop():
    trace = generate(of_minio(OPEN).workload, 0)
    assert scale(trace, 0.5).groups == ("app", "backup")
    plain = generate(of_minio(minio("workload.rate=10/s", "workload.operations=20")["workload"]).workload, 0)
    merged = merge([trace, plain])
    assert (merged.group < 0).sum() == len(plain)
    assert len(simulate(of_minio(OPEN), merged)) == len(merged)
