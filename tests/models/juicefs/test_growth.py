"""Growth of a JuiceFS: files next to the objects below, and the memory that their metadata take in Redis."""

from __future__ import annotations

import pytest

from models.basis.uncertainty import uncertain
from models.juicefs.growth import file_bytes, memory_bytes, memory_range_bytes
from models.spec.origins import origins_of
from models.store import store_of
from sim.analysis.check import check
from tests.models.juicefs.test_counts import MIB
from tests.models.juicefs.test_juicefs import layered
from traces.workload.generate import generate

INODE_BYTES, CHUNK_KEY_BYTES, SLICE_BYTES = 260, 195, 26  # as measured, of docs/juicefs.md
_ONE = INODE_BYTES + CHUNK_KEY_BYTES  # a file of one slice


def grown(*assignments: str):
    return layered(
        "minio", "workload.mix={PUT: 1}", "workload.object_size=8MiB", "metadata={preset: redis, memory: 45.5MB}",
        "below.stored={objects: 2000, object_size: 4MiB}", *assignments,
    )  # fmt: skip


def test_the_memory_of_a_file_follows_from_its_chunks_and_their_slices():
    assert file_bytes(grown(), 4096) == _ONE
    assert file_bytes(grown(), 65 * MIB) == INODE_BYTES + 2 * CHUNK_KEY_BYTES
    spec = grown("metadata.slices_per_chunk=11")
    assert file_bytes(spec, 4096) == _ONE + 10 * SLICE_BYTES


def test_files_grow_with_the_objects_of_the_store_below():
    """Each file of 8 MiB has two blocks, and 1,000 files are there."""
    spec, growth = grown(), store_of(grown()).growth
    trace = generate(spec.workload, 1)
    assert growth is not None and growth.objects(spec) == 2000
    assert growth.state(spec, trace)["files"] == pytest.approx(1000)
    later = growth.grown(spec, 10_000)
    state = growth.state(later, trace)
    assert (growth.objects(later), state["files"]) == (10_000, pytest.approx(5000))
    assert state["engine_bytes"] == pytest.approx(5000 * _ONE)
    assert growth.state(growth.holding(grown("metadata.files=4000"), 4000), trace)["files"] == pytest.approx(5000)


def test_the_memory_of_redis_is_a_limit_and_has_a_remedy():
    spec = grown()
    found, trace = store_of(spec), generate(spec.workload, 1)
    assert found.growth is not None and found.remedies is not None
    full = 45.5e6 / _ONE  # files
    effects = {each.name: each for each in found.growth.effects(spec, trace, 2000, 1e9)}
    assert effects["metadata"].objects == pytest.approx(2 * full, abs=2)
    assert "no memory left with 100,000 files" in effects["metadata"].text
    assert "metadata" not in {each.name for each in found.growth.effects(spec, trace, 2000, 2 * full - 5)}
    knob = found.remedies.knob(spec, "metadata")
    assert knob is not None and knob.path == "metadata.memory" and knob.text(2) == "2GB"
    for other in ("metadata={preset: tikv, memory: 45.5MB}", "metadata.memory=0"):
        names = {each.name for each in found.growth.effects(grown(other), trace, 2000, 1e12)}
        assert "metadata" not in names


def test_growth_of_the_store_below_remains():
    spec = grown("below.drives.capacity=100GB")
    growth = store_of(spec).growth
    assert growth is not None
    assert {"fill_fraction", "files", "engine_bytes"} <= set(growth.state(spec, generate(spec.workload, 1)))
    assert growth.created_each(spec) == 2


def test_too_little_memory_is_doubted():
    texts = {each.path: each.text for each in check(grown("metadata.files=1e6"), []).doubts}
    assert f"1e+06 files take 0.455 GB, about {_ONE} B each; 0.357 to 0.682 GB" in texts["metadata.memory"]


def test_memory_that_may_be_too_little_is_doubted_too():
    """The highest values of the ranges need 1.5 times as much as the assumed ones."""
    enough, short = (check(grown("metadata.files=100000", f"metadata.memory={mb}MB"), []) for mb in (70, 60))
    assert not [each for each in enough.doubts if each.path == "metadata.memory"]
    assert [each for each in short.doubts if each.path == "metadata.memory"]


def test_what_files_take_in_redis_is_unknown_with_a_range():
    spec = grown("metadata.files=1e6", "metadata.slices_per_chunk=11")
    data = spec.model_dump(mode="json", exclude_unset=True)
    found = uncertain(spec, data, "spec", origins_of(spec, data, "spec", ()))
    names = {"metadata.file_memory", "metadata.chunk_memory", "metadata.slice_memory"}
    assert names <= {each.path for each in found.unknowns}
    low, high = memory_range_bytes(spec)
    drawn = [memory_bytes(found.drawn(k, 40, 1)) for k in range(40)]
    assert low < min(drawn) < memory_bytes(spec) < max(drawn) < high
    without = grown("metadata={preset: tikv}")
    data = without.model_dump(mode="json", exclude_unset=True)
    assert not names & {
        u.path for u in uncertain(without, data, "spec", origins_of(without, data, "spec", ())).unknowns
    }
