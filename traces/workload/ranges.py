"""Ranges of objects and files that requests read or write: at random places, or one after the other."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from traces.operations import rows_that
from traces.random_streams import stream_id, uniforms
from traces.spec.units import Fraction
from traces.workload.distributions import Strict
from traces.workload.sizes import SizeDistribution

Indices = NDArray[np.int64]


class Ranges(Strict):
    """GETs, READs and WRITEs of a range of the object or file."""

    fraction: Fraction = Field(
        1.0, ge=0, le=1, description="Fraction of GETs, READs and WRITEs that are of a range; the others are of all."
    )
    size: SizeDistribution = Field(description="Length of the range; smaller objects are read or written as a whole.")
    order: Literal["random", "sequential"] = Field(
        "random",
        description="Places of ranges in an object. random: anywhere in it. sequential: those of an operation follow "
        "each other from its start, whichever client it is, and begin again after its end; the last one before it is "
        "shorter if the size is not a multiple.",
    )

    def columns(self, seed: int, op: NDArray[np.int32], key: Indices, size_bytes: Indices) -> tuple[pa.Array, pa.Array]:
        """Draw the columns range_start_bytes and range_bytes, both of shape (requests,).

        Args:
            seed: of the workload.
            op: operation of each request, as an index into `OPS`.
            key: number of the object that each request names.
            size_bytes: its size.
        """
        count = len(op)
        ranged = rows_that(op, "has_range") & (uniforms(seed, stream_id("workload/ranges"), 0, count) < self.fraction)
        drawn = self.size.quantile(uniforms(seed, stream_id("workload/ranges/size"), 0, count))
        length = np.minimum(np.rint(drawn).astype(np.int64), size_bytes)
        if self.order == "random":
            place = uniforms(seed, stream_id("workload/ranges/start"), 0, count)
            start = (place * (size_bytes - length + 1)).astype(np.int64)
        else:
            start = np.zeros(count, np.int64)
            rows = np.flatnonzero(ranged)
            rows = rows[np.lexsort((op[rows], key[rows]))]  # stable: in their order for each object and operation
            begins = np.diff(key[rows], prepend=-1).astype(bool) | np.diff(op[rows], prepend=-1).astype(bool)
            start[rows] = sequential_starts(begins, length[rows], size_bytes[rows])
            length = np.minimum(length, size_bytes - start)
        return pa.array(start, mask=~ranged), pa.array(length, mask=~ranged)


def sequential_starts(begins: NDArray[np.bool_], length: Indices, size_bytes: Indices) -> Indices:
    """Return where ranges start that follow each other, and begin again at 0 where one has reached the object's end.

    Args:
        begins: whether a range is the first one of an object, shape (ranges,), with those of an object together.
        length: of each range, before the last one is cut at the end of its object.
        size_bytes: of the object.
    """
    end = np.cumsum(length)
    before = end - length
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(begins))[np.cumsum(begins) - 1]  # row after those of the object
    reaches = np.maximum(np.searchsorted(end, before + size_bytes), np.arange(len(end)))  # empty ones: at once
    following = np.minimum(reaches + 1, last).tolist()
    passes = begins.copy()
    for row, stop in zip(first.tolist(), last[first].tolist(), strict=True):
        while row < stop:
            passes[row] = True
            row = following[row]
    starts: Indices = before - np.maximum.accumulate(np.where(passes, before, 0))
    return starts
