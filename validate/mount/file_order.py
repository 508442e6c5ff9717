"""The order of operations on files: which rows of a Trace wait for others, and how large a file is at least by then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from validate.mount.file_rows import FileRow, OpenName, Place, above


@dataclass(frozen=True)
class Order:
    """The order of the rows of a trace.

    Attributes:
        waits: for each row, the rows of its phase that have to end before it begins.
        least_bytes: for each row, the size of its file at least, as writes that have ended by then made it.
    """

    waits: list[tuple[int, ...]]
    least_bytes: list[int]


@dataclass
class _Path:
    """A path while the rows are gone through.

    Attributes:
        exists: None: no row has named it.
        altered: the last row that created, renamed or removed it.
        users: the rows on it, or below it, since then.
        size_bytes: its size by the writes that have ended whenever a row on it begins.
        ends_bytes: how far it was written since then, by open file.
    """

    size_bytes: int = 0
    exists: bool | None = None
    altered: int | None = None
    users: list[int] = field(default_factory=list)
    ends_bytes: dict[OpenName | None, int] = field(default_factory=dict)

    def settle(self) -> int:
        """All writes before have ended; return the size."""
        self.size_bytes = max(self.size_bytes, *self.ends_bytes.values(), 0)
        self.ends_bytes.clear()
        return self.size_bytes

    def least_bytes(self, name: OpenName | None) -> int:
        """Return the size for an operation on an open file."""
        return max(self.size_bytes, 0 if name is None else self.ends_bytes.get(name, 0))


def order_of(
    rows: Sequence[FileRow], opened: Sequence[OpenName | None], phases: Sequence[int], sizes: Mapping[Place, int]
) -> Order:
    """Return the order of rows.

    Args:
        rows: of the trace.
        opened: the open file of each.
        phases: of each.
        sizes: in bytes, of the files that exist before.
    """
    last_of: dict[OpenName, int] = {}
    paths: dict[Place, _Path] = {}

    def path(place: Place) -> _Path:
        return paths.setdefault(place, _Path(sizes.get(place, 0)))

    waits, least = [], []
    for number, (row, name) in enumerate(zip(rows, opened, strict=True)):
        if number and phases[number] != phases[number - 1]:
            for each in paths.values():
                each.settle()
        needs: set[int] = set()
        if name is not None:
            needs.update([last_of[name]] if name in last_of else ())
            last_of[name] = number
        for place, exists in _effects(row, path(row.place)).items():
            found, folders = path(place), above(place)
            needs.update(p.altered for p in (found, *map(path, folders)) if p.altered is not None)
            if exists is None:
                found.users.append(number)
            else:
                needs.update(found.users)
                found.settle()
                found.users, found.altered, found.exists = [], number, exists
            for folder in folders:
                path(folder).users.append(number)
        least.append(path(row.place).least_bytes(name))
        _resize(row, name, path(row.place), None if row.target is None else path(row.target))
        waits.append(tuple(each for each in needs if each != number and phases[each] == phases[number]))
    return Order(waits, least)


def _effects(row: FileRow, path: _Path) -> dict[Place, bool | None]:
    """Return for each path of a row whether it exists afterwards; None if the row does not change that.

    A PUT or a copy over an existing file does not.
    """
    op = row.op
    if row.target is not None:
        return {row.place: False if op.once else None, row.target: True}
    if op.removes:
        return {row.place: False}
    if op.once or (op.creates and not path.exists):
        return {row.place: True}
    path.exists = True if path.exists is None else path.exists
    return {row.place: None}


def _resize(row: FileRow, name: OpenName | None, path: _Path, target: _Path | None) -> None:
    """Take note of what a row does to the sizes of its files."""
    if target is not None:
        target.size_bytes = path.least_bytes(None)
    if row.op.removes or row.op.creates_empty:
        path.size_bytes = 0
    elif row.op.creates and row.target is None:
        is_new = path.altered is not None and not path.users
        path.size_bytes = row.size_bytes if is_new else min(path.size_bytes, row.size_bytes)
    elif row.op.writes:
        end = row.span[1] if row.span else row.size_bytes
        path.ends_bytes[name] = max(path.ends_bytes.get(name, 0), end)
