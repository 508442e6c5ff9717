"""JSON objects, parsed by Arrow's JSON reader: typed, unknown fields passed over."""

from __future__ import annotations

import codecs
import json

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.json as pajson
from numpy.typing import NDArray

from traces.readers.json_objects import JsonObjects
from traces.readers.layout import Divide
from traces.readers.source import Lines

_NO_OBJECT = "is not one JSON object a line"

_HIT = "_source"
"""The member of a hit, in an export of Elasticsearch or OpenSearch, that is the record,"""

_HIT_MARK, _FEW_BYTES = b'"_source"', 1 << 16
"""which is looked for in the first bytes of a block."""

HITS, AGGREGATIONS = "hits", "aggregations"
"""The array of hits in the response to a search there, and what may follow it."""


def json_fields(schema: pa.Schema) -> Divide:
    """Return a function that divides JSON objects, one a line, into the fields of `schema`; a missing one is null.

    The fields may also be in the ``_source`` of the object. What is no such object has a ``trouble``.
    """
    fields = list(schema)
    with_hits = pa.schema([*fields, pa.field(_HIT, pa.struct(fields))])
    plain, hits = _options(schema), _options(with_hits)

    def parsed(lines: Lines) -> pl.DataFrame:
        numbers = _numbers(lines)
        data = _in_utf8(lines.data)
        table = pa.Table.from_batches([], schema)  # schema.empty_table() would import pandas
        if len(numbers):
            read = pajson.ReadOptions(use_threads=False, block_size=len(data) + 1)
            table = pajson.read_json(pa.BufferReader(data), read, hits if _HIT_MARK in data[:_FEW_BYTES] else plain)
        if table.num_rows != len(numbers):
            raise ValueError(_NO_OBJECT)
        return pl.DataFrame(pl.from_arrow(table)).with_columns(line=pl.Series(numbers, dtype=pl.Int64))

    def divide(lines: Lines) -> pl.DataFrame:
        troubles: list[tuple[int, str]] = []
        try:
            frame = parsed(lines)
        except ValueError:
            frame = parsed(_fitting(lines, with_hits, troubles))
        if _HIT in frame.columns:
            held = pl.col(_HIT).struct
            frame = frame.select("line", *(pl.coalesce(name, held.field(name)).alias(name) for name in schema.names))
        if troubles:
            refused = pl.DataFrame(troubles, {"line": pl.Int64, "trouble": pl.String}, orient="row")
            frame = pl.concat([frame, refused], how="diagonal")
        return frame

    return divide


def _options(schema: pa.Schema) -> pajson.ParseOptions:
    return pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")


def _numbers(lines: Lines) -> NDArray[np.int64]:
    """Return the line numbers of the objects: of lines that are not blank.

    Raises:
        ValueError: a line does not begin with an opening brace. Arrow takes null for a row, and only nulls crash it.
    """
    text, starts = np.frombuffer(lines.data, np.uint8), np.append(0, lines.ends)[: lines.count]
    held = text[starts] == ord("{")
    for i in np.flatnonzero(~held):
        line = lines.data[starts[i] : lines.ends[i]].strip()
        held[i] = bool(line)
        if line and not line.startswith(b"{"):
            raise ValueError(_NO_OBJECT)
    numbers: NDArray[np.int64] = lines.numbers[held]
    return numbers


def _fitting(lines: Lines, schema: pa.Schema, troubles: list[tuple[int, str]]) -> Lines:
    """Return the objects that have the types of a schema; append line and reason of the others to `troubles`.

    Halves of pairs of surrogates, which Arrow refuses, become escapes such as ``\\udcff``.
    """
    good, begins, whole = [], [], pa.struct(list(schema))
    for number, line in zip(lines.numbers.tolist(), lines.data.split(b"\n"), strict=False):
        if not line.strip():
            continue
        try:
            value = json.loads(_in_utf8(line).decode(), strict=False)
            why = _wrong(value, whole, "") if isinstance(value, dict) else _NO_OBJECT
        except (ValueError, RecursionError):
            why = _NO_OBJECT
        if why:
            troubles.append((number, why))
            continue
        if b"\\ud" in line.lower():
            line = json.dumps(value, ensure_ascii=False).encode("utf-8", _ESCAPED)
        good.append(line + b"\n")
        begins.append(number)
    return JsonObjects(lines.path, lines.first, b"".join(good), lines.zone, begins=np.array(begins, np.int64))


def _wrong(value: object, type_: pa.DataType, name: str) -> str:
    """Return which value within another is of a wrong type; "" if none is."""
    if value is None:
        return ""
    if pa.types.is_struct(type_) and isinstance(value, dict):
        parts = ((value.get(field.name), field.type, f"{name}.{field.name}".strip(".")) for field in type_)
        return next((why for part in parts if (why := _wrong(*part))), "")
    if pa.types.is_list(type_) and isinstance(value, list):
        return next((why for part in value if (why := _wrong(part, type_.value_type, name))), "")
    right = (type(value) is _TYPES.get(type_) or (type_ == pa.float64() and type(value) is int)) and (
        not isinstance(value, int) or -(2**63) <= value < 2**64
    )
    return "" if right else f"{name} is of a wrong type"


_TYPES = {pa.string(): str, pa.int64(): int, pa.uint64(): int, pa.float64(): float, pa.bool_(): bool}


def _in_utf8(data: bytes) -> bytes:
    """Return JSON with bytes that are not UTF-8 as escapes such as ``\\xff``, so that they stay distinct."""
    try:
        codecs.utf_8_decode(data, "strict", True)
    except UnicodeDecodeError:
        return data.decode("utf-8", _ESCAPED).encode()
    return data


_ESCAPED = "json-escapes"


def _escaped(error: UnicodeError) -> tuple[str, int]:
    text, end = codecs.backslashreplace_errors(error)
    return str(text).replace("\\", "\\\\"), end


codecs.register_error(_ESCAPED, _escaped)
