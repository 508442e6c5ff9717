from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from models.ceph.mechanisms.filestore import FileStore, distinct
from sim.simulate import simulate
from tests.ceph_clusters import ceph

STORE = FileStore()
GIB = 1 << 30


def test_a_directory_splits_at_320_files():
    assert STORE.directory_files == 320
    assert FileStore(split_multiple=8, merge_threshold=40).directory_files == 5120


def test_directories_get_deeper_sixteenfold():
    assert [STORE.directory_levels(n) for n in (0, 320, 321, 5120, 5121, 81920, 81921)] == [0, 0, 1, 1, 2, 2, 3]


def test_every_byte_is_written_twice():
    plan = STORE.write_plan(1 << 20)
    assert plan.file_bytes == 1 << 20
    assert plan.journal_bytes == (1 << 20) + 4096
    small = STORE.write_plan(100)
    assert (small.journal_bytes, small.file_bytes) == (4096, 4096)


def test_reads_are_flat_until_the_cache_is_outgrown_and_then_collapse():
    pgs = 100
    limit = STORE.cache / (STORE.inode + STORE.directory_entry)  # files of an OSD; upper directories take a hundredth
    assert STORE.metadata_reads_per_open(0.9 * limit, pgs) == 0
    assert 0 < STORE.metadata_reads_per_open(1.2 * limit, pgs) < 0.4
    assert STORE.metadata_reads_per_open(3 * limit, pgs) > 0.6
    # A GET that took one access to the disk takes twice as many: its inode, then its data.
    assert STORE.metadata_reads_per_open(10 * limit, pgs) == pytest.approx(1, abs=0.15)
    # In the end the blocks of the directories do not fit either.
    assert STORE.metadata_reads_per_open(100 * limit, pgs) > 1.5


def test_inodes_have_what_the_directories_leave():
    objects, pgs = 30_000, 100
    store = FileStore(cache=objects * (STORE.directory_entry + STORE.inode // 2))
    assert store.metadata_reads_per_open(objects, pgs) == pytest.approx(0.5)
    # Half of the directories' blocks, none of the inodes.
    store = FileStore(cache=objects * STORE.directory_entry // 2)
    assert store.metadata_reads_per_open(objects, pgs) == pytest.approx(1.5)
    # One level more: 100 upper directories of a block and an inode each come first.
    store = FileStore(cache=100 * (4096 + STORE.inode) // 4)
    assert store.metadata_reads_per_open(100_000, pgs) == pytest.approx(2.75)


@given(st.floats(1e3, 1e9), st.floats(1.0, 10.0), st.integers(1, 400))
def test_more_files_never_need_fewer_reads_within_a_depth(objects, growth, pgs):
    more = objects * growth
    if STORE.directory_levels(objects / pgs) == STORE.directory_levels(more / pgs):
        assert STORE.metadata_reads_per_open(more, pgs) >= STORE.metadata_reads_per_open(objects, pgs) - 1e-9


@given(st.floats(0, 1e9), st.integers(1, 400), st.integers(1, 64))
def test_reads_are_bounded_and_memory_helps(objects, pgs, gib):
    reads = FileStore(cache=gib * GIB).metadata_reads_per_open(objects, pgs)
    assert 0 <= reads <= STORE.directory_levels(objects / pgs) + 2
    assert FileStore(cache=2 * gib * GIB).metadata_reads_per_open(objects, pgs) <= reads + 1e-12


@pytest.mark.parametrize("field", ["cache", "inode", "split_multiple", "merge_threshold"])
def test_settings_of_nothing_are_refused(field):
    with pytest.raises(ValidationError, match=field):
        FileStore(**{field: 0})


def test_a_flush_writes_each_file_once_however_often_it_was_overwritten():
    """Of 500 writes of 500 files, 316 are of different ones; of 500 writes of many files, nearly all."""
    store = FileStore(overwrite_metadata_writes=0)
    assert store.flushed(0.004, 0.004, 500, 1.0) == pytest.approx(0.004 * (1 - (1 - 1 / 500) ** 500))
    assert store.flushed(0.004, 0.004, 1e9, 1.0) == pytest.approx(0.004)
    assert STORE.flushed(0.004, 0.003, math.inf, 0.0) == pytest.approx(0.004 + 1.5 * 0.003)
    assert STORE.flushed(0.004, 0.003, 1e9, 1.0) == pytest.approx(0.004 + 0.5 * 0.003)


@given(st.floats(1, 1e9), st.floats(1, 1e4))
def test_different_ones_are_at_most_as_many_as_choices_and_objects(count, choices):
    found = distinct(count, choices)
    assert 0 < found <= min(count, choices) * (1 + 1e-9)


def test_overwrites_of_few_files_are_flushed_together():
    """Each write of a thousand files had the writes of a new file's data, inode and directory of its own."""
    one = ("osd.backend=filestore", "device=hdd-7k2", "hosts.count=2", "pools.data=replica 2", "access=rados")
    few, many = (
        rate(*one, "release=jewel", "workload.mix={PUT: 1}", "workload.clients=64", "workload.operations=6000", keys)
        for keys in ("workload.keys.count=1000", "workload.keys.count=100000000")
    )
    assert 2.5 * many < few < 4.5 * many


def rate(*assignments: str) -> float:
    run = simulate(ceph(*assignments))
    return len(run.requests) / float(run.column("end_s").max())
