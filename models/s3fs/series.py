"""The series of requests that an operation sends to the store, as rounds that come one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from models.s3fs.pages import COPY_BYTES, Pages, Span, mixed_stretches, part_sizes, piece_sizes
from models.s3fs.release import Release
from traces.operations import Op

PAYLOAD = -1
"""The bytes of the operation's payload, whatever their number."""
_ONE_WRITE_BYTES = 128 << 10  # of FUSE (max_write): a file of one is known after its upload, as measured


@dataclass(frozen=True)
class Call:
    """Equal requests to the store.

    Attributes:
        op: their operation.
        count: how many there are.
        size_bytes: what each of them moves or copies, or `PAYLOAD`.
        of_part: whether they are of an upload in parts, before its completion.
        absent: whether they look for what does not exist.
    """

    op: Op
    count: int = 1
    size_bytes: int = 0
    of_part: bool = False
    absent: bool = False


@dataclass(frozen=True)
class Round:
    """Requests that a mount sends together and waits for, and what it does meanwhile.

    Attributes:
        calls: the requests.
        written, read: bytes of the temporary file, or `PAYLOAD`.
        waits: whether the drive of the temporary file is waited for, because the memory does not keep it.
        passed: bytes that pass between application and mount, or `PAYLOAD`.
    """

    calls: tuple[Call, ...] = ()
    written: int = 0
    read: int = 0
    waits: bool = False
    passed: int = 0


Series = tuple[Round, ...]

HEAD: Series = (Round((Call("HEAD"),)),)
LIST: Series = (Round((Call("LIST"),)),)
NOTHING_FOUND: Series = (Round((Call("LIST", absent=True),)),)
"""A listing of a prefix without objects."""
_NO_OBJECT: Series = (Round((Call("HEAD", absent=True),)),)
DELETE: Series = (Round((Call("DELETE"),)),)
EMPTY: Series = (Round((Call("PUT"),)),)
"""An object without bytes; the end of an upload, whose body is not the object, costs the store as much."""
_BEGIN: Series = (Round((Call("PUT", of_part=True),)),)


def calls_of(op: Op, sizes: Iterable[int], of_part: bool = False) -> tuple[Call, ...]:
    """Return requests of these sizes, equal ones together."""
    return tuple(Call(op, count, size, of_part) for size, count in Counter(sizes).items())


@dataclass(frozen=True)
class Protocol:
    """The requests of a mount.

    Attributes:
        release: of s3fs.
        part_bytes: `multipart_size`.
        ahead_bytes: what a read fetches at least, if the file has as much.
        page_cache_bytes: largest temporary file that the memory keeps.
        dirty_bytes: changed bytes of a file after which it is uploaded (`max_dirty_data`).
    """

    release: Release
    part_bytes: int
    ahead_bytes: int
    page_cache_bytes: int
    dirty_bytes: int

    def absent(self) -> Series:
        """A name is looked up that does not exist."""
        return _NO_OBJECT * self.release.absent_heads + NOTHING_FOUND

    def made_directory(self) -> Series:
        """A directory is made, after the look-ups of its absent name."""
        return EMPTY + (_NO_OBJECT + HEAD if self.release.looks_after_mkdir else ())

    def fetched(self, spans: Iterable[Span], size_bytes: int, *, whole: bool = False) -> Series:
        """Stretches of a file are read, one after the other, each in ranges together; `whole`: the payload."""
        waits = self._waits(size_bytes)
        found: Series = ()
        for first, end in spans:
            if whole and end <= self.part_bytes:
                found += (Round((Call("GET", size_bytes=PAYLOAD),), PAYLOAD, waits=waits),)
            else:
                calls = calls_of("GET", piece_sizes(end - first, self.part_bytes))
                found += (Round(calls, end - first, waits=waits),)
        return found

    def windows(self, first: int, end: int, size_bytes: int, loaded: Pages) -> Series:
        """A stretch of a file is read: what is missing, and at least `ahead_bytes` at a time."""
        found: Series = ()
        while first < end and (lacking := next(loaded.missing(first, end), None)) is not None:
            first = lacking[0]
            until = min(first + self.ahead_bytes, size_bytes)
            whole = (first, until) == (0, end) == (0, size_bytes)
            found += self.fetched(list(loaded.missing(first, until)), size_bytes, whole=whole)
            loaded.add(first, until)
            first = until
        return found

    def uploaded(self, changed: Pages, loaded: Pages, size_bytes: int, *, new: bool, whole: bool) -> Series:
        """A file is uploaded, of which some bytes changed; `whole`: by the operation that wrote all of them."""
        last = HEAD if size_bytes > _ONE_WRITE_BYTES or not new else ()
        waits = self._waits(size_bytes)
        if size_bytes < self.part_bytes:
            lacking = self._lacking(changed, loaded, [(0, size_bytes)], size_bytes)
            sent = PAYLOAD if whole else size_bytes
            return (*lacking, Round((Call("PUT", size_bytes=sent),), read=sent * waits, waits=waits), *last)
        stretches = mixed_stretches(changed, size_bytes)
        sent_bytes = [
            size for first, end, sent in stretches if sent for size in part_sizes(end - first, self.part_bytes)
        ]
        copied = [size for first, end, sent in stretches if not sent for size in piece_sizes(end - first, COPY_BYTES)]
        parts = calls_of("PUT", sent_bytes, True) + calls_of("COPY", copied, True)
        lacking = self._lacking(changed, loaded, [(first, end) for first, end, sent in stretches if sent], size_bytes)
        return (*lacking, *_BEGIN, Round(parts, read=sum(sent_bytes) * waits, waits=waits), *EMPTY, *last)

    def _lacking(self, changed: Pages, loaded: Pages, spans: list[Span], size_bytes: int) -> Series:
        """The bytes that are to be sent, and are not in the temporary file."""
        held = Pages(tuple(changed.spans))
        for span in loaded.spans:
            held.add(*span)
        return self.fetched([lacking for span in spans for lacking in held.missing(*span)], size_bytes)

    def _waits(self, size_bytes: int) -> bool:
        return size_bytes > self.page_cache_bytes

    def stored(self, size_bytes: int, file_bytes: int) -> Series:
        """The payload is written to the temporary file, which has as many bytes then."""
        return (Round((), size_bytes, waits=self._waits(file_bytes), passed=size_bytes),)

    def copied(self, size_bytes: int) -> Series:
        """An object is copied by the store."""
        if size_bytes < COPY_BYTES:
            return (Round((Call("COPY", size_bytes=size_bytes),)),)
        return (*_BEGIN, Round(calls_of("COPY", piece_sizes(size_bytes, COPY_BYTES), True)), *EMPTY)
