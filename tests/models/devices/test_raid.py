"""Arrays below a store: what their members are busy with, how long one access takes, and the store that uses them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from models.devices.raid import Raid
from models.minio.spec.sections import Drives
from models.store import spec_of
from sim.analysis.bounds import bounds_of
from traces.workload.generate import generate

MEMBER = Drives.model_validate({"preset": "hdd-7k2", "reorder_depth": 1})


def array(level: int, members: int, **more: Any) -> Drives:
    given = {"preset": "hdd-7k2", "reorder_depth": 1, "raid": {"level": level, "members": members}, **more}
    return Drives.model_validate(given).at_depth(1)


# Accesses of the members for a small read and a small write, and how many follow one another.
@pytest.mark.parametrize(
    ("level", "members", "write", "in_series"),
    [(0, 5, 1, 1), (1, 2, 2, 1), (10, 6, 2, 1), (5, 5, 4, 2), (6, 8, 6, 2)],
)
def test_accesses_of_the_members(level: int, members: int, write: int, in_series: int) -> None:
    found = array(level, members)
    assert MEMBER.read and MEMBER.write and found.read and found.write and found.commit and MEMBER.commit
    one_s = MEMBER.read.constant, MEMBER.write.constant
    assert found.read.constant == pytest.approx(one_s[0] / members)
    assert found.read.constant + found.read_latency.constant == pytest.approx(one_s[0])
    busy_s = one_s[1] if in_series == 1 else sum(one_s) / 2
    assert found.write.constant == pytest.approx(write * busy_s / members)
    assert found.write.constant + found.write_latency.constant == pytest.approx(in_series * busy_s)
    assert found.commit.constant == pytest.approx(MEMBER.commit.constant + (in_series - 1) * one_s[0])


def test_large_writes_have_the_bandwidth_of_the_members_with_data() -> None:
    assert MEMBER.write
    for level, members, data in ((0, 4, 4), (5, 5, 4), (6, 6, 4), (10, 8, 4)):
        write = array(level, members).write
        assert write and write.per_byte == pytest.approx(MEMBER.write.per_byte / data)


def test_an_array_is_applied_once() -> None:
    once = array(5, 4)
    assert once.raid is None and once.at_depth(1) == once


@pytest.mark.parametrize(("level", "members"), [(5, 2), (6, 3), (10, 5), (10, 2), (0, 1)])
def test_arrays_with_too_few_members_are_refused(level: int, members: int) -> None:
    with pytest.raises(ValidationError):
        Raid.model_validate({"level": level, "members": members})


def test_a_store_on_arrays_reads_as_often_as_their_members_can() -> None:
    """Five members read five times as often as one."""
    capacity: list[float] = []
    for raid in ({}, {"raid": {"level": 0, "members": 5}}):
        drives = {"preset": "hdd-7k2", "reorder_depth": 1, **raid}
        workload = {"rate": 5, "operations": 500, "object_size": "1MB", "mix": {"GET": 1}}
        spec = spec_of({"store": "minio", "workload": workload, "hosts": {"cpu": {"GET": 0}}, "drives": drives}, "spec")
        most = bounds_of(spec, generate(spec.workload, 0)).max_throughput_ops
        assert most is not None
        capacity.append(most)
    assert capacity[1] == pytest.approx(5 * capacity[0], rel=0.01)


def test_a_data_sheet_next_to_a_preset_is_refused() -> None:
    sheet = {"read_iops": 1000, "write_iops": 1000, "read_bandwidth": 1e8, "write_bandwidth": 1e8}
    with pytest.raises(ValidationError, match="preset supplies the same times"):
        Drives.model_validate({"preset": "nvme", "data_sheet": sheet})
    drives = Drives.model_validate({"data_sheet": {**sheet, "flush": "3ms"}})
    assert drives.commit and drives.commit.constant == pytest.approx(1e-3 + 3e-3)
