"""A mount: which requests each operation sends, given those before it: names that are known, and files that are open.

The operations take effect in the order of the trace. In a workload without OPEN, CREATE, FSYNC and CLOSE, each READ and
WRITE is that of a program that opens the file and closes it again. A file that was not named before exists, but for one
that a PUT, a CREATE or a MKDIR names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from models.s3fs.names import Names
from models.s3fs.pages import Pages
from models.s3fs.series import DELETE, HEAD, LIST, NOTHING_FOUND, PAYLOAD, Call, Protocol, Round, Series
from traces.operations import Op

PAGE_ENTRIES = 1000
"""Entries of a page of a listing (list_bucket in s3fs.cpp: max-keys=1000)."""
OPENING: tuple[Op, ...] = ("OPEN", "CREATE", "FSYNC", "CLOSE")
"""Operations on open files: with any of them in a workload, READs and WRITEs are of files that are open."""


@dataclass
class _File:
    """A file: whether it exists and is new since it was uploaded, and its temporary file."""

    size_bytes: int
    exists: bool = True
    new: bool = False
    loaded: Pages = field(default_factory=Pages)
    changed: Pages = field(default_factory=Pages)

    def uploaded(self, *, closed: bool) -> None:
        """What was changed is in the store; the temporary file of a closed one is removed."""
        for span in self.changed.spans:
            self.loaded.add(*span)
        self.changed, self.new = Pages(), False
        if closed:
            self.loaded = Pages()


class Mount:
    """The state of a mount.

    Attributes:
        names: what it remembers.
        protocol: its requests.
        entries: number of entries of a directory.
        has_opens: whether READs and WRITEs are of files that are open.
    """

    def __init__(self, names: Names, protocol: Protocol, entries: int, has_opens: bool):
        self.names, self.protocol, self.entries, self.has_opens = names, protocol, entries, has_opens
        self._files: dict[str, _File] = {}
        self._uploads: dict[object, Series] = {}  # which are the same for many files
        self._now_s = 0.0

    def series(self, op: Op, name: str, size_bytes: int, first: int | None, count: int, now_s: float) -> Series:
        """Return the requests of the next operation.

        Args:
            op: of the operation.
            name: of the file or directory.
            size_bytes: size of the file.
            first: first byte of a range; None: all of the file.
            count: number of bytes of the range.
            now_s: time in s, or 0 if it is not known beforehand.
        """
        self._now_s = now_s
        span = (0, size_bytes) if first is None else (first, first + count)
        match op:
            case "PUT":
                return self._put(name, size_bytes)
            case "CREATE":
                return self._created(name)
            case "MKDIR":
                return self._absent_names(name) + self.protocol.made_directory()
            case "LIST" | "READDIR":
                return self._listed(name)
        file = self._files.setdefault(name, _File(size_bytes))
        match op:
            case "GET":
                return self._opened(name) + self.protocol.windows(*span, size_bytes, Pages()) + _PASSED
            case "OPEN":
                return self._opened(name)
            case "READ" | "WRITE":
                opened = () if self.has_opens else self._opened(name)
                return opened + (self._read if op == "READ" else self._written)(name, file, *span)
            case "FSYNC" | "CLOSE":
                return self._flushed(name, file, closed=op == "CLOSE")
            case "DELETE" | "UNLINK":
                return self._found(name) + self._removed(name, file)
            case "RENAME":
                return self._found(name) + self._renamed(name, file)
            case "SETATTR":
                after = HEAD * self.protocol.release.attribute_heads
                return self._found(name) + HEAD + self.protocol.copied(file.size_bytes) + after
        return self._found(name)

    # Names.

    def _found(self, name: str) -> Series:
        """A name that exists is looked up."""
        if self.names.has(name, self._now_s):
            return ()
        self.names.keep(name, self._now_s)
        return HEAD

    def _absent_names(self, name: str) -> Series:
        """A new name is looked up; then it exists."""
        self.names.keep(name, self._now_s)
        return self.protocol.absent() * self.protocol.release.creation_lookups

    def _listed(self, name: str) -> Series:
        """The pages of a directory, and a HEAD of each entry that is not known."""
        pages = LIST * max(1, -(-self.entries // PAGE_ENTRIES))
        directory = f"{name}/"
        unknown = self.entries - self.names.known_in(directory, self._now_s)
        if self.names.has(directory, self._now_s) or unknown <= 0:
            return pages
        self.names.keep(directory, self._now_s, self.entries)
        return (*pages, Round((Call("HEAD", unknown),)))

    def _removed(self, name: str, file: _File) -> Series:
        self.names.forget(name)
        file.exists = False
        file.uploaded(closed=True)
        return DELETE

    def _renamed(self, name: str, file: _File) -> Series:
        """The new name is looked up and listed, the object copied, and the old one removed."""
        before = self.protocol.absent() + NOTHING_FOUND + HEAD * self.protocol.release.rename_heads
        return before + self.protocol.copied(file.size_bytes) + self._removed(name, file)

    # Files.

    def _opened(self, name: str) -> Series:
        """A file is opened, for which its object is looked up again."""
        return self._found(name) + HEAD

    def _put(self, name: str, size_bytes: int) -> Series:
        """A file is created or truncated, written and closed."""
        known = self._files.get(name)
        new = known is None or not known.exists
        begun = self._absent_names(name) if new else self._opened(name)
        self._files[name] = _File(size_bytes)
        written: Series = ()
        done, most = 0, self.protocol.dirty_bytes
        while size_bytes - done > most:  # what has changed is uploaded before the end
            part = Pages(((done, done + most),))
            written += self.protocol.stored(most, size_bytes)
            written += self._sent(name, part, Pages(), done + most, new=new and not done)
            done += most
        small = size_bytes < self.protocol.part_bytes
        written += self.protocol.stored(PAYLOAD if small else size_bytes - done, size_bytes)
        last = Pages(((done, size_bytes),))
        return begun + written + self._sent(name, last, Pages(), size_bytes, new=new and not done, whole=not done)

    def _created(self, name: str) -> Series:
        looked = self._absent_names(name)
        self._files[name] = _File(0, new=True)
        return looked

    def _read(self, name: str, file: _File, first: int, end: int) -> Series:
        end = min(end, file.size_bytes)
        loaded = Pages(tuple(file.loaded.spans))
        for span in file.changed.spans:
            loaded.add(*span)
        found = self.protocol.windows(first, end, file.size_bytes, loaded)
        if self.has_opens:
            file.loaded = loaded
        return found + _PASSED

    def _written(self, name: str, file: _File, first: int, end: int) -> Series:
        file.size_bytes = max(file.size_bytes, end)
        file.changed.add(first, end)
        written = self.protocol.stored(PAYLOAD, file.size_bytes)
        if not self.has_opens:
            whole = (first, end) == (0, file.size_bytes)
            return written + self._flushed(name, file, closed=True, whole=whole)
        full = sum(end - first for first, end in file.changed.spans) >= self.protocol.dirty_bytes
        return written + (self._flushed(name, file, closed=False) if full else ())

    def _flushed(self, name: str, file: _File, *, closed: bool, whole: bool = False) -> Series:
        """What has changed is uploaded; `whole`: it is the payload of the operation."""
        found: Series = ()
        if file.changed.spans or file.new:
            found = self._sent(name, file.changed, file.loaded, file.size_bytes, new=file.new, whole=whole)
        file.uploaded(closed=closed)
        return found

    def _sent(
        self, name: str, changed: Pages, loaded: Pages, size_bytes: int, *, new: bool, whole: bool = False
    ) -> Series:
        key = (tuple(changed.spans), tuple(loaded.spans), size_bytes, new, whole)
        if key not in self._uploads:
            self._uploads[key] = self.protocol.uploaded(changed, loaded, size_bytes, new=new, whole=whole)
        sent = self._uploads[key]
        if sent[-1:] != HEAD and self.protocol.release.forgets_written:
            self.names.forget(name)
        return sent


_PASSED: Series = (Round(passed=PAYLOAD),)
"""The payload of a read passes to the application."""
