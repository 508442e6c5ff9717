"""The I/O anatomy of operations."""

from __future__ import annotations

import pytest

from tests.runs import run_of
from tests.validate.lab.box.recorded_run import LOGS, recorded_run
from traces.errors import InputError
from traces.run import Run
from validate.lab.box.accesses import drive_accesses
from validate.lab.box.anatomy import DriveWork, OperationAnatomy, Pattern, anatomy


def with_accesses(run: Run) -> Run:
    return Run.of(run.requests, run.info, drive_accesses=drive_accesses(LOGS, run))


@pytest.fixture(scope="module")
def operations() -> dict[tuple[str, int], OperationAnatomy]:
    found = anatomy(with_accesses(recorded_run()))
    assert found.accesses > 200 and found.without_request == 0
    return {(operation.op, operation.size_bytes): operation for operation in found.operations}


def steps(work: DriveWork) -> list[tuple[str, str, int, bool]]:
    return [(s.kind, s.file, s.size_bytes, s.after_all) for block in work.blocks for s in block.steps]


def test_operations_are_told_apart_by_size(operations: dict[tuple[str, int], OperationAnatomy]) -> None:
    assert list(operations) == [
        ("GET", 4096),
        ("GET", 1 << 20),
        ("PUT", 4096),
        ("PUT", 1 << 20),
        ("DELETE", 4096),
        ("LIST", 0),
    ]


def test_steps_of_a_large_read(operations: dict[tuple[str, int], OperationAnatomy]) -> None:
    get = operations["GET", 1 << 20]
    (pattern,) = get.patterns
    assert {work.drives for work in pattern.drives} == {2}
    few, many = sorted((steps(work) for work in pattern.drives), key=len)
    assert few == [("read", "xl.meta", 359, False)]
    assert many == [
        ("read", "xl.meta", 359, False),
        ("read", "<id>/part.#", 32, True),  # when the metadata of all four drives are known
        ("read", "<id>/part.#", 524288, False),
    ]
    assert get.accesses == {"read": 8, "open": 6} and get.read_bytes == 4 * 359 + (1 << 20) + 64


def test_new_and_overwritten_objects_have_patterns_of_their_own(
    operations: dict[tuple[str, int], OperationAnatomy],
) -> None:
    put = operations["PUT", 4096]
    assert put.requests == 2 and put.other_patterns == 0 and [p.requests for p in put.patterns] == [1, 1]
    new, over = sorted((steps(pattern.drives[0]) for pattern in put.patterns), key=len)
    assert [step[0] for step in new] == ["write", "fsync"]
    assert [step[0] for step in over] == ["read", "write", "fsync", "write", "fsync"]
    assert put.accesses["write"] == (4 + 8) / 2


def test_repeated_steps_are_counted(operations: dict[tuple[str, int], OperationAnatomy]) -> None:
    (work,) = operations["DELETE", 4096].patterns[0].drives
    (block,) = work.blocks
    assert (work.drives, block.times, len(block.steps)) == (4, 3, 1)
    assert block.steps[0].after_all  # each of the three reads waits for all drives


def test_the_example_is_a_request_in_the_order_of_time(operations: dict[tuple[str, int], OperationAnatomy]) -> None:
    example = operations["PUT", 1 << 20].example
    assert len(example) == sum(operations["PUT", 1 << 20].accesses.values())
    assert all(0 < access.arrival_s <= access.end_s < 0.1 for access in example)
    writes = [access for access in example if access.kind == "write" and access.drive == 0]
    assert [access.arrival_s for access in writes] == sorted(access.arrival_s for access in writes)


def test_metadata_operations_can_be_steps() -> None:
    found = anatomy(with_accesses(recorded_run()), metadata=True)
    get = next(operation for operation in found.operations if (operation.op, operation.size_bytes) == ("GET", 4096))
    assert [step[0] for step in steps(get.patterns[0].drives[0])] == ["open", "read"]


def test_a_request_without_accesses_has_a_pattern_without_drives() -> None:
    run = run_of([0.01], info={"zero_at": 0})
    found = anatomy(Run.of(run.requests, run.info, drive_accesses=drive_accesses([], run)))
    assert found.operations[0].patterns == (Pattern(1, ()),)


def test_failed_requests_are_left_out() -> None:
    run = recorded_run()
    failed = run.requests.set_column(
        run.requests.column_names.index("error"), "error", [["SlowDown", *[None] * (len(run) - 1)]]
    )
    found = anatomy(with_accesses(Run.of(failed.drop_columns("winner"), run.info)))
    put = next(operation for operation in found.operations if operation.op == "PUT")
    assert put.requests == 1 and steps(put.patterns[0].drives[0])[0][0] == "read"


def test_a_run_without_a_log_has_no_anatomy() -> None:
    with pytest.raises(InputError, match="accesses of drives"):
        anatomy(run_of([0.01]))
