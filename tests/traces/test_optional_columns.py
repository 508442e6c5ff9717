"""The second key of a RENAME or COPY, and the handle of an open file: columns that exist only if they are used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.commands.test_simulate import tailcast
from traces.errors import InputError
from traces.operations import OPS
from traces.run import Run, trace_of_run
from traces.spec.spec_file import validated
from traces.tables import label
from traces.trace import HANDLE_FIELD, TARGET_FIELD, TRACE_SCHEMA, Pacing, Trace
from traces.transform.edit import cut, merge, sample_keys
from traces.transform.scale import scale
from traces.workload.generate import generate
from traces.workload.workload import Workload

ROWS = [
    ("OPEN", "a", None, 7), ("READ", "a", None, 7), ("RENAME", "a", "b", None), ("COPY", "c", "d", None),
    ("CLOSE", "b", None, 7), ("STAT", "c", None, None),
]  # fmt: skip


def files(rows: list[tuple[str, str, str | None, int | None]] = ROWS) -> Trace:
    columns: dict[str, Any] = {
        "arrival_s": [float(i) for i in range(len(rows))], "think_s": [0.0] * len(rows), "phase": [0] * len(rows),
        "op": label([OPS.index(row[0]) for row in rows], OPS), "key": pa.array([r[1] for r in rows]),
        "bucket": ["b"] * len(rows), "size_bytes": [100] * len(rows),
    }  # fmt: skip
    arrays = [pa.array(columns[f.name]) if f.name in columns else pa.nulls(len(rows), f.type) for f in TRACE_SCHEMA]
    table = pa.table(arrays, names=TRACE_SCHEMA.names)
    table = table.append_column("target", pa.array([row[2] for row in rows], pa.string()))
    return Trace.of(table.append_column("handle", pa.array([row[3] for row in rows], pa.int64())), Pacing())


def column(trace: Trace, name: str) -> list[Any]:
    values: list[Any] = trace.table.column(name).to_pylist()
    return values


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_files_keep_them(name: str, tmp_path: Path) -> None:
    trace = files()
    trace.write(tmp_path / name)
    again = Trace.read(tmp_path / name)
    assert again.table.to_pylist() == trace.table.to_pylist()
    assert again.table.schema.field("target") == TARGET_FIELD
    assert again.table.schema.field("handle") == HANDLE_FIELD
    assert again.handle.tolist() == [7, 7, -1, -1, 7, -1]


def test_traces_without_them_have_no_such_columns(tmp_path: Path) -> None:
    trace = generate(validated(Workload, {"object_size": 1, "operations": 3}, "w"), 1)
    assert trace.table.schema.equals(TRACE_SCHEMA)
    assert trace.handle.tolist() == [-1] * 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("READ", "a", "b", None)], r"row 1: target is 'b'; only COPY and RENAME have a second key"),
        ([("OPEN", "a", None, 1), ("OPEN", "a", None, -1)], r"row 2: handle is -1; it must be at least 0"),
    ],
)
def test_values_without_a_meaning_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        files(rows)


def test_a_workload_renames_to_a_key_of_its_own() -> None:
    fields = {"object_size": 10, "operations": 300, "mix": {"RENAME": 1, "COPY": 1, "READ": 1}}
    trace = generate(validated(Workload, fields | {"keys": {"kind": "uniform", "count": 9}}, "w"), 1)
    for row in trace.table.to_pylist():
        expected = {"RENAME": f"{row['key']}-rename", "COPY": f"{row['key']}-copy", "READ": None}
        assert row["target"] == expected[row["op"]]
    assert "handle" not in trace.table.column_names


def test_file_groups_run_next_to_object_groups() -> None:
    group = {"rate": 100, "object_size": 10}
    groups = {"files": group | {"mix": {"RENAME": 1, "WRITE": 1}}, "objects": group | {"mix": {"GET": 1, "PUT": 1}}}
    trace = generate(validated(Workload, {"duration": "2s", "groups": groups}, "w"), 1)
    rows = trace.table.to_pylist()
    assert {row["group"] for row in rows if row["target"]} == {"files"}
    assert {row["op"] for row in rows if row["group"] == "objects"} == {"GET", "PUT"}
    assert all((row["target"] is not None) == (row["op"] == "RENAME") for row in rows)


def test_cutting_and_sampling_keep_them() -> None:
    part = cut(files(), 2.0)
    assert column(part, "target") == ["b", "d", None, None]
    assert column(part, "handle") == [None, None, 7, None]
    kept = sample_keys(files(), 1.0)
    assert column(kept, "target") == column(files(), "target")


def test_open_files_of_merged_traces_are_different() -> None:
    zero = files([("OPEN", "a", None, 0), ("CLOSE", "a", None, 0)])
    merged = merge([zero, files(), zero])
    assert sorted({handle for handle in column(merged, "handle") if handle is not None}) == [0, 8, 9]


def test_scaling_copies_second_keys_and_drops_handles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scaled = scale(files(), 3.0)
    assert "handle" not in scaled.table.column_names
    renames = [(row["key"], row["target"]) for row in scaled.table.to_pylist() if row["op"] == "RENAME"]
    assert sorted(renames) == [("a", "b"), ("a~1", "b~1"), ("a~2", "b~2")]
    faster = scale(files(), 3.0, "compress")
    assert column(faster, "handle") == column(files(), "handle")
    files().write(tmp_path / "t.parquet")
    arguments = ("trace", "scale", str(tmp_path / "t.parquet"), "--rate", "2", "--out", str(tmp_path / "s.parquet"))
    code, said, told = tailcast(capsys, *arguments)
    assert code == 0
    assert "no column handle" in said + told


def test_a_run_keeps_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = files()
    n = len(trace)
    measured = {
        "arrival_s": trace.arrival_s, "start_s": trace.arrival_s, "first_byte_s": pa.nulls(n, pa.float64()),
        "end_s": trace.arrival_s + 1.0, "transfer_bytes": trace.transfer_bytes, "client": [0] * n,
        "status": [200] * n, "attempts": [1] * n, "error": pa.nulls(n, pa.string()),
    }  # fmt: skip
    named = {name: trace.table.column(name) for name in ("op", "bucket", "key", "size_bytes", "target", "handle")}
    Run.of(pa.table(measured | named), {"kind": "measured"}).write(tmp_path / "run")
    run = Run.read(tmp_path / "run")
    assert run.requests.column("target").to_pylist() == column(trace, "target")
    again = trace_of_run(run)
    assert column(again, "target") == column(trace, "target")
    assert column(again, "handle") == column(trace, "handle")
    code, _, wrong = tailcast(capsys, "trace", "export", str(tmp_path / "run"), "--out", str(tmp_path / "run.csv"))
    assert code == 0, wrong
    header, *lines = (tmp_path / "run.csv").read_text().splitlines()
    assert '"target"' in header
    assert '"handle"' in header
    assert '"d"' in lines[3]
