from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from models.store import load_spec
from tests.paths import EXAMPLES, ROOT
from traces.errors import InputError
from traces.results.credentials import without_credentials
from traces.results.reference import reference_rows
from traces.results.registry import (
    description_of,
    read_results,
    read_table,
    result_format_of,
    results_of,
    tools,
    write_table,
)
from traces.results.schema import RESULTS, notes_of
from traces.results.source import head_of

LOGS = ROOT / "tests" / "samples"
SAMPLES = LOGS / "results"


def test_logs_are_no_results() -> None:
    paths = [path for path in LOGS.iterdir() if path.is_file()]
    assert len(paths) > 15
    found = {path.name: result_format_of(path.name, head_of(path)) for path in paths}
    assert not {name for name, format in found.items() if format is not None}


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": partial(pa.compress, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("packed", PACK)
def test_compressed_files_are_read(tmp_path: Path, packed: str) -> None:
    path = tmp_path / f"warp.json.{packed}"
    data = PACK[packed]((SAMPLES / "warp.json").read_bytes())
    path.write_bytes(data)
    assert read_results(path) == read_results(SAMPLES / "warp.json")
    path.write_bytes(data[: len(data) - 20])
    if description_of(path) is not None:  # the end of the first block may be needed
        with pytest.raises(InputError, match="is truncated"):
            read_results(path)


def test_a_truncated_archive_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "w.json.gz"
    path.write_bytes(gzip.compress((SAMPLES / "warp.json").read_bytes())[:-200])
    with pytest.raises(InputError, match="gz: is truncated"):
        read_results(path)


def test_a_truncated_document_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text((SAMPLES / "elbencho.json").read_text()[:-300])
    with pytest.raises(InputError, match="line 2 is broken or truncated"):
        read_results(path)


def test_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (SAMPLES / "cosbench-workload.csv").read_bytes())
    assert read_results(path) == read_results(SAMPLES / "cosbench-workload.csv")


@pytest.mark.parametrize(
    ("sample", "old", "new", "words"),
    [
        ("warp.json", '"total_requests": 4200', '"total_requests": "many"', ("by_op_type: GET", "total_requests")),
        ("warp.json", '"by_op_type"', '"by_operation"', ("by_op_type is missing",)),
        ("cosbench-workload.csv", "47995", "-47995", ("row 4", "Op-Count")),
        ("cosbench-workload.csv", "99.99%", "199.99%", ("row 4", "Succ-Ratio")),
        ("hsbench.csv", "5142.50", "NaN", ("row 5", "Iops")),
        ("elbencho.csv", "WRITE,2134,2784", "WRITE,2134,soon", ("row 3", "time ms [last]")),
        ("fio.json", '"total_ios": 12443', '"total_ios": true', ("write", "total_ios")),
        ("rados-bench.txt", "Total writes made", "Total objects made", ("run 1", "total_writes_made")),
        ("s3bench.txt", "Total Duration:    0.420", "Total Duration:    none", ("Write", "Total Duration")),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, sample: str, old: str, new: str, words: tuple[str, ...]) -> None:
    text = (SAMPLES / sample).read_text()
    assert old in text
    path = tmp_path / sample
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_results(path)
    (message,) = caught.value.messages
    assert message.startswith(str(path))
    assert all(word in message for word in words), message


def test_another_file_is_refused_with_the_known_tools(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing\n")
    with pytest.raises(InputError) as caught:
        read_results(path)
    assert all(tool in str(caught.value) for tool in tools())
    assert description_of(path) is None
    with pytest.raises(InputError, match="no such file"):
        read_results(tmp_path / "absent.json")
    with pytest.raises(InputError, match="is a folder"):
        read_results(tmp_path)


def test_files_are_merged_with_their_names() -> None:
    table = results_of([SAMPLES / "hsbench.csv", SAMPLES / "fio.json"])
    assert table.column_names == ["file", *RESULTS.names]
    assert table.column("file").unique().to_pylist() == ["hsbench.csv", "fio.json"]
    assert {note.split(":")[0] for note in notes_of(table)} == {"hsbench.csv", "fio.json"}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_is_read_as_it_was_written(tmp_path: Path, ending: str) -> None:
    table = results_of(sorted(SAMPLES.iterdir()))
    path = tmp_path / f"results.{ending}"
    write_table(table, path)
    assert read_table(path).equals(table)
    assert read_results(path).equals(table)
    assert description_of(path) is not None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"op"', '"verb"', "'op' is missing"),
        ('"clients"', '"op"', "'clients' is missing"),
        ('"GET"', "", "op"),
        (",16,", ",many,", "clients"),
    ],
)
def test_a_table_that_was_edited_wrongly_is_an_error(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "r.csv"
    write_table(results_of([SAMPLES / "cosbench-matrix.csv"]), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_notes_are_kept_in_parquet(tmp_path: Path) -> None:
    table = results_of([SAMPLES / "fio.json"])
    write_table(table, tmp_path / "r.parquet")
    assert notes_of(read_table(tmp_path / "r.parquet")) == notes_of(table)


def test_no_credentials_are_kept() -> None:
    text = "".join(results_of(sorted(SAMPLES.iterdir())).column("settings").to_pylist())
    assert "REDACTED" in text
    assert "AKEXAMPLE" not in text
    assert "EXAMPLESECRET" not in text


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ('"--s3secret" "abc123" "-t" "8"', '"-t" "8"'),
        ("x --s3key=abc123 --obj.size=4K", "--obj.size=4K"),
        ("x --secret-key abc123 --access-key abc123 --json", "--json"),
        ("http://user:abc123@host:9000/b", "@host:9000/b"),
        ("accesskey=abc123;secretkey=abc123;endpoint=http://h", "endpoint=http://h"),
    ],
)
def test_credentials_in_texts(command: str, kept: str) -> None:
    cleaned = without_credentials(command)
    assert "abc123" not in cleaned
    assert kept in cleaned


def test_rows_of_a_reference_table() -> None:
    table = results_of([SAMPLES / "warp-mixed.json", SAMPLES / "s3bench.txt", SAMPLES / "fio.json"])
    rows = reference_rows(table)
    assert [row["op"] for row in rows] == ["GET", "PUT", "DELETE", "HEAD", "PUT", "GET", "GET"]  # not fio's write
    mixed, alone = rows[0], rows[4]
    assert mixed["workload.mix"] == "{GET: 900, PUT: 300, DELETE: 100, HEAD: 200}"
    assert (mixed["workload.clients"], mixed["workload.operations"]) == ("8", "1500")
    assert float(mixed["throughput_ops"]) == 30
    assert (alone["workload.mix"], alone["latency_p99_ms"], alone["latency_mean_ms"]) == ("{PUT: 1}", "197", "")
    assert float(alone["throughput_mib_per_s"]) == pytest.approx(10 * 1024 / 0.42 / 2**20, rel=1e-5)


def test_settings_of_a_reference_row_fit_a_spec() -> None:
    (row,) = [row for row in reference_rows(read_results(SAMPLES / "warp.json")) if row["op"] == "GET"]
    settings = [f"{path}={value}" for path, value in row.items() if path.startswith("workload.") and value]
    spec = load_spec(EXAMPLES / "minio.yaml", settings)
    assert (spec.workload.clients, spec.workload.operations) == (16, 4200)
    assert json.loads(spec.workload.model_dump_json())["mix"] == {"GET": 1.0}
