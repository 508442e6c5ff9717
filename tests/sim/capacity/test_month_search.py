"""The first month in which something holds is found from any month near it, and with fewer looks."""

from __future__ import annotations

import pytest

from sim.capacity.month_search import MonthSearch

MONTHS = 24


def looks(first: int, near: int | None) -> int:
    """Search from -1 to `MONTHS`; returns the number of months looked at."""
    search, count = MonthSearch(-1, MONTHS, near), 0
    while not search.is_done:
        month = search.following
        assert search.low < month < search.high
        search.narrow(month, month >= first)
        count += 1
    assert search.high == first
    return count


@pytest.mark.parametrize("near", [None, -1, 0, 5, 12, 23, MONTHS, 40])
def test_any_first_month_is_found(near: int | None) -> None:
    assert all(looks(first, near) <= 9 for first in range(MONTHS + 1))


def test_a_month_near_it_takes_two_to_four_looks() -> None:
    for first in range(3, MONTHS - 2):
        assert looks(first, first) == looks(first, first - 1) == 2
        assert max(looks(first, first - 2), looks(first, first + 1)) <= 4
    assert sum(looks(first, None) for first in range(MONTHS + 1)) > 4 * MONTHS
