"""The columns of tables of any layout, as a user describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Columns:
    """How to read tables of any layout; see `traces.readers.tools.generic_csv.csv_format`."""

    mapping: Mapping[str, str]
    delimiter: str | None = None
    pattern: str | None = None
