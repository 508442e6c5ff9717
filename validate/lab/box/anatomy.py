"""The I/O anatomy of operations: which accesses a request makes on each drive, of which size, and in which order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from sim.json_form import NOT_IN_JSON
from traces.errors import InputError
from traces.operations import OPERATIONS, OPS, ops_that
from traces.run import Run

DATA_KINDS = ("read", "write", "fsync")
"""Kinds of accesses that are no metadata operations."""

_MOST_SIZES = 12  # of an operation; more are grouped by powers of two
_LONGEST_BLOCK = 4  # accesses that repeat together
_AFTER_ALL = 0.9  # fraction of steps that begin after all drives; one drive is always the last
_MOST_PATTERNS = 5


@dataclass(frozen=True)
class Step:
    """An access of each drive.

    Attributes:
        file: within the object, or a path; ``<id>`` and ``#`` stand for what varies.
        size_bytes: median number of bytes read or written.
        after_all: whether it begins only when all drives have finished the step before.
    """

    kind: str
    file: str
    size_bytes: int
    after_all: bool


@dataclass(frozen=True)
class Block:
    """Steps that a drive repeats a number of times, in the median."""

    steps: tuple[Step, ...]
    times: float


@dataclass(frozen=True)
class DriveWork:
    """What a number of drives do for a request, each of them one step after the other."""

    drives: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Pattern:
    """What all drives do for a request, and how many requests are so."""

    requests: int
    drives: tuple[DriveWork, ...]


class RequestAccess(NamedTuple):
    """An access made for a request; times in s from the start of the request."""

    host: int
    drive: int
    kind: str
    file: str
    size_bytes: int
    arrival_s: float
    queued_s: float
    served_s: float
    end_s: float

    @property
    def look(self) -> tuple[str, str, int]:
        """What is the same in requests of the same pattern."""
        return self.kind, self.file, self.size_bytes.bit_length()


@dataclass(frozen=True)
class OperationAnatomy:
    """The accesses of an operation on objects of a size.

    Attributes:
        size_bytes: of the objects; their median if sizes are grouped.
        requests: number of successful requests.
        accesses: mean number of accesses of each kind per request, on all drives together.
        read_bytes, written_bytes: mean per request, on all drives together.
        patterns: the most frequent first.
        other_patterns: number of further patterns, which few requests have.
        example: the request of the most frequent pattern with the median latency.
    """

    op: str
    size_bytes: int
    requests: int
    accesses: dict[str, float]
    read_bytes: float
    written_bytes: float
    patterns: tuple[Pattern, ...]
    other_patterns: int
    example: tuple[RequestAccess, ...] = field(metadata=NOT_IN_JSON)


@dataclass(frozen=True)
class Anatomy:
    """The anatomy of the operations of a Run.

    Attributes:
        accesses: number of accesses during the Run.
        without_request: number of those whose request is not known: there was none, or several are possible.
    """

    operations: tuple[OperationAnatomy, ...]
    accesses: int
    without_request: int


class _Look(NamedTuple):
    """A block of a drive's accesses as patterns know it."""

    steps: tuple[tuple[str, str, int], ...]


_Request = dict[tuple[int, int], list[RequestAccess]]
"""The accesses made for a request, by drive, in the order of arrival."""


def anatomy(run: Run, metadata: bool = False) -> Anatomy:
    """Return the anatomy of the operations of a Run.

    It is complete if requests were issued one after another; otherwise some accesses have no request.

    Args:
        metadata: whether patterns include metadata operations.

    Raises:
        InputError: the Run has no accesses of drives.
    """
    if run.drive_accesses is None:
        raise InputError("the Run has no accesses of drives; it was not measured on drives that log them")
    requests = _by_request(run)
    rows_of: dict[tuple[str, int], list[int]] = defaultdict(list)
    sizes = _size_groups(run)
    for row in np.flatnonzero(~run.failed).tolist():
        rows_of[OPS[run.op[row]], sizes[row]].append(row)
    order = sorted(rows_of, key=lambda name: (OPS.index(name[0]), name[1]))
    operations = tuple(_operation(op, run, rows_of[op, size], requests, metadata) for op, size in order)
    column = run.drive_accesses.column("request")
    return Anatomy(operations, len(column), column.null_count)


def _by_request(run: Run) -> dict[int, _Request]:
    """Return the accesses by request, with times from the start of the request."""
    assert run.drive_accesses is not None
    start_s = run.column("start_s")
    table = run.drive_accesses.filter(pc.is_valid(run.drive_accesses.column("request")))
    found: dict[int, _Request] = defaultdict(lambda: defaultdict(list))
    for row in table.to_pylist():
        from_s, request = float(start_s[row["request"]]), row.pop("request")
        row |= {name: row[name] - from_s for name in ("arrival_s", "end_s")}
        access = RequestAccess(*(row[name] for name in RequestAccess._fields))
        found[request][access.host, access.drive].append(access)
    return found


def _size_groups(run: Run) -> list[int]:
    """Return the group of sizes of each request: the size itself, or its number of binary digits."""
    sizes = run.column("size_bytes")
    groups = sizes.copy()
    for op in range(len(OPS)):
        of_op = run.op == op
        if len(np.unique(sizes[of_op])) > _MOST_SIZES:
            groups[of_op] = [int(size).bit_length() for size in sizes[of_op]]
        if not OPERATIONS[op].names_object:
            groups[of_op] = 0
    result: list[int] = groups.tolist()
    return result


def _operation(op: str, run: Run, rows: list[int], found: dict[int, _Request], metadata: bool) -> OperationAnatomy:
    requests = {row: found.get(row, {}) for row in rows}
    made = [access for request in requests.values() for drive in request.values() for access in drive]
    counts = Counter(access.kind for access in made)
    moved = {kind: sum(access.size_bytes for access in made if access.kind == kind) for kind in ("read", "write")}
    looks = {row: _pattern_of(request, metadata) for row, request in requests.items()}
    members: dict[Any, list[int]] = defaultdict(list)
    for row, look in looks.items():
        members[look].append(row)
    ranked = sorted(members.items(), key=lambda item: -len(item[1]))
    patterns = tuple(_pattern(look, [requests[row] for row in of], metadata) for look, of in ranked[:_MOST_PATTERNS])
    latency_s = run.column("end_s") - run.column("start_s")
    usual = sorted(ranked[0][1], key=latency_s.__getitem__)
    example = requests[usual[len(usual) // 2]]
    return OperationAnatomy(
        op,
        round(median(run.column("size_bytes")[rows].tolist())) if op in ops_that("names_object") else 0,
        len(rows),
        {kind: count / len(rows) for kind, count in sorted(counts.items(), key=_data_first)},
        moved["read"] / len(rows),
        moved["write"] / len(rows),
        patterns,
        max(0, len(ranked) - _MOST_PATTERNS),
        tuple(access for drive in example.values() for access in drive),
    )


def _data_first(item: tuple[str, int]) -> tuple[int, str]:
    kind = item[0]
    return DATA_KINDS.index(kind) if kind in DATA_KINDS else len(DATA_KINDS), kind


def _shown(drive: Iterable[RequestAccess], metadata: bool) -> list[RequestAccess]:
    return [access for access in drive if metadata or access.kind in DATA_KINDS]


def _pattern_of(request: _Request, metadata: bool) -> tuple[tuple[tuple[_Look, ...], int], ...]:
    """Return what drives do and how many of them, without the number of repetitions."""
    drives = (_shown(drive, metadata) for drive in request.values())
    works = Counter(tuple(look for look, _ in _blocks([access.look for access in drive])) for drive in drives if drive)
    return tuple(sorted(works.items()))


def _blocks(looks: Sequence[tuple[str, str, int]]) -> list[tuple[_Look, int]]:
    """Divide a sequence of accesses into blocks that repeat, with their repetitions: the longest repetition first."""
    found: list[tuple[_Look, int]] = []
    at = 0
    while at < len(looks):
        best, times = 1, 1
        for length in range(1, _LONGEST_BLOCK + 1):
            block, repeated = looks[at : at + length], 1
            while looks[at + repeated * length : at + (repeated + 1) * length] == block:
                repeated += 1
            if repeated > 1 and repeated * length > times * best:
                best, times = length, repeated
        found.append((_Look(tuple(looks[at : at + best])), times))
        at += best * times
    return found


def _pattern(look: Any, requests: Sequence[_Request], metadata: bool) -> Pattern:
    """Return a pattern with the sizes, repetitions and order of its requests."""
    sizes: dict[Any, list[int]] = defaultdict(list)
    waits: dict[Any, list[bool]] = defaultdict(list)
    repeated: dict[Any, list[int]] = defaultdict(list)
    for request in requests:
        drives = [shown for drive in request.values() if (shown := _shown(drive, metadata))]
        for drive in drives:
            blocks, at = _blocks([access.look for access in drive]), 0
            work = tuple(block for block, _ in blocks)
            for number, (block, times) in enumerate(blocks):
                repeated[work, number].append(times)
                for i in range(times * len(block.steps)):
                    step = work, number, i % len(block.steps)
                    sizes[step].append(drive[at].size_bytes)
                    if at > 0:
                        waits[step].append(_begins_after_all(drives, drive, at))
                    at += 1
    works = []
    for work, count in look:
        blocks_ = []
        for number, block in enumerate(work):
            steps = []
            for i, (kind, file, _) in enumerate(block.steps):
                flags = waits[work, number, i]
                after_all = bool(flags) and sum(flags) >= _AFTER_ALL * len(flags)
                steps.append(Step(kind, file, round(median(sizes[work, number, i])), after_all))
            blocks_.append(Block(tuple(steps), median(repeated[work, number])))
        works.append(DriveWork(count, tuple(blocks_)))
    return Pattern(len(requests), tuple(sorted(works, key=lambda work: -work.drives)))


def _begins_after_all(drives: Sequence[Sequence[RequestAccess]], drive: Sequence[RequestAccess], at: int) -> bool:
    """Whether the access of a drive arrived after the access before it had ended on all of several drives."""
    ends = [other[at - 1].end_s for other in drives if len(other) >= at]
    return len(ends) > 1 and drive[at].arrival_s >= max(ends)
