from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from traces.logs import external_sort
from traces.logs.external_sort import ExternalSort


def sorted_rows(values: list[int], batch: int, piece: int, block: int) -> tuple[list[int], list[int]]:
    """The order in which the rows come back, twice, and the blocks' lengths."""
    with TemporaryDirectory() as folder:
        sort = ExternalSort(Path(folder), "t", piece, block)
        for i in range(0, len(values), batch):
            part = values[i : i + batch]
            row = np.arange(i, i + len(part))
            sort.add(pa.RecordBatch.from_arrays([pa.array(part, pa.int64()), pa.array(row)], ["t", "row"]))
        first = [table.column("row").to_pylist() for table in sort.blocks()]
        again = [table.column("row").to_pylist() for table in sort.blocks()]
        assert first == again
        return [row for rows in first for row in rows], [len(rows) for rows in first]


@examples(60)
@given(
    st.lists(st.integers(0, 5) | st.integers(-(2**62), 2**62), max_size=150),
    st.integers(1, 9),
    st.integers(1, 20),
    st.integers(1, 8),
)
def test_rows_come_in_stable_order(values: list[int], batch: int, piece: int, block: int) -> None:
    rows, _ = sorted_rows(values, batch, piece, block)
    assert rows == sorted(range(len(values)), key=values.__getitem__)


def test_a_block_in_memory_is_bounded_however_many_rows_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_sort, "FAN_IN", 16)
    values = np.random.default_rng(1).integers(0, 100, 1400).tolist()
    rows, lengths = sorted_rows(values, 5, 5, 2)
    assert rows == sorted(range(len(values)), key=values.__getitem__)
    assert len(values) / 5 > 16**2  # so pieces were merged in passes
    assert max(lengths) <= 16 * 2
