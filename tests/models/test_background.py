"""Background work, drive scheduling and tied requests, reached through specs: theory, and both engines alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.main import _exit_code
from models.network.background import Background
from models.network.discipline import Discipline
from models.shared.background import BackgroundWork, with_background
from models.store import Spec, compile_spec, load_spec, spec_of
from sim.analysis.bounds import bounds
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.paths import EXAMPLES
from tests.sim.engine.test_engines import assert_identical
from tests.sim.engine.test_theory import assert_holds
from traces.errors import InputError
from traces.workload.generate import generate

EXPONENTIAL = {"constant": "1s", "distribution": {"kind": "exponential"}}
OPERATIONS, WARM_UP = 20_000, 2_000
SEEDS = range(30)
MINIO, CEPH = EXAMPLES / "minio.yaml", EXAMPLES / "ceph" / "nvme-quincy.yaml"


def one_drive(client_ops: float, **background: Any) -> Spec:
    """A MinIO whose GETs take an exponential second of its only drive, and nothing else."""
    load = {"name": "healing", "demand": EXPONENTIAL, "service_class": "recovery"} | background.pop("load")
    return spec_of(
        {
            "store": "minio",
            "workload": {"rate": client_ops, "operations": OPERATIONS, "mix": {"GET": 1}, "object_size": "4KiB"},
            "hosts": {"cpu": {"GET": 0}},
            "drives": {"count": 1, "read": EXPONENTIAL},
            "background": {"loads": [load], **background},
        },
        "spec",
    )


def program_of(spec: Spec, seed: int = 1, paths: bool = False) -> Program:
    return Program.of(*compile_spec(spec, generate(spec.workload, seed)), seed, paths)


def drives(program: Program) -> list[int]:
    return [k for k, s in enumerate(program.network.stations) if s.role == "drive" and not s.discipline.infinite]


def ran(spec: Spec, seed: int = 1) -> tuple[Program, Outcome]:
    program = program_of(spec, seed)
    return program, compiled_engine.run(program)


def test_priority_of_clients_over_healing_is_cobhams():
    # Cobham, "Priority assignment in waiting line problems", Operations Research 2, 1954.
    client_ops, heal_ops = 0.5, 0.3
    spec = one_drive(client_ops, load={"rate": heal_ops}, scheduling="priority")
    residual_s = client_ops + heal_ops  # each with E[S^2] / 2 = 1
    client_s = 1 + residual_s / (1 - client_ops)
    heal_s = 1 + residual_s / (1 - client_ops) / (1 - client_ops - heal_ops)
    figures = []
    for seed in SEEDS:
        program, run = ran(spec, seed)
        took_s = run.background_end_s - program.background[0].arrival_s
        figures.append([(run.end_s - run.start_s)[WARM_UP:].mean(), took_s[WARM_UP:].mean()])
    assert_holds(client_s, np.array(figures)[:, 0])
    assert_holds(heal_s, np.array(figures)[:, 1])


@pytest.mark.parametrize(
    ("scheduling", "weights", "of_clients"),
    [("fifo", {}, 1 / 3), ("weighted", {}, 1 / 2), ("weighted", {"client": 3}, 3 / 4), ("priority", {}, 1.0)],
)
def test_an_overloaded_drive_is_shared_by_weights(scheduling, weights, of_clients):
    spec = one_drive(1.5, load={"rate": 3.0}, scheduling=scheduling, weights=weights)
    program, run = ran(spec)
    until_s = program.background[0].arrival_s[-1]
    clients = (run.end_s < until_s).sum() / (run.end_s < until_s).sum().clip(1)
    served = np.array([(run.end_s < until_s).sum(), (run.background_end_s < until_s).sum()])
    assert clients == 1.0
    assert served[0] / served.sum() == pytest.approx(of_clients, abs=0.02)


@pytest.mark.parametrize(("path", "target"), [(MINIO, "drives"), (MINIO, "cpu"), (CEPH, "drives"), (CEPH, "cpu")])
def test_background_work_raises_utilisation_as_computed(path, target):
    few = ["workload.duration=null", "workload.operations=2000", "workload.rate=500/s"]
    if path is MINIO:  # the busier its cores are, the less they have to wake and to fill their caches
        few += ["hosts.setup_time=0s", "hosts.cpu_caches.cold_penalty=0s", "hosts.garbage_collector.mark_work=0s"]
    role = {"drives": ("drive",), "cpu": ("host cpu", "osd host cpu")}[target]
    load = f"background.loads=[{{name: scrub, rate: 400/s, demand: 500us, target: {target}, arrivals: even}}]"
    idle, idle_run = ran(load_spec(path, few))
    program, run = ran(load_spec(path, [*few, load]))
    at = [k for k, s in enumerate(program.network.stations) if s.role in role and not s.discipline.infinite]
    operations = len(program.background[0])
    assert operations == pytest.approx(400 * idle.draw(0, 2000).arrival_s[-1], abs=1)
    assert np.isfinite(run.background_end_s).all()
    assert (run.visits[at] > idle_run.visits[at]).all(), "every target has its part"
    assert run.busy_s[at].sum() - idle_run.busy_s[at].sum() == pytest.approx(operations * 500e-6, rel=0.05)
    assert np.array_equal(run.start_s, idle_run.start_s)


SPECS = {
    "background": ["background.loads=[{name: a, rate: 900/s, demand: 1ms, size: 1MiB, until: 1s}]"],
    "priority": [
        "background.loads=[{name: a, rate: 900/s, demand: 1ms, until: 1s}, "
        "{name: b, rate: 300/s, demand: {constant: 1ms, distribution: {kind: lognormal, cv: 2}}, at: 10ms, until: 1s, "
        "service_class: recovery, arrivals: even}, {name: c, rate: 200/s, demand: 100us, target: cpu, until: 1s}]",
        "background.scheduling=priority",
    ],
    "weighted": [
        "background.loads=[{name: a, rate: 900/s, demand: 1ms, until: 1s, service_class: recovery}, "
        "{name: b, rate: 900/s, demand: 2ms, until: 1s, service_class: client}]",
        "background.scheduling=weighted",
        "background.weights.client=4",
    ],
    "tied": ["client.hedge.after=50us", "client.hedge.tied=true", "client.hedge.budget=null"],
}


@pytest.mark.parametrize("case", SPECS)
@pytest.mark.parametrize("path", [MINIO, CEPH], ids=lambda path: path.stem)
def test_engines_agree_on_them(path, case):
    few = ["workload.duration=null", "workload.operations=400", "workload.mix={GET: 1, PUT: 1}"]
    program = program_of(load_spec(path, [*few, *SPECS[case]]), paths=True)
    run = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), run)
    assert np.isfinite(run.end_s).all()
    assert (run.attempts > 1).any() if case == "tied" else len(run.background_end_s)


def test_without_background_work_nothing_changes():
    spec = load_spec(MINIO)
    network, requests = compile_spec(spec, generate(spec.workload, 1))
    same = with_background(BackgroundWork(), network, requests, {"drives": "drive", "cpu": "host cpu"})
    assert same[0] is network
    assert same[1] is requests
    assert all(station.discipline is not Discipline.PRIORITY for station in network.stations)


def test_a_tied_request_is_worked_on_once():
    few = ["workload.duration=null", "workload.operations=4000", "workload.mix={GET: 1}", "workload.rate=900/s"]
    few += ["gateways.count=2", "gateways.cores=1", "gateways.balance=random", "client.hedge.budget=null"]
    cpu_s, runs = [], []
    for more in ([], ["client.hedge.after=0s"], ["client.hedge.after=0s", "client.hedge.tied=true"]):
        program, run = ran(load_spec(CEPH, [*few, *more]))
        gateways = [k for k, s in enumerate(program.network.stations) if s.role == "rgw cpu"]
        cpu_s.append(run.busy_s[gateways].sum())
        runs.append(run)
    once, hedged, tied = cpu_s
    assert tied == pytest.approx(once, rel=0.05)
    assert hedged > 1.3 * once
    assert (runs[2].attempts == 2).mean() > 0.2
    assert (runs[2].winner == 2).any()
    p99_s = [np.quantile(run.end_s - run.start_s, 0.99) for run in runs]
    assert p99_s[2] < p99_s[0]


def test_bounds_say_that_they_leave_it_out():
    spec = one_drive(0.5, load={"rate": 0.3})
    found = bounds(*compile_spec(spec, generate(spec.workload, 1)))
    assert any("background" in note for note in found.notes)
    assert "background" in found.exact.reason
    assert found.response_s.high is None


@pytest.mark.parametrize(
    ("assignments", "field"),
    [
        (["background.loads=[{name: a, rate: 1/s, demand: 1ms}]", "workload.rate=null"], "background.loads.0.until"),
        (["background.loads=[{name: a, rate: 1e12/s, demand: 1ms, until: 1s}]"], "background.loads.0.rate"),
        (["background.loads=[{name: a, rate: 1/s, demand: 1ms, at: 2s, until: 1s}]"], "background.loads.0"),
        (["background.loads=[{name: a, rate: 0, demand: 1ms}]"], "background.loads.0.rate"),
        (["background.loads=[{name: a, rate: 1, demand: 1s}, {name: a, rate: 1, demand: 1s}]"], "loads.1.name"),
        (["background.loads=[{name: a, rate: 1, demand: 1s, target: nic}]"], "background.loads.0.target"),
        (["background.weights.client=0"], "background.weights.client"),
        (["background.scheduling=lifo"], "background.scheduling"),
        (["client.hedge.tied=true"], "client.hedge"),
        (["client.hedge.tied=true", "client.hedge.after=p95"], "client.hedge"),
    ],
)
def test_mistakes_are_named(assignments, field):
    few = ["workload.duration=null", "workload.operations=10"]
    with pytest.raises(InputError) as error:
        program_of(load_spec(MINIO, [*few, *assignments]))
    assert field in str(error.value)


def test_a_live_store_ties_no_requests(tmp_path: Path, capsys):
    policy = ["--set", "client.hedge.after=1ms", "--set", "client.hedge.tied=true"]
    trace = str(tmp_path / "trace.parquet")
    assert _exit_code(["trace", "generate", str(MINIO), "--set", "workload.duration=0.1s", "--out", trace]) == 0
    capsys.readouterr()
    assert _exit_code(["replay", trace, "--dry-run", *policy]) == 2
    assert "client.hedge.tied" in capsys.readouterr().err


@pytest.mark.parametrize("poisson", [True, False])
def test_operations_keep_their_rate_and_time(poisson):
    load = Background("a", 0, rate_ops=50.0, from_s=10.0, until_s=110.0, poisson=poisson)
    arrival_s = load.arrival_s(seed=3)
    assert len(arrival_s) == pytest.approx(5000, abs=250 if poisson else 0)
    assert arrival_s[0] >= 10
    assert arrival_s[-1] < 110
    assert (np.diff(arrival_s) > 0).all()
    assert len(Background("a", 0, 50.0, 10.0, 10.0).arrival_s(3)) == 0
    with pytest.raises(ValueError, match="rate"):
        Background("a", 0, rate_ops=0.0, from_s=0.0, until_s=1.0)
