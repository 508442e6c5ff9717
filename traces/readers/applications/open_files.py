"""The open files of processes, as their calls tell: descriptors, offsets, current directories."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field


@dataclass(eq=False)
class OpenFile:
    """An open file description (POSIX): descriptors of several processes may share it, with its offset.

    Attributes:
        path: of a file or a directory; None for anything else.
        handle: unique.
        offset_bytes: where the next read or write begins.
        appends: whether writes go to the end.
        descriptors: how many there are of it.
        listed: whether its directory has been read.
    """

    path: str | None
    handle: int = 0
    offset_bytes: int = 0
    appends: bool = False
    descriptors: int = 0
    listed: bool = False


@dataclass(eq=False)
class Process:
    """The descriptors that threads share.

    Attributes:
        files: open file by descriptor.
        closed_by_exec: descriptors that end when another program begins.
        directory: current directory; None if it is not known, so that relative paths stay as they are.
        threads: how many there are.
    """

    files: dict[int, OpenFile] = field(default_factory=dict)
    closed_by_exec: set[int] = field(default_factory=set)
    directory: str | None = None
    threads: int = 1

    def put(self, descriptor: int, file: OpenFile, closed_by_exec: bool = False) -> None:
        """Let a descriptor be of an open file, in place of what it was of before."""
        if self.files.get(descriptor) is not file:
            self.drop(descriptor)
            file.descriptors += 1
            self.files[descriptor] = file
        (self.closed_by_exec.add if closed_by_exec else self.closed_by_exec.discard)(descriptor)

    def drop(self, descriptor: int) -> OpenFile | None:
        """Close a descriptor; return what it was of."""
        file = self.files.pop(descriptor, None)
        self.closed_by_exec.discard(descriptor)
        if file is not None:
            file.descriptors -= 1
        return file

    def execute(self) -> None:
        """Begin another program."""
        for descriptor in list(self.closed_by_exec):
            self.drop(descriptor)

    def path_of(self, path: str, at: int | None = None) -> str:
        """Return a path without ``.`` and ``..``, from a directory that is open, or the current one."""
        if at is not None and not path.startswith("/"):
            file = self.files.get(at)
            base = file.path if file is not None else None
        else:
            base = self.directory
        whole = posixpath.join(base, path) if base else path
        return posixpath.normpath(whole)


class Processes:
    """Processes by the IDs of their threads.

    Attributes:
        first: ID of the process whose lines name none as long as it is the only one; -1: not known.
    """

    def __init__(self) -> None:
        self.first = -1
        self._of: dict[int, Process] = {}
        self._parents: list[tuple[int, bool]] = []  # of calls that have not returned: thread, whether it is a thread
        self._children: set[int] = set()

    def of(self, pid: int) -> Process:
        """Return the process of a thread: of a new one, that of whose call has not returned."""
        if pid not in self._of:
            if pid == self.first and -1 in self._of:
                self._of[pid] = self._of[-1]
            elif self._parents:
                parent, shares = self._parents.pop(0)
                self.born(parent, pid, shares)
            elif -1 in self._of and self.first == -1 and pid not in self._children:
                self.first = pid
                self._of[pid] = self._of[-1]
            else:
                self._of[pid] = Process()
        return self._of[pid]

    def bears(self, parent: int, shares: bool) -> None:
        """Note that a call makes a process or a thread, whose ID it has not returned yet."""
        self.of(parent)
        self._parents.append((parent, shares))

    def born(self, parent: int, child: int, shares: bool) -> None:
        """Add a process with the open files of its parent, or a thread that shares them."""
        self.bore_none(parent)
        self._children.add(child)
        if child in self._of:
            return
        mother = self._of.setdefault(parent, Process())
        if shares:
            mother.threads += 1
            self._of[child] = mother
            return
        made = Process(directory=mother.directory)
        for descriptor, file in mother.files.items():
            made.put(descriptor, file, descriptor in mother.closed_by_exec)
        self._of[child] = made

    def bore_none(self, parent: int) -> None:
        """Note that a call has returned, or has failed to make a process."""
        of_parent = self._of.get(parent)
        self._parents = [each for each in self._parents if self._of.get(each[0]) is not of_parent]

    def renamed(self, old: str, new: str) -> None:
        """Give open files at or below a path their new one."""
        for file in {id(file): file for process in self._of.values() for file in process.files.values()}.values():
            if file.path is not None and (file.path == old or file.path.startswith(f"{old}/")):
                file.path = new + file.path[len(old) :]

    def ended(self, pid: int) -> None:
        """Remove a thread, and with the last one the descriptors of its process."""
        process = self._of.pop(pid, None)
        if process is None:
            return
        process.threads -= 1
        if process.threads <= 0:
            for descriptor in list(process.files):
                process.drop(descriptor)
