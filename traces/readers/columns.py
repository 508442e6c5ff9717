"""Convert columns of parsed logs (numbers, operations, percent escapes), telling missing from invalid values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers.records import LONGEST_NS, Rows
from traces.readers.spans import Ints, Mask, Spans
from traces.tables import OPS

Column: TypeAlias = pa.Array | pa.ChunkedArray


def by_value(column: Column, function: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    """Apply `function` to each distinct value; null stays null."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = texts.dictionary_encode()
    values = pa.array([None if v is None else function(v) for v in encoded.dictionary.to_pylist()], kind)
    return values.take(encoded.indices)


def operations(column: Column | Spans, names: Mapping[str, str]) -> NDArray[np.int8]:
    """Return the index into `OPS` of each value; -1 for null or if `names` does not contain it."""
    spans = column if isinstance(column, Spans) else Spans.of(column)
    codes = np.array([*(OPS.index(op) for op in names.values()), -1], np.int8)
    result: NDArray[np.int8] = codes[spans.one_of(list(names))]
    return result


def unquoted(column: Column) -> pa.Array:
    """Resolve percent escapes."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    held = texts.buffers()[2]
    if held is None or not (np.frombuffer(held, np.uint8) == ord("%")).any():
        return texts
    try:
        return Spans.of(texts).texts(escaped=True)
    except ValueError:  # not UTF-8: replace invalid bytes
        return by_value(texts, unquote, pa.string())


def numbers(rows: Rows, spans: Spans, values: Ints, what: str, null: str | None = "-") -> pa.Array:
    """Return the values of a field; null if it is missing. Rows with an invalid value (-1) are unreadable.

    Args:
        rows: the rows of the block.
        spans: the field.
        values: the values, -1 where the field has none.
        what: name of the field, for the reason.
        null: text that stands for a missing value.
    """
    without = values < 0
    if without.any():
        missing = ~spans.there
        if null is not None:
            missing |= spans.is_text(null)
        rows.refuse(without & ~missing, f"{what} cannot be read")
    return pa.array(values, mask=without)


def whole(rows: Rows, spans: Spans, what: str, null: str | None = "-") -> pa.Array:
    """Return a field of whole numbers; null if it is missing. Rows with another value are unreadable."""
    return numbers(rows, spans, spans.integers(), what, null)


def missing(column: Column) -> Mask:
    """Return whether each row is null."""
    result: Mask = pc.is_null(column).to_numpy(zero_copy_only=False)
    return result


def durations(rows: Rows, values: Column, what: str) -> pa.Array:
    """Return durations in nanoseconds; rows with a negative or implausible one are unreadable."""
    wrong = pc.or_(pc.less(values, 0), pc.greater(values, LONGEST_NS))
    rows.refuse(pc.fill_null(wrong, False).to_numpy(zero_copy_only=False), f"{what} is not a duration")
    return values
