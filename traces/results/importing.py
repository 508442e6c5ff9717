"""Import results of benchmarks: tell them from logs, and write their table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from traces.errors import InputError
from traces.logs.folders import files_below, is_no_log
from traces.results.registry import description_of, results_of, write_table
from traces.results.schema import notes_of
from traces.spec.suggestions import no_such_file


@dataclass(frozen=True)
class ResultsImport:
    """An import of results.

    Attributes:
        table: the results, with the name of the file of each row.
        notes: what the files hold beyond the table.
        formats: the format of each file, by path.
        out: the file that was written.
    """

    table: pa.Table
    notes: tuple[str, ...]
    formats: dict[str, str]
    out: Path


def result_files(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the files of results with their formats, if all files are such; empty if none is.

    Of a folder, the files in it and below. What is no regular file (a pipe, a missing file) is not looked into.

    Raises:
        InputError: some files are results, and some are not.
    """
    found: dict[Path, str] = {}
    other: Path | None = None
    for path in _files(paths):
        description = description_of(path)
        if description is not None:
            found[path] = description
        elif other is None:
            other = path
    if found and other is not None and not other.exists():
        raise InputError(no_such_file(other))
    if found and other is not None:
        first, description = next(iter(found.items()))
        raise InputError(
            f"{first}: is a table of figures ({description}), but {other} is not; import results and logs apart"
        )
    return found


def import_results(files: dict[Path, str], out: Path) -> ResultsImport:
    """Read files of results and write them as one table.

    Args:
        files: as `result_files` returns them.
        out: file to write: CSV or parquet, by its ending.

    Raises:
        InputError: a file cannot be read, or `out` cannot be written.
    """
    table = results_of(list(files))
    write_table(table, out)
    return ResultsImport(table, notes_of(table), {str(path): name for path, name in files.items()}, out)


def _files(paths: Iterable[Path]) -> Sequence[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [file for file in files_below(path) if not is_no_log(file.name)]
        else:
            found.append(path)
    return found
