"""The registry of formats of results, and reading a file of any of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from traces.errors import InputError
from traces.results.contradictions import contradictions
from traces.results.formats import (
    cosbench,
    elbencho,
    fio,
    hsbench,
    mc_perf,
    rados_bench,
    s3_benchmark,
    s3bench,
    warp,
    warp_analysis,
    warp_printed,
)
from traces.results.formats.format import ResultFormat
from traces.results.schema import KIND, RESULTS, Result, Results, notes_of, percent_of, table_of
from traces.results.source import head_of, text_of
from traces.results.values import header_of
from traces.spec.suggestions import no_such_file
from traces.tables import atomic_file, conform, metadata_of, read_parquet, with_metadata, write_parquet

FORMATS: tuple[ResultFormat, ...] = (
    warp.FORMAT,
    warp_analysis.FORMAT,
    cosbench.WORKLOAD,
    cosbench.MATRIX,
    cosbench.HISTOGRAM,
    hsbench.CSV,
    hsbench.JSON,
    hsbench.TEXT,
    elbencho.CSV,
    elbencho.JSON,
    fio.FORMAT,
    rados_bench.TEXT,
    rados_bench.JSON,
    s3bench.FORMAT,
    warp_printed.FORMAT,
    s3_benchmark.FORMAT,
    mc_perf.FORMAT,
)
"""All formats; a file is of the first that recognises it."""

FILE = "file"
"""The column of the merged tables of several files."""

_TABLE = "written by an import of results"
_OWN = RESULTS.names[:5]


def result_format_of(name: str, head: bytes) -> ResultFormat | None:
    """Return the format of results that a file has, by its name and the start of its decompressed content.

    Args:
        name: the file's name.
        head: about `traces.results.source.HEAD_BYTES`.
    """
    text = head.decode("utf-8-sig", "replace")
    return next((each for each in FORMATS if each.recognises(name, text)), None)


def description_of(path: Path) -> str | None:
    """Return what a file of results is, such as ``results of warp``; None if it is something else."""
    if not path.is_file():
        return None
    if is_table(path):
        return _TABLE
    found = result_format_of(path.name, head_of(path))
    return None if found is None else found.name


def read_results(path: Path) -> pa.Table:
    """Read the results of a benchmark as a table of `RESULTS`; `notes_of` has what the file holds beyond it.

    Raises:
        InputError: the file cannot be read, its format is unknown, or a value is missing or wrong.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name the file with the results")
    if not path.exists():
        raise InputError(no_such_file(path))
    if is_table(path):
        return read_table(path)
    found = result_format_of(path.name, head_of(path))
    if found is None:
        raise InputError(f"{path}: no results of a benchmark are recognised; known are those of {', '.join(tools())}")
    results = found.read(text_of(path), str(path))
    if not results.rows and not results.notes:
        raise InputError(f"{path}: {found.name}, but without any operation")
    return table_of(results.rows, (*results.notes, *_contradictions(results)), str(path))


def _is_alone(row: Result, rows: Sequence[Result]) -> bool:
    """Return whether the clients of an operation spend all their time on requests whose whole latency is known."""
    together = sum((other.run, other.phase) == (row.run, row.phase) for other in rows)
    return together == 1 and not row.errors and row.latency != row.first_byte and row.queue_depth in (None, 1)


def _contradictions(results: Results) -> list[str]:
    """Return a note for each operation with figures that contradict each other."""
    found = []
    for row in results.rows:
        per_request = row.objects_per_request in (None, 1)
        about = ", ".join(str(part) for part in (row.name, row.phase, row.op) if part)
        found += [
            f"{about}: {why}"
            for why in contradictions(
                ops_per_s=row.ops_per_s if per_request else None,
                clients=None if row.clients is None else row.clients * (row.queue_depth or 1),
                mean_s=row.latency.mean_s,
                min_s=row.latency.min_s,
                quantiles_s={percent_of(name): value for name, value in row.latency.quantiles_s.items()},
                max_s=row.latency.max_s,
                alone=_is_alone(row, results.rows),
            )
        ]
    return found


def results_of(paths: Sequence[Path]) -> pa.Table:
    """Read several files and merge their rows in order, with a first column that has the name of the file.

    Raises:
        InputError: as `read_results`.
    """
    tables, notes = [], []
    for path in paths:
        table = read_results(path)
        notes += [f"{path.name}: {note}" for note in notes_of(table)]
        if FILE not in table.column_names:
            table = table.add_column(0, pa.field(FILE, pa.string()), pa.array([path.name] * len(table), pa.string()))
        tables.append(table.replace_schema_metadata(None))
    return with_metadata(pa.concat_tables(tables), {"kind": KIND, "notes": notes})


def tools() -> list[str]:
    """Return the names of the tools whose results are known."""
    modules = (warp, cosbench, hsbench, elbencho, fio, rados_bench, s3bench, s3_benchmark, mc_perf)
    return [module.TOOL for module in modules]


def write_table(table: pa.Table, path: Path) -> None:
    """Write results atomically, as CSV if the name ends in ``.csv``, else as parquet.

    Raises:
        InputError: the file cannot be written.
    """
    with atomic_file(path) as temporary:
        if path.suffix == ".csv":
            pacsv.write_csv(table, temporary)
        else:
            write_parquet(table, temporary)


def read_table(path: Path) -> pa.Table:
    """Read a table written by `write_table`.

    Raises:
        InputError: the file is something else.
    """
    if not path.is_file():
        raise InputError(no_such_file(path))
    table = _read_csv(path) if path.suffix == ".csv" else read_parquet(path)
    with_file = [pa.field(FILE, pa.string())] if FILE in table.column_names else []
    checked = conform(table, pa.schema([*with_file, *RESULTS]), str(path))
    return checked.replace_schema_metadata(table.schema.metadata)


def _read_csv(path: Path) -> pa.Table:
    """Read all columns as texts; an empty one without quotes is null."""
    names = header_of(head_of(path).decode("utf-8", "replace"))
    convert = pacsv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    try:
        return pacsv.read_csv(path, parse_options=pacsv.ParseOptions(newlines_in_values=True), convert_options=convert)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error


def is_table(path: Path) -> bool:
    """Whether a file was written by `write_table`."""
    try:
        if path.suffix == ".csv":
            names = header_of(head_of(path).decode("utf-8", "replace"))
            return names[: len(_OWN)] == _OWN or names[: len(_OWN) + 1] == [FILE, *_OWN]
        if path.suffix == ".parquet":
            known: Any = metadata_of(pq.read_schema(path).empty_table())
            return isinstance(known, dict) and known.get("kind") == KIND
    except (InputError, pa.ArrowInvalid, OSError):
        return False
    return False
