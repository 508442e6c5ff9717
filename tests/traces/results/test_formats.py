"""The figures of each format's sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT
from traces.errors import InputError
from traces.results.contradictions import contradictions
from traces.results.reference import reference_rows
from traces.results.registry import FORMATS, read_results
from traces.results.schema import QUANTILES, notes_of

SAMPLES = ROOT / "tests" / "samples" / "results"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a sample, without what is null."""
    return known(read_results(SAMPLES / name).to_pylist())


def known(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{column: value for column, value in row.items() if value is not None} for row in table]


def notes(name: str) -> tuple[str, ...]:
    return notes_of(read_results(SAMPLES / name))


def edited(folder: Path, name: str, *pairs: tuple[str, str]) -> Path:
    """A copy of a sample in which texts are replaced."""
    text = (SAMPLES / name).read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text)
    return path


def test_every_format_has_a_sample() -> None:
    texts = {path.name: path.read_text() for path in SAMPLES.iterdir()}
    found = {name: [one.name for one in FORMATS if one.recognises(name, text)] for name, text in texts.items()}
    assert all(len(formats) == 1 for formats in found.values()), found
    assert {format for formats in found.values() for format in formats} == {one.name for one in FORMATS}


# warp


def test_warp_s_windows_become_figures_of_all_requests() -> None:
    get, put = rows("warp.json")
    assert (get["op"], get["phase"], get["clients"], get["object_size_bytes"], get["object_count"]) == (
        "GET", "get", 16, 4000, 250,
    )  # fmt: skip
    assert (get["requests"], get["errors"], get["duration_s"]) == (4200, 3, 30.25)
    assert get["ops_per_s"] == pytest.approx(3640.25 / 26)
    assert get["bytes_per_s"] == pytest.approx(14560000.5 / 26)
    assert get["latency_mean_s"] == pytest.approx((2000 * 0.08 + 1500 * 0.12 + 700 * 0.16) / 4200)
    assert (get["latency_min_s"], get["latency_max_s"]) == (0.010, 2.0)
    more = json.loads(get["more_figures"])
    assert more["latency_p99_s_mean_of_windows"] == pytest.approx((0.4 + 0.7 + 0.9) / 3)
    low, high = more["latency_p99_s_between"]
    assert low <= get["latency_p99_s"] <= high
    assert 0.4 < get["latency_p99_s"] < 0.9
    assert get["first_byte_p25_s"] < get["first_byte_p50_s"] < get["latency_p50_s"]
    assert "estimated" in get["latency_basis"]
    assert put["phase"] == "preparation"
    assert (put["latency_p50_s"], put["latency_p99_s"]) == (0.45, pytest.approx(1.4))  # one window: as it is there
    assert "estimated" not in put["latency_basis"]
    assert "first_byte_mean_s" not in put


def test_warp_s_objects_of_several_sizes_have_means_alone() -> None:
    get, put, delete, stat = rows("warp-mixed.json")
    assert get["latency_mean_s"] == pytest.approx((200 * 10 + 250 * 30 + 250 * 12 + 200 * 34) / 900 / 1000)
    assert "latency_p99_s" not in get
    assert get["first_byte_p99_s"] == pytest.approx(0.012)
    assert (put["phase"], put["object_size_bytes"]) == ("mixed", 500_000)
    assert (delete["op"], stat["op"], stat["latency_p90_s"]) == ("DELETE", "HEAD", 0.004)


def test_warp_s_durations_of_fewer_requests_are_reported(tmp_path: Path) -> None:
    path = edited(tmp_path, "warp.json", ('"total_requests": 4200', '"total_requests": 5000'))
    assert any("4,200 of 5,000" in note for note in notes_of(read_results(path)))


def test_warp_of_an_unknown_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="v is 3"):
        read_results(edited(tmp_path, "warp.json", ('"v": 2', '"v": 3')))


def test_analysis_of_warp() -> None:
    (get,) = rows("warp-analysis.json")
    assert (get["requests"], get["errors"], get["ops_per_s"], get["bytes_per_s"]) == (900, 1, 15.0, 157286400.5)
    assert (get["latency_p25_s"], get["latency_p95_s"], get["latency_p99_s"]) == (0.035, 0.105, 0.109)
    assert (get["first_byte_p90_s"], get["clients"], get["client_hosts"]) == (0.03, 4, 2)
    assert any("DELETE" in note for note in notes("warp-analysis.json"))


def test_analysis_of_warp_with_amounts_in_place_of_rates(tmp_path: Path) -> None:
    path = edited(
        tmp_path,
        "warp-analysis.json",
        ('"average_bps": 157286400.5', '"bytes": 6000000.0'),
        ('"average_ops": 15.0', '"objects": 1200.0'),
    )
    (get,) = known(read_results(path).to_pylist())
    assert (get["ops_per_s"], get["bytes_per_s"]) == (20.0, 100_000.0)


# COSBench


def test_cosbench_s_stages() -> None:
    init, prepare, read, write, cleanup = rows("cosbench-workload.csv")
    assert init["op"] == "init-write"  # of a bucket
    assert (prepare["op"], prepare["phase"]) == ("PUT", "s2-prepare, preparation")
    assert (read["op"], read["phase"], read["requests"], read["errors"]) == ("GET", "s3-main", 48_000, 5)
    assert (read["ops_per_s"], read["bytes_per_s"], read["object_size_bytes"]) == (799.92, 51194666.67, 64_000)
    assert (read["latency_mean_s"], read["latency_p60_s"], read["latency_p99_s"]) == pytest.approx(
        (0.01612, 0.02, 0.12)
    )
    assert json.loads(read["more_figures"])["processing_mean_s"] == pytest.approx(0.00987)
    assert (write["op"], cleanup["op"], write["errors"]) == ("PUT", "DELETE", 0)
    assert cleanup["phase"] == "s4-cleanup, cleanup"
    assert notes("cosbench-workload.csv") == ("stage s5-dispose has no operations",)


def test_cosbench_s_matrix_has_the_workers() -> None:
    (read,) = rows("cosbench-matrix.csv")
    assert (read["clients"], read["op"], read["latency_p95_s"]) == (16, "GET", 0.06)
    assert "objects=u(1-500)" in json.loads(read["settings"])["config"]


def test_cosbench_s_histogram_has_more_quantiles() -> None:
    read, write = rows("cosbench-rt-histogram.csv")
    quantiles = [read[f"latency_{name}_s"] for name in ("p25", "p50", "p75", "p90", "p95", "p99", "p99_9")]
    assert quantiles == pytest.approx([0.01, 0.01, 0.02, 0.03, 0.04, 0.04, 0.05])
    assert (read["op"], write["op"], write["requests"], write["latency_p90_s"]) == ("GET", "PUT", 200, 0.04)
    assert "latency_p99_s" not in write  # in the open bin
    assert "latency_p99_99_s" not in read


# hsbench


def test_hsbench_s_totals() -> None:
    table = rows("hsbench.csv")
    assert [row["op"] for row in table] == ["BINIT", "PUT", "GET", "LIST", "DELETE"]
    put, get = table[1:3]
    assert (put["requests"], put["errors"], put["ops_per_s"]) == (10_287, 2, 5142.5)
    assert put["bytes_per_s"] == pytest.approx(20.09 * 2**20)
    assert (put["latency_mean_s"], put["latency_p99_s"], put["latency_max_s"]) == pytest.approx(
        (0.00194, 0.0034, 0.04231)
    )
    assert "first_byte_mean_s" not in put
    assert get["first_byte_p99_s"] == get["latency_p99_s"]  # hsbench's GETs end with the headers
    assert "first byte" in get["latency_basis"]
    assert any(note.startswith("2 rows of intervals") for note in notes("hsbench.csv"))


def test_hsbench_s_json_has_the_object_size() -> None:
    put, get, clear = rows("hsbench.json")
    assert (put["object_size_bytes"], get["object_size_bytes"], put["latency_p99_s"]) == (
        4096,
        4096,
        pytest.approx(0.0034012),
    )
    assert (clear["op"], clear["requests"]) == ("BCLR", 0)
    assert "latency_mean_s" not in clear


# elbencho


def test_elbencho_s_phases() -> None:
    make, write, read, mix_put, mix_get, listing = rows("elbencho.csv")
    assert make["op"] == "MKBUCKETS"
    assert (write["op"], write["clients"], write["client_hosts"]) == ("PUT", 16, 2)
    assert (write["object_size_bytes"], write["part_size_bytes"], write["object_count"]) == (10 << 20, 5 << 20, 256)
    assert (write["requests"], write["bytes_per_s"]) == (256, 919 * 2**20)
    assert write["ops_per_s"] == pytest.approx(256 / 2.784)  # the file has 91, rounded down
    assert (write["latency_mean_s"], read["latency_max_s"]) == pytest.approx((0.169112, 0.104799))
    assert json.loads(write["more_figures"])["io_latency_mean_s"] == pytest.approx(0.079383)
    assert (mix_put["op"], mix_get["op"], mix_get["read_fraction"], mix_get["requests"]) == ("PUT", "GET", 0.7, 1394)
    assert mix_get["bytes_per_s"] == pytest.approx(1380 * 4096)  # the file has 5 MiB/s, rounded down
    assert mix_put["run"] == mix_get["run"] != read["run"]
    assert listing["op"] == "LIST"
    assert "ops_per_s" not in listing  # 19,000 keys per second, in an unknown number of requests
    assert json.loads(listing["more_figures"])["keys_per_s"] == 19_000


def test_elbencho_s_json_with_a_histogram() -> None:
    write, mix_put, mix_get = rows("elbencho.json")
    assert (write["latency_p50_s"], write["latency_p90_s"]) == (0.155872, 0.440872)
    assert write["latency_p99_s"] == write["latency_max_s"] == 0.467164  # its bin ends beyond the maximum
    assert "bins" in write["latency_basis"]
    assert (mix_put["op"], mix_get["op"]) == ("PUT", "GET")
    assert (mix_get["latency_mean_s"], mix_get["bytes_per_s"]) == (0.002645, 5652480.0)
    assert "bins" not in mix_get["latency_basis"]


def test_elbencho_of_files_and_an_earlier_version(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(
        "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random aligned,"
        "IO depth,shared paths,truncate,operation,time ms [first],time ms [last],entries/s [first],entries/s [last],"
        "IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],CPU% [first],CPU% [last],entries [first],entries [last],"
        "MiB [first],MiB [last],Ent lat us [min],Ent lat us [avg],Ent lat us [max],IO lat us [min],IO lat us [avg],"
        "IO lat us [max]\n"
        "2026-05-22T16:09:38,,file,1,1,8,,,268435456,1048576,1,0,,4,1,0,READ,846,905,,,9673,9048,9673,9048,9,9,,,8192,"
        "8192,,,,553,3223,6922\n"
    )
    (read,) = known(read_results(path).to_pylist())
    assert (read["op"], read["ops_per_s"], read["latency_mean_s"]) == ("READ", 9048.0, 0.003223)
    assert (read["latency_basis"], read["queue_depth"]) == ("blocks (IOs)", 4)
    assert "requests" not in read


# rados bench


@pytest.mark.parametrize("name", ["rados-bench.txt", "rados-bench.json"])
def test_rados_bench(name: str) -> None:
    write, read = rows(name)
    size = write.get("part_size_bytes", write["object_size_bytes"])
    assert (write["op"], read["op"], write["clients"]) == ("write", "read", 16)
    assert write["ops_per_s"] == pytest.approx(write["requests"] / write["duration_s"])
    assert write["bytes_per_s"] == pytest.approx(write["ops_per_s"] * size)
    assert "clients" not in read
    assert read["run"] == 2
    if name.endswith("txt"):
        assert (write["requests"], write["latency_mean_s"], write["latency_max_s"]) == (454, 0.366409, 1.10214)
        assert write["bytes_per_s"] / 2**20 == pytest.approx(173.994, rel=1e-5)
        assert read["latency_min_s"] == 0.0070112
    else:
        assert (write["object_size_bytes"], write["part_size_bytes"]) == (4 << 20, 1 << 20)
        assert (write["latency_stddev_s"], write["latency_max_s"]) == (0.0201, 0.31)


def test_rados_bench_that_did_not_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_text((SAMPLES / "rados-bench.txt").read_text().split("Total time run")[0])
    with pytest.raises(InputError, match="did not end"):
        read_results(path)


# fio


def test_fio_s_jobs() -> None:
    write, get = rows("fio.json")
    assert (write["op"], write["clients"], write["queue_depth"], write["object_size_bytes"]) == ("write", 4, 32, 4096)
    assert (write["requests"], write["ops_per_s"], write["bytes_per_s"]) == (12_443, 1244.175582, 5096143.0)
    assert write["latency_p99_s"] == pytest.approx(0.001695744)
    assert write["latency_mean_s"] == pytest.approx(794090.28e-9)  # of the same latency as the quantiles
    assert "clat" in write["latency_basis"]
    assert json.loads(write["more_figures"])["latency_p99_5_s"] == pytest.approx(0.0018432)
    assert (get["op"], get["clients"], get["latency_p99_99_s"]) == ("GET", 1, pytest.approx(0.00606208))
    assert get["latency_basis"].startswith("total")
    assert any("idle" in note and "error 5" in note for note in notes("fio.json"))


def test_fio_2_is_refused(tmp_path: Path) -> None:
    path = edited(tmp_path, "fio.json", ("fio-3.35", "fio-2.21"), ("clat_ns", "clat"), ("lat_ns", "lat"))
    with pytest.raises(InputError, match="fio 3 or later"):
        read_results(path)


# s3bench


def test_s3bench() -> None:
    put, get = rows("s3bench.txt")
    assert (put["clients"], put["object_size_bytes"], put["requests"]) == (2, 1024, 10)  # printed: 0.0010 MB
    assert put["ops_per_s"] == pytest.approx(10 / 0.42)
    assert put["bytes_per_s"] == pytest.approx(10 * 1024 / 0.42)
    assert (put["latency_min_s"], put["latency_p50_s"], put["latency_p99_s"]) == (0.034, 0.063, 0.197)
    assert (get["op"], get["errors"], get["ops_per_s"]) == ("GET", 1, pytest.approx(90))


def test_s3bench_twice_in_a_file(tmp_path: Path) -> None:
    text = (SAMPLES / "s3bench.txt").read_text()
    path = tmp_path / "twice.txt"
    path.write_text(text + text.replace("numClients:       2", "numClients:       8"))
    table = read_results(path).to_pylist()
    assert [(row["run"], row["op"], row["clients"]) for row in table] == [
        (1, "PUT", 2), (1, "GET", 2), (2, "PUT", 8), (2, "GET", 8),
    ]  # fmt: skip


def row_of(name: str, op: str, **wanted: Any) -> dict[str, Any]:
    (row,) = [row for row in read_results(SAMPLES / name).to_pylist() if row["op"] == op]
    return {name: row[name] for name in wanted}


@pytest.mark.parametrize(
    ("name", "op", "wanted"),
    [
        (
            "hsbench-printed.txt",
            "PUT",
            {"requests": 100_000, "errors": 0, "ops_per_s": 16949, "latency_mean_s": 0.0066, "latency_p99_s": 0.0091,
             "latency_max_s": 0.0152, "bytes_per_s": 66.21 * 2**20},
        ),
        (
            "hsbench-printed.txt",
            "GET",
            {"requests": 500_003, "errors": 3, "ops_per_s": 38760, "first_byte_mean_s": 0.0029,
             "first_byte_p99_s": 0.0104, "first_byte_max_s": 0.1901, "duration_s": 12.9},
        ),
        (
            "warp-printed.txt",
            "GET",
            {"clients": 20, "ops_per_s": 107.18, "bytes_per_s": int(1071.81 * 2**20), "latency_mean_s": 0.1089,
             "latency_p99_s": 0.1527, "latency_min_s": 0.0152, "first_byte_p50_s": 0.009, "first_byte_max_s": 1.072,
             "duration_s": 297.0, "phase": "mixed"},
        ),
        ("warp-printed.txt", "HEAD", {"ops_per_s": 71.48, "bytes_per_s": None, "latency_p90_s": 0.0089}),
        ("warp-printed.txt", "PUT", {"requests": 66, "errors": 1, "clients": 8}),
        (
            "s3-benchmark.txt",
            "GET",
            {"requests": 5485, "errors": 2, "clients": 10, "object_size_bytes": 2**20, "bytes_per_s": int(1.1 * 2**30),
             "ops_per_s": 5483 / 60.1},
        ),
        ("s3-benchmark.txt", "DELETE", {"ops_per_s": 2923.4, "requests": None, "duration_s": 1.9}),
        (
            "mc-support-perf.txt",
            "PUT",
            {"clients": 36, "object_size_bytes": 64 << 20, "ops_per_s": 77 / 64, "bytes_per_s": 77 << 20,
             "tool_version": "2022-10-08T20:11:00Z"},
        ),
        ("mc-support-perf.txt", "GET", {"ops_per_s": 192, "bytes_per_s": 12 << 30}),
    ],
)  # fmt: skip
def test_what_tools_print(name: str, op: str, wanted: dict[str, Any]) -> None:
    near = {name: pytest.approx(value) if isinstance(value, float) else value for name, value in wanted.items()}
    assert row_of(name, op, **wanted) == near


def test_loops_of_s3_benchmark_have_their_parameters() -> None:
    rows = [row for row in read_results(SAMPLES / "s3-benchmark.txt").to_pylist() if row["op"] == "PUT"]
    assert [(row["run"], row["clients"], row["object_size_bytes"]) for row in rows] == [(1, 10, 2**20), (2, 50, 4096)]


def test_quantiles_in_the_open_bin_of_fio_are_no_values() -> None:
    table = read_results(SAMPLES.parent / "cases" / "fio-clamped.json")
    (row,) = table.to_pylist()
    assert {name: row[f"latency_{name}_s"] for name in QUANTILES if row[f"latency_{name}_s"] is not None} == {}
    assert (row["latency_mean_s"], row["latency_max_s"]) == (pytest.approx(41.16356865), pytest.approx(94.396))
    assert json.loads(row["more_figures"])["latency_p99_99_s_at_least"] == pytest.approx(17.11276032)
    notes = notes_of(table)
    assert "p50, p90, p95, p99, p99.9 and p99.99 are at least 17.11 s" in notes[0]
    assert "7 clients, 30.3655 op/s" in notes[1]  # the figures of the case are not of one run
    (shown,) = reference_rows(table.set_column(table.schema.get_field_index("op"), "op", [["PUT"]]))
    assert shown["latency_p99_ms"] == "" and shown["latency_mean_ms"] == "41163.6"


@pytest.mark.parametrize(("most_us", "p99", "at_least"), [(4000, 4000e-6, None), (9000, None, 2048e-6)])
def test_quantiles_in_the_open_bin_of_elbencho(
    tmp_path: Path, most_us: int, p99: float | None, at_least: float | None
) -> None:
    phase = {
        "phase_type": "WRITE", "phase_id": "1", "config": {"path_type": "s3", "threads": 1, "hosts": 1},
        "last_done": {
            "elapsed_time_ms": 20, "entries": 10, "entries/s": 500,
            "latency": {"entries": {
                "avg_us": 1500, "min_us": 1100, "max_us": most_us,
                "histogram": {"buckets": [{"range": "1024-2048us", "count": 9}, {"range": "2048-4096us", "count": 1}]},
            }},
        },
    }  # fmt: skip
    path = tmp_path / "elbencho.json"
    path.write_text(json.dumps(phase))
    table = read_results(path)
    (row,) = table.to_pylist()
    assert row["latency_p50_s"] == pytest.approx(2048e-6)
    assert row["latency_p99_s"] == (None if p99 is None else pytest.approx(p99))
    assert json.loads(row["more_figures"]).get("latency_p99_s_at_least") == (at_least and pytest.approx(at_least))
    assert bool(notes_of(table)) == (p99 is None)


@pytest.mark.parametrize(
    ("figures", "found"),
    [
        ({"clients": 64, "ops_per_s": 1000, "mean_s": 0.4}, "rate x mean = 400 clients"),
        ({"clients": 64, "ops_per_s": 1000, "mean_s": 0.064}, ""),
        ({"clients": 64, "ops_per_s": 1000, "mean_s": 0.0064}, "rate x mean = 6.4 clients"),
        ({"clients": 64, "ops_per_s": 1000, "mean_s": 0.0064, "alone": False}, ""),
        ({"mean_s": 0.02, "quantiles_s": {99.0: 0.01}}, "p99 of 10 ms is below the mean of 20 ms"),
        ({"quantiles_s": {50.0: 0.02, 99.0: 0.01}}, "p50 of 20 ms is above p99 of 10 ms"),
        ({"quantiles_s": {99.0: 0.02}, "max_s": 0.01}, "p99 of 20 ms is above the maximum of 10 ms"),
        ({"mean_s": 0.001, "min_s": 0.002}, "beyond the minimum"),
        ({"ops_per_s": 100, "bytes_per_s": 1e6, "size_bytes": 1e6}, "are 100 MB/s, not 1 MB/s"),
        ({"ops_per_s": 100, "bytes_per_s": 1e8, "size_bytes": 1 << 20}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_figures_that_contradict_each_other(figures: dict[str, Any], found: str) -> None:
    assert [found in line for line in contradictions(**figures)] == ([True] if found else [])
