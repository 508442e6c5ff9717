from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.main import main
from models.store import load_spec
from tests.access_logs import at, line, log
from tests.profiles import examples
from traces.errors import InputError
from traces.logs.importing import import_logs
from traces.logs.object_sizes import Recorded, Sizes
from traces.origin import Origin
from traces.run import Run
from traces.statistics.summary import summarise
from traces.trace import Trace
from validate.compare.compare import compare
from validate.compare.run_quality import check_quality
from validate.forecast.validation import validate


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., tuple[Trace, dict[str, Any]]]:
    def run(*files: list[str], **options: Any) -> tuple[Trace, dict[str, Any]]:
        paths = [log(tmp_path / f"{i}.log", lines) for i, lines in enumerate(files)]
        figures = import_logs(paths, tmp_path / "t.parquet", **options)
        return Trace.read(tmp_path / "t.parquet"), figures

    return run


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    with pytest.raises(SystemExit) as caught:
        main(["trace", *map(str, arguments), "--json"])
    assert not caught.value.code
    figures: dict[str, Any] = json.loads(capsys.readouterr().out)
    return figures


def rows(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(trace.table.column(name).to_pylist() for name in columns), strict=True))


def test_a_log_becomes_a_trace_that_counts_from_its_first_request(imported: Any) -> None:
    lines = [
        at(5, key="b"), at(3, op="REST.PUT.OBJECT", key="a%20x", size=9, sent="-", remote="192.0.2.2"),
        at(9, op="REST.GET.BUCKET", key="-", uri="GET /b?prefix=a/ HTTP/1.1", bucket="c"),
    ]  # fmt: skip
    trace, figures = imported(lines)
    assert rows(trace, "arrival_s", "op", "bucket", "key", "size_bytes", "client") == [
        (0.0, "PUT", "b", "a x", 9, 1), (2.0, "GET", "b", "b", 100, 0), (6.0, "LIST", "c", "a/", 0, 0),
    ]  # fmt: skip
    assert trace.origin == Origin(("s3-access-log",), ("0.log",), "2026-11-21T10:00:03+00:00", 1.0, 0.001)
    assert (figures["requests"], figures["ops"]) == (3, {"GET": 1, "PUT": 1, "LIST": 1})
    assert (figures["objects"], figures["clients"], figures["span_s"]) == (3, 2, 6.0)


def test_files_are_merged_by_time_and_equal_times_stay_in_order(imported: Any) -> None:
    trace, figures = imported([at(1, key="a"), at(3, key="b")], [at(2, key="c"), at(1, key="d")], [])
    assert rows(trace, "arrival_s", "key") == [(0, "a"), (0, "d"), (1, "c"), (2, "b")]
    assert [*figures["format"].values()] == ["s3-access-log", "s3-access-log", None]


def test_a_folder_stands_for_its_files_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log(tmp_path / "logs" / "new", [at(2, key="b")])
    (tmp_path / "logs" / "old.gz").write_bytes(gzip.compress(f"{at(1, key='a')}\n".encode()))
    figures = import_logs([tmp_path / "logs"], tmp_path / "t.csv")
    trace = Trace.read(tmp_path / "t.csv")
    assert rows(trace, "key") == [("a",), ("b",)]
    assert trace.origin is not None
    assert trace.origin.files == ("new", "old.gz")
    assert figures["run"] is None


def test_sizes_are_those_of_the_same_object_before_else_after(imported: Any) -> None:
    head = {"op": "REST.HEAD.OBJECT", "sent": "-", "size": "-"}
    put = {"op": "REST.PUT.OBJECT", "sent": "-"}
    lines = [
        at(1, **head), at(2, **put, size=10), at(3, **head), at(4, **put, size=20), at(5, **head),
        at(6, key="other", **head), at(7, bucket="c", **head), at(8, bucket="c", **put, size=30),
        at(9, op="REST.GET.BUCKET", key="-", uri="GET /b?prefix=k HTTP/1.1"),
    ]  # fmt: skip
    trace, figures = imported(lines)
    assert trace.size_bytes.tolist() == [10, 10, 10, 20, 20, 0, 30, 30, 0]
    assert (figures["sizes_filled"], figures["sizes_unknown"]) == (4, 1)


def test_between_two_puts_an_object_has_one_size(imported: Any) -> None:
    put, part = {"op": "REST.PUT.PART", "sent": "-"}, {"status": 206}
    lines = [
        at(1, key="r", **part, sent=10, size="-"), at(2, key="r", **part, sent=30, size="-"),  # reads of ranges only
        at(3, key="w", sent=5, size=5), at(4, key="w", sent=9, size=9),  # repeated reads
        at(5, **put, size=8), at(6, **put, size=8), at(7, **put, size=3), at(8, sent=19, size=19),  # an upload of parts
        at(9, sent=4, size=4),
    ]  # fmt: skip
    trace, figures = imported(lines)
    assert trace.size_bytes.tolist() == [30, 30, 9, 9, 8, 8, 3, 19, 19]
    ranges = rows(trace, "range_start_bytes", "range_bytes")
    assert ranges == [(0, 10), (0, 30), (0, 5), (None, None), *4 * [(None, None)], (0, 4)]
    assert (figures["sizes_filled"], figures["sizes_unknown"]) == (2, 0)


@examples(60)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["PUT", "GET", "RANGE", "HEAD", "DELETE"]), st.integers(1, 9)),
        min_size=1,
        max_size=25,
    ),
    st.integers(1, 7),
)
def test_sizes_are_those_of_a_plain_loop(requests: list[tuple[str, str, int]], block: int) -> None:
    """Blocks of rows in any order teach; the same rows in order of time are filled, in blocks of any length."""
    objects = np.array(["ab".index(key) for key, _, _ in requests], np.int32)
    kinds = [kind for _, kind, _ in requests]
    numbers = np.array([n for _, _, n in requests], np.int64)
    size = np.where([kind in ("PUT", "GET") for kind in kinds], numbers, -1)
    least = np.where([kind in ("HEAD", "DELETE") for kind in kinds], -1, numbers)
    writes = np.array([kind == "PUT" for kind in kinds])
    time = np.arange(len(requests))

    def part(at: slice) -> Recorded:
        return Recorded(objects[at], size[at], least[at], writes[at])

    sizes = Sizes()
    cuts = [slice(i, i + block) for i in range(0, len(requests), block)]
    for cut in reversed(cuts):
        sizes.learn(part(cut), time[cut])
    if sizes.any_writes:
        sizes.begin()
        sizes.forget_reads()
        for cut in cuts:
            sizes.compare(part(cut))
    sizes.begin()
    found = np.concatenate([sizes.filled(part(cut)) for cut in cuts]).tolist()

    for i, (key, kind, n) in enumerate(requests):
        mine = [j for j, (other, _, _) in enumerate(requests) if other == key]
        begins = [j for j in mine if kinds[j] == "PUT" and j <= i]
        ends = [j for j in mine if kinds[j] == "PUT" and j > i]
        reads = [j for j in mine if kinds[j] != "PUT" and (not ends or j < ends[0]) and (not begins or j > begins[-1])]
        largest = max([least[j] for j in reads], default=-1)
        if kind == "PUT":
            wanted = n
        elif begins:
            wanted = max(largest, numbers[begins[-1]])
        else:
            wanted = largest if largest >= 0 else numbers[ends[0]] if ends else -1
        assert found[i] == wanted


def packed_folder(folder: Path) -> Path:
    """A folder with two logs, one of them further below, and files that are none."""
    (folder / "below").mkdir(parents=True)
    log(folder / "b.log", [at(2, key="b")])
    (folder / "below" / "a.log.gz").write_bytes(gzip.compress(f"{at(1, key='a')}\n".encode()))
    for name in ("README.md", "SHA256SUMS", "b.log.md5", "_SUCCESS", ".hidden"):
        (folder / name).write_text("no log\n")
    return folder


def test_a_folder_is_read_whole_and_what_is_no_log_is_skipped(tmp_path: Path) -> None:
    folder = packed_folder(tmp_path / "logs")
    figures = import_logs([folder], tmp_path / "t.parquet")
    assert figures["requests"] == 2
    assert {Path(name).name for name in figures["skipped"]} == {"README.md", "SHA256SUMS", "b.log.md5", "_SUCCESS"}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_archive_stands_for_its_files(tmp_path: Path, mode: str) -> None:
    folder = packed_folder(tmp_path / "logs")
    with tarfile.open(tmp_path / "logs.tar", mode) as archive:  # type: ignore[call-overload]
        archive.add(folder, "logs")
    figures = import_logs([tmp_path / "logs.tar"], tmp_path / "t.parquet")
    assert rows(Trace.read(tmp_path / "t.parquet"), "key") == [("a",), ("b",)]
    assert len(figures["skipped"]) == 4
    assert set(figures["format"]) == {str(tmp_path / "logs.tar/logs" / name) for name in ("b.log", "below/a.log.gz")}
    cut = (tmp_path / "logs.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(cut[: len(cut) // 2] if mode != "w" else cut[:700])
    with pytest.raises(InputError, match=r"cut\.tar"):
        import_logs([tmp_path / "cut.tar"], tmp_path / "u.parquet")


_IMPORT = "import sys; from cli.main import main; sys.argv[1:1] = ['trace', 'import']; main()"


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_whole(tmp_path: Path, name: str, pack: Any) -> None:
    data = pack("".join(f"{at(i % 50, key=f'k{i}')}\n" for i in range(3000)).encode())
    command = [sys.executable, "-c", _IMPORT, name, "-o", str(tmp_path / "t.parquet"), "--json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for start in range(0, len(data), 10_000):  # in pieces, as a pipe gives them
            process.stdin.write(data[start : start + 10_000])
            process.stdin.flush()
        process.stdin.close()
        figures = json.loads(process.stdout.read())
    assert process.returncode == 0 and figures["rows"] == figures["requests"] == 3000


def test_a_fifo_is_read_whole(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    data = "".join(f"{at(i % 50, key=f'k{i}')}\n" for i in range(2000)).encode()
    writer = threading.Thread(target=(tmp_path / "fifo").write_bytes, args=[data])
    writer.start()
    figures = import_logs([tmp_path / "fifo"], tmp_path / "t.parquet")
    writer.join()
    assert figures["requests"] == 2000 and figures["origin"]["files"] == ("fifo",)


def test_an_unknown_format_is_told_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.csv").write_text("time,object,size,colour\n1,a,5,red\n2,b,6,blue\n")
    with pytest.raises(SystemExit) as caught:
        main(["trace", "import", str(tmp_path / "odd.csv"), "-o", str(tmp_path / "t.parquet")])
    told = capsys.readouterr().err
    assert caught.value.code == 2 and told.count("\n") == 1
    assert all(part in told for part in ("odd.csv: ", "libcachesim-csv", "2 of 2 rows", "--columns"))


def test_a_benchmarks_preparation_is_a_phase_of_its_own(tmp_path: Path) -> None:
    def warp(second: int, op: str, key: str, size: int) -> str:
        start = f"2026-11-21T10:00:{second:02d}.5Z"
        return f"{second}\t3\t{op}\tCl1\t1\t{size}\thttp://h:9000\t{key}\t\t{start}\t\t{start}\t0\n"

    header = (
        "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\tduration_ns\n"
    )
    first = [warp(0, "PUT", "a", 100), warp(1, "PUT", "b", 100), warp(3, "GET", "a", 10), warp(4, "PUT", "c", 7)]
    second = [warp(2, "PUT", "d", 100), warp(5, "GET", "d", 100)]
    for name, lines in (("1", first), ("2", second)):
        (tmp_path / name).write_text(header + "".join(lines))
    import_logs([tmp_path / "1", tmp_path / "2"], tmp_path / "t.parquet")
    assert rows(Trace.read(tmp_path / "t.parquet"), "op", "phase", "size_bytes", "range_bytes") == [
        ("PUT", 0, 100, None), ("PUT", 0, 100, None), ("PUT", 0, 100, None), ("GET", 1, 100, 10), ("PUT", 1, 7, None),
        ("GET", 1, 100, None),
    ]  # fmt: skip


def test_a_line_that_cannot_be_read_is_told_or_with_strict_an_error(imported: Any) -> None:
    lines = [at(1), "broken", at(2, op="REST.GET.ACL"), at(3)]
    trace, figures = imported(lines)
    assert len(trace) == 2
    assert (figures["rows"], figures["kept"], figures["unreadable"]) == (4, 2, 1)
    assert sum(figures["left_out"].values()) == 1
    assert "0.log: line 2: " in figures["first_unreadable"][0]
    with pytest.raises(InputError, match=r"0\.log: line 2: "):
        imported(lines, strict=True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"0\.log: .* empty"),
        ([at(1, op="REST.GET.ACL")] * 2, "all 2 rows "),
        (["broken"], r"1 of 1 rows .*0\.log: line 1: "),
    ],
)
def test_a_log_without_requests_is_refused(imported: Any, tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(lines, format="s3-access-log")
    assert [p.name for p in tmp_path.iterdir()] == ["0.log"]


def test_clocks_are_kept_and_spread_only_when_asked(imported: Any) -> None:
    lines = [at(i // 20, key=f"k{i}") for i in range(100)]
    coarse, _ = imported(lines)
    assert np.unique(coarse.arrival_s).tolist() == [0, 1, 2, 3, 4]
    fine, _ = imported(lines, spread=True, seed=1)
    assert fine.origin.spread
    assert fine.origin.clock_s == 1.0
    assert np.floor(fine.arrival_s).tolist() == coarse.arrival_s.tolist()
    assert rows(fine, "key") == rows(coarse, "key")
    within = np.sort(fine.arrival_s % 1)
    assert np.abs(within - (np.arange(100) + 0.5) / 100).max() < 0.2  # uniform: Kolmogorov-Smirnov at 0.1 %
    assert imported(lines, spread=True, seed=1)[0].table.equals(fine.table)
    assert not imported(lines, spread=True, seed=2)[0].table.equals(fine.table)


def test_anonymised_names_are_hashes_that_keep_prefixes(imported: Any, tmp_path: Path) -> None:
    lines = [
        at(1, key="private/2026/x.txt"), at(2, key="private/2027/x.txt", bucket="secret"),
        at(3, key="private/2026/x.txt"),
        at(4, op="REST.GET.BUCKET", key="-", uri="GET /b?prefix=private/2026/ HTTP/1.1"),
        at(5, status=404, error="NoSuchKey", key="gone"),
    ]  # fmt: skip
    trace, figures = imported(lines, anonymise=True, salt="s", run_out=tmp_path / "r")
    text = json.dumps([trace.table.to_pylist(), figures["origin"], Run.read(tmp_path / "r").requests.to_pylist()])
    assert not any(word in text for word in ("private", "2026/", "x.txt", "secret", "0.log", "192.0.2"))
    keys = trace.table.column("key").to_pylist()
    assert keys[0] == keys[2] != keys[1]
    assert keys[0].split("/")[0] == keys[1].split("/")[0]
    assert keys[0].split("/")[2] == keys[1].split("/")[2]
    assert keys[0].startswith(keys[3])
    assert keys[3].endswith("/")
    assert Run.read(tmp_path / "r").requests.column("error").to_pylist()[4] == "NoSuchKey"
    assert imported(lines, anonymise=True, salt="s")[0].table.equals(trace.table)
    assert imported(lines, anonymise=True)[0].table.column("key").to_pylist() != keys


def test_the_run_holds_what_has_a_latency(imported: Any, tmp_path: Path) -> None:
    lines = [
        at(1, total=250, turn=200), at(2, total="-", turn="-"),
        at(3, op="REST.PUT.OBJECT", sent="-", size=5, status=503, error="SlowDown"),
        at(4, status=206, sent=30),
    ]  # fmt: skip
    trace, figures = imported(lines, run_out=tmp_path / "r.run")
    run = Run.read(tmp_path / "r.run")
    assert (len(trace), len(run), figures["without_latency"]) == (4, 3, 1)
    assert run.latency_s.tolist() == pytest.approx([0.25, 0.007, 0.007])
    assert run.column("arrival_s").tolist() == run.column("start_s").tolist() == [0, 2, 3]
    assert run.column("first_byte_s")[0] == pytest.approx(0.2)
    assert run.column("transfer_bytes").tolist() == [100, 5, 30]
    assert run.column("status").tolist() == [200, 503, 206]
    assert run.column("winner").tolist() == [1, 0, 1]
    assert run.requests.column("error").to_pylist() == [None, "SlowDown", None]
    assert (run.info["kind"], run.info["started_at"]) == ("measured", "2026-11-21T10:00:01+00:00")
    assert run.trace is not None
    assert run.trace.table.equals(trace.table)
    assert run.trace.origin == trace.origin


def test_an_imported_run_is_judged_compared_and_validated(imported: Any, tmp_path: Path) -> None:
    lines = [at(i // 50, key=f"k{i % 7}", total=1 + i * 7 % 20) for i in range(400)]
    imported(lines, run_out=tmp_path / "r")
    run = Run.read(tmp_path / "r")
    assert check_quality(run).usable
    assert compare(run, run).verdict == "agree"
    found = validate(load_spec(Path("examples/minio.yaml"), ()), {"r": tmp_path / "r"}, seeds=2)
    assert found.configurations[0].ops["GET"]
    with pytest.raises(SystemExit) as caught:
        main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "r.html")])
    assert not caught.value.code
    assert "imported from the log of a real store" in (tmp_path / "r.html").read_text()


def test_the_command_writes_trace_and_run_and_tells_in_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:  # fmt: skip
    path = log(tmp_path / "a.log", [at(i) for i in range(10)])
    figures = run_json(capsys, "import", path, "-o", tmp_path / "t.parquet")
    assert (figures["trace"], figures["run"]) == (str(tmp_path / "t.parquet"), str(tmp_path / "t.run"))
    assert figures["format"] == {str(path): "s3-access-log"}
    assert summarise(Run.read(tmp_path / "t.run"))["ops"]["GET"]["count"] == 10
    info = run_json(capsys, "info", tmp_path / "t.parquet")
    assert info["origin"] == figures["origin"]
    assert run_json(capsys, "import", path, "-o", tmp_path / "u.csv", "--no-run")["run"] is None
    assert not (tmp_path / "u.run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/none.log"], "none.log: no such file"),
        (["{}/none.log", "--format", "s3-access-log"], "none.log: no such file"),
        (["{}/a.log", "--format", "cvs"], "'cvs'"),
        (["{}/noise"], "noise: "),
        (["{}/a.log", "--format", "csv"], "columns"),
        (["{}/a.log", "--format", "s3-access-log", "--columns", "time=a,op=b,key=c"], "format csv"),
        (["{}/a.log", "--columns", "time"], "--columns is 'time'"),
        (["{}/a.log", "--time-zone", "Mars/Base"], "'Mars/Base'"),
        (["{}/a.log", "--salt", "x"], "--salt"),
        (["{}/a.log", "--run", "{}/a.log"], "a.log: exists"),
        (["{}/a.log", "{}/t.csv"], "t.csv: "),
        (["{}/empty"], "empty: "),
    ],
)
def test_wrong_use_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    log(tmp_path / "a.log", [at(1)])
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "t.csv").write_text("# tailcast-trace {}\narrival_s,op,key\n0,GET,k\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit) as caught:
        main(["trace", "import", *(a.format(tmp_path) for a in arguments), "-o", str(tmp_path / "out.parquet")])
    told = capsys.readouterr().err
    assert caught.value.code == 2
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out.parquet").exists()


def test_an_interrupted_import_leaves_nothing(tmp_path: Path) -> None:
    # A shell starts background processes with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    path = log(tmp_path / "a.log", [at(i) for i in range(10)])

    def interrupt(stage: str, done: float, total: float) -> None:
        if stage == "write":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        import_logs([path], tmp_path / "t.parquet", run_out=tmp_path / "t.run", progress=interrupt)
    assert [p.name for p in tmp_path.iterdir()] == ["a.log"]


_PEAK = """
import resource, sys
from pathlib import Path
from traces.logs.importing import import_logs
for path in map(Path, sys.argv[1:]):
    import_logs([path], path.with_suffix(".parquet"), run_out=path.with_suffix(".run"))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_requests(tmp_path: Path) -> None:
    paths = []
    for thousands in (450, 900):  # from 300 on all that is kept is full
        paths.append(tmp_path / f"{thousands}.log")
        block = "".join(f"{line(key=f'k{i}', remote=f'192.0.2.{i % 9}', total=i % 90)}\n" for i in range(1000))
        with paths[-1].open("w") as file:
            for i in range(thousands):
                file.write(block.replace("10:00:00", f"10:{i // 60:02d}:{i % 60:02d}"))
    told = subprocess.run([sys.executable, "-c", _PEAK, *map(str, paths)], capture_output=True, text=True, check=True)
    few_kib, many_kib = map(int, told.stdout.split())
    assert many_kib - few_kib < 40 * 1024  # 450,000 more rows are 68 MB of log
