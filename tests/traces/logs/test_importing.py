from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.main import main
from models.store import load_spec
from tests.access_logs import at, line, log
from traces.errors import InputError
from traces.logs.importing import import_logs
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


def test_a_line_that_cannot_be_read_is_told_or_with_strict_an_error(imported: Any) -> None:
    lines = [at(1), "broken", at(2, op="REST.COPY.OBJECT"), at(3)]
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
        ([at(1, op="REST.COPY.OBJECT")] * 2, "all 2 rows "),
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
