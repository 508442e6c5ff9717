"""Lines of text, parsed by a format's own kernel: one pass over a block's bytes writes all columns of its records.

A kernel has the block's bytes, where in them to begin and where they end, the rows of a `Draft`, bounds for fields, and
what else the format gives it. It goes from line to line (`kernels.line_end`), begins a row for each that is not blank
(`drafts.begun`), and either keeps it or notes which of the format's reasons speaks against it (`drafts.rejected`). It
returns how many rows it kept, and how many lines it noted. Each format has this loop of its own: what Numba compiles of
a function that is given another cannot be kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers.blocks import Read, by_block
from traces.readers.column_kernels import offsets_of, pack
from traces.readers.drafts import END, NUMBERS, ROW, TEXTS, Draft, drafted
from traces.readers.records import RECORDS, Parsed
from traces.readers.source import Lines, Source

_LAST_ASCII = 127
_BLOCK_BYTES = 1 << 21  # larger ones do not stay in a core's cache, with smaller ones threads wait for each other


def line_reader(
    kernel: Callable[..., tuple[int, int]],
    fields: int,
    refused: Sequence[str],
    left_out: Sequence[str],
    *layout: Any,
    begin: int = 1,
) -> Read:
    """A reader of files of lines.

    Args:
        kernel: writes the records.
        fields: how many of a line's fields it needs at most.
        refused, left_out: the reasons why a line cannot be read and why it has no record, in the order of the kernel's
            verdicts.
        layout: given to the kernel behind the rest.
        begin: number of the first line.
    """

    def parse(lines: Lines) -> Iterator[Parsed]:
        draft = drafted(lines.data, lines.count, fields)
        kept, gone = kernel(draft.data, draft.begin, draft.end, draft.rows, draft.fields, *layout)
        without = draft.rows[len(draft.rows) - gone :][::-1]
        unreadable = without[without["verdict"] > 0]
        reasons = Counter({why: int((without["verdict"] == -1 - i).sum()) for i, why in enumerate(left_out)})
        yield Parsed(
            _records(draft, kept, lines.zone),
            0,
            +reasons,
            tuple((lines.first + row["line"].item(), refused[row["verdict"] - 1]) for row in unreadable),
        )

    return by_block(parse, partial(Source.lines, begin=begin, block_bytes=_BLOCK_BYTES))


def _records(draft: Draft, kept: int, zone: str) -> pa.RecordBatch:
    """The rows that were kept.

    Raises:
        ValueError: a text is not UTF-8.
    """
    rows = draft.rows[:kept]
    if zone != "UTC" and rows["local"].any():
        _to_utc(rows, zone)
    columns = _numbers(rows) | {name: _texts(draft.data, rows[f"{name}_from"], rows[f"{name}_to"]) for name in TEXTS}
    return pa.RecordBatch.from_arrays([columns[name] for name in RECORDS.names], schema=RECORDS)


def _to_utc(rows: NDArray[np.void], zone: str) -> None:
    """Turn local times into UTC. Of a local time that comes twice, the first is meant."""
    here = np.flatnonzero(rows["local"])
    time = rows["time_ns"][here]
    local = time + np.where(rows["local"][here] == END, rows["latency_ns"][here], 0)
    stamps = pa.array(local).cast(pa.timestamp("ns"))
    utc = pc.assume_timezone(stamps, zone, ambiguous="earliest", nonexistent="earliest")
    rows["time_ns"][here] = time + utc.cast(pa.int64()).to_numpy() - local


def _numbers(rows: NDArray[np.void]) -> dict[str, pa.Array]:
    """The columns of numbers; those below 0 are null, where the column may have nulls."""
    held = pa.allocate_buffer(len(rows) * 8 * len(NUMBERS))
    values = np.frombuffer(held, np.int64).reshape(len(NUMBERS), len(rows))
    values[:] = rows.view(np.int64).reshape(len(rows), ROW.itemsize // 8)[:, : len(NUMBERS)].T
    known: NDArray[np.bool_] = values >= 0
    bits, full = np.packbits(known, axis=1, bitorder="little"), np.all(known, axis=1)
    columns = {"op": pa.array(rows["op"].copy())}
    for i, name in enumerate(NUMBERS):
        field = RECORDS.field(name)
        column = held.slice(i * 8 * len(rows), 8 * len(rows))
        if field.type != pa.int64():
            column = pa.py_buffer(values[i].astype(field.type.to_pandas_dtype()))
        valid = pa.py_buffer(bits[i]) if field.nullable and not full[i] else None
        columns[name] = pa.Array.from_buffers(field.type, len(rows), [valid, column])
    return columns


def _texts(data: NDArray[np.uint8], start: NDArray[np.int32], end: NDArray[np.int32]) -> pa.Array:
    """A column of texts by their bounds in the data."""
    there = end >= start
    if not there.any():
        return pa.nulls(len(start), pa.string())
    offsets = pa.allocate_buffer(4 * (len(start) + 1))
    held = pa.allocate_buffer(offsets_of(start, end, np.frombuffer(offsets, np.int32)))
    texts = np.frombuffer(held, np.uint8)
    pack(data, start, np.frombuffer(offsets, np.int32), texts)
    valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    column = pa.StringArray.from_buffers(len(start), offsets, held, valid)
    if texts.max(initial=0) > _LAST_ASCII:
        column.validate(full=True)
    return column
