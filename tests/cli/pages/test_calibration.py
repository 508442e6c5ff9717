"""The tables of a calibration."""

from __future__ import annotations

import pytest

from cli.pages.calibration import calibration_page, known_grid, profile_shown, values_grid
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


def test_what_is_printed_opens_with_the_fit_and_what_is_known():
    cpu = ("hosts.cpu.GET.constant", "hosts.cpu.GET.per_byte")
    values = dict.fromkeys((*cpu, "network.latency", "drives.commit"), 1e-4)
    groups = (cpu, ("network.latency",))
    profile = profile_of(values).model_copy(update={"together": groups})
    first, known, *_ = profile_shown(profile)
    assert first.startswith("1 Run fitted with 4 parameters: ")
    assert first.endswith("Runs that were not fitted: tailcast validate.")
    assert known == known_grid(profile)
    assert known.rows == [
        ["hosts.cpu.GET.constant, hosts.cpu.GET.per_byte", "only together", "Runs with objects of another size"],
        ["network.latency", "no", "round trips between hosts (ping)"],
        ["the other 1", "yes", ""],
    ]
    assert [row[-1] for row in values_grid(profile).rows] == ["only together", "only together", "no", ""]
    all_known = known_grid(profile.model_copy(update={"together": ()}))
    assert all_known.rows == [["all 4", "yes", ""]]


def test_the_page_counts_the_values_that_its_tables_call_known():
    profile = profile_of(dict.fromkeys(("network.latency", "drives.commit", "hosts.setup_time"), 1e-4))
    unsure = profile.parameters["drives.commit"].model_copy(update={"identified": False})
    profile = profile.model_copy(
        update={"parameters": profile.parameters | {"drives.commit": unsure}, "together": (("network.latency",),)}
    )
    assert [row[1] for row in known_grid(profile).rows] == ["no", "no", "yes"]
    assert calibration_page(profile).header.certainty.startswith("1 of 3 values are identifiable")
