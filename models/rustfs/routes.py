"""What differs between RustFS's requests and MinIO's, as routes.

As in RustFS's source at 20d12664: crates/lock/src/distributed_lock.rs, crates/ecstore/src/set_disk and
crates/ecstore/src/erasure/coding/decode.rs. A PUT does not look up the object first; locks, and metadata of HEADs and
inline objects, are answered by a quorum; a GET of another object waits for the metadata of all drives, and reads all
shards, of which it needs k + 1 after 100 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from models.minio.compile import Builders
from models.minio.requests.copies import Copied
from models.minio.requests.multipart import Download, Upload
from models.minio.requests.parts import METADATA_BYTES
from models.minio.requests.request import Branches
from models.minio.requests.routes import Builder
from models.network.route import Chance
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Member
from models.rustfs.spec import RustfsSpec
from models.shared.steps import (
    Stages,
    Step,
    access,
    acquire,
    check,
    delay,
    detached,
    fan_out,
    in_series,
    pipelined,
    timer,
)

SPARE_LOCKS = 1
"""Lock servers beyond the quorum that a lock goes to (LOCK_ACQUIRE_SPARE_HEDGES)."""
METADATA_TIMEOUT_S, DRIVE_TIMEOUT_S = 5.0, 30.0
"""Time limits of a look-up or a listing, and of other operations of a drive (crates/config/src/constants/drive.rs)."""


class Differences(Builder):
    """Builds routes as MinIO's builder does, but for what RustFS does otherwise."""

    spec: RustfsSpec

    # The coordinator.

    def _accepted(self) -> Step:
        """The node accepts a request; it limits PUTs in progress, and GETs that read from drives."""
        pool = self.kind.pool
        step: Step = ()
        if self.places.bound:
            step += delay(self.places.head_place(pool, "connect"), self.places.connect_s)
            step += check(self.places.head_place(pool, "entry"))
        if self.op == "PUT" and self.hosts.max_requests is not None:
            step += acquire(self.places.head_place(pool, "slots"))
        if self.op == "GET" and not self.kind.data_cached:
            step += acquire(self.places.head_place(pool, "permits"))
        return step

    # Locks: a quorum of the nodes of the set.

    @property
    def _quorum(self) -> int:
        """Lock servers that have to grant a lock: those of a write, or those of a read (read_quorum)."""
        lockers = self.layout.lockers
        return lockers // 2 + 1 if self.op in ("PUT", "DELETE") else lockers - lockers // 2

    def _lock(self) -> Stages:
        """A lock on a quorum of the nodes of the set, and on one more that it does not wait for."""
        if not self.calls_nodes:
            return ()
        bare, pool, lockers = self.call.without_bytes, self.kind.pool, self.layout.lockers
        called = min(self._quorum + SPARE_LOCKS, lockers)
        if bare.takes_time or self.queued:
            own = 1 if self.own and not self.mixed else 0  # the coordinator locks its own part in the process
            calls = [self._call(bare, partial(self.places.locker, pool, n)) for n in range(own, called)]
            needed = min(self._quorum - own, len(calls))
            return fan_out(calls, wait_for=needed) if needed else ()
        return in_series(delay(self.places.locker(pool, lockers - 1, "way"), self._way_s))

    # Metadata: a quorum answers HEADs and GETs of inline objects.

    @property
    def _read_from(self) -> int:
        """Number of drives whose metadata are read."""
        by_quorum = self.op == "HEAD" or (self.op == "GET" and self.kind.inline)
        return self.layout.data + (2 * self.layout.data == self.layout.size) if by_quorum else self.layout.size

    def _metadata(
        self, demand: ServiceDemand, latency: ServiceDemand, carries: bool = False, found: Sequence[Chance] = ()
    ) -> Branches:
        return super()._metadata(demand, latency, carries, found)[: self._read_from]

    def _cached(self, carries: bool = False) -> Branches:
        return super()._cached(carries)[: self._read_from]

    def _calls(self, demand: ServiceDemand) -> Stages:
        if not self.calls_nodes:
            return ()
        return self._alike([self._at(p, ()) for p in range(self.own, self._read_from)], demand)

    def _from_drives(self, count: int, blocks: str, more: int) -> Stages:
        return super()._from_drives(min(count, self._read_from), blocks, more)

    # Shards: all are read in lockstep, and the slow ones given up.

    @property
    def _readers(self) -> int:
        return self.layout.size if self._reads_all else self.layout.data

    @property
    def _reads_all(self) -> bool:
        return self.spec.reads.shards == "all"

    def _reader(self, position: int, part: str) -> Member | Bound:
        if not self._reads_all:
            return super()._reader(position, part)
        return self.places.drive(self.kind.pool, position, part.removeprefix("own ").removeprefix("other "))

    def _at_reader(self, position: int, step: Step) -> Step:
        return self._at(position, step, carries=True) if self._reads_all else super()._at_reader(position, step)

    def _fetch(self, reads: Branches) -> Stages:
        hedged = self._hedged(reads) if self.op == "GET" and not self.kind.inline and any(reads) else ()
        return hedged or super()._fetch(reads)

    def _hedged(self, reads: Branches) -> Stages:
        """The first stripe: after a time k + 1 of all shards, or any k of those with data and of parity, are enough."""
        layout, latency = self.layout, self.stations.latency
        late, parity = timer(latency, self.spec.reads.hedge_after), layout.size - layout.data
        if not self._reads_all:
            read = self._part(self.read, size=self.drives.read_size)
            more = [
                late + self._at(p, access(self.places.drive(self.kind.pool, p, "drive"), read), carries=True)
                for p in range(layout.data, layout.size)
            ]
            return fan_out([*reads, *more], wait_for=layout.data, delivers=True)
        branches = [branch or check(latency) for branch in reads]
        return fan_out([*branches, *[late] * max(parity - 1, 0)], wait_for=layout.size, delivers=True)

    def _stream(self, later: Branches) -> Stages:
        """Later stripes: a reader that was given up is not waited for."""
        spare = self.layout.size - self.layout.data - 1
        if self.op != "GET" or not self._reads_all or spare < 1 or len(later) < self.layout.size:
            return super()._stream(later)
        moved = self._cpu_bytes("all") + self._client_links("all", up=False)
        if self.kind.large:
            moved += self._shards_of_readers("later", 0)
        others = pipelined(moved) + self._acknowledged(up=False)
        late = [timer(self.stations.latency, self.spec.reads.hedge_after)] * spare
        return fan_out([*others, *later, *late], wait_for=len(others) + len(later))

    # Writes: what is synced depends on the durability of the bucket.

    def _inline_writes(self) -> Stages:
        if self.spec.durability == "strict":
            return super()._inline_writes()
        write = self._accesses(self.shard_written(METADATA_BYTES))
        sent = fan_out(self._at(p, self._read_again(p), carries=True) for p in range(self.layout.size))
        return sent + detached(self.stations.latency, (write(p) for p in range(self.layout.size)))

    def _shard_writes(self) -> Branches:
        if self.spec.durability != "none":
            return super()._shard_writes()
        return tuple(self._at(p, (), carries=True) for p in range(self.layout.size))

    def _metadata_write(self, position: int) -> Step:
        return super()._metadata_write(position) if self.spec.durability == "strict" else ()

    def _rename(self) -> Stages:
        stages = super()._rename()
        if self.spec.durability == "none":
            write = self._accesses(self.shard_written())
            stages += detached(self.stations.latency, (write(p) for p in range(self.layout.size)))
        return stages

    # Parts that hang.

    def _hung_lock(self) -> Stages:
        return ()

    def _hung_read(self) -> Stages:
        return () if self.kind.inline else self._hung(lambda hang: METADATA_TIMEOUT_S, "read", "back")

    def _hung_call(self) -> Stages:
        if self.op == "HEAD":
            return ()
        limit_s = METADATA_TIMEOUT_S if self.op == "LIST" else DRIVE_TIMEOUT_S
        return self._hung(lambda hang: limit_s if hang.call_s else 0.0, "call", "call end")


class _Single(Differences):
    """Builds the route of one request."""


class _Copied(Differences, Copied):
    """Builds the route of a copy."""

    reader: ClassVar[type[Builder]] = _Single


class _Upload(Differences, Upload):
    """Builds the route of an upload in parts."""


class _Download(Differences, Download):
    """Builds the route of a GET of an object in parts."""


BUILDERS = Builders(_Single, _Copied, _Upload, _Download)
