"""What a trace presupposes on a mount, and which of its operations wait for others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.small_traces import trace_of
from traces.errors import InputError
from traces.trace import Pacing
from validate.mount.contents import FileContents
from validate.mount.file_plan import FilePlan, file_plan
from validate.mount.mount_path import MOUNT
from validate.replay.plan import Options, plan_of


def plan(*rows: tuple[str, str], **columns: Any) -> FilePlan:
    return file_plan(trace_of([op for op, _ in rows], [key for _, key in rows], Pacing("closed", 4), **columns))


def files(found: FilePlan) -> list[str]:
    return [each.key for each in found.files]


def test_a_path_exists_before_unless_its_first_operation_creates_it() -> None:
    found = plan(
        ("STAT", "a/old"), ("CREATE", "a/new"), ("STAT", "a/new"), ("PUT", "b/put"), ("GET", "b/put"), ("MKDIR", "c"),
        ("CREATE", "c/d"), ("READDIR", "e/f"), ("LIST", "g/h"), ("UNLINK", "x"), ("CREATE", "x"), ("STAT", "/"),
    )  # fmt: skip
    assert files(found) == ["a/old", "x"]
    assert found.folders == {"b": ["a", "b", "e", "g", "e/f"]}


def test_renames_take_files_and_what_is_below_a_folder_along() -> None:
    found = plan(
        ("RENAME", "d"), ("READ", "e/f/g"), ("WRITE", "k"), ("RENAME", "k"), ("READ", "l"),
        target=["e", None, None, "l", None], size_bytes=[0, 10, 20, 20, 20],
    )  # fmt: skip
    assert [(each.key, each.size_bytes) for each in found.files] == [("d/f/g", 10), ("k", 20)]
    assert found.folders == {"b": ["d", "d/f"]}
    assert found.facts["b", "e/f/g"].content == "d/f/g" and found.facts["b", "l"].content == "k"
    assert file_plan(
        trace_of(["RENAME"] * 2 + ["STAT"], ["a", "b", "a/x"], target=["b", "a", None])
    ).files[0].key == "a/x", "renamed there and back"  # fmt: skip


def test_sizes_that_a_file_may_have() -> None:
    found = plan(
        ("CREATE", "new"), ("WRITE", "new"), ("WRITE", "new"), ("OPEN", "old"), ("WRITE", "old"),
        range_start_bytes=[None, 0, 100, None, 5000], range_bytes=[None, 100, 50, None, 10],
    )  # fmt: skip
    assert [each.size_bytes for each in found.files] == [4096]
    new, old = found.facts["b", "new"], found.facts["b", "old"]
    assert new.may_have(0) and new.may_have(100) and new.may_have(150) and not new.may_have(151)
    assert new.content == "new" and old.content is None, "a write behind the end leaves a hole"
    assert old.may_return((4000, 5000), 96, 4096) and old.may_return((4000, 5000), 1000, 4096)
    assert not old.may_return((4000, 5000), 95, 4096) and not old.may_return((6000, 7000), 1)
    assert found.order.least_bytes == [0, 0, 100, 4096, 4096]
    fixed = plan(("PUT", "k"), ("GET", "k"), size_bytes=[10, 10]).facts["b", "k"]
    assert fixed.may_return((4, 100), 6) and not fixed.may_return((4, 100), 5)


@pytest.mark.parametrize(
    ("rows", "columns", "waits"),
    [
        ([("CREATE", "f"), ("WRITE", "f"), ("CLOSE", "f"), ("RENAME", "f"), ("STAT", "g")],
         {"target": [None, None, None, "g", None]}, [(), (0,), (0, 1), (0, 1, 2), (3,)]),
        ([("STAT", "f"), ("STAT", "f"), ("UNLINK", "f")], {}, [(), (), (0, 1)]),
        ([("GET", "f"), ("PUT", "f"), ("GET", "f")], {}, [(), (), ()]),
        ([("PUT", "f"), ("GET", "f"), ("PUT", "f")], {}, [(), (0,), (0,)]),
        ([("PUT", "f"), ("GET", "f")], {"phase": [0, 1]}, [(), ()]),
        ([("MKDIR", "d"), ("PUT", "d/f"), ("RENAME", "d")], {"target": [None, None, "e"]}, [(), (0,), (0, 1)]),
        ([("OPEN", "f"), ("READ", "f"), ("OPEN", "f"), ("READ", "f")], {"handle": [1, 1, 2, 2]},
         [(), (0,), (), (2,)]),
    ],
)  # fmt: skip
def test_operations_wait_for_those_that_they_need(rows: Any, columns: Any, waits: Any) -> None:
    assert [tuple(sorted(each)) for each in plan(*rows, **columns).order.waits] == waits


def test_a_file_has_what_was_written_to_it_before() -> None:
    found = plan(
        ("CREATE", "f"), ("WRITE", "f"), ("READ", "f"), ("READ", "f"), ("CLOSE", "f"), ("RENAME", "f"), ("STAT", "g"),
        handle=[1, 1, 2, 1, 1, None, None], target=[None] * 5 + ["g", None],
        range_start_bytes=[None, 0, 0, 0, None, None, None], range_bytes=[None, 50, 9, 9, None, None, None],
    )  # fmt: skip
    assert found.order.least_bytes == [0, 0, 0, 50, 50, 50, 50], "another open file may be read before"
    by_phase = plan(("PUT", "f"), ("PUT", "f"), ("GET", "f"), size_bytes=[9, 5, 5], phase=[0, 1, 2])
    assert by_phase.order.least_bytes == [0, 9, 5] and not by_phase.files


def test_open_files_are_those_of_handles_else_of_paths_else_none() -> None:
    assert plan(("READ", "f"), ("WRITE", "f")).opened == [None, None]
    assert plan(("OPEN", "f"), ("READ", "f"), ("STAT", "f")).opened == [("b", "f"), ("b", "f"), None]
    found = plan(("OPEN", "f"), ("WRITE", "f"), ("CLOSE", "f"), handle=[7, 7, None])
    assert found.opened == [("b", 7), ("b", 7), ("b", "f")] and found.written == {("b", 7)}


def test_what_cannot_be_replayed_is_refused() -> None:
    repeated = Pacing("closed", 2, duration_s=1.0, repeat=True)
    with pytest.raises(InputError, match="CREATE, UNLINK of a path succeeds only once"):
        file_plan(trace_of(["UNLINK", "CREATE"], ["a", "b"], repeated))
    with pytest.raises(InputError, match="'d' of bucket 'b': it would be a file and a folder"):
        plan(("READ", "d"), ("STAT", "d/f"))
    with pytest.raises(InputError, match="from 1 process"):
        plan_of(trace_of(["OPEN", "READ"], ["a", "a"]), Options(data_path=MOUNT, processes=2))
    with pytest.raises(InputError, match="a replay issues GET, PUT, HEAD, DELETE, LIST; on a mount also those"):
        plan_of(trace_of(["OPEN"], ["a"]), Options())


def test_bytes_follow_from_path_and_position() -> None:
    contents = FileContents()
    whole = b"".join(contents.parts("k", 9_000_000))
    assert len(whole) == 9_000_000 and whole[:4096] != whole[4096:8192]
    for begin, end in ((0, 10), (4_000_000, 4_500_000), (8_999_999, 9_000_000), (5, 5)):
        assert b"".join(contents.between("k", begin, end)) == whole[begin:end]
    assert b"".join(contents.parts("l", 100)) != whole[:100]
