"""Sentences on the limit that a search finds: the sure range first, and the digits that it leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cli.tables.experiments.find import estimate, limit_grid, limit_opening, limit_sure
from sim.experiments.find.find_limit import FoundLimit, InfeasibleTrial, SureValues


def limit(value: float, sure: tuple[float | None, float | None], find: str = "max", **changes: Any) -> FoundLimit:
    trials = [InfeasibleTrial(v, v <= value, False, "no") for v in (value, value * 1.01)]
    of_path = (find, "workload.rate", "1/s", "limit", value, value * 1.01, f"workload.rate={value}")
    found = FoundLimit(
        *of_path, SureValues(*sure), True, [], 0, 5, list(trials), None, 0.0, [], None, None, (), []
    )  # fmt: skip
    return replace(found, **changes)


@pytest.mark.parametrize(
    ("value", "sure", "find", "text"),
    [
        (8085.0, (7860.0, 8223.0), "max", "8,000/s"),
        (8085.0, (8080.0, 8090.0), "max", "8,085/s"),
        (7728.0, (6271.0, 8223.0), "max", "7,500/s"),
        (2143.5, (800.0, None), "max", "2,000/s"),
        (3210.0, (3300.0, 3100.0), "min", "3,300/s"),
        (984.0, (841.0, 1407.0), "max", "900/s"),
        (3210.0, (3290.0, 3000.0), "min", "3,250/s"),
    ],
)
def test_the_limit_has_the_digits_that_the_sure_values_leave(value, sure, find, text):
    assert estimate(limit(value, sure, find)) == text


def test_whole_numbers_have_all_digits():
    assert estimate(limit(17, (3, 40), unit="", path="hosts.count")) == "17"


@pytest.mark.parametrize(
    ("sure", "find", "text"),
    [
        ((900.0, 1100.0), "max", "The limit is between 900/s and 1,100/s, by"),
        ((1100.0, 900.0), "min", "The limit is between 900/s and 1,100/s, by"),
        ((900.0, None), "max", "The limit is at least 900/s, by"),
        ((None, 900.0), "min", "The limit is above 900/s, by"),
        ((None, None), "max", "The intervals leave every value in doubt, by"),
    ],
)
def test_the_sure_range_comes_first_and_is_not_called_certain(sure, find, text):
    found = limit(1000.0, sure, find)
    assert limit_sure(found).startswith(text) and "do not count what is assumed" in limit_sure(found)
    assert limit_opening(found)[0].startswith(text) and "certain" not in limit_opening(found)[0]
    assert limit_grid(found).title == ""
