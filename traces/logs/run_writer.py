"""Write the Run of an import incrementally."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from traces.origin import Origin
from traces.provenance import release
from traces.run_files import RUN_FILES, write_info
from traces.tables import atomic_folder, parquet_writer
from traces.trace import Pacing


def imported_info(origin: Origin, pacing: Pacing, without_latency: int) -> dict[str, Any]:
    """Return the metadata of an imported Run; the machine and the lag of the client are unknown."""
    versions = {"tailcast": release(), "python": platform.python_version()}
    return {
        "kind": "measured",
        **({} if origin.started_at is None else {"started_at": origin.started_at}),
        "versions": versions,
        "environment": {},
        "pacing": pacing.known(),
        "origin": asdict(origin),
        "without_latency": without_latency,
    }


@contextlib.contextmanager
def run_writer(
    folder: Path, info: dict[str, Any], schema: pa.Schema
) -> Iterator[tuple[Callable[[pa.Table], None], Path]]:
    """Yield a function that appends rows of a Run to a folder that `Run.read` can read, and where to put its Trace.

    The folder appears when the context ends, with the metadata `info` as it is then. `schema` is that of a Run, with
    its optional columns.

    Raises:
        InputError: the folder cannot be written, or the name is taken by something other than a Run.
    """
    with atomic_folder(folder, RUN_FILES) as temporary:
        with parquet_writer(temporary / "requests.parquet", schema) as requests:
            yield requests.write_table, temporary / "trace.parquet"
        write_info(temporary, info)
