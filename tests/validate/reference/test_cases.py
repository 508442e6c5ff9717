"""The reference cases: their data, how rows are predicted, and the commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.main import _exit_code
from models.store import load_spec
from sim.simulate import simulate
from tests.runs import run_of
from traces.errors import InputError
from validate.reference.cases import CASES, case_named
from validate.reference.figures import figure, is_figure
from validate.reference.forecast import forecast
from validate.reference.rows import is_steady

NAMES = [case.name for case in CASES]
S3BENCH = [c.name for c in CASES if not is_steady(c.rows) and "throughput_mib_per_s" in c.rows[0].measured]


def output(capsys, *arguments: str) -> tuple[int, str, str]:
    code = _exit_code(["reference", *arguments])
    return code, *capsys.readouterr()


@pytest.mark.parametrize("name", S3BENCH)
def test_rows_are_those_published(name):
    rows = case_named(name).rows
    assert any(row.used_in_fit for row in rows) and not all(row.used_in_fit for row in rows)
    for row in rows:
        spec = load_spec(case_named(name).spec, row.assignments)
        moved_mib = spec.workload.operations * spec.workload.object_size.size / 2**20
        rate = moved_mib / row.measured["duration_s"]
        assert row.measured["throughput_mib_per_s"] == pytest.approx(rate, rel=0.04, abs=0.005)  # printed roundings
        tail = [value for figure_name, value in row.measured.items() if figure_name.startswith("latency_")]
        assert tail == sorted(tail)


def test_settings_and_figures_of_a_row():
    row = case_named("minio-s3bench-tail").rows[3]
    assert (row.table, row.op, row.used_in_fit) == ("hedged", "GET", False)
    assert "client.hedge.after=p95" in row.assignments and "workload.object_size=1MiB" in row.assignments
    assert row.measured["latency_max_ms"] == 34.57
    assert "client.hedge.after" not in case_named("minio-s3bench-tail").rows[0].settings  # an empty cell sets nothing


def test_unknown_case_is_refused():
    with pytest.raises(InputError, match="'minio' is no reference case; did you mean minio-nvme8"):
        case_named("minio")


def test_quantiles_are_those_of_s3bench():
    run = run_of((np.arange(256) + 1) / 1000)
    assert figure(run, "GET", "latency_p99_ms") == pytest.approx(254)  # the third largest
    assert figure(run, "GET", "latency_max_ms") == pytest.approx(256)
    assert figure(run, "GET", "latency_min_ms") == pytest.approx(1)
    assert figure(run, "GET", "latency_p50_ms") == pytest.approx(129)
    with pytest.raises(InputError, match="has no PUT"):
        figure(run, "PUT", "duration_s")


def test_units_of_figures():
    run = run_of((np.arange(2000) + 1) / 1000)
    bytes_per_s = figure(run, "GET", "throughput_bytes_per_s")
    for unit, size in (("mb", 1e6), ("mib", 2**20), ("gb", 1e9), ("gib", 2**30)):
        assert figure(run, "GET", f"throughput_{unit}_per_s") == pytest.approx(bytes_per_s / size)
    assert figure(run, "GET", "latency_p99_9_ms") == pytest.approx(1999)
    for name in ("mean", "p50", "p99_9", "max"):
        in_ms = figure(run, "GET", f"latency_{name}_ms")
        assert figure(run, "GET", f"latency_{name}_s") * 1e3 == pytest.approx(in_ms)
        assert figure(run, "all", f"latency_{name}_us") == pytest.approx(in_ms * 1e3)
    known = ("duration_s", "host_cores", "latency_p99_9_ms", "throughput_gib_per_s", "reshard_s")
    assert all(map(is_figure, known)) and not any(map(is_figure, ("latency_p9_ms", "throughput", "workload.clients")))


def test_durations_and_throughputs_are_those_of_a_phase():
    spec = load_spec(case_named("minio-s3bench").spec, ["workload.clients=4", "workload.operations=64"])
    run = simulate(spec)
    put, get = (figure(run, op, "duration_s") for op in ("PUT", "GET"))
    assert put + get == pytest.approx(run.duration_s, rel=1e-9)  # the reads start when the last write has ended
    assert figure(run, "PUT", "throughput_mib_per_s") == pytest.approx(64 * 32 / 1024 / put)


@pytest.mark.parametrize("name", S3BENCH)
def test_a_case_is_as_good_as_it_claims(name):
    case = case_named(name)
    result = forecast(case, replications=3)
    assert [row.measured for row in result.rows] == [dict(row.measured) for row in case.rows]
    assert result.error.all.median < case.tolerance
    fitted, held_out = result.error.used_in_fit, result.error.held_out
    assert fitted.rows + held_out.rows == len(case.rows)
    assert held_out.median < 2 * case.tolerance
    for row in result.rows:
        low, high = row.range["duration_s"]
        assert low <= row.predicted["duration_s"] <= high


def test_bytes_of_rustfs_follow_from_its_layout_and_its_puts_from_cpu_times():
    case = case_named("rustfs-3node")
    result = forecast(case)
    assert [row.used_in_fit for row in result.rows] == [False] * 3 + [True] * 8
    assert result.error.all.worst < case.tolerance


@pytest.mark.parametrize("name", ["minio-nvme8", "minio-nvme32"])
def test_a_published_cluster_follows_from_its_hardware(name):
    """MinIO's own benchmarks: links saturate, or drives if clients use no links."""
    result = forecast(case_named(name), replications=1)
    assert len(result.rows) == 2
    for row in result.rows:
        assert row.ratio["throughput_gb_per_s"] == pytest.approx(1, abs=0.2)


def duration_s(name: str, op: str, *assignments: str) -> float:
    return figure(simulate(load_spec(case_named(name).spec, assignments)), op, "duration_s")


def test_shapes_of_the_nvme_sweep():
    def put(*assignments: str) -> float:
        return duration_s("minio-s3bench", "PUT", *assignments)

    def one(op: str, size: str) -> float:
        return duration_s("minio-s3bench", op, "workload.clients=1", f"workload.object_size={size}") / 256

    at_limit, beyond = one("PUT", "128KiB"), one("PUT", "129KiB")
    assert beyond - at_limit > 0.5e-3  # a second commit
    assert one("PUT", "200KiB") - one("PUT", "100KiB") == pytest.approx(1.1e-3, rel=0.25)
    assert one("GET", "4000KiB") == pytest.approx(one("GET", "1000KiB"), rel=0.15)
    slowed = put("workload.clients=16") / put("workload.clients=32")
    assert slowed < 1.35  # beyond the knee: twice the clients, a quarter faster at most


def test_journal_of_a_hard_disk_is_shared():
    def usual_ms(clients: int) -> float:
        run = simulate(load_spec(case_named("minio-hdd-s3bench").spec, [f"workload.clients={clients}"]))
        return figure(run, "PUT", "latency_p50_ms")

    assert usual_ms(1) == pytest.approx(60.5, rel=0.02)
    assert [usual_ms(c) for c in (2, 4, 8)] == pytest.approx([98.5] * 3, rel=0.1)


def test_hedged_reads_of_the_tail_case():
    rows = {(row.table, row.op): row for row in forecast(case_named("minio-s3bench-tail"), replications=60).rows}
    plain, hedged = rows["plain", "GET"], rows["hedged", "GET"]
    assert hedged.ratio["latency_max_ms"] == pytest.approx(1, abs=0.3)
    assert hedged.ratio["latency_p99_ms"] == pytest.approx(1, abs=0.3)
    assert hedged.predicted["latency_max_ms"] < 0.75 * plain.predicted["latency_max_ms"]


def test_list_keeps_its_contract(capsys):
    code, out, _ = output(capsys, "list", "--json")
    cases = json.loads(out)["cases"]
    assert code == 0 and [case["name"] for case in cases] == NAMES
    assert all(case["rows"] > 0 and case["source"] for case in cases)
    assert "minio-s3bench" in output(capsys, "list")[1]


def test_run_keeps_its_contract(capsys, tmp_path):
    arguments = ("run", "minio-s3bench-tail", "--json", "--replications", "2", "--seed", "4")
    code, out, _ = output(capsys, *arguments, "--out", str(tmp_path / "result.json"))
    result = json.loads(out)
    assert code == 0
    assert {"measured", "predicted", "ratio", "used_in_fit"} <= result["rows"][0].keys()
    assert json.loads((tmp_path / "result.json").read_text()) == result
    assert json.loads(output(capsys, *arguments)[1]) == result
    other = json.loads(output(capsys, *arguments[:-1], "5")[1])
    assert other["rows"][0]["predicted"] != result["rows"][0]["predicted"]
    assert "held out: 2" in output(capsys, "run", "minio-s3bench-tail", "--replications", "2")[1]


def test_run_checks_against_a_tolerance(capsys):
    arguments = ("run", "minio-s3bench-tail", "--replications", "2", "--check")
    assert output(capsys, *arguments)[0] == 0
    assert output(capsys, *arguments, "--tolerance", "0.0001")[0] == 1
    slower = (*arguments, "--set", "hosts.cpu.PUT.constant=50ms", "--set", "hosts.cpu.GET.constant=10ms")
    assert output(capsys, *slower)[0] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "minio"], "'minio' is no reference case"),
        (["run", "minio-s3bench", "--set", "drives.cout=2"], "drives.cout: unknown field"),
        (["run", "minio-s3bench", "--tolerance", "inf"], "'inf' is not a fraction"),
        (["run", "minio-s3bench", "--replications", "0"], "replications"),
        (["run", "minio-s3bench", "--set", "workload.keys=uniform"], "has no PUT"),
    ],
)
def test_mistakes_are_named(capsys, arguments, said):
    code, out, err = output(capsys, *arguments)
    assert (code, out) == (2, "") and said in err


def test_ways_to_write_files_are_on_the_same_hardware():
    """The servers, the network and the drive of MinIO are the same with and without JuiceFS."""
    direct, layered = (case_named(name).data for name in ("posix-direct", "posix-juicefs"))
    below = layered["below"]
    assert {name: direct[name] for name in ("hosts", "drives", "network")} == {
        name: below[name] for name in ("hosts", "drives", "network")
    }
    assert direct["client"]["nic"] == below["client"]["nic"]
    assert direct["client"]["cores"] == layered["client"]["cores"] == layered["mounts"]["cores"]
