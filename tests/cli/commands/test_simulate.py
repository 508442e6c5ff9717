"""`tailcast simulate` as a user calls it: the contract's object, and one line for every mistake."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from cli.main import main
from cli.words import seconds
from models.store import load_spec
from sim.replication.replicate import seed_of
from sim.simulate import simulate
from tests.models.test_store import EXAMPLE
from tests.paths import EXAMPLES
from tests.runs import run_of
from tests.small_traces import trace_of
from traces.run import Run
from traces.statistics.critical_path import attribution
from traces.statistics.summary import summarise
from traces.trace import Pacing


def tailcast(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err


SHORT = ["--set", "workload.duration=1s"]
STEADINESS = {"unsettled", "longer"}


def test_json_is_the_contract_s_object(capsys):
    code, out, _ = tailcast(capsys, "simulate", str(EXAMPLE), *SHORT, "--json")
    result = json.loads(out)
    assert code == 0
    assert set(result) == {"verdict", "ops", "duration_s", "stations", "attribution", "engine", "made"} | STEADINESS
    assert set(result["ops"]) == {"GET", "PUT"}
    get = result["ops"]["GET"]
    assert set(get) == {"count", "errors", "throughput_ops", "throughput_bytes", "latency_s", "attempts", "few"}
    assert get["attempts"] == 1
    assert list(get["latency_s"]) == ["mean", "min", "p25", "p50", "p75", "p90", "p95", "p99", "p99_9", "max"]
    assert {"name", "role", "utilization", "mean_queue"} <= set(result["stations"][0])
    assert set(result["engine"]) == {"name", "wall_s", "visits"}


@pytest.mark.parametrize("load", [["workload.clients=5"], ["workload.rate=400/s"]])
def test_engines_print_the_same(capsys, load):
    results = []
    for engine in ("simpy", "compiled"):
        sets = [argument for value in load for argument in ("--set", value)]
        _, out, _ = tailcast(
            capsys, "simulate", str(EXAMPLE), *SHORT, *sets, "--engine", engine, "--json", "--seed", "4"
        )
        results.append({k: v for k, v in json.loads(out).items() if k != "engine"})
    assert results[0] == results[1]


def test_table_and_run(capsys, tmp_path):
    code, out, err = tailcast(capsys, "simulate", str(EXAMPLE), *SHORT, "--out", str(tmp_path / "run"))
    assert code == 0
    assert "host cpu" in out
    assert "Run written to" in err
    assert Run.read(tmp_path / "run").info["kind"] == "simulated"


@pytest.fixture
def attributed(monkeypatch):
    """Simulations give a Run of 200 GETs that wait for the host's cpu, the slowest 20 for 9 ms more."""
    wait_s = np.repeat([1e-3, 10e-3], [180, 20])
    spent = [{"request": i, "role": "host cpu", "waiting_s": w, "service_s": 1e-3} for i, w in enumerate(wait_s)]
    info = {"kind": "simulated", "engine": {"name": "compiled", "wall_s": 1.0, "visits": 200}}
    station = {"name": "cpu", "role": "host cpu", "servers": 2, "visits": 200, "utilization": 0.5, "mean_queue": 1.0}
    run = run_of(wait_s + 1e-3, info=info, stations=[station], critical_path=spent)
    monkeypatch.setattr("sim.forecast.simulate", lambda *_, **__: run)
    return run


def test_a_critical_path_is_attributed(capsys, attributed):
    result = json.loads(tailcast(capsys, "simulate", str(EXAMPLE), "--json")[1])
    assert result["attribution"] == attribution(attributed)
    assert result["attribution"]["GET"]["p50"]["roles"]["host cpu"]["waiting_s"] == pytest.approx(1e-3)
    table = tailcast(capsys, "simulate", str(EXAMPLE))[1]
    assert "Tail attribution" in table
    row = re.split(r"\s{2,}", [line for line in table.splitlines() if line.startswith("GET")][-1])
    assert row[:4] == ["GET", "host cpu", "1.00 ms", "1.00 ms"]


def test_a_given_trace_is_simulated(capsys, tmp_path):
    trace = tmp_path / "t.csv"
    trace.write_text("op,key,arrival_s,size_bytes\nPUT,a,0,100\nGET,a,1,100\n")
    code, out, _ = tailcast(capsys, "simulate", str(EXAMPLE), "--trace", str(trace), "--json")
    assert code == 0
    assert {op: figures["count"] for op, figures in json.loads(out)["ops"].items()} == {"GET": 1, "PUT": 1}


def test_hedges_show_their_extra_load(capsys):
    simpy = ["simulate", str(EXAMPLE), *SHORT, "--engine", "simpy"]
    hedged = [*simpy, "--set", "client.hedge.after=p90"]
    ops = json.loads(tailcast(capsys, *hedged, "--json")[1])["ops"]
    assert 1.01 < ops["GET"]["attempts"] < 1.1
    assert ops["PUT"]["attempts"] == 1
    assert f"{ops['GET']['attempts']:.3f}" in tailcast(capsys, *hedged)[1]
    assert "attempts" not in tailcast(capsys, *simpy)[1]


# A drive of 1 ms, exponential, and 4 ms of network: a closed loop in product form.
PRODUCT_FORM = [
    "hosts.cpu_caches.cold_penalty=0", "hosts.garbage_collector.mark_work=0s", "client.cpu={}", "hosts.cpu={GET: 0}",
    "network.latency=2ms",
    "workload={clients: 2, operations: 50, object_size: 1}",
    "drives.read={constant: 1ms, distribution: {kind: exponential}}",
]  # fmt: skip


def test_bounds_are_those_of_theory_and_nothing_is_simulated(capsys, monkeypatch):
    monkeypatch.setattr("sim.forecast.simulate", None)
    arguments = ["bounds", str(EXAMPLE), *(a for value in PRODUCT_FORM for a in ("--set", value))]
    code, out, _ = tailcast(capsys, *arguments, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["bottleneck"] == "drive 0"
    assert result["max_throughput_ops"] == pytest.approx(1000)
    assert result["response_s"] == {"low": pytest.approx(0.005), "high": pytest.approx(0.006)}
    # Machine repairman with 2 machines, by hand: p0 = 1 / (1 + 2 a + 2 a²), a = 1/4.
    exact_ops = 1000 * (1 - 1 / (1 + 2 / 4 + 2 / 16))
    assert result["exact"]["throughput_ops"] == pytest.approx(exact_ops)
    table = tailcast(capsys, *arguments)[1]
    assert "Bottleneck: drive 0, at 1,000 op/s" in table
    assert f"{exact_ops:.0f} op/s" in table
    assert "∞" in table


def test_bounds_name_their_assumptions(capsys):
    arguments = ["bounds", str(EXAMPLE), "--set", "client.hedge.after=20ms"]
    notes = json.loads(tailcast(capsys, *arguments, "--json")[1])["notes"]
    assert notes[0].startswith("GET inline, GET inline collecting: a second attempt starts after 0.02 s")
    assert "a second attempt starts after 0.02 s" in " ".join(tailcast(capsys, *arguments)[1].split())
    plain = ["bounds", str(EXAMPLE), "--json", "--set", "hosts.after_response=0"]
    plain += ["--set", "hosts.garbage_collector.mark_work=0", "--set", "hosts.cpu_caches.cold_penalty=0"]
    assert json.loads(tailcast(capsys, *plain)[1])["notes"] == []


@pytest.mark.parametrize("pacing", [Pacing(), Pacing("closed", clients=2)], ids=["open", "closed"])
def test_a_spec_without_workload_takes_a_trace(capsys, tmp_path, pacing):
    trace, bare, full = (tmp_path / name for name in ("t.parquet", "bare.yaml", "full.yaml"))
    requested = trace_of(
        ["GET"] * 20, [f"k{i}" for i in range(20)], pacing, arrival_s=np.arange(20.0), bucket=["a", "b"] * 10
    )
    requested.write(trace)
    bare.write_text("{store: ceph, hosts: {count: 3, drives: 2, cores: 8}, pools: {pg_num: 32}}\n")
    full.write_text(bare.read_text().strip()[:-1] + ", workload: {operations: 1, object_size: 4KiB, buckets: 2}}\n")
    code, out, err = tailcast(
        capsys, "simulate", str(bare), "--trace", str(trace), "--out", str(tmp_path / "run"), "--json"
    )
    assert code == 0, err
    found, expected = (
        json.loads(out),
        json.loads(tailcast(capsys, "simulate", str(full), "--trace", str(trace), "--json")[1]),
    )
    assert found["ops"] == expected["ops"] and found["stations"] == expected["stations"]
    load = {"rate": pytest.approx(20 / 19)} if pacing.loop == "open" else {"clients": 2, "think_time": {"mean": 0.0}}
    workload = Run.read(tmp_path / "run").info["spec"]["workload"]
    assert workload == {**load, "operations": 20, "object_size": workload["object_size"], "buckets": 2}
    assert tailcast(capsys, "simulate", str(bare))[2].endswith("workload: is missing; it is needed\n")


def test_bounds_of_a_trace_and_why_they_are_not_exact(capsys, tmp_path):
    trace = tmp_path / "t.csv"
    trace.write_text("op,key,arrival_s,size_bytes\nPUT,a,0,100\nGET,a,1,100\nGET,a,2,100\n")
    arguments = ["bounds", str(EXAMPLE), "--trace", str(trace)]
    result = json.loads(tailcast(capsys, *arguments, "--json")[1])
    assert {route["name"]: route["fraction"] for route in result["routes"]} == {
        "GET inline": pytest.approx(2 / 3),
        "PUT inline": pytest.approx(1 / 3),
    }
    assert result["offered_ops"] == pytest.approx(1.5)
    table = tailcast(capsys, *arguments)[1]
    assert "No exact means: " in table
    assert "at least" in table


REPLICATED = ["simulate", str(EXAMPLE), "--set", "workload.duration=0.3s", "--seed", "7"]


def test_replications_print_intervals(capsys):
    code, out, _ = tailcast(capsys, *REPLICATED, "--replications", "3", "--json")
    result = json.loads(out)
    assert code == 0
    known = {"verdict", "replications", "confidence", "ops", "duration_s", "stations", "engine", "made"}
    assert set(result) == known | STEADINESS
    assert result["replications"] == 3
    p99 = result["ops"]["GET"]["latency_s"]["p99"]
    assert p99["low"] < p99["value"] < p99["high"]
    spec = load_spec(EXAMPLE, ["workload.duration=0.3s"])
    runs = [simulate(spec, seed=seed_of(7, i), engine="simpy") for i in range(3)]
    assert result["ops"]["GET"]["count"] == sum(summarise(run)["ops"]["GET"]["count"] for run in runs)
    assert result["engine"]["visits"] == sum(run.info["engine"]["visits"] for run in runs)
    stations = {"host cpu": 2, "drive 0": 1, "journal 0": 1, "network latency": None}
    assert {s["name"]: s["servers"] for s in result["stations"]} == stations
    table = tailcast(capsys, *REPLICATED, "--replications", "3")[1]
    assert "3 replications" in table
    assert seconds(p99["value"]) in table
    assert f"{seconds(p99['low'])} … {seconds(p99['high'])}" in table


def test_one_replication_has_no_interval(capsys):
    result = json.loads(tailcast(capsys, *REPLICATED, "--replications", "1", "--json")[1])
    assert result["ops"]["GET"]["latency_s"]["p99"]["low"] is None
    assert "–" in tailcast(capsys, *REPLICATED, "--replications", "1")[1]


def test_precision_replicates_until_it_is_reached(capsys):
    def replicated(wanted: float):
        requested = [*REPLICATED, "--replications", "2", "--precision", str(wanted), "--json"]
        return json.loads(tailcast(capsys, *requested)[1])

    loose = replicated(1)
    assert (loose["replications"], loose["precision"]["reached"]) == (2, True)
    assert loose["longer"] > 1 and not loose["unsettled"], "0.3 s are too short"
    wanted = loose["precision"]["widest"] / 2
    tight = replicated(wanted)
    assert tight["replications"] > 2 or tight["longer"] > loose["longer"]
    assert tight["precision"]["reached"]
    assert tight["precision"]["widest"] <= wanted
    assert "± 100% reached" in tailcast(capsys, *REPLICATED, "--precision", "1")[1]


def test_steady_leaves_the_same_out_with_any_number_of_workers(capsys):
    sets = ["--set", "workload.duration=2s", "--set", "workload.stagger=60ms"]  # the load grows for 420 ms
    requested = [*REPLICATED, *sets, "--replications", "3", "--steady", "--json"]
    results = [json.loads(tailcast(capsys, *requested, "--workers", workers)[1]) for workers in ("1", "2")]
    assert results[0]["ops"] == results[1]["ops"]
    assert results[0]["stations"] == results[1]["stations"]
    left_out = [figures["left_out"] for figures in results[0]["ops"].values()]
    assert min(left_out) > 0
    assert "left out as warm-up" in tailcast(capsys, *requested[:-1])[1]


BROKEN = "store: minio\nworkload: {clients: 1\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulate", "absent.yaml"], "absent.yaml: no such file"),
        (["simulate", "{broken}"], "line 3"),
        (["simulate", "{example}", "--set", "hosts.coers=4"], "hosts.coers: unknown field; did you mean cores?"),
        (["simulate", "{example}", "--set", "workload.object_size=-5"], "is negative"),
        (["simulate", "{example}", "--set", "workload.clients"], "--set workload.clients: write it like"),
        (["simulate", "{example}", "--engine", "warp"], "compiled"),
        (["simulate", "{example}", "--seed", "-1"], "--seed"),
        (["simulate", "{example}", "--trace", "absent.parquet"], "absent.parquet: no such file"),
        (["simulate", "{example}", "--out", "absent/run"], "absent/run"),
        (["simulate", "{example}", "--replications", "3", "--out", "run"], "--out writes one Run"),
        (["simulate", "{example}", "--replications", "0"], "--replications"),
        (["simulate", "{example}", "--workers", "0", "--replications", "3"], "--workers"),
        (["simulate", "{example}", "--precision", "0"], "precision is 0.0"),
        (["simulate", "{example}", "--replications", "101", "--precision", "0.1"], "at most 100"),
        (["simulate", "{example}", "--steady"], "add --replications"),
        (["simulate", "{example}", "--set", "client.hedge.after=soon"], "client.hedge.after: 'soon' is not a duration"),
        (["simulate"], "SPEC.yaml"),
        (["simulat"], "simulat"),
    ],
)
def test_every_mistake_is_one_line_and_exit_code_2(capsys, tmp_path, arguments, said):
    broken = tmp_path / "broken.yaml"
    broken.write_text(BROKEN)
    filled = [a.format(broken=broken, example=EXAMPLE) for a in arguments]
    code, out, err = tailcast(capsys, *filled)
    assert code == 2
    assert out == ""
    *notes, error = err.strip().splitlines()
    assert all("see: tailcast check" in note for note in notes)
    assert error.startswith("tailcast: error: ") and said in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.yaml"]


OVERLOADED = ["simulate", str(EXAMPLE), "--set", "workload.rate=4000/s", "--set", "workload.duration=0.5s"]


def test_an_overload_comes_first_and_has_no_intervals(capsys):
    code, out, _ = tailcast(capsys, *OVERLOADED)
    assert code == 0
    assert out.startswith("overloaded: ")
    code, out, _ = tailcast(capsys, *OVERLOADED, "--replications", "3")
    assert code == 0
    assert out.startswith("overloaded: ")
    assert "requests in flight" in out
    rows = [re.split(r"\s{2,}", line) for line in out.splitlines() if re.match(r"(GET|PUT) +p99 ", line)]
    assert rows
    assert all(row[3] == "–" for row in rows)
    result = json.loads(tailcast(capsys, *OVERLOADED, "--replications", "3", "--json")[1])
    assert result["verdict"]["status"] == "overloaded"
    assert result["verdict"]["offered_ops"] > 2 * result["verdict"]["served_ops"]
    p99 = result["ops"]["GET"]["latency_s"]["p99"]
    assert p99["value"] > 0
    assert p99["low"] is p99["high"] is None


def test_objectives_are_part_of_the_verdict_and_fail_a_check(capsys):
    light = ["simulate", str(EXAMPLE), "--set", "workload.rate=300/s", "--set", "workload.duration=1s"]
    slos = ["--slo", "PUT.p50<1s", "--slo", "GET.p99.9<1s", "--slo", "GET.p50<1us"]
    code, out, _ = tailcast(capsys, *light, *slos)
    assert code == 0
    verdict, *objectives = out.splitlines()[:4]
    assert verdict.startswith("healthy: ")
    outcomes = ("met", "not enough requests", "missed")
    assert all(f": {outcome}" in line for line, outcome in zip(objectives, outcomes, strict=True))
    assert "10,000" in objectives[1]
    assert "p99.9 needs 10,000" in out.splitlines()[-1]
    row = next(line for line in out.splitlines() if line.startswith("op "))
    assert row.index("PUT") < row.index("GET"), "objectives come first"
    assert tailcast(capsys, *light, *slos, "--check")[0] == 1
    assert tailcast(capsys, *light, *slos[:4], "--check")[0] == 0
    result = json.loads(tailcast(capsys, *light, *slos, "--json")[1])
    assert [each["status"] for each in result["slo"].values()] == list(outcomes)
    assert "p99_9" in result["ops"]["GET"]["few"]


def test_objectives_of_replications_take_their_intervals(capsys):
    slos = ["--slo", "GET.p50<1s", "--slo", "GET.p50<1us", "--slo", "GET.p99.9<1s"]
    result = json.loads(tailcast(capsys, *REPLICATED, "--replications", "3", *slos, "--json")[1])
    assert [each["status"] for each in result["slo"].values()] == ["met", "missed", "met"]
    assert result["longer"] > 1 and not result["unsettled"], "0.3 s are too short"
    late = json.loads(tailcast(capsys, *OVERLOADED, "--replications", "2", "--slo", "GET.p99<1h", "--json")[1])
    assert [each["status"] for each in late["slo"].values()] == ["missed"], "latency grows as long as this lasts"


@pytest.mark.parametrize(("options", "words"), [(["--check"], "--slo"), (["--slo", "LIST.p99<1s"], "no LIST requests")])
def test_an_objective_that_cannot_be_judged_is_refused(capsys, options, words):
    code, _, err = tailcast(capsys, "simulate", str(EXAMPLE), *SHORT, *options)
    assert code == 2
    assert words in err


HARD_DISKS = ["simulate", str(EXAMPLES / "ceph" / "redhat-112-hdd.yaml"), "--set", "workload.operations=5000"]


def test_a_run_that_has_not_settled_says_so_in_one_line(capsys):
    lines = [line for line in tailcast(capsys, *HARD_DISKS)[1].splitlines() if line.startswith("warning: ")]
    assert len(lines) == 1
    assert "the run has not settled" in lines[0] and "workload.operations of at least" in lines[0]
    found = json.loads(tailcast(capsys, *HARD_DISKS, "--json")[1])
    assert {"start", "correlation"} <= {each["cause"] for each in found["unsettled"]}
    assert found["longer"] == 1


def test_an_objective_is_not_met_by_a_start(capsys):
    """5,000 requests have a p99 of 40 ms, 200,000 one of some 90 ms."""
    found = json.loads(tailcast(capsys, *HARD_DISKS, "--slo", "PUT.p99<60ms", "--json")[1])
    assert found["slo"]["PUT.p99<60ms"]["status"] == "missed"
    assert found["longer"] >= 16
