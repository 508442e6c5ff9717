"""Examples of Swift, Bob and OpenIO as a user takes them: bounds, what-ifs, all failures, a Run, its page; engines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.main import main
from models.store import compile_spec, load_spec, store_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.paths import EXAMPLES
from tests.profiles import others_nightly
from traces.run import Run
from traces.workload.generate import generate

VARIED = {
    "swift/box": "proxies.concurrent_gets=false,true",
    "swift/cluster": "replicator=null,{}",
    "swift/criterion": "hosts.cores=1,2",
    "bob/cluster": "quorum=1,3",
    "bob/one-host": "drives.index=0ms,1ms",
    "bob/minio-same-host": "hosts.processes=1,2",
    "openio/three-hosts": "directory.containers_per_bucket=1,4",
    "openio/cluster": "chunks.erasure=null,{data: 6, parity: 3}",
}
"""A field of each example that is worth a what-if."""
ONE_OF_EACH = ("swift/criterion", "bob/one-host", "openio/three-hosts")
of_one_of_each = pytest.mark.parametrize(
    "name", others_nightly(VARIED, ONE_OF_EACH, "a command takes examples of one store alike; bounds are tested of all")
)
SHORT = ("--set", "workload.operations=null", "--set", "workload.duration=2s")
BRIEF = (*SHORT[:2], "--set", "workload.duration=0.5s")  # the clusters serve some 10,000 requests a second


def tailcast(capsys, *arguments: object) -> str:
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert exit_.value.code == 0, err
    return out


def test_each_example_has_a_whatif():
    files = [path for store in ("swift", "bob", "openio") for path in (EXAMPLES / store).glob("*.yaml")]
    names = {str(path.relative_to(EXAMPLES).with_suffix("")) for path in files}
    assert names == {*VARIED, "openio/2019-servers"}  # its requests take seconds: tests/models/openio


@pytest.mark.parametrize("name", VARIED)
def test_bounds_contain_what_is_simulated(capsys, name):
    path = EXAMPLES / f"{name}.yaml"
    bounds = json.loads(tailcast(capsys, "bounds", path, *SHORT, "--json"))
    forecast = json.loads(tailcast(capsys, "simulate", path, *SHORT, "--json"))
    served_ops = sum(op["throughput_ops"] for op in forecast["ops"].values())
    mean_s = sum(op["count"] * op["latency_s"]["mean"] for op in forecast["ops"].values())
    assert bounds["max_throughput_ops"] >= 0.99 * served_ops > 0
    count = sum(op["count"] for op in forecast["ops"].values())  # of a few, the mean is not known to 1 %
    assert 0 < bounds["response_s"]["low"] <= 1.03 * mean_s / count
    assert "nowhere" not in json.dumps(bounds)


@of_one_of_each
def test_a_whatif_has_a_row_for_each_value(capsys, name):
    path = EXAMPLES / f"{name}.yaml"
    found = json.loads(tailcast(capsys, "whatif", path, *BRIEF, "--vary", VARIED[name], "--replications", 2, "--json"))
    assert len(found["points"]) == 2


@of_one_of_each
def test_all_failures_of_a_store(capsys, tmp_path, name):
    path, page = EXAMPLES / f"{name}.yaml", tmp_path / "failures.html"
    spec = load_spec(path)
    absent = () if spec.store != "minio" else ("slow-link", "replaced-drive")  # they need NICs, and stored objects
    kinds = [kind for kind, fault in store_of(spec).faults.items() if fault.form != "work" and kind not in absent]
    page_of = ("--report", page, "--replications", 1, "--json")
    done = json.loads(tailcast(capsys, "failures", path, *kinds, *SHORT, *page_of))
    assert [row["failure"] for row in done["failures"]] == kinds
    for row in done["failures"]:
        assert (
            row["windows"]["before"]["ops"] and row["windows"]["after"]["ops"]
        )  # a lone client may be stuck meanwhile
    text = page.read_text()
    assert all(kind in text for kind in kinds) or "is down" in text


@of_one_of_each
def test_a_run_and_its_page(capsys, tmp_path, name):
    run, page = tmp_path / "run", tmp_path / "page.html"
    tailcast(capsys, "simulate", EXAMPLES / f"{name}.yaml", *BRIEF, "--out", run)
    tailcast(capsys, "report", run, "-o", page)
    assert not Run.read(run).failed.any()
    assert all(op in page.read_text() for op in set(Run.read(run).requests.column("op").to_pylist()))


@pytest.mark.parametrize("name", VARIED)
def test_engines_agree_with_a_slow_drive(name):
    slow = "faults=[{kind: slow_drive, drive: 0, speed: 0.2, at: 0.2s}]"
    spec = load_spec(EXAMPLES / f"{name}.yaml", ["workload.operations=null", "workload.duration=1s", slow])
    program = Program.of(*compile_spec(spec, generate(spec.workload, 1)), 1)
    fast, slow_outcome = compiled_engine.run(program), simpy_engine.run(program)
    assert len(fast.end_s) and np.array_equal(fast.end_s, slow_outcome.end_s)
    assert np.array_equal(fast.visits, slow_outcome.visits)
