"""Distinct rows are those of numpy, in the same order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from models.network.distinct_rows import distinct_rows, kinds_of_rows

ANY = st.one_of(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1))


@given(arrays.arrays(np.int64, st.tuples(st.integers(1, 40), st.integers(1, 9)), elements=ANY))
def test_rows_are_those_of_numpy(table: np.ndarray) -> None:
    rows, index = distinct_rows(list(table.T))
    expected, at = np.unique(table, axis=0, return_inverse=True)
    assert np.array_equal(rows, expected)
    assert np.array_equal(index, at.ravel())


@pytest.mark.parametrize("columns", [1, 3])
def test_no_rows(columns: int) -> None:
    rows, index = distinct_rows([np.zeros(0, np.int64)] * columns)
    assert rows.shape == (0, columns) and index.shape == (0,)


def test_columns_of_other_types() -> None:
    rows, index = distinct_rows([np.array([1, 0, 1], np.uint8), np.array([True, False, True])])
    assert rows.tolist() == [[0, 0], [1, 1]] and index.tolist() == [1, 0, 1]


def test_kinds_of_rows_are_numbered_in_the_order_of_the_rows_values() -> None:
    """Rows with different values may be of one kind, and kinds that are given come first."""
    columns = [np.array([2, 0, 1, 2, 0]), np.array([True, False, True, False, False])]
    kinds, index = kinds_of_rows(columns, lambda number, flag: f"{number % 2}{bool(flag)}", ["1True", "none"])
    assert kinds == ["1True", "none", "0False", "0True"]
    assert [kinds[k] for k in index] == ["0True", "0False", "1True", "0False", "0False"]
    empty = [np.zeros(0, np.int64)] * 2
    kinds, index = kinds_of_rows(empty, lambda *row: "", ["a"])
    assert kinds == ["a"] and index.dtype == np.int32 and not len(index)


@pytest.mark.parametrize("values", [3, 10**9])
def test_many_rows_are_those_of_numpy(values: int) -> None:
    # With few values a table of them is made, with many they are sorted.
    table = np.random.default_rng(1).integers(-1, values, (2000, 3))
    rows, index = distinct_rows(list(table.T))
    expected, inverse = np.unique(table, axis=0, return_inverse=True)
    assert np.array_equal(rows, expected) and np.array_equal(index, inverse.ravel())
