"""The paths of a Trace: which exist before it begins, and what is known of their contents."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from traces.errors import InputError
from validate.mount.file_rows import ON_OPEN, FileRow, Place, above


@dataclass
class FileFacts:
    """What is known of the content of a path, whenever it exists.

    Attributes:
        sizes: the sizes in bytes of whole files that it may be.
        most_bytes: the size up to which parts of it are written; 0: none are.
        content: the path of which it has the bytes (see `FileContents`); None: not known.
    """

    sizes: set[int]
    most_bytes: int = 0
    content: str | None = None

    def may_have(self, size_bytes: int, least_bytes: int = 0) -> bool:
        """Whether the file may have a size, if it has `least_bytes` at least."""
        return least_bytes <= size_bytes and (size_bytes in self.sizes or size_bytes <= self.most_bytes)

    def may_return(self, span: tuple[int, int], count: int, least_bytes: int = 0) -> bool:
        """Whether a read from `span[0]` to `span[1]` (excluded) may return a number of bytes."""
        start, wanted = span[0], span[1] - span[0]
        most = max(*self.sizes, self.most_bytes)
        if count < wanted:
            return self.may_have(start + count, least_bytes) or (count == 0 and least_bytes <= start)
        return start + count <= most


class PresupposedFile(NamedTuple):
    """A file that must exist before a replay."""

    bucket: str
    key: str
    size_bytes: int


class Tree:
    """The paths of a trace while its rows are gone through."""

    def __init__(self) -> None:
        self.facts: dict[Place, FileFacts] = {}
        self._files: dict[Place, int] = {}  # that are presupposed, with their sizes
        self._folders: dict[Place, None] = {}  # that are presupposed
        self._made: set[Place] = set()  # that an operation creates
        self._moves: dict[Place, tuple[int, Place]] = {}  # of what was renamed: when, and its former path
        self._above: set[Place] = set()  # folders, as there is a path in them
        self._data: dict[Place, str] = {}  # paths that are files, with an operation that shows it

    def take(self, row: FileRow) -> None:
        """Take note of the next row."""
        op, place = row.op, row.place
        self._need_folders(place)
        if not op.names_object:
            if op.changes:
                self._made.add(place)
            elif place[1]:
                self._need(place, None)
            return
        if op.moves_bytes or op.creates or op.name in ON_OPEN:
            self._data.setdefault(place, op.name)
        if op.creates and row.target is None:
            self._made.add(place)
            facts = self._sized(place)
            facts.sizes.add(0 if op.creates_empty else row.size_bytes)
        elif place[1]:
            facts = self.facts.setdefault(place, self._sized(self._need(place, row.size_bytes), row.size_bytes))
        else:
            facts = self._sized(place, 0)
        if row.target is not None:
            self._move(row, row.target, facts)
        elif op.writes and not op.creates:
            first, end = row.span or (0, row.size_bytes)
            if first > max(min(facts.sizes), facts.most_bytes):
                facts.content = None  # there may be a hole
            facts.most_bytes = max(facts.most_bytes, end)

    def _sized(self, place: Place, *sizes: int) -> FileFacts:
        """Return the facts of a path; a new one has the given sizes."""
        return self.facts.setdefault(place, FileFacts(set(sizes), content=place[1]))

    def _move(self, row: FileRow, target: Place, facts: FileFacts) -> None:
        """Take note of a second path, which has the content of the first one."""
        self._need_folders(target)
        self._made.add(target)
        content = facts.content if row.op.once and target not in self.facts else None
        former = self._sized(target)
        former.sizes |= facts.sizes
        former.most_bytes, former.content = max(former.most_bytes, facts.most_bytes), content
        if row.op.once:
            self._moves[target] = len(self._moves), row.place

    def _need_folders(self, place: Place) -> None:
        for folder in above(place):
            self._above.add(folder)
            self._need(folder, None)

    def _need(self, place: Place, size_bytes: int | None) -> Place:
        """Presuppose a file, or a folder (None), and return its path: below a renamed folder, the former one."""
        before = len(self._moves)
        while place not in self._made:
            found = [(self._moves[folder], folder) for folder in above(place) if folder in self._moves]
            (number, former), moved = next(((each, to) for each, to in found if each[0] < before), ((0, place), None))
            if moved is None:
                break
            place, before = (place[0], former[1] + place[1][len(moved[1]) :]), number
            self._folders.update((each, None) for each in above(place) if each in self._files or each not in self._made)
        if place not in self._made:
            if size_bytes is None:
                self._folders.setdefault(place)
            else:
                self._files.setdefault(place, size_bytes)
        return place

    def presupposed_files(self) -> list[PresupposedFile]:
        """Return the files that must exist before.

        Raises:
            InputError: one would have to be a folder, too.
        """
        for (bucket, path), op in self._data.items():
            if (bucket, path) in self._above or (bucket, path) in self._folders or not path:
                raise InputError(f"{op} of key {path!r} of bucket {bucket!r}: it would be a file and a folder")
        return [PresupposedFile(*place, size) for place, size in self._files.items() if place not in self._folders]

    def presupposed_folders(self) -> dict[str, list[str]]:
        """Return the folders that must exist before, by bucket, each after the one that it is in."""
        found = defaultdict[str, list[str]](list)
        for bucket, path in sorted(self._folders, key=lambda place: (place[1].count("/"), place)):
            found[bucket].append(path)
        return dict(found)
