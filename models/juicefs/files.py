"""What the requests of a Trace do to the files of a JuiceFS: rounds to the metadata engine, blocks read and stored.

All of it follows from the requests before a run: which attributes and blocks are cached, which writes continue a slice,
and which reads are sequential. Files and folders are told apart by their keys; a folder is what is before the last
slash. Requests use the mounts in turn. In a closed loop, the times by which cached attributes expire are those of
clients whose operations take no longer than their rounds and pauses, so caches are no colder than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.juicefs.cached import cached_reads, starts_bytes
from models.juicefs.metadata import IN_FOLDER, ON_FILE, rounds
from models.juicefs.sections import CHUNK_BYTES, TMP_FOLDERS
from models.juicefs.slices import AT_READ, Compaction, Slice, compacted, is_due_at_write
from models.juicefs.spec import JuiceFSSpec
from models.shared.multipart import in_parts
from models.shared.recent import Recent
from traces.operations import COPY, FILE, OPS, S3, Op, rows_that
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace

OPERATIONS: tuple[Op, ...] = (*S3, OPS[COPY], *FILE)
"""The operations that a JuiceFS serves; a gateway those of S3 and copies."""

_SIZES = 16  # sizes of parts of blocks that are exact
_FOLDERS = _CHANGED_FILES = 16  # with the most transactions, of which each has locks of its own
_HIDDEN_LOOKUPS = ("lookup",) * 3

Names = tuple[str, ...]
"""Operations on metadata, one after the other."""
Pieces = tuple[tuple[int, int], ...]
"""Blocks, or parts of them, that are stored: how many, and the bytes of each."""


@dataclass(frozen=True)
class Kind:
    """A kind of request.

    Attributes:
        op: its operation.
        before: its operations on metadata before its data are moved.
        data: ``stores`` or ``loads`` all of its bytes; ``copies`` its file; is ``sent in parts``; reads a ``range``;
            ``writes`` to the buffer; ``syncs`` what was written.
        blocks, block_bytes: whole blocks that a read fetches, and their size.
        parallel: how many of them at a time.
        prefetched_bytes: size of the whole block that a read of a range fetches in the background; 0: none.
        ahead: whole blocks of `block_bytes` that a read of a range begins to fetch at the same time, as it continues a
            sequential one.
        pieces: what writes, or a sync, store.
        commits: slices that end.
        after, later: operations on metadata before the response, and after it.
        deletes: blocks that are deleted later.
        cached: whether the disk cache has what is read.
        folder: the number of the folder that its transactions change; -1: few others change it.
        file: the number of the file, after those of folders, for transactions on it; -1 likewise.
        compaction: of a chunk, which it starts in the background.
    """

    op: Op
    before: Names = ()
    data: str = ""
    blocks: int = 0
    block_bytes: int = 0
    parallel: int = 1
    prefetched_bytes: int = 0
    ahead: int = 0
    pieces: Pieces = ()
    commits: int = 0
    after: Names = ()
    later: Names = ()
    deletes: int = 0
    cached: bool = False
    folder: int = -1
    file: int = -1
    compaction: Compaction | None = None

    @property
    def names(self) -> Names:
        """All operations on metadata that the client waits for, but those of the data."""
        return self.before + self.after


@dataclass
class _Open:
    """What is known of a file: its last reads, what is read ahead, its chunks whose slices are known, its last slice.

    `streams` are the ends of its two last sequences of reads (readSessions in pkg/vfs/reader.go), the later one last.
    """

    read_end: int = -1
    streams: list[int] = field(default_factory=list)
    ahead_end: int = 0
    window: int = 0
    chunks: set[int] = field(default_factory=set)
    slice_start: int = -1
    slice_end: int = -1
    is_dirty: bool = False

    def continues(self, start: int, end: int, block: int) -> bool:
        """Note a read, and return whether it continues a sequence: it begins at most a block after its end, or before.

        Of several, it is the one that ends last before it, or else first after it (guessSession).
        """
        before = [each for each in self.streams if 0 < each <= start <= each + block]
        after = [each for each in self.streams if max(each - block, 0) <= start < each]
        found = max(before) if before else min(after, default=None)
        if found is not None:
            self.streams.remove(found)
        self.streams = [*self.streams[-1:], max(end, found or 0)]
        return found is not None


_CHANGES = frozenset({"PUT", "CREATE", "MKDIR", "UNLINK", "DELETE", "RENAME", "COPY"})
_CHANGES_OF_FILES = frozenset({"SETATTR", "WRITE", "FSYNC", "CLOSE"})


_KINDS = Recent[tuple[JuiceFSSpec, Trace], tuple[list[Kind], NDArray[np.int32]]](3)
"""Kinds found last: what compiles a spec, or asks what it issues, has the same requests several times."""


def kinds_of(spec: JuiceFSSpec, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of the requests of a Trace, and the index of each row's, shape (rows,)."""
    return _KINDS.of((spec, trace), lambda: _Files(spec, trace).kinds())


def _exactly(sizes: NDArray[np.int64]) -> Callable[[int], int]:
    """Return the size of a class of sizes: the size itself if there are few, otherwise a power of two."""
    if len(np.unique(sizes)) <= _SIZES:
        return lambda size: size
    return lambda size: 1 << max(size - 1, 1).bit_length()


class _Files:
    """The state of files, folders and caches while the rows of a Trace are gone through."""

    def __init__(self, spec: JuiceFSSpec, trace: Trace):
        self.spec, self.trace = spec, trace
        self.block, self.is_gateway = spec.blocks.size, spec.is_gateway
        self.names: dict[tuple[int, int], float] = {}  # by mount and file or folder, when it was looked up
        self.open: dict[int, _Open] = {}
        self.slices: dict[tuple[int, int], list[Slice]] = {}  # of chunks, by file and number
        self.empty: set[int] = set()  # files that had no bytes when they were made
        self.written: set[int] = set()
        self.folders = set(range(spec.tmp_folders))
        self.sized = _exactly(np.minimum(trace.size_bytes, self.block))
        ranges = trace.table.column("range_bytes")
        self.is_range = ranges.is_valid().to_pylist()
        self.pieced = _exactly(np.asarray(ranges.fill_null(0).to_numpy(), np.int64))
        self.hits = cached_reads(spec, trace)
        client = spec.client.multipart if self.is_gateway else None
        self.changed: dict[int, int] = {}  # the numbers of folders and files with many transactions
        self.parts = in_parts(client, np.where(rows_that(trace.op, "creates"), trace.size_bytes, 0))

    def kinds(self) -> tuple[list[Kind], NDArray[np.int32]]:
        """Return the kinds, and the index of each row's."""
        trace, mounts = self.trace, self.spec.mounts.count
        file, folder = _numbers(trace)
        of_changes = Counter(f for f, op in zip(folder, trace.op.tolist(), strict=True) if OPS[op] in _CHANGES)
        of_files = Counter(f for f, op in zip(file, trace.op.tolist(), strict=True) if OPS[op] in _CHANGES_OF_FILES)
        several = [each for each, count in of_files.most_common(_CHANGED_FILES) if count > 1]
        most = [each for each, _ in of_changes.most_common(_FOLDERS)] + several
        self.changed = {each: number for number, each in enumerate(most)}
        start, moved, size = starts_bytes(trace).tolist(), trace.transfer_bytes.tolist(), trace.size_bytes.tolist()
        tmp = (uniforms(0, stream_id("juicefs/tmp"), 0, len(trace)) * TMP_FOLDERS).astype(int).tolist()
        is_open, arrival_s, think_s = trace.pacing.loop == "open", trace.arrival_s.tolist(), trace.think_s.tolist()
        clients = max(trace.pacing.clients, sum(p.clients for _, p in trace.pacing.groups))
        engine, round_s = self.spec.metadata.engine, 2 * self.spec.metadata.latency
        index: dict[Kind, int] = {}
        route = np.zeros(len(trace), np.int32)
        clock_s = 0.0
        for row, op in enumerate(trace.op.tolist()):
            at_s = arrival_s[row] if is_open else clock_s
            look_up = partial(self._cold, row % mounts, at_s)
            if self.is_gateway:
                kind = self._of_gateway(OPS[op], row, file[row], folder[row], tmp[row], look_up)
            else:
                kind = self._of_mount(OPS[op], row, file[row], folder[row], look_up)
            if kind.data in ("range", "loads"):
                kind = self._read(kind, row, file[row], start[row], moved[row], size[row])
            elif kind.data in ("writes", "syncs"):
                kind = self._write(kind, file[row], start[row], moved[row], size[row])
            if not IN_FOLDER.isdisjoint(kind.names):
                kind = _with(kind, folder=self.changed.get(folder[row], -1))
            if kind.commits or not ON_FILE.isdisjoint(kind.names):
                kind = _with(kind, file=self.changed.get(file[row], -1))
            route[row] = index.setdefault(kind, len(index))
            waits = sum(len(rounds(engine, name)) for name in kind.names) if round_s else 0
            clock_s += (think_s[row] + waits * round_s) / clients
        return list(index), route

    def _cold(self, mount: int, at_s: float, name: int, then: Names) -> Names:
        """Return what a look-up of a file or folder costs: nothing while it is cached."""
        if at_s - self.names.get((mount, name), -np.inf) < self.spec.attributes.lifetime:
            return ()
        self.names[mount, name] = at_s
        return then

    def _of_mount(self, op: Op, row: int, file: int, folder: int, look_up: Callable[[int, Names], Names]) -> Kind:
        blocks = max(-(-int(self.trace.size_bytes[row]) // self.block), 1)
        if op in ("READ", "WRITE", "FSYNC", "CLOSE"):
            return Kind(op, data={"READ": "range", "WRITE": "writes"}.get(op, "syncs"))
        parent = look_up(folder, ("getattr",))
        if op in ("READDIR", "LIST"):
            return Kind(op, (*parent, "readdir"))
        if op in ("CREATE", "PUT", "MKDIR"):
            look_up(file, ())
            self.open.pop(file, None)
            self.slices = {of: found for of, found in self.slices.items() if of[0] != file} if self.slices else {}
            (self.empty.add if op == "CREATE" else self.empty.discard)(file)
            made = (*parent, "lookup", "mkdir" if op == "MKDIR" else "mknod")
            return Kind(op, made, "stores", later=("usage",)) if op == "PUT" else Kind(op, made)
        found = parent + look_up(file, ("lookup",))
        if op in ("OPEN", "GET"):
            self.open.pop(file, None)
            data = "" if op == "OPEN" else "range" if self.is_range[row] else "loads"
            return Kind(op, (*found, "getattr"), data)
        if op == "SETATTR":
            return Kind(op, (*found, "setattr"))
        if op == "RENAME":
            return Kind(op, (*found, "lookup", "rename"))
        if op == "COPY":
            return Kind(op, (*found, "lookup", "mknod"), "copies", later=("usage",))
        if op in ("UNLINK", "DELETE"):
            return Kind(op, (*found, "unlink"), later=("purge", "usage of a folder"), deletes=blocks)
        return Kind(op, found)

    def _of_gateway(
        self, op: Op, row: int, file: int, folder: int, tmp: int, look_up: Callable[[int, Names], Names]
    ) -> Kind:
        blocks = max(-(-int(self.trace.size_bytes[row]) // self.block), 1)
        if op in ("PUT", "COPY"):
            hidden = look_up(folder, _HIDDEN_LOOKUPS)
            made = () if tmp in self.folders else ("lookup", "mkdir")
            self.folders.add(tmp)
            again = file in self.written
            self.written.add(file)
            data = "copies" if op == "COPY" else "sent in parts" if self.parts[row] else "stores"
            return Kind(
                op, (*hidden, *made, *hidden[:1], "mknod"), data,
                after=(*(("getattr",) if hidden else ()), "rename", "lookup"),
                later=("purge", "usage of a folder") if again else (), deletes=blocks if again else 0,
            )  # fmt: skip
        if op == "GET":
            return Kind(op, ("lookup", "getattr"), "range" if self.is_range[row] else "loads")
        if op == "DELETE":
            return Kind(op, ("lookup", "lookup", "lookup", "unlink"), later=("purge",), deletes=blocks)
        return Kind(op, ("lookup", "readdir") if op == "LIST" else ("lookup",))

    def _read(self, kind: Kind, row: int, file: int, start: int, moved: int, size: int) -> Kind:
        """Return the kind of a read with the blocks that it fetches."""
        known = self.open.setdefault(file, _Open())
        chunks = range(start // CHUNK_BYTES, max(start + moved - 1, start) // CHUNK_BYTES + 1)
        new = 1 if kind.data == "loads" else len(set(chunks) - known.chunks)
        known.chunks |= set(chunks)
        has = self.hits[row]
        due = next((k for k in chunks if new and len(self.slices.get((file, k), ())) >= AT_READ), None)
        compaction = None if due is None else self._compacted(file, due)
        kind = _with(kind, before=kind.before + ("slices",) * new, cached=bool(has), compaction=compaction)
        is_next, known.read_end = known.read_end == start, start + moved
        is_near = known.continues(start, start + moved, self.block)
        if kind.data == "loads":
            return kind
        first, last = start // self.block, max(start + moved - 1, start) // self.block
        last_of_file = max(size - 1, 0) // self.block
        if not is_next:
            known.window, known.ahead_end = 0, 0
        if has or last < known.ahead_end:
            return _with(kind, cached=True)
        whole = self.sized(min(max(size - first * self.block, 1), self.block))
        if is_next or start == 0:
            first = max(first, known.ahead_end)
            known.window = min(max(2 * known.window, 1), self.spec.blocks.read_ahead)
            known.ahead_end = min(max(first + known.window, last + 1), last_of_file + 1)
            count = max(known.ahead_end - first, 1)
            return _with(kind, blocks=count, block_bytes=whole, parallel=self.spec.blocks.read_ahead)
        in_part = start % self.block > 0 and moved <= self.block // 4
        near = int(is_near and self.spec.cache.present and last < last_of_file)  # the next block is read ahead
        if not self.spec.cache.present or (in_part and first == last):
            if near:
                return _with(kind, ahead=2, block_bytes=whole)
            ahead = whole if self.spec.blocks.prefetch and self.spec.cache.present else 0
            return _with(kind, prefetched_bytes=ahead)
        return _with(kind, blocks=last - first + 1 + near, block_bytes=whole, parallel=1 + near)

    def _committed(self, file: int, start: int, end: int, size: int) -> Compaction | None:
        """Add a slice to its chunk; return the compaction that it starts.

        A chunk that the requests have not written yet is one slice, if the file was not empty.
        """
        chunk = start // CHUNK_BYTES
        begin = chunk * CHUNK_BYTES
        found = self.slices.get((file, chunk))
        if found is None:
            held = 0 if file in self.empty else min(max(size - begin, 0), CHUNK_BYTES)
            found = self.slices[file, chunk] = [(0, held)] if held else []
        found.append((start - begin, end - begin))
        return self._compacted(file, chunk) if is_due_at_write(len(found)) else None

    def _compacted(self, file: int, chunk: int) -> Compaction | None:
        found, after = compacted(self.slices[file, chunk], self.block, self.spec.cache.present)
        self.slices[file, chunk] = after
        if found is None:
            return None
        loads = Counter[int]()
        for count, size in found.loads:  # of few sizes, so that there are few kinds of requests
            loads[min(1 << (size - 1).bit_length(), self.block)] += count
        return replace(found, loads=tuple((count, size) for size, count in sorted(loads.items())))

    def _write(self, kind: Kind, file: int, start: int, moved: int, size: int) -> Kind:
        """Return the kind of a write or a sync, with what is stored and the slices that end."""
        known, commits = self.open.setdefault(file, _Open()), 0
        compaction: Compaction | None = None
        pieces: list[tuple[int, int]] = []
        if kind.data == "writes" and start == known.slice_end:
            begun, end = known.slice_start, known.slice_end
        else:
            begun, end = start, start
            if known.slice_end > known.slice_start:
                pieces += self._rest(known)
                commits += 1
                compaction = self._committed(file, known.slice_start, known.slice_end, size)
        if kind.data == "syncs":
            known.slice_start = known.slice_end = -1
            is_dirty, known.is_dirty = known.is_dirty, False
            data = "syncs" if is_dirty else ""
            return _with(kind, data=data, pieces=tuple(pieces), commits=commits, compaction=compaction)
        while moved:
            step = min(moved, CHUNK_BYTES - end % CHUNK_BYTES)
            full = (end + step - begun) // self.block - (end - begun) // self.block
            pieces += [(full, self.block)] * (full > 0)
            end, moved = end + step, moved - step
            if end % CHUNK_BYTES == 0:
                known.slice_start, known.slice_end = begun, end
                pieces += self._rest(known)
                compaction = self._committed(file, begun, end, size) or compaction
                commits, begun = commits + 1, end
        known.slice_start, known.slice_end, known.is_dirty = begun, end, True
        return _with(kind, pieces=tuple(pieces), commits=commits, compaction=compaction)

    def _rest(self, known: _Open) -> Pieces:
        """Return the last, partial block of a slice."""
        rest = (known.slice_end - known.slice_start) % self.block
        return ((1, self.pieced(rest)),) if rest else ()


def _with(kind: Kind, **changes: object) -> Kind:
    values = {**kind.__dict__, **changes}
    return Kind(**values)


def _numbers(trace: Trace) -> tuple[list[int], list[int]]:
    """Return the numbers of each row's file and folder, which differ from each other."""
    columns = [trace.table.column(name).combine_chunks() for name in ("bucket", "key")]
    numbers: dict[str, int] = {}
    buckets, keys = (column.dictionary.to_pylist() for column in columns)
    bucket, key = (column.indices.to_pylist() for column in columns)
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    files, folders = [], []
    for pair in zip(bucket, key, strict=True):
        found = pairs.get(pair)
        if found is None:
            path = f"{buckets[pair[0]]}/{keys[pair[1]]}"
            folder = path.rstrip("/").rpartition("/")[0] + "/"
            found = numbers.setdefault(path, len(numbers)), numbers.setdefault(folder, len(numbers))
            pairs[pair] = found
        files.append(found[0])
        folders.append(found[1])
    return files, folders
