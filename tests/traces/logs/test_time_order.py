"""Clocks that are set back, the repeated hour of summer time, and rows that a log has twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.access_logs import at, log
from tests.paths import SAMPLES
from traces.logs.columns import Columns
from traces.logs.importing import import_logs
from traces.readers import source
from traces.trace import Trace

COLUMNS = Columns({"time": "time", "op": "op", "key": "key", "size": "size", "latency": "lat:ms"})


def imported(tmp_path: Path, text: str, zone: str = "UTC") -> tuple[list[float], dict[str, Any]]:
    (tmp_path / "x.csv").write_text("time,op,key,size,lat\n" + text)
    figures = import_logs([tmp_path / "x.csv"], tmp_path / "t.parquet", columns=COLUMNS, zone=zone)
    return Trace.read(tmp_path / "t.parquet").arrival_s.tolist(), figures


def test_the_second_of_two_equal_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (SAMPLES / "cases" / "dst-overlap.csv").read_text().partition("\n")[2]
    arrival_s, figures = imported(tmp_path, text, "Europe/Berlin")
    assert arrival_s == [0, 1799, 1800, 3600, 5400]
    assert "4 times occur twice" in figures["notes"][0] and "2 of them are in the second hour" in figures["notes"][0]
    monkeypatch.setattr(source, "BLOCK_BYTES", 40)
    monkeypatch.setattr(source, "_STEP", 40)
    assert imported(tmp_path, text, "Europe/Berlin")[0] == arrival_s
    assert imported(tmp_path, text, "UTC")[0] == [0, 1800, 1800, 3599, 3600]


def test_equal_hours_that_cannot_be_told_apart(tmp_path: Path) -> None:
    text = "".join(f"2026-10-25T{time},GET,a,1,5\n" for time in ("01:59:00", "02:10:00", "02:40:00", "03:00:00"))
    arrival_s, figures = imported(tmp_path, text, "Europe/Berlin")
    assert arrival_s == [0, 660, 2460, 7260]
    assert "2 times occur twice" in figures["notes"][0] and "first hour" in figures["notes"][0]


def test_each_year_has_its_own(tmp_path: Path) -> None:
    times = ["2025-10-26T02:30:00", "2025-10-26T02:00:00", "2026-10-25T02:30:00", "2026-10-25T02:00:00"]
    arrival_s, _ = imported(tmp_path, "".join(f"{time},GET,a,1,5\n" for time in times), "Europe/Berlin")
    year = 364 * 86400
    assert arrival_s == [0, 1800, year, year + 1800]


def test_a_clock_that_is_set_back_is_named(tmp_path: Path) -> None:
    rows = [f"2026-11-20T10:{i // 60:02d}:{i % 60:02d},GET,k{i},1,5\n" for i in range(600)]
    _, figures = imported(tmp_path, "".join(rows[:400] + rows[100:]))
    assert len(figures["notes"]) == 1
    assert "times go back by 299 s to 2026-11-20T10:01:40Z" in figures["notes"][0]


@pytest.mark.parametrize("swap", [[(50, 52)], [(100, 20)]])
def test_single_rows_out_of_order_are_no_clock(tmp_path: Path, swap: list[tuple[int, int]]) -> None:
    rows = [f"2026-11-20T{10 + i // 60:02d}:{i % 60:02d}:00,GET,k{i},1,5\n" for i in range(200)]
    for one, other in swap:
        rows[one], rows[other] = rows[other], rows[one]
    assert not imported(tmp_path, "".join(rows))[1]["notes"]


def test_rows_in_no_order_are_no_clock(tmp_path: Path) -> None:
    rows = [f"2026-11-20T{(i * 7919) % 24:02d}:{(i * 31) % 60:02d}:00,GET,k{i},1,5\n" for i in range(400)]
    assert not imported(tmp_path, "".join(rows))[1]["notes"]


def test_rows_that_are_delivered_twice_are_dropped(tmp_path: Path) -> None:
    lines = [at(i // 3, key=f"k{i % 5}").replace(" requester id ", f" requester ID{i} ") for i in range(30)]
    log(tmp_path / "a", lines)
    log(tmp_path / "b", lines[10:20])
    figures = import_logs([tmp_path / "a", tmp_path / "b"], tmp_path / "t.parquet", run_out=tmp_path / "t.run")
    assert (figures["requests"], figures["duplicates"], figures["without_latency"]) == (30, 10, 0)
    assert "10 rows are left out: request ID" in figures["notes"][0]
    assert len(Trace.read(tmp_path / "t.parquet")) == 30


def test_rows_with_one_id_that_differ_are_kept(tmp_path: Path) -> None:
    copy = [at(1, op="REST.COPY.OBJECT"), at(1, op="REST.COPY.OBJECT_GET"), at(1, key="other"), at(2)]
    figures = import_logs([log(tmp_path / "a", copy)], tmp_path / "t.parquet")
    assert (figures["requests"], figures["duplicates"]) == (4, 0)


def test_equal_rows_without_an_id_are_counted(tmp_path: Path) -> None:
    text = "".join(f"2026-11-20T10:00:00.{i:03d},GET,k,1,5\n" for i in (1, 2, 2, 3))
    arrival_s, figures = imported(tmp_path, text)
    assert len(arrival_s) == 4 and "1 rows are equal to another one" in figures["notes"][0]
    assert not imported(tmp_path, 3 * "2026-11-20T10:00:00,GET,k,1,5\n")[1]["notes"]  # a clock of seconds


def test_versions_of_a_key_with_other_sizes_and_retries_are_noted(tmp_path: Path) -> None:
    lines = [
        at(1, sent=100, size=100),
        at(2, sent=40, size=40),
        at(3, status="503", key="r"),
        at(4, key="r"),
        at(90, key="r"),
    ]
    figures = import_logs([log(tmp_path / "a", lines)], tmp_path / "t.parquet")
    assert "1 GETs moved less than their object" in figures["notes"][0]
    assert "at least 1 requests repeat a failed one" in figures["notes"][1]
    assert not import_logs([log(tmp_path / "b", lines[:1])], tmp_path / "u.parquet")["notes"]
