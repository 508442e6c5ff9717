"""Distinct rows of integer columns: what `numpy.unique(axis=0)` returns, in a tenth of its time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=Hashable)

_WIDE = 2**20  # a column with a wider range of values is packed as ranks
_MOST = 2**63


def distinct_rows(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows of a table in ascending order, and the index of each row in these.

    The rows are packed into one integer each, because sorting integers is faster than sorting rows.

    Args:
        columns: integers or booleans, each of shape (rows,), the first one the most significant.

    Returns:
        Arrays of shape (distinct rows, columns) and (rows,).
    """
    packed, span = np.zeros(len(columns[0]), np.int64), 1
    for column in columns if len(packed) else ():
        digit, width = _digits(np.asarray(column, np.int64))
        if span * width >= _MOST:
            packed, span = _ranks(packed)
        packed *= width
        packed += digit
        span *= width
    first, index = _distinct(packed, span)
    return np.stack([np.asarray(column[first], np.int64) for column in columns], axis=1), index


def kinds_of_rows(
    columns: Sequence[NDArray[Any]], kind_of: Callable[..., Kind], first: Iterable[Kind] = ()
) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of the rows of a table, and the index of each row's kind, shape (rows,).

    Args:
        columns: as for `distinct_rows`.
        kind_of: returns the kind of a row, given its values.
        first: kinds that come first, whether there are rows of these or not.
    """
    index = {kind: number for number, kind in enumerate(first)}
    rows, which = distinct_rows(columns)
    numbers = [index.setdefault(kind_of(*row), len(index)) for row in rows.tolist()]
    return list(index), np.array(numbers, np.int32)[which]


def _digits(column: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return numbers from 0 in the order of the values, and a bound that they stay below."""
    least = int(column.min())
    width = int(column.max()) - least + 1
    return (column - least, width) if width <= _WIDE else _ranks(column)


def _ranks(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    distinct, rank = np.unique(values, return_inverse=True)
    return rank.astype(np.int64), len(distinct)


def _distinct(packed: NDArray[np.int64], span: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct value occurs first, in their order, and the index of each value in these.

    `span`: a bound of the values, from 0. If it is small, a table of all of them is made instead of sorting.
    """
    if span > len(packed):
        _, first, index = np.unique(packed, return_index=True, return_inverse=True)
        return first, index.astype(np.int64)
    where, rank = np.full(span, -1), np.empty(span, np.int64)
    where[packed[::-1]] = np.arange(len(packed) - 1, -1, -1)  # of several rows, the last assignment is kept
    used = np.flatnonzero(where >= 0)
    rank[used] = np.arange(len(used))
    return where[used], rank[packed]
