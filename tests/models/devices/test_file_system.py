"""Accesses of a file system: what the formulas say next to counts of a real XFS."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from models.devices.file_system import ENTRY, LEAF, Blocks, Metadata, inodes, written_back
from tests.paths import ROOT

COUNTS = ROOT / "benchmarks" / "file_system_accesses.csv"
LAYOUTS = {
    "minio": Metadata((LEAF, ENTRY), (inodes(), inodes()), 2, 3200),
    "minio 2019": Metadata((LEAF, ENTRY), (inodes(3),), 3, 3800),
}
MANY = 100_000


def counted(layout: str, op: str, memory: str) -> list[dict[str, float]]:
    with Path(COUNTS).open(newline="") as file:
        rows = [
            row for row in csv.DictReader(file) if (row["layout"], row["op"], row["memory"]) == (layout, op, memory)
        ]
    numbers = ("objects", "operations", "rate_ops", "reads", "writes", "flushes")
    found = [{name: float(row[name]) for name in numbers} for row in rows if float(row["objects"]) > MANY]
    assert found
    return found


def first_reads(blocks: Blocks, objects: float, lookups: float) -> float:
    """Mean reads of a look-up, of the first ones after nothing was in memory: each block is read once."""
    count = objects / blocks.objects
    return count * -math.expm1(-lookups / count) / lookups


@pytest.mark.parametrize("layout", LAYOUTS)
def test_first_look_ups_read_as_many_blocks_as_counted(layout: str) -> None:
    for row in counted(layout, "HEAD", "cold"):
        metadata = LAYOUTS[layout]
        blocks = (*metadata.folders, *metadata.files)
        expected = sum(first_reads(each, row["objects"], row["operations"]) for each in blocks)
        assert row["reads"] / row["operations"] - 1 == pytest.approx(expected, rel=0.05)  # one more is of the file


def test_absent_names_need_the_leaf_of_their_hash() -> None:
    for row in counted("minio", "PUT", "cold"):
        expected = first_reads(LEAF, row["objects"], row["operations"])
        assert row["reads"] / row["operations"] == pytest.approx(expected, rel=0.1)


def test_metadata_are_written_back_as_often_as_counted() -> None:
    """A PUT of an xl.meta writes the file and the log; what is more is written later."""
    for memory in ("cold", "warm"):
        for row in counted("minio", "PUT", memory):
            assert row["flushes"] / row["operations"] == pytest.approx(2, rel=0.02)
            back = row["writes"] / row["operations"] - 2
            assert back == pytest.approx(written_back(row["objects"], 30 * row["rate_ops"]), rel=0.2)


def test_removed_objects_change_inodes_at_random_places() -> None:
    for layout, metadata in LAYOUTS.items():
        for row in counted(layout, "DELETE", "warm"):
            expected = written_back(row["objects"], row["operations"], (LEAF, *metadata.files))
            assert row["writes"] / row["operations"] == pytest.approx(expected, rel=0.2)


def test_few_names_are_written_back_together_and_many_one_by_one() -> None:
    assert written_back(1000, 500) < 0.1 < 0.9 < written_back(1e8, 500) < 1.1
    assert written_back(1e6, 0) == 0


def test_all_is_in_memory_if_it_fits_and_nothing_without_any() -> None:
    metadata = LAYOUTS["minio"]
    assert metadata.reads(metadata.bytes_each).found == ()
    assert metadata.reads(1e-9).found == pytest.approx((1, 1, 1, 1), abs=1e-6)
    assert len(metadata.reads(1e-9).absent) == 1


def test_blocks_of_many_objects_stay_in_memory_longer() -> None:
    metadata = LAYOUTS["minio"]
    leaf, entry, folder, file = metadata.reads(200).found
    assert leaf < entry < folder == file
    held = [sum(metadata.reads(memory).found) for memory in (20, 100, 500, 1000, 2000)]
    assert held == sorted(held, reverse=True)


def test_memory_is_used_up() -> None:
    """What is in memory at the time for which blocks are kept has the size of the memory."""
    metadata = LAYOUTS["minio 2019"]
    for memory in (50, 500, 5000):
        assert metadata._held_bytes(metadata.lookups(memory)) == pytest.approx(memory, rel=1e-6)
