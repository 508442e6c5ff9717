"""Hashes of what commands print and write: of numbers and of texts, without what differs between equal runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS, TEXTS = "numbers", "texts"

LEFT_OUT = re.compile(r"(^|_)(wall|elapsed|versions?|environment|created|tailcast|spec_hash|made)(_|$)")
"""JSON fields that differ between runs, machines or commits."""
INPUTS = {"examples": "examples", "samples": "tests/samples"}
"""Folders of the project as named in commands, and their paths below the root."""


@dataclass
class Hashes:
    """What a case gave: its numbers and its texts, each as a hash of all in order."""

    numbers: Any
    texts: Any

    @staticmethod
    def empty() -> Hashes:
        """Of nothing yet."""
        return Hashes(hashlib.sha256(), hashlib.sha256())

    def add_json(self, value: Any) -> None:
        """All leaves of a document in its order."""
        for leaf in leaves(value):
            if not isinstance(leaf, str):
                self.numbers.update(f"{_number(leaf)}\n".encode())
            elif not leaf.startswith(tuple(f"{folder}/" for folder in INPUTS)):
                self.texts.update(f"{json.dumps(leaf)}\n".encode())

    def add_files(self, folder: Path) -> None:
        """All tables in a folder, in the order of what is in them, as their names may change."""
        found = [table_hashes(path) for path in _files(folder)]
        self.numbers.update(f"{len(found)} tables\n".encode())
        self.numbers.update("\n".join(sorted(numbers for numbers, _ in found)).encode())
        self.texts.update("\n".join(sorted(texts for _, texts in found)).encode())

    def to_json(self) -> dict[str, str]:
        """Both, by name."""
        return {NUMBERS: self.numbers.hexdigest(), TEXTS: self.texts.hexdigest()}


def leaves(value: Any) -> Iterator[Any]:
    """The numbers, texts and nulls of a JSON document in its order, without those that are `LEFT_OUT`."""
    if isinstance(value, dict):
        for name, part in value.items():
            if not LEFT_OUT.search(name):
                yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def table_hashes(path: Path) -> tuple[str, str]:
    """The hashes of the numbers and of the texts of a written table: parquet, or text without its head."""
    numbers, texts = hashlib.sha256(), hashlib.sha256()
    if path.suffix != ".parquet":
        with pa.input_stream(str(path), compression="detect") as stream:
            lines = [line for line in stream.read().decode().splitlines() if not line.startswith("#")]
        numbers.update("\n".join(lines[1:]).encode())
        return numbers.hexdigest(), texts.hexdigest()
    for column in pq.read_table(path).columns:
        values = column.combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            texts.update(json.dumps(values.to_pylist()).encode())
        else:
            numbers.update(_bytes(values))
    return numbers.hexdigest(), texts.hexdigest()


def _number(value: Any) -> str:
    """One text for 1 and 1.0; true, false and null as in JSON."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value)


def _bytes(values: pa.Array) -> bytes:
    """A column of numbers: which of them are null, and the others in 8 bytes each."""
    wide = pa.int64() if pa.types.is_integer(values.type) or pa.types.is_boolean(values.type) else pa.float64()
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    present = values.drop_null().cast(wide).to_numpy(zero_copy_only=False)
    return np.packbits(valid).tobytes() + bytes(present.tobytes())


def _files(folder: Path) -> Iterator[Path]:
    """Tables that were written in a folder, not those that it links to."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        elif path.name.endswith((".parquet", ".csv", ".csv.zst", ".hgrm")):
            yield path
