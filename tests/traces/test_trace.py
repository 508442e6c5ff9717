from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from traces.errors import InputError
from traces.operations import OPS
from traces.tables import LABEL, atomic_file, atomic_folder, codes, label, metadata_of, with_metadata
from traces.trace import TRACE_SCHEMA, Pacing, Trace

ROW = {
    "arrival_s": 0.0, "think_s": 0.0, "phase": 0, "op": "GET", "bucket": "b", "key": "k",
    "size_bytes": 10, "range_start_bytes": None, "range_bytes": None, "client": None,
}  # fmt: skip


def table_of(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([ROW | row for row in rows], TRACE_SCHEMA)


def trace_of(*rows: dict[str, Any], pacing: Pacing | None = None) -> Trace:
    return Trace.of(table_of(*rows), pacing or Pacing())


def read_csv(folder: Path, text: str | bytes) -> Trace:
    path = folder / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Trace.read(path)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)
ROWS = st.lists(
    st.fixed_dictionaries({
        "arrival_s": st.floats(0, 1e9),
        "think_s": st.floats(0, 1e3),
        "phase": st.integers(0, 9),
        "op": st.sampled_from(OPS),
        "bucket": NAMES,
        "key": NAMES,
        "size_bytes": st.integers(0, 2**63 - 1),
        "range_start_bytes": st.none() | st.integers(0, 2**40),
        "range_bytes": st.none() | st.integers(0, 2**40),
        "client": st.none() | st.integers(-(2**31), 2**31 - 1),
    }),
    max_size=12,
)  # fmt: skip
PACINGS = st.builds(
    Pacing,
    st.sampled_from(["open", "closed"]),
    st.integers(1, 10_000),
    st.floats(0, 1e6),
    st.none() | st.floats(1e-9, 1e9),
)


@given(ROWS, PACINGS, st.sampled_from([".csv", ".parquet"]))
@examples(120)
def test_a_trace_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], pacing: Pacing, suffix: str
) -> None:
    for column in ("arrival_s", "phase"):
        for row, value in zip(rows, sorted(row[column] for row in rows), strict=True):
            row[column] = value
    trace = trace_of(*rows, pacing=pacing)
    path = tmp_path_factory.mktemp("trace") / f"t{suffix}"
    trace.write(path)
    again = Trace.read(path)
    assert again.pacing == pacing
    assert again.table.schema.equals(TRACE_SCHEMA)
    assert again.table.to_pylist() == rows


def test_a_csv_needs_only_op_and_key(tmp_path: Path) -> None:
    trace = read_csv(tmp_path, 'op,key\nGET,a\r\nPUT,"b, ""c"""\n')
    assert trace.table.to_pylist() == [
        ROW | {"bucket": "bucket", "key": "a", "size_bytes": 0},
        ROW | {"bucket": "bucket", "key": 'b, "c"', "size_bytes": 0, "op": "PUT"},
    ]
    assert trace.pacing == Pacing()
    assert len(read_csv(tmp_path, "op,key\n")) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as CSV: Empty CSV file"),
        ("op\nGET\n", "column 'key' is missing"),
        ("op,key,color\nGET,a,red\n", "column 'color' is unknown; allowed are arrival_s"),
        ("op,key,op\nGET,a,GET\n", "column 'op' "),
        ("op,key\nGET,a\nPATCH,b\n", "row 2: op is 'PATCH'; allowed are GET, PUT, HEAD, DELETE, LIST"),
        ("op,key\n,a\n", "row 1: op is ''; allowed are GET"),
        ("op,key,size_bytes\nGET,a,1\nGET,b,-1\n", "row 2: size_bytes is -1; "),
        ("op,key,size_bytes\nGET,a,1\nGET,b,big\n", "row 2: column 'size_bytes': CSV conversion error to int64"),
        ("op,key,size_bytes\nGET,a,1.5\n", "row 1: column 'size_bytes': CSV conversion error to int64"),
        ("op,key,size_bytes\nGET,a,1\nGET,b,\n", "row 2: column 'size_bytes' is empty"),
        ("op,key,size_bytes\nGET,a,1\nGET,b\n", "row 2: Expected 3 columns, got 2"),
        ("op,key,arrival_s\nGET,a,2\nGET,b,1\n", "row 2: arrival_s is 1.0; "),
        ("op,key,arrival_s\nGET,a,-1\n", "row 1: arrival_s is -1.0; "),
        ("op,key,think_s\nGET,a,inf\n", "row 1: think_s is inf; "),
        ("op,key,phase\nGET,a,1\nGET,b,0\n", "row 2: phase is 0; "),
        (b"op,key\nGET,\xff\n", "row 1: column 'key': CSV conversion error to string: invalid UTF8"),
        ('# tailcast-trace {"clients"\nop,key\n', "line 1: "),
        ("# tailcast-trace 5\nop,key\n", "line 1: pacing is 5; "),
        ('# tailcast-trace {"client": 5}\nop,key\n', "line 1: pacing has the unknown field 'client'; "),
        ('# tailcast-trace {"clients": 2.5}\nop,key\n', "line 1: clients is 2.5; "),
        ('# tailcast-trace {"loop": "round"}\nop,key\n', "line 1: loop is 'round'; "),
        ('# tailcast-trace {}\nop,key,phase\nGET,a,x\n', "row 1: column 'phase': CSV conversion error"),
    ],
)  # fmt: skip
def test_a_broken_csv_is_named_with_row_and_column(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_csv(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 't.csv'}: {message}")


def test_files_that_are_no_trace(tmp_path: Path) -> None:
    for name in ("absent.csv", "absent.parquet"):
        with pytest.raises(InputError, match="no such file"):
            Trace.read(tmp_path / name)
    (tmp_path / "text.parquet").write_text("not parquet at all")
    with pytest.raises(InputError, match=r"text\.parquet: "):
        Trace.read(tmp_path / "text.parquet")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=r"folder\.csv"):
        Trace.read(tmp_path / "folder.csv")


def test_parquet_with_other_types_is_cast_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    good = table_of({}, {"arrival_s": 1.0})
    small = good.column("op").cast(pa.string()).cast(pa.dictionary(pa.int8(), pa.string()))
    other = good.set_column(3, "op", small).set_column(5, "key", good.column("key").cast(pa.large_string()))
    pq.write_table(other.set_column(0, "arrival_s", pa.array([0, 1], pa.int16())), path)
    assert Trace.read(path).table.equals(good)
    for column, values, words in [
        ("size_bytes", pa.array([1.0, 2.5]), "column 'size_bytes' is double, not int64"),
        ("phase", pa.array([0, 2**40]), "column 'phase' is int64, not int32"),
        ("op", pa.array([["GET"], ["PUT"]]), "column 'op' is list"),
        ("bucket", pa.array(["a", None]), "row 2: column 'bucket' is empty"),
    ]:
        fields = [pa.field(f.name, values.type) if f.name == column else f for f in TRACE_SCHEMA]
        columns = [values if name == column else good.column(name) for name in good.column_names]
        pq.write_table(pa.Table.from_arrays(columns, schema=pa.schema(fields)), path)
        with pytest.raises(InputError) as caught:
            Trace.read(path)
        assert words in str(caught.value)


def test_parquet_with_broken_pacing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for raw, words in [(b"{", "metadata is not JSON"), (b"[1]", "a JSON object is needed"), (b'{"x": 1}', "'x'")]:
        pq.write_table(table_of({}).replace_schema_metadata({b"tailcast": raw}), path)
        with pytest.raises(InputError) as caught:
            Trace.read(path)
        assert words in str(caught.value)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [{"loop": "x"}, {"clients": 0}, {"clients": "4"}, {"stagger_s": -1.0}, {"stagger_s": float("nan")},
     {"duration_s": 0.0}, {"duration_s": float("inf")}, {"duration_s": "1"}],
)  # fmt: skip
def test_impossible_pacing_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(fields))):
        Pacing(**fields)


def test_transfer_is_the_object_or_its_range() -> None:
    trace = trace_of(
        {"op": "GET", "size_bytes": 100},
        {"op": "GET", "size_bytes": 100, "range_start_bytes": 90, "range_bytes": 30},
        {"op": "GET", "size_bytes": 100, "range_start_bytes": 200, "range_bytes": 30},
        {"op": "GET", "size_bytes": 100, "range_bytes": 30},
        {"op": "PUT", "size_bytes": 100},
        {"op": "HEAD", "size_bytes": 100},
        {"op": "DELETE", "size_bytes": 100},
        {"op": "LIST"},
    )
    assert trace.transfer_bytes.tolist() == [100, 10, 0, 30, 100, 0, 0, 0]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    trace_of({}).write(path)
    before = path.read_bytes()
    with pytest.raises(RuntimeError), atomic_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    with pytest.raises(InputError, match="cannot be written: No space left"), atomic_file(path):
        raise OSError(28, "No space left on device")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_writing_where_one_cannot(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file"):
        trace_of({}).write(tmp_path / "absent" / "t.parquet")
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        trace_of({}).write(tmp_path / "t.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_a_folder_takes_the_place_of_a_run_and_of_nothing_else(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for content in ("old", "new"):
        with atomic_folder(run, ["run.json"]) as temporary:
            (temporary / "run.json").write_text(content)
    assert (run / "run.json").read_text() == "new"
    with pytest.raises(RuntimeError), atomic_folder(run, ["run.json"]) as temporary:
        (temporary / "run.json").write_text("half")
        raise RuntimeError
    assert (run / "run.json").read_text() == "new"
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious").touch()
    with pytest.raises(InputError, match="exists"), atomic_folder(other, []):
        pass
    assert [p.name for p in other.iterdir()] == ["precious"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "run"]


@given(st.lists(st.sampled_from([*OPS, "MOVE"])))
def test_codes_undo_label(names: list[str]) -> None:
    known = [*OPS, "MOVE"]
    column = pa.chunked_array([label([known.index(n) for n in names], known)])
    assert column.type == LABEL
    assert column.to_pylist() == names
    assert [OPS[i] if i >= 0 else "MOVE" for i in codes(column, OPS).tolist()] == names


def test_metadata_goes_with_the_table() -> None:
    table = with_metadata(table_of({}), {"b": [1, None], "a": "x"})
    assert metadata_of(table) == {"a": "x", "b": [1, None]}
    assert metadata_of(table_of({})) == {}


def test_columns_as_arrays() -> None:
    trace = trace_of({"op": "PUT", "size_bytes": 5}, {"arrival_s": 1.5, "think_s": 0.5, "phase": 2})
    assert len(trace) == 2
    assert trace.op.tolist() == [1, 0]
    assert trace.arrival_s.tolist() == [0, 1.5]
    assert trace.think_s.tolist() == [0, 0.5]
    assert trace.phase.tolist() == [0, 2]
    assert trace.size_bytes.tolist() == [5, 10]
    assert trace.size_bytes.dtype == np.int64
