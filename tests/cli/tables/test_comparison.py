from __future__ import annotations

import pytest

from cli.tables.measured.comparison import comparison_grid
from tests.runs import run_of
from validate.compare.compare import compare


@pytest.mark.parametrize(("count", "is_few"), [(1, True), (9, True), (10, False)])
def test_ratios_of_few_requests_are_marked_and_have_no_interval(count, is_few):
    arrival_s = [float(i) for i in range(count)]
    a, b = (run_of([latency_s] * count, arrival_s=arrival_s) for latency_s in (0.1, 0.9))
    rows = comparison_grid(compare(a, b), ("a", "b")).rows
    (row,) = [row for row in rows if row[1] == "mean"]
    assert ("(few)" in row[4], row[5] == "–") == (is_few, is_few)
