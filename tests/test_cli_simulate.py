"""`tailcast simulate` as a user calls it: the contract's object, and one line for every mistake."""

from __future__ import annotations

import json

import pytest

from cli.main import main
from tests.test_spec import EXAMPLE
from traces.run import Run


def tailcast(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err


SHORT = ["--set", "workload.duration=1s"]


def test_json_is_the_contract_s_object(capsys):
    code, out, _ = tailcast(capsys, "simulate", str(EXAMPLE), *SHORT, "--json")
    result = json.loads(out)
    assert code == 0
    assert set(result) == {"ops", "duration_s", "stations", "engine"}
    assert set(result["ops"]) == {"GET", "PUT"}
    get = result["ops"]["GET"]
    assert set(get) == {"count", "errors", "throughput_ops", "throughput_bytes", "latency_s"}
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


def test_trace_of_the_user(capsys, tmp_path):
    trace = tmp_path / "t.csv"
    trace.write_text("op,key,arrival_s,size_bytes\nPUT,a,0,100\nGET,a,1,100\n")
    code, out, _ = tailcast(capsys, "simulate", str(EXAMPLE), "--trace", str(trace), "--json")
    assert code == 0
    assert {op: figures["count"] for op, figures in json.loads(out)["ops"].items()} == {"GET": 1, "PUT": 1}


BROKEN = "store: minio\nworkload: {clients: 1\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulate", "absent.yaml"], "absent.yaml: no such file"),
        (["simulate", "{broken}"], "line 3"),
        (["simulate", "{example}", "--set", "host.coers=4"], "host.coers: unknown field; allowed are"),
        (["simulate", "{example}", "--set", "workload.object_size=-5"], "is negative"),
        (["simulate", "{example}", "--set", "workload.clients"], "write it like"),
        (["simulate", "{example}", "--engine", "warp"], "compiled"),
        (["simulate", "{example}", "--seed", "-1"], "--seed"),
        (["simulate", "{example}", "--trace", "absent.parquet"], "absent.parquet: no such file"),
        (["simulate", "{example}", "--out", "absent/run"], "absent/run"),
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
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("tailcast: error: ")
    assert said in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.yaml"]
