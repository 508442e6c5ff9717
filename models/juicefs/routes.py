"""The routes of requests to a JuiceFS, in the vocabulary of `models.shared.steps`.

A stored file is written to a buffer while its blocks are uploaded: a sub-request for each chunk of 64 MiB, which ends
with the commit of its slice, and of that one for each block, which holds one of the mount's uploads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from models.juicefs.files import Kind, Pieces
from models.juicefs.sections import CHUNK_BYTES
from models.juicefs.slices import Compaction
from models.juicefs.spec import JuiceFSSpec
from models.juicefs.stations import Stations
from models.network.retry_policy import NO_POLICY
from models.network.route import Route
from models.network.service_demand import NOTHING
from models.network.sub_requests import SubRequests
from models.shared.multipart import SubRoutes, without_body
from models.shared.steps import (
    Stages,
    Step,
    acquire,
    delay,
    detached,
    fan_out,
    hold,
    in_series,
    instant,
    joined,
    release,
    send,
    starts,
    use,
)
from traces.operations import Op

Fetch = tuple[str, int, int]
"""Requests to the store below: an operation or ``part`` (of a block), how many (0: as the bytes say), their bytes."""

STORED: Fetch = ("PUT", 0, 0)
LOADED: Fetch = ("GET", 0, 0)
PART: Fetch = ("part", 0, 0)


def fetches(kind: Kind, block: int) -> list[Fetch]:
    """Return the requests to the store below that one of a kind issues, with blocks of this size."""
    found: list[Fetch] = []
    if kind.data in ("stores", "sent in parts"):
        found.append(STORED)
    elif kind.data == "loads" and not kind.cached:
        found.append(LOADED)
    elif kind.data == "range" and not kind.cached:
        found.append(("GET", kind.blocks, kind.block_bytes) if kind.blocks else PART)
    if kind.prefetched_bytes:
        found.append(("GET", 1, kind.prefetched_bytes))
    if kind.ahead:
        found.append(("GET", kind.ahead, kind.block_bytes))
    found += [("PUT", count, size) for count, size in kind.pieces]
    if kind.deletes:
        found.append(("DELETE", kind.deletes, 0))
    if kind.compaction is not None:
        found += [("GET", count, size) for count, size in kind.compaction.loads]
        found += [("PUT", count, size) for count, size in _rewritten(kind.compaction, block)]
        found.append(("DELETE", kind.compaction.removed, 0))
    return list(dict.fromkeys(found))


def _rewritten(compaction: Compaction, block: int) -> Pieces:
    """Return the blocks of the slice that a compaction writes: how many, and the bytes of each."""
    whole, rest = divmod(compaction.stored_bytes, block)
    return ((whole, block),) * (whole > 0) + ((1, rest),) * (rest > 0)


class Routes:
    """Builds the routes of the kinds of requests, and of their sub-requests.

    Attributes:
        subs: the routes of sub-requests, which follow those of requests.
    """

    def __init__(self, spec: JuiceFSSpec, stations: Stations, below: Mapping[Fetch, SubRequests], first: int):
        """`below`: what is issued to the store below; `first`: index of the first route of sub-requests."""
        self._spec, self._at, self._below = spec, stations, below
        self.subs = SubRoutes(first)

    def route(self, kind: Kind, number: int) -> Route:
        """Return the route of a kind; `number` tells it apart from others of its operation."""
        policy = self._spec.client.policy(kind.op) if kind.data != "sent in parts" else NO_POLICY
        stages = self._in_parts(kind) if kind.data == "sent in parts" else self._request(kind)
        return Route(kind.op, stages, policy=policy, variant=f"juicefs {number}")

    def heartbeat(self) -> Route:
        """Return the route of a session's heartbeat."""
        at = self._at
        return Route("background juicefs heartbeat", in_series(at.metadata("heartbeat") + instant(at.waits)))

    # Requests.

    def _request(self, kind: Kind) -> Stages:
        at, spec = self._at, self._spec
        way = delay(at.latency, spec.network.latency) if spec.is_gateway else ()
        cpu = spec.mounts.cpu_demand(kind.op)
        client = at.clients.work(kind.op) if at.clients else ()
        begin = client + way + at.alive() + use(at.mount("cpu"), cpu.without_bytes)
        begin += at.metadata(*kind.before, folder=kind.folder, file=kind.file)
        moved = use(at.mount("cpu"), cpu.of_bytes if cpu.of_bytes.takes_time else NOTHING)
        after = at.metadata(*kind.after, folder=kind.folder) + at.alive()
        if kind.data in ("loads", "range"):
            body = self._loaded(kind, moved)
            return in_series(begin) + body + in_series(after + way) + self._later(kind)
        body = self._data(kind, moved)
        end = in_series(after + way + instant(at.waits), delivers=True)
        return in_series(begin) + body + end + self._later(kind)

    def _data(self, kind: Kind, moved: Step) -> Stages:
        at = self._at
        if kind.data == "stores":
            return self._stored([moved, *self._received()])
        if kind.data == "writes":
            if not (kind.pieces or kind.commits):
                return in_series(moved)
            held = acquire(at.file("unstored")) + acquire(at.mount("buffer"))
            commits = at.metadata(*("write",) * kind.commits, "usage", file=kind.file)
            stored = self._pieces(kind.pieces) + commits
            freed = release(at.mount("buffer")) + release(at.file("unstored"))
            return in_series(moved + held) + detached(at.waits, [stored + freed])
        if kind.data == "syncs":
            # All tokens are free once all earlier writes are stored; one sync of a file at a time takes them.
            every = (acquire(at.file("unstored")) * at.buffered) + (release(at.file("unstored")) * at.buffered)
            stored = self._pieces(kind.pieces)
            commits = at.metadata(*("write",) * kind.commits, file=kind.file)
            return in_series(stored + hold(at.file("sync"), every) + commits)
        if kind.data == "copies":
            return in_series(starts(at.waits, SubRequests(self._copy(), CHUNK_BYTES, parallel=1)))
        return in_series(moved)

    def _stored(self, meanwhile: list[Step]) -> Stages:
        """Return the upload of a file while it is written; with write-back, once the cache's disk has it."""
        at, cache = self._at, self._spec.cache
        if not cache.writeback:
            return fan_out([*meanwhile, self._chunks()])
        kept = fan_out([*meanwhile, use(at.mount("disk"), cache.write)])
        commits = starts(at.waits, SubRequests(self._slice(), CHUNK_BYTES, parallel=1))
        return kept + in_series(commits) + detached(at.waits, [self._blocks()])

    def _loaded(self, kind: Kind, moved: Step) -> Stages:
        at = self._at
        meanwhile = [moved, *self._sent()]
        if kind.cached:
            return fan_out([*meanwhile, use(at.mount("disk"), self._spec.cache.read), instant(at.waits)], delivers=True)
        if kind.data == "loads":
            further = SubRequests(self._slices(), CHUNK_BYTES, first=1, parallel=1)
            return fan_out([*meanwhile, self._blocks_read(), starts(at.waits, further)], delivers=True)
        if kind.blocks:
            key = ("GET", kind.blocks, kind.block_bytes)
            block = self._block(key, "GET", "downloads")
            read = SubRequests(
                block, count=kind.blocks, size_bytes=kind.block_bytes, parallel=kind.parallel, delivers=True
            )
        else:
            part = self._block(PART, "GET", "downloads")
            read = SubRequests(part, self._spec.blocks.size, parallel=1, delivers=True)
        return self._ahead(kind) + fan_out([*meanwhile, starts(at.waits, read)], delivers=True)

    def _ahead(self, kind: Kind) -> Stages:
        """Return the blocks that are read ahead while a part of one is read."""
        if not kind.ahead:
            return ()
        route = self._block(("GET", kind.ahead, kind.block_bytes), "GET", "downloads")
        every = SubRequests(route, count=kind.ahead, size_bytes=kind.block_bytes, parallel=kind.ahead)
        return detached(self._at.waits, [starts(self._at.waits, every)])

    def _blocks_read(self) -> Step:
        """Return the blocks of a file that is read sequentially: two at a time at first, then as the window says.

        Measured with JuiceFS 1.4.2 and 50 ms a request: 2 at once for the first 4, then 8 to 11.
        """
        at, blocks = self._at, self._spec.blocks
        route, size = self._block(LOADED, "GET", "downloads"), blocks.size
        begun = SubRequests(route, size, most=4, parallel=min(2, blocks.read_ahead), delivers=True)
        rest = SubRequests(route, size, first=4, parallel=blocks.read_ahead)
        return starts(at.waits, begun) + starts(at.waits, rest)

    def _later(self, kind: Kind) -> Stages:
        """Return what goes on after the response."""
        at = self._at
        branches: list[Step] = []
        if kind.prefetched_bytes:
            block = self._block(("GET", 1, kind.prefetched_bytes), "GET", "downloads")
            branches.append(starts(at.waits, SubRequests(block, size_bytes=kind.prefetched_bytes)))
        if kind.compaction is not None:
            branches.append(self._compacted(kind.compaction))
        removed: Step = ()
        if kind.deletes:
            block = self._block(("DELETE", kind.deletes, 0), "DELETE", "deletes")
            removed = starts(at.waits, SubRequests(block, count=kind.deletes, size_bytes=0))
        branches.append(at.metadata(*kind.later) + removed)
        return detached(at.waits, branches)

    def _compacted(self, compaction: Compaction) -> Step:
        """Return a compaction: it reads block after block, and writes them while it goes on reading."""
        at, size = self._at, self._spec.blocks.size
        read = [
            starts(
                at.waits,
                SubRequests(self._block(("GET", n, each), "GET", "downloads"), count=n, size_bytes=each, parallel=1),
            )
            for n, each in compaction.loads
        ]
        stored = self._pieces(_rewritten(compaction, size))
        block = self._block(("DELETE", compaction.removed, 0), "DELETE", "deletes")
        removed = starts(at.waits, SubRequests(block, count=compaction.removed, size_bytes=0))
        return at.metadata("slices") + joined(read) + stored + at.metadata("compact") + removed

    # Uploads in parts, to gateways.

    def _in_parts(self, kind: Kind) -> Stages:
        at, spec, multipart = self._at, self._spec, self._spec.client.multipart
        assert multipart is not None
        policy = spec.client.policy(kind.op)

        def of(stages: Stages, name: str) -> int:
            return self.subs.add(Route(kind.op, stages, policy=policy, variant=f"juicefs {name}"))

        # NewMultipartUpload: the folder of the upload; CompleteMultipartUpload: the parts are merged one by one.
        begun = of(self._request(Kind(kind.op, ("lookup", "mkdir", "setattr"))), "initiation")
        part = of(self._request(replace(kind, before=("lookup", *kind.before), data="stores", folder=-1)), "part")
        merged = replace(kind, before=("lookup", "mknod"), data="", after=("rename", "lookup"), later=(), deletes=0)
        head, tail = self._request(merged)[:-1], self._request(merged)[-1:]
        copies = starts(at.waits, SubRequests(self._copy(), multipart.part_size, parallel=1))
        removed = starts(at.waits, SubRequests(self._removal(), multipart.part_size, parallel=10))
        ended = of((*without_body(head), *in_series(copies + removed), *tail), "completion")
        return in_series(multipart.requests(at.waits, begun, part, ended, key_step=0), delivers=True)

    # Sub-requests.

    def _block(self, key: Fetch, op: Op, pool: str) -> int:
        """Return the route of a block: one of the mount's uploads or downloads, held during a request below."""
        at, found = self._at, self._below[key]
        one = SubRequests(found.route, own_keys=False, delivers=op == "GET")
        stages = in_series(hold(at.mount(pool), starts(at.waits, one)), delivers=True)
        return self.subs.add(Route(op, stages, variant=f"juicefs block {key[1]} {key[2]}"))

    def _blocks(self) -> Step:
        blocks = SubRequests(self._block(STORED, "PUT", "uploads"), self._spec.blocks.size)
        return starts(self._at.waits, blocks)

    def _chunks(self) -> Step:
        """Return the chunks of a file, as many at a time as the buffer holds."""
        at = self._at
        chunk = self.subs.add(
            Route("PUT", in_series(self._blocks() + at.metadata("write") + instant(at.waits)), variant="juicefs chunk")
        )
        at_a_time = max(self._spec.blocks.buffer // CHUNK_BYTES, 1)
        return starts(at.waits, SubRequests(chunk, CHUNK_BYTES, parallel=at_a_time))

    def _pieces(self, pieces: Pieces) -> Step:
        at = self._at
        return joined(
            starts(at.waits, SubRequests(self._block(("PUT", n, size), "PUT", "uploads"), count=n, size_bytes=size))
            for n, size in pieces
        )

    def _slice(self) -> int:
        return self._of_metadata("PUT", "write")

    def _slices(self) -> int:
        return self._of_metadata("GET", "slices")

    def _copy(self) -> int:
        return self._of_metadata("PUT", "copy")

    def _removal(self) -> int:
        return self._of_metadata("DELETE", "unlink")

    def _of_metadata(self, op: Op, name: str) -> int:
        at = self._at
        return self.subs.add(Route(op, in_series(at.metadata(name) + instant(at.waits)), variant=f"juicefs {name}"))

    # Bytes between the clients and gateways.

    def _received(self) -> list[Step]:
        at = self._at
        return [*([at.clients.transfer("up")] if at.clients else []), self._nic("in")]

    def _sent(self) -> list[Step]:
        at = self._at
        return [self._nic("out"), *([at.clients.transfer("down")] if at.clients else [])]

    def _nic(self, way: str) -> Step:
        at, below = self._at, self._spec.below.client
        return send(self._spec.below.network.wire(getattr(below, "nic", 0.0)), at.mount(way)) if at.has(way) else ()
