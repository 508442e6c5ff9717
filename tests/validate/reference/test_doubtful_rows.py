"""Tables of an import as tables of a reference, and rows whose figures contradict each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.store import spec_of
from tests.cli.commands.test_simulate import tailcast
from tests.paths import SAMPLES
from tests.specs import minio
from traces.errors import InputError
from traces.results.importing import import_results, result_files
from traces.spec.spec_file import load_mapping
from validate.calibration.published import doubts_of, published_rows
from validate.reference.doubtful_rows import doubtful_rows
from validate.reference.rows import rows_of

CASES = SAMPLES / "cases"
DATA = minio("workload.operations=300")


def test_clients_that_cannot_be_that_slow_and_that_fast() -> None:
    data = load_mapping(CASES / "table-little.yaml")
    spec, table = spec_of(data, "spec"), CASES / "table-little.csv"
    (doubt,) = doubtful_rows(rows_of(table, data, spec, "spec"), data, "spec", table)
    said = "64 clients, 1,000 op/s and a mean of 400 ms contradict each other (rate x mean = 400 clients)"
    assert f"line 2: {said}" in doubt
    (doubt,) = doubts_of(published_rows([table], data, spec, "spec"))
    assert said in doubt


@pytest.mark.parametrize("verb", ["reference", "calibrate"])
def test_commands_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    spec, table = str(CASES / "table-little.yaml"), str(CASES / "table-little.csv")
    arguments = {
        "reference": ("reference", "run", "--spec", spec, "--table", table),
        "calibrate": ("calibrate", spec, "--table", table, "-o", str(tmp_path / "p.yaml")),
    }
    _, _, said = tailcast(capsys, *arguments[verb])
    assert "warning: " in said and "rate x mean = 400 clients" in said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4,900,4.4,9", 0), ("4,900,4400,9", 2), ("4,900,4.4,3", 1), ("4,900,0.1,3", 1), (",,,5", 0),
    ],
)  # fmt: skip
def test_rows_of_a_closed_loop(tmp_path: Path, text: str, found: int) -> None:
    table = tmp_path / "rows.csv"
    table.write_text(f"clients,throughput_ops,latency_mean_ms,latency_p99_ms\n{text}\n")
    rows = rows_of(table, DATA, spec_of(DATA, "spec"), "spec")
    assert len(doubtful_rows(rows, DATA, "spec", table)) == found


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_that_an_import_wrote_is_a_table(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"results{suffix}"
    import_results(result_files([SAMPLES / "results" / "s3bench.txt", CASES / "hsbench-text.txt"]), out)
    rows = rows_of(out, DATA, spec_of(DATA, "spec"), "spec")
    of_hsbench = [row for row in rows if "hsbench" in row.table]
    assert [(row.op, row.measured["throughput_ops"]) for row in of_hsbench] == [
        ("PUT", 16949.0),
        ("GET", 38760.0),
    ]
    assert of_hsbench[1].measured["latency_p99_ms"] == 10.4
    assert "workload.operations" not in rows[0].settings


def test_a_table_without_an_operation_of_a_store(tmp_path: Path) -> None:
    import_results(result_files([CASES / "fio-clamped.json"]), tmp_path / "t.csv")
    with pytest.raises(InputError, match="has no operation of an object store"):
        rows_of(tmp_path / "t.csv", DATA, spec_of(DATA, "spec"), "spec")
