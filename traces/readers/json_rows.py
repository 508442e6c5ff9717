"""Lines that each hold a JSON object, parsed by Arrow's JSON reader: typed, unknown fields passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.json as pajson
from numpy.typing import NDArray

from traces.readers.blocks import Parse
from traces.readers.records import Parsed
from traces.readers.source import Lines

Convert = Callable[[pa.Table, NDArray[np.int64]], Parsed]
"""Makes records of a table of the wanted fields (null where an object lacks one) and its lines' numbers."""


def json_rows(schema: pa.Schema, convert: Convert) -> Parse:
    """A parser of lines that are JSON objects with the fields of `schema`."""
    parse_options = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")

    def parse(lines: Lines) -> Iterator[Parsed]:
        if not lines.data or lines.data.isspace():
            return
        numbers = lines.numbers
        if not _all_begin_objects(lines):  # Arrow takes null for a row, and only nulls crash it
            raise ValueError("is not one JSON object a line")
        read = pajson.ReadOptions(use_threads=False, block_size=len(lines.data) + 1)
        table = pajson.read_json(pa.BufferReader(lines.data), read, parse_options)
        if table.num_rows != len(numbers):
            raise ValueError("is not one JSON object a line")
        if not lines.data.isascii():
            lines.data.decode()  # Arrow takes JSON texts as they are
        yield convert(table, numbers)

    return parse


def _all_begin_objects(lines: Lines) -> bool:
    """Whether each line that is not blank begins with an opening brace."""
    text, starts = np.frombuffer(lines.data, np.uint8), lines.starts
    others = np.flatnonzero(text[np.minimum(starts, len(text) - 1)] != ord("{"))
    rests = (lines.data[start:end].strip() for start, end in zip(starts[others], lines.ends[others], strict=True))
    return all(not rest or rest.startswith(b"{") for rest in rests)
