"""Operations that only this test declares: workloads, Runs, statistics, tables and pages take them up as they are."""

from __future__ import annotations

import json
import re
from typing import Literal

import numpy as np
import pytest
import yaml

from models import store as stores
from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from models.shared.store_spec import StoreSpec
from models.store import Store, compile_spec, json_schema, spec_of
from sim.simulate import simulate
from tests.cli.commands.test_simulate import tailcast
from tests.paths import EXAMPLES, ROOT
from traces import operations
from traces.errors import InputError
from traces.fitting.workload import fit_workload
from traces.operations import OPS, Operation, ops_that, rows_that
from traces.spec.spec_file import override, validated
from traces.statistics.describe import describe
from traces.statistics.summary import summarise
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.workload import Workload
from validate.replay.plan import Options, plan_of

APPEND = Operation("APPEND", "written", "changes", is_idempotent=False)
PURGE = Operation("PURGE", effect="removes")
GLOB = Operation("GLOB", target="path")
SERVED = ("GET", "APPEND", "PURGE", "GLOB")
SERVICE_S = 1e-3
WORKLOAD = {
    "rate": "200/s",
    "operations": 4000,
    "object_size": "4KiB",
    "mix": {"GET": 4, "APPEND": 3, "PURGE": 1, "GLOB": 2},
    "keys": {"kind": "uniform", "count": 5000},
    "ranges": {"fraction": 0.5, "size": "1KiB"},
}
SPEC = {"store": "file-server", "network": {"latency": "0s"}, "workload": WORKLOAD}


class FileServerSpec(StoreSpec):
    """One server of files."""

    store: Literal["file-server"]


def _compile(spec: FileServerSpec, trace: Trace) -> tuple[Network, Requests]:
    served = single(Visit(0, ServiceDemand(constant=SERVICE_S)), delivers=True)
    routes = tuple(Route(op, (served,), policy=spec.client.policy(op)) for op in SERVED)
    number = np.array([SERVED.index(op) if op in SERVED else -1 for op in OPS], np.int32)
    return Network((Station("server", "server", Discipline.FIFO),), routes), Requests.of(trace, number[trace.op])


STORE = Store("file-server", FileServerSpec, _compile, operations=frozenset(SERVED))


@pytest.fixture(autouse=True)
def _declared(monkeypatch):
    monkeypatch.setitem(stores._registered, "file-server", STORE)
    before = len(OPS)
    for operation in (APPEND, PURGE, GLOB):
        operations.register(operation)
    yield
    del OPS[before:], operations.OPERATIONS[before:]


@pytest.fixture
def trace() -> Trace:
    return generate(validated(Workload, WORKLOAD, "w"), 1)


@pytest.fixture
def spec_path(tmp_path):
    path = tmp_path / "files.yaml"
    path.write_text(yaml.safe_dump(SPEC))
    return path


def rows_of(trace: Trace, op: str):
    return trace.op == OPS.index(op)


def test_a_workload_generates_them_by_their_properties(trace):
    counts = np.bincount(trace.op, minlength=len(OPS)) / len(trace)
    assert {op: counts[OPS.index(op)] for op in WORKLOAD["mix"]} == pytest.approx(
        {"GET": 0.4, "APPEND": 0.3, "PURGE": 0.1, "GLOB": 0.2}, abs=0.03
    )
    assert (trace.transfer_bytes[rows_of(trace, "APPEND")] == 4096).all()
    assert not trace.transfer_bytes[rows_of(trace, "PURGE") | rows_of(trace, "GLOB")].any()
    assert not trace.size_bytes[rows_of(trace, "GLOB")].any(), "a path has no size"
    keys = np.array(trace.table.column("key").to_pylist())
    assert {len(key) for key in keys[rows_of(trace, "GLOB")]} == {len("object-0000000")}, "the prefix of a path"
    removed, others = (keys[rows] for rows in (rows_of(trace, "PURGE"), ~rows_of(trace, "PURGE")))
    assert len(set(removed)) == len(removed)
    assert not set(removed) & set(others)
    ranged = trace.table.column("range_bytes").is_valid().to_numpy()
    assert set(trace.op[ranged]) == {OPS.index("GET")}, "only what reads bytes has a range"


def test_a_spec_names_them_and_a_misspelt_one_gets_the_one_that_was_meant():
    for field, value in (("mix", {"APEND": 1}), ("own_objects", {"APEND": {"object_size": "1KiB"}})):
        with pytest.raises(InputError, match=f"{field}.APEND: is 'APEND'; did you mean APPEND"):
            validated(Workload, WORKLOAD | {field: value}, "w")
    with pytest.raises(InputError, match=r"own_objects.GLOB: is 'GLOB'; .*GET, PUT, HEAD, .*APPEND$"):
        validated(Workload, WORKLOAD | {"own_objects": {"GLOB": {"object_size": "1KiB"}}}, "w")
    with pytest.raises(InputError, match=r"mix\.1: is 1; allowed are GET.*GLOB"):
        validated(Workload, WORKLOAD | {"mix": {1: 1}}, "w")
    found = json.dumps(json_schema()["$defs"]["ClientGroup"]["properties"]["mix"])
    assert all(op in found for op in SERVED)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_a_file_keeps_them(trace, tmp_path, name):
    trace.write(tmp_path / name)
    assert np.array_equal(Trace.read(tmp_path / name).op, trace.op)


def test_statistics_and_fits_take_them(trace):
    found = describe(trace)
    assert list(found["ops"]) == ["GET", "APPEND", "PURGE", "GLOB"]
    assert found["keys"]["distinct"] <= 5000 + rows_of(trace, "PURGE").sum()
    fitted = fit_workload(trace)
    assert fitted.workload.mix["APPEND"] == pytest.approx(0.3, abs=0.03)
    assert fitted.workload.ranges is not None
    assert fitted.workload.ranges.fraction == pytest.approx(0.5, abs=0.05)
    assert any("prefixes of GLOBs" in note for note in fitted.notes)


def test_a_store_serves_them_and_its_run_has_their_statistics():
    spec = spec_of(SPEC, "s")
    run = simulate(spec, seed=1)
    found = summarise(run)["ops"]
    assert list(found) == ["GET", "APPEND", "PURGE", "GLOB"]
    assert found["APPEND"]["throughput_bytes"] == pytest.approx(4096 * found["APPEND"]["throughput_ops"])
    assert found["GLOB"]["throughput_bytes"] == 0
    rho = 200 * SERVICE_S
    # M/D/1 (Pollaczek and Khinchine): all operations have the same mean.
    assert run.latency_s.mean() == pytest.approx(SERVICE_S * (1 + rho / (2 * (1 - rho))), rel=0.05)


def test_engines_agree_on_them():
    spec = spec_of(override(SPEC, ["workload.operations=300"]), "s")
    first, second = (simulate(spec, seed=1, engine=engine) for engine in ("compiled", "simpy"))
    assert first.requests.equals(second.requests)


def test_policies_take_them():
    spec = spec_of(override(SPEC, ["client.retry={retries: 2, operations: [APPEND]}"]), "s")
    assert [spec.client.policy(op).retries for op in SERVED] == [0, 2, 0, 0]
    assert "APPEND" not in ops_that("is_idempotent")


def test_other_stores_and_a_replay_say_what_they_serve(trace):
    minio = spec_of(yaml.safe_load((EXAMPLES / "minio.yaml").read_text()), "m")
    with pytest.raises(InputError, match=r"workload: has APPEND, PURGE, GLOB; store minio serves GET, .*LIST, COPY$"):
        compile_spec(minio, trace)
    with pytest.raises(InputError, match=r"hosts\.cpu\.APPEND: is 'APPEND'; allowed are GET, PUT, HEAD, DELETE, LIST"):
        spec_of(override(yaml.safe_load((EXAMPLES / "minio.yaml").read_text()), ["hosts.cpu.APPEND=1ms"]), "m")
    with pytest.raises(InputError, match=r"the trace has APPEND, PURGE, GLOB; a replay issues GET, .*LIST$"):
        plan_of(trace, Options())


def test_commands_take_them(capsys, tmp_path, spec_path):
    run, page, slo = tmp_path / "run", tmp_path / "page.html", "append.p99<100ms"
    code, said, wrong = tailcast(capsys, "simulate", str(spec_path), "--out", str(run), "--slo", slo, "--check")
    assert code == 0, wrong
    assert all(op in said for op in SERVED)
    assert "APPEND.p99<100ms" in said
    assert tailcast(capsys, "report", str(run), "--out", str(page))[0] == 0
    assert all(op in page.read_text() for op in SERVED)
    trace_page = tmp_path / "trace.html"
    code, said, wrong = tailcast(capsys, "trace", "info", str(run / "trace.parquet"), "--report", str(trace_page))
    assert code == 0, wrong
    assert all(op in said and op in trace_page.read_text() for op in SERVED)
    code, said, wrong = tailcast(capsys, "bounds", str(spec_path))
    assert code == 0, wrong
    assert all(op in said for op in SERVED)
    for ending, op in ((".csv.zst", []), (".csv", ["--op", "APPEND"]), (".hgrm", ["--op", "PURGE"])):
        assert tailcast(capsys, "trace", "export", str(run), "--out", str(tmp_path / f"e{ending}"), *op)[0] == 0


def test_logs_may_have_them(capsys, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("time,op,key,size\n" + "".join(f"{i},{SERVED[i % 4].lower()},k{i % 7},100\n" for i in range(40)))
    out = tmp_path / "trace.parquet"
    columns = "time=time:s,op=op,key=key,size=size"
    code, _, wrong = tailcast(capsys, "trace", "import", str(log), "--columns", columns, "--out", str(out))
    assert code == 0, wrong
    trace = Trace.read(out)
    assert [OPS[op] for op in trace.op[:4]] == list(SERVED)
    assert trace.transfer_bytes[:4].tolist() == [100, 100, 0, 0]


def test_a_name_is_declared_once_and_in_upper_case():
    with pytest.raises(ValueError, match="two operations with the name GET"):
        operations.register(Operation("GET"))
    with pytest.raises(ValueError, match="upper-case"):
        Operation("fsync")
    assert rows_that(np.array([OPS.index("GLOB"), OPS.index("APPEND")]), "names_object").tolist() == [False, True]


OF_PROTOCOLS = (
    "traces/operations.py",
    "traces/readers",  # formats of logs
    "traces/results",
    "traces/benchmarks",
    "traces/workload/keys.py",  # the phases of s3bench
    "models/minio",
    "models/ceph",
    "models/swift",
    "models/bob",
    "models/openio",
    "models/juicefs",
    "models/s3fs",
    "models/rustfs",
    "models/garage",
    "models/versitygw",
    "models/seaweedfs",
    "validate/s3",
    "validate/mount",
    "validate/lab/file_systems",
    "validate/reference",
)
"""Modules about what has operations of its own: stores, formats and tools."""


def test_only_stores_and_formats_tell_operations_apart_by_name():
    compared = re.compile(
        r"(==|!=|\bin|\bcase) *[\[({]*\"(GET|PUT|HEAD|DELETE|LIST)\"| (==|!=) (GET|PUT|HEAD|DELETE|LIST)\b"
        r"|np\.isin\([^)]*\b(GET|PUT|HEAD|DELETE|LIST)\b"
    )
    files = [
        path for folder in ("traces", "models", "sim", "validate", "cli") for path in (ROOT / folder).rglob("*.py")
    ]
    naming = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        for line in path.read_text().splitlines()
        if not str(path.relative_to(ROOT)).startswith(OF_PROTOCOLS) and compared.search(line)
    ]
    assert naming == []
