from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cli.main import main
from tests.runs import run_of
from traces.errors import InputError
from traces.logs.importing import import_logs
from traces.run import RUN_SCHEMA, Run
from traces.transform.export import export, percentiles


def warp_lines(path: Path) -> list[list[str]]:
    text = pa.input_stream(str(path), compression="zstd").read().decode()
    return list(csv.reader(text.splitlines(), delimiter="\t"))


def mixed_run() -> Run:
    return run_of(
        [0.010, 0.002, 0.004, 0.001, 0.008],
        arrival_s=[0.5, 0.0, 1.0, 1.5, 2.000000001],
        op=["GET", "PUT", "HEAD", "DELETE", "GET"],
        key=["a/b", "a/b", "a/b", "a/b", 'odd "name"\twith tab'],
        size_bytes=np.array([4096, 4096, 4096, 4096, 10]),
        transfer_bytes=np.array([4096, 4096, 0, 0, 0]),
        client=np.array([3, 1, 2, 0, -1], np.int32),
        error=pa.array([None, None, None, None, "timeout:\nno answer"]),
    )


def test_warp_data_has_warps_columns_in_order_of_time(tmp_path: Path) -> None:
    assert export(mixed_run(), tmp_path / "w.csv.zst") == 5
    header, *rows, comment = warp_lines(tmp_path / "w.csv.zst")
    assert " ".join(header) == (
        "idx thread op client_id n_objects bytes endpoint file error start first_byte end duration_ns"
    )
    assert comment[0].startswith("# ")
    table = [dict(zip(header, row, strict=True)) for row in rows]
    assert [row["op"] for row in table] == ["PUT", "GET", "STAT", "DELETE", "GET"]
    assert [row["bytes"] for row in table] == ["4096", "4096", "0", "0", "10"]
    assert [row["thread"] for row in table] == ["1", "3", "2", "0", "65535"]
    assert [bool(row["first_byte"]) for row in table] == [False, True, False, False, True]
    assert table[1]["start"] == "2024-05-01T12:00:00.500000000Z"
    assert table[1]["first_byte"] == "2024-05-01T12:00:00.505000000Z"
    assert table[1]["end"] == "2024-05-01T12:00:00.510000000Z"
    assert table[4]["start"] == "2024-05-01T12:00:02.000000001Z"
    assert table[1]["duration_ns"] == "10000000"
    assert (table[0]["error"], table[4]["error"]) == ("", "timeout: no answer")
    assert table[4]["file"] == 'odd "name"\twith tab'


def test_warp_data_comes_back_with_the_same_operations_sizes_and_times(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    n = 500
    run = run_of(
        rng.exponential(0.01, n),
        arrival_s=np.sort(rng.uniform(0, 9, n)) - 0.0,
        op=rng.choice(["GET", "PUT", "HEAD", "DELETE"], n),
        client=rng.integers(0, 4, n).astype(np.int32),
    )
    export(run, tmp_path / "w.csv.zst")
    figures = import_logs([tmp_path / "w.csv.zst"], tmp_path / "t.parquet", run_out=tmp_path / "r")
    again = Run.read(tmp_path / "r")
    assert set(figures["format"].values()) == {"warp"}
    assert again.op.tolist() == run.op.tolist()
    zero_s = run.column("arrival_s")[0]
    assert np.abs(again.column("arrival_s") - (run.column("arrival_s") - zero_s)).max() < 2e-9
    assert np.abs(again.latency_s - run.latency_s).max() < 2e-9
    assert again.requests.column("key").to_pylist() == run.requests.column("key").to_pylist()
    moves = np.isin(run.requests.column("op").to_pylist(), ["GET", "PUT"])
    assert again.column("size_bytes")[moves].tolist() == [4096] * int(moves.sum())


def test_the_percentile_table_is_hdrhistograms(tmp_path: Path) -> None:
    """The levels are those of HdrHistogram's iterator with 5 ticks: 0, .1 … .5, .55 … .75, .775 …; each value's count
    is of all samples up to it."""
    export(run_of(np.arange(1, 101) / 1000), tmp_path / "h.hgrm")
    header, blank, *rows = (tmp_path / "h.hgrm").read_text().splitlines()
    assert header.split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    assert blank == ""
    table = [row.split() for row in rows if not row.startswith("#")]
    assert [float(row[1]) for row in table[:13]] == pytest.approx(
        [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.775, 0.8]
    )
    for value, fraction, count, *beyond in table:
        assert float(value) == int(count) == max(np.ceil(float(fraction) * 100 - 1e-9), 1)
        assert not beyond or float(beyond[0]) == pytest.approx(1 / (1 - float(fraction)), abs=0.01)
    assert table[-1] == ["100.000", "1.000000000000", "100"]
    assert rows[-2:] == [
        "#[Mean    =       50.500, StdDeviation   =       28.866]",
        "#[Max     =      100.000, Total count    =          100]",
    ]


def test_percentiles_of_equal_and_single_samples() -> None:
    assert list(percentiles(np.array([2.0, 2.0, 2.0]))) == [(0.0, 2.0, 3), (1.0, 2.0, 3)]
    shares = [fraction for fraction, _, _ in percentiles(np.arange(10_000.0))]
    assert shares == sorted(shares)
    assert len(shares) < 80


def test_only_successes_and_only_the_operation_asked_for(tmp_path: Path) -> None:
    assert export(mixed_run(), tmp_path / "h.hgrm", "GET") == 1
    assert export(mixed_run(), tmp_path / "g.csv", "GET") == 2
    assert "10.000" in (tmp_path / "h.hgrm").read_text()


def test_csv_has_all_columns(tmp_path: Path) -> None:
    export(mixed_run(), tmp_path / "r.csv")
    header, *rows = list(csv.reader((tmp_path / "r.csv").read_text().splitlines()[:2]))
    assert header == RUN_SCHEMA.names
    assert rows[0][4:7] == ["GET", "b", "a/b"]


@pytest.mark.parametrize(
    ("name", "op", "message"),
    [
        ("r.txt", None, "allowed endings are .csv.zst, .hgrm, .csv"),
        ("r.csv", "MOVE", "op is 'MOVE'; allowed are GET"),
        ("r.csv", "LIST", "the Run has no LIST to export"),
    ],
)
def test_what_cannot_be_exported_is_told(tmp_path: Path, name: str, op: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        export(mixed_run(), tmp_path / name, op)
    assert not list(tmp_path.iterdir())


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    mixed_run().write(tmp_path / "r")
    arguments: Any = ["trace", "export", str(tmp_path / "r"), "-o", str(tmp_path / "x.hgrm"), "--op", "PUT", "--json"]
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert not caught.value.code
    assert '"requests": 1' in capsys.readouterr().out
    assert (tmp_path / "x.hgrm").exists()


def test_a_spreadsheet_executes_no_name(tmp_path: Path) -> None:
    keys = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "plain", "a=1"]
    failed = {"error": ["=1+1", *[None] * 6], "winner": np.array([0, *[1] * 6], np.int16)}
    export(run_of(np.full(len(keys), 0.01), key=keys, **failed), tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["key"] for row in rows] == [*(f"'{key}" for key in keys[:5]), "plain", "a=1"]
    assert [row["error"] for row in rows] == ["'=1+1", *[""] * 6]
