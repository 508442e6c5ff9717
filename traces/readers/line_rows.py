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
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers import row_kernels
from traces.readers.blocks import Read, by_block
from traces.readers.drafts import END, NUMBERS, TEXTS, Draft, drafted
from traces.readers.records import RECORDS, Parsed
from traces.readers.sections import Block, sections

_VALUES = len(NUMBERS) - 1  # but for the status
_KINDS = tuple(map(np.dtype, (np.int64, np.int32, np.int16, np.int8, np.uint8)))


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

    def parse(block: Block) -> Iterator[Parsed]:
        draft = drafted(block, fields)
        kept, gone = kernel(draft.data, draft.begin, draft.end, draft.rows, draft.fields, *layout)
        without = draft.rows[len(draft.rows) - gone :][::-1]
        unreadable = without[without["verdict"] > 0]
        reasons = Counter({why: int((without["verdict"] == -1 - i).sum()) for i, why in enumerate(left_out)})
        yield Parsed(
            _records(draft, kept, block.zone),
            0,
            +reasons,
            tuple((block.first + row["line"].item(), refused[row["verdict"] - 1]) for row in unreadable),
        )

    return by_block(parse, partial(sections, begin=begin))


def _records(draft: Draft, kept: int, zone: str) -> pa.RecordBatch:
    """The rows that were kept.

    Raises:
        ValueError: a text is not UTF-8.
    """
    rows = draft.rows[:kept]
    if zone != "UTC" and rows["local"].any():
        _to_utc(rows, zone)
    columns = _columns(draft.data, rows)
    return pa.RecordBatch.from_arrays([columns[name] for name in RECORDS.names], schema=RECORDS)


def _to_utc(rows: NDArray[np.void], zone: str) -> None:
    """Turn local times into UTC. Of a local time that comes twice, the first is meant."""
    here = np.flatnonzero(rows["local"])
    time = rows["time_ns"][here]
    local = time + np.where(rows["local"][here] == END, rows["latency_ns"][here], 0)
    stamps = pa.array(local).cast(pa.timestamp("ns"))
    utc = pc.assume_timezone(stamps, zone, ambiguous="earliest", nonexistent="earliest")
    rows["time_ns"][here] = time + utc.cast(pa.int64()).to_numpy() - local


def _columns(data: NDArray[np.uint8], rows: NDArray[np.void]) -> dict[str, pa.Array]:
    """The columns. Each call of Arrow or of a kernel lets another thread go first, so there are few.

    Raises:
        ValueError: a text is not UTF-8.
    """
    count, octets = len(rows), (len(rows) + 7) // 8
    sizes = 8 * count * _VALUES, 4 * (count + 1) * len(TEXTS), 2 * count, count, octets * (len(NUMBERS) + len(TEXTS))
    starts = tuple(accumulate(sizes, initial=0))
    held = pa.allocate_buffer(starts[-1])
    values, offsets, status, op, known = map(held.slice, starts, sizes)
    kinds = zip(_KINDS, sizes, starts, strict=False)
    arrays = [np.frombuffer(held, kind, size // kind.itemsize, start) for kind, size, start in kinds]
    bounds = rows.view(np.int32)
    length = row_kernels.columns(rows.view(np.int64), bounds, rows.view(np.int8), *arrays)
    texts = pa.allocate_buffer(length)
    plain = row_kernels.pack(data, bounds, arrays[1], np.frombuffer(texts, np.uint8))
    columns = {"op": pa.Array.from_buffers(pa.int8(), count, [None, op])}
    for i, name in enumerate((*NUMBERS, *TEXTS)):
        field = RECORDS.field(name)
        valid = known.slice(octets * i, octets) if field.nullable else None
        if name == "status":
            columns[name] = pa.Array.from_buffers(field.type, count, [valid, status])
        elif i < len(NUMBERS):
            columns[name] = pa.Array.from_buffers(field.type, count, [valid, values.slice(8 * count * i, 8 * count)])
        else:
            ends = offsets.slice(4 * (count + 1) * (i - len(NUMBERS)), 4 * (count + 1))
            columns[name] = pa.Array.from_buffers(field.type, count, [valid, ends, texts])
            if not plain:
                columns[name].validate(full=True)
    return columns
