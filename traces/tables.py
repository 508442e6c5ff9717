"""Functions shared by the Trace and Run tables: column checks, label columns, atomic files and parquet metadata."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.errors import InputError
from traces.interrupts import deferred_stops
from traces.spec.suggestions import no_such_file

LABEL = pa.dictionary(pa.int32(), pa.string())
"""The type of columns with repeated strings."""

_METADATA_KEY = b"tailcast"


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder to write to; on success it is flushed to disk and renamed to `path`.

    A link stays, and the file that it leads to is replaced. On failure the temporary file is removed and `path` stays
    unchanged.

    Raises:
        InputError: the folder is missing or not writable, `path` is a device or a pipe, or the disk is full.
    """
    check_regular(path)
    path = path.resolve() if path.is_symlink() else path
    temporary = None
    try:
        try:
            with deferred_stops():
                handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
                os.close(handle)
                temporary = Path(name)
            yield temporary
            _flush(temporary)
            temporary.chmod(0o644)
            temporary.replace(path)
            _flush(path.parent)
        finally:
            with deferred_stops():
                if temporary is not None:
                    temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def check_regular(path: Path) -> None:
    """Check that a path is not a device, a pipe or a socket, which a file would take the place of.

    Raises:
        InputError: it is one.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{path}: is a device, a pipe or a socket; name a file to write")


@contextlib.contextmanager
def atomic_folder(path: Path, own: Sequence[str]) -> Iterator[Path]:
    """Yield a temporary folder next to `path` to fill; on success it is flushed to disk and renamed to `path`.

    An existing Run folder is replaced, and files in it that are none of `own` are kept; anything else at `path` is an
    error. On failure the temporary folder is removed and `path` stays unchanged.

    Raises:
        InputError: `path` exists and is not a Run, its parent is missing or not writable, or the disk is full.
    """
    check_folder(path)
    path = path.resolve() if path.is_symlink() else path
    temporary = None
    try:
        try:
            with deferred_stops():
                temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
            yield temporary
            for file in temporary.iterdir():
                _flush(file)
            temporary.chmod(0o755)
            with deferred_stops():
                if path.exists():
                    _replace_folder(path, temporary, own)
                else:
                    temporary.replace(path)
            _flush(path.parent)
        finally:
            with deferred_stops():
                if temporary is not None:
                    shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _replace_folder(path: Path, by: Path, own: Sequence[str]) -> None:
    """Replace a folder by another one, and move the entries to it that are none of `own`."""
    replaced = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
    try:
        path.replace(replaced)
        by.replace(path)
    except OSError:
        if path.exists():
            replaced.rmdir()
        else:
            replaced.replace(path)
        raise
    for entry in replaced.iterdir():
        if entry.name not in own:
            entry.replace(path / entry.name)
    shutil.rmtree(replaced)


def check_folder(path: Path) -> None:
    """Check before long work whether `atomic_folder` can write to `path`.

    Raises:
        InputError: `path` exists and is not a Run, or its parent is missing or not writable.
    """
    if path.exists() and not (path / "run.json").is_file() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path}: exists and is not a Run; choose a folder that does not exist yet")
    if not path.parent.exists():
        raise InputError(f"{path}: cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(f"{path}: cannot be written: {path.parent} is not a writable folder")


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def conform(table: pa.Table, schema: pa.Schema, source: str) -> pa.Table:
    """Return the table with exactly the columns and types of the schema.

    Raises:
        InputError: a column is missing, unknown, duplicated or of the wrong type, or has a null where none is allowed.
    """
    missing = [f.name for f in schema if f.name not in table.column_names]
    if missing:
        raise InputError(f"{source}: column {missing[0]!r} is missing; required are {', '.join(schema.names)}")
    unknown = [name for name in table.column_names if name not in schema.names]
    if unknown:
        raise InputError(f"{source}: column {unknown[0]!r} is unknown; allowed are {', '.join(schema.names)}")
    if len(table.column_names) > len(schema):
        twice = next(name for name in schema.names if table.column_names.count(name) > 1)
        raise InputError(f"{source}: column {twice!r} appears more than once")
    columns = []
    for field in schema:
        column = table.column(field.name)
        try:
            column = column.cast(field.type) if column.type != field.type else column
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(f"{source}: column {field.name!r} is {column.type}, not {field.type}: {error}") from error
        if column.null_count and not field.nullable:
            row = column.is_null().to_pylist().index(True)
            raise InputError(f"{source}: row {row + 1}: column {field.name!r} is empty; it needs a {field.type}")
        columns.append(combined(column) if isinstance(column, pa.ChunkedArray) else column)
    return pa.Table.from_arrays(columns, schema=schema)


def combined(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece; pyarrow copies one that is in one piece already."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def require(good: NDArray[np.bool_], source: str, column: str, rule: str, values: pa.ChunkedArray) -> None:
    """Raise an error unless every row is good.

    Raises:
        InputError: names the first bad row (counted from 1) and its value.
    """
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(f"{source}: row {row + 1}: {column} is {values[row].as_py()!r}; {rule}")


def label(values: NDArray[Any] | list[int], names: Sequence[str]) -> pa.DictionaryArray:
    """Return a label column from indices into `names`."""
    return pa.DictionaryArray.from_arrays(pa.array(values, pa.int32()), pa.array(names, pa.string()))


def with_column(table: pa.Table | pa.RecordBatch, name: str, values: Any) -> Any:
    """Return a table, or a batch of one, with other values in a column; its field stays."""
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), values)


def codes(column: pa.ChunkedArray, names: Sequence[str]) -> NDArray[np.int32]:
    """Return the index of each row's label in `names`, shape (rows,); -1 for any other label."""
    labels = combined(column)
    table = {name: i for i, name in enumerate(names)}
    lookup = np.array([table.get(v, -1) for v in labels.dictionary.to_pylist()] or [-1], dtype=np.int32)
    indices = labels.indices.to_numpy(zero_copy_only=False)
    result: NDArray[np.int32] = lookup[indices] if len(indices) else np.empty(0, np.int32)
    return result


def with_metadata(table: pa.Table, metadata: dict[str, Any]) -> pa.Table:
    """Return the table with `metadata` stored in its schema as JSON."""
    return table.replace_schema_metadata({_METADATA_KEY: json.dumps(metadata, sort_keys=True).encode()})


def metadata_of(table: pa.Table) -> dict[str, Any]:
    """Return the metadata stored by `with_metadata`; empty if there is none.

    Raises:
        InputError: the metadata is not JSON.
    """
    raw = (table.schema.metadata or {}).get(_METADATA_KEY)
    try:
        parsed: dict[str, Any] = json.loads(raw) if raw else {}
    except ValueError as error:
        raise InputError(f"metadata is not JSON: {error}") from error
    return parsed


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table as a parquet file with a checksum of each page."""
    import pyarrow.parquet as pq  # loads file systems and ssl, which commands without files do without

    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def parquet_writer(path: Path, schema: pa.Schema) -> Any:
    """Return a writer of a parquet file with a checksum of each page, a context manager that closes it."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)


def read_parquet(path: Path) -> pa.Table:
    """Read the table of a parquet file.

    Raises:
        InputError: the file is missing, is not parquet, or has a page whose checksum is wrong.
    """
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError as error:
        raise InputError(no_such_file(path)) from error
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: cannot be read as parquet: {str(error).splitlines()[0]}") from error
