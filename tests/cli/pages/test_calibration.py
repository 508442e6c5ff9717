"""The tables of a calibration."""

from __future__ import annotations

import pytest

from cli.pages.calibration import values_grid
from tests.validate.calibration.test_profile import profile_of


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("hosts.cpu.GET.constant", 0.0004, "400 µs"),
        ("hosts.cpu.GET.per_byte", 2e-9, "2 ns"),
        ("hosts.setup_time", 3e-5, "30.0 µs"),
        ("hosts.after_commit", 0.3, "0.3"),
        ("drives.commit.distribution.factor", 40.0, "40"),
        ("drives.count", 4.0, "4"),
    ],
)
def test_values_have_the_units_of_their_fields(path, value, shown):
    (row,) = values_grid(profile_of({path: value})).rows
    assert row[:2] == [path, shown]
