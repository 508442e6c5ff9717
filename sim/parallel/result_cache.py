"""A folder of results, stored under the hash of all their inputs, so that interrupted work can be resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from traces.errors import InputError
from traces.provenance import ROOT, hash_of_sources
from traces.tables import atomic_file, write_parquet


class ResultFolder:
    """A folder, created if necessary: the combined result, and ``finished/`` with its parts.

    Raises:
        InputError: the path is something else, or cannot be written to.
    """

    def __init__(self, path: Path):
        self.path, self._parts = path, path / "finished"
        if path.exists() and not self._parts.is_dir() and not (path.is_dir() and not any(path.iterdir())):
            raise InputError(f"{path}: exists and holds no results; give a folder that does not exist yet")
        try:
            self._parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the result for this key; None: unknown."""
        file = self._file(key)
        try:
            result: dict[str, Any] = json.loads(file.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: cannot be read: {error}") from error
        return result

    def keep(self, key: str, result: dict[str, Any]) -> None:
        """Store a result."""
        with atomic_file(self._file(key)) as temporary:
            temporary.write_text(json.dumps(result))

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write the combined result as a parquet file."""
        with atomic_file(self.path / name) as temporary:
            write_parquet(table, temporary)

    def write_text(self, name: str, text: str) -> None:
        """Write the combined result as a text file."""
        with atomic_file(self.path / name) as temporary:
            temporary.write_text(text)

    def _file(self, key: str) -> Path:
        return self._parts / f"{key}.json"


def content_key(parts: Sequence[object]) -> str:
    """Return a hash of a result's inputs and of the source code."""
    return hashlib.sha256(repr((code(), *parts)).encode()).hexdigest()[:32]


@cache
def code() -> str:
    """Return the hash of the source code that affects results."""
    return hash_of_sources(ROOT)
