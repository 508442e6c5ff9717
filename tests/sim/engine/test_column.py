"""Columns that grow in place hold what was appended."""

from __future__ import annotations

import numpy as np

from sim.engine.column import Column


def test_a_column_is_its_parts_in_order() -> None:
    parts = [np.arange(first, first + count, dtype=np.int16) for first, count in ((0, 3), (3, 0), (3, 1000), (1003, 7))]
    column = Column(parts[0])
    for part in parts:
        column.append(part)
    assert column.array().dtype == np.int16
    assert column.array().tolist() == list(range(1010))


def test_rows_keep_their_width() -> None:
    column = Column(np.empty((0, 3)))
    for row in range(40):
        column.append(np.full((2, 3), float(row)))
    assert column.array().shape == (80, 3)
    assert np.array_equal(column.array()[:, 1], np.repeat(np.arange(40.0), 2))


def test_nothing_appended_is_no_row() -> None:
    assert Column(np.empty(0, np.int8)).array().shape == (0,)
