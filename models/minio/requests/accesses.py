"""The accesses of a request to the drives of its set: metadata, shards and commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from models.minio.requests.parts import BLOCK_BYTES, MESSAGE_BYTES, STREAM_BYTES, PartDemand
from models.minio.requests.request import Branches
from models.minio.requests.shard_accesses import direct_writes
from models.minio.requests.transfers import Transfers
from models.minio.spec.release import looks_up
from models.network.route import Chance
from models.network.service_demand import NOTHING, ServiceDemand
from models.shared.steps import Place, Stages, Step, access, commit, detached, use, visit
from traces.workload.distributions import Empirical

_LATER = ServiceDemand(constant=0.5, distribution=Empirical(probabilities=(0, 1), values=(0, 2)))
"""Time until metadata are written back, uniform from 0 to 1 s (assumed)."""


class Accesses(Transfers):
    """Accesses of a request to drives."""

    def shard_written(self, more: int = 0) -> ServiceDemand:
        """Return the demand of a shard that is written, with the bytes of its metadata if it is inline."""
        if not self.drives.direct:
            return self._part(self.write, more, self.drives.write_size, self.kind.accesses)
        return direct_writes(self.pool, self.write, more, self.kind.accesses)

    def _part(self, demand: ServiceDemand, more: int = 0, size: int = 0, visits: int = 1) -> ServiceDemand:
        """Return the demand of a shard."""
        data = self.layout.data
        if not self.limited and not size and self.kind.more_blocks is None:
            return demand.per_shard(data)
        return PartDemand.of(
            demand, data_shards=data, more_bytes=more, access_bytes=size, visits=visits,
            more_blocks=self.kind.more_blocks,
        )  # fmt: skip

    def _accesses(
        self, demand: ServiceDemand, latency: ServiceDemand | None = None, times: int | None = None
    ) -> Callable[[int], Step]:
        """Return one or several accesses to the drive at a position, as a function of it."""
        overlapping = self._latency_of(self.drives.write_latency) if latency is None else latency
        count = getattr(demand, "visits", 1) if times is None else times
        return lambda p: access(
            self.places.drive(self.kind.pool, p, "drive"), demand, self._overlapping(overlapping, position=p),
            times=count,
        )  # fmt: skip

    def _latency_of(self, demand: ServiceDemand) -> ServiceDemand:
        return demand.per_shard(self.layout.data)

    def _overlapping(
        self, demand: ServiceDemand, *, position: int | None = None, reader: int | None = None, drive: int | None = None
    ) -> Step:
        """The latency of an access that overlaps with others, at a drive of the set, of those read, or of the cluster.

        It is that drive's own if drives differ in speed.
        """
        at: Place = self.stations.drive_latency
        if self.stations.has_own_latency and position is not None:
            at = self.places.drive(self.kind.pool, position, "late")
        elif self.stations.has_own_latency and reader is not None:
            at = self._reader(reader, "late")
        elif drive is not None:
            at = int(self.stations.late[drive])
        return use(at, demand)

    def _metadata(
        self, demand: ServiceDemand, latency: ServiceDemand, carries: bool = False, found: Sequence[Chance] = ()
    ) -> Branches:
        """The reads of an object's metadata on all drives of its set; `found`: those that find it, if missed."""
        read = self._accesses(demand, latency)
        return tuple(self._at(p, self._looked_up(p, found) + read(p), carries) for p in range(self.layout.size))

    def _looked_up(self, position: int, found: Sequence[Chance]) -> Step:
        """The reads of directories and inodes that are not in memory, one after the other."""
        demand = small(self.read)
        if not found or not demand.takes_time:
            return ()
        read = self._accesses(demand, small(self.drives.read_latency))(position)
        return tuple(replace(each, chance=missed) for missed in found for each in read)

    def _written_back(self) -> Stages:
        """The accesses by which file systems write metadata back, which no request waits for.

        They are within a second of its beginning: later ones would be missing in short runs, and those after its end
        would wait behind all others in an overload.
        """
        whole, rest = divmod(self.written_back, 1)
        if not self.written_back or not self.write.takes_time:
            return ()
        branches = []
        for p in range(self.layout.size):
            write = self._accesses(small(self.write), small(self.drives.write_latency))(p)
            once = Chance(rest)
            accesses = write * int(whole) + tuple(replace(each, chance=once) for each in write)
            branches.append(use(self.stations.later, _LATER) + accesses)
        return detached(self.stations.latency, branches)

    def _cached(self, carries: bool = False) -> Branches:
        """The calls to the drives of the set for what the page caches of their hosts have."""
        return tuple(self._at(p, (), carries) for p in range(self.layout.size))

    def _reads(self) -> tuple[Branches, Branches]:
        """Return the first access to each drive that a GET reads a shard from, and the later ones of a large object."""
        count, size, data, readers = self.kind.accesses, self.drives.read_size, self.layout.data, range(self._readers)
        latency = [self._overlapping(self._latency_of(self.drives.read_latency), reader=p) for p in readers]
        if self.kind.data_cached:
            return tuple(self._at_reader(p, ()) for p in readers), ()
        if self.drives.direct:
            chains = [self._calls_of_reads(p) for p in readers]
            first = len(chains[0]) // count if self.kind.large else len(chains[0])
        elif self.kind.large and count == 1:
            begin, rest = (
                PartDemand.of(self.read, data_shards=data, blocks=blocks, more_blocks=self.kind.more_blocks)
                for blocks in ("first", "later")
            )
            drives = [self._reader(p, "drive") for p in readers]
            chains = [access(drive, begin, latency[p]) + visit(drive, rest) for p, drive in enumerate(drives)]
            first = len(chains[0]) - 1
        else:
            read = self._part(self.read, size=size, visits=count)
            chains = [access(self._reader(p, "drive"), read, latency[p], times=count) for p in readers]
            first = len(chains[0]) // count if self.kind.large else len(chains[0])
        later = tuple(chain[first:] for chain in chains if chain[first:])
        return tuple(self._at_reader(p, chain[:first]) for p, chain in enumerate(chains)), later

    def _calls_of_reads(self, position: int) -> Step:
        """Return the reads of a shard with direct I/O, block by block.

        On the coordinator's own drive, those are two calls for each block; another node reads the file in calls of 128
        KiB. One of both takes place. A single node has drives of its own only.
        """
        count, data = self.kind.accesses, self.layout.data
        block = PartDemand.of(NOTHING, data_shards=data, access_bytes=STREAM_BYTES)
        per_block = int(block.accesses(np.array([BLOCK_BYTES]))[0]) - (count > 1)
        limit = min(self.drives.read_size or STREAM_BYTES, STREAM_BYTES)
        own = PartDemand.of(
            self.read, data_shards=data, access_bytes=self.drives.read_size, visits=2 * count,
            per_block_accesses=0 if self.drives.read_size else 2, more_blocks=self.kind.more_blocks,
        )  # fmt: skip
        other = PartDemand.of(
            self.read, data_shards=data, access_bytes=limit, visits=max(per_block, 1) * count,
            more_blocks=self.kind.more_blocks,
        )  # fmt: skip
        each = self._latency_of(self.drives.read_latency).scaled(1 / (2 * count))
        latency = self._overlapping(each, reader=position)
        reads = access(self._reader(position, "own drive"), own, latency, times=2)
        if not self.calls_nodes:
            return reads * count
        return (reads + access(self._reader(position, "other drive"), other, times=max(per_block, 1))) * count

    def _commit(self, position: int) -> Step:
        return commit(self.places.drive(self.kind.pool, position, "journal"), self.commit)

    @property
    def _copies(self) -> int:
        """Files with metadata that a PUT writes: an overwrite keeps those of the old object in another one."""
        return 2 if self.kind.overwrites else 1

    def _read_again(self, position: int) -> Step:
        """The look-up of an object by each drive, and the read of its metadata, before it is replaced."""
        if not self.kind.overwrites:
            return () if looks_up(self.spec.release) else self._looked_up(position, self.absent)
        demand = small(self.read)
        found = self.kind.metadata_cached or (self.pool.hosts.page_cache.present and looks_up(self.spec.release))
        if not demand.takes_time or found:
            return ()
        looked_up = () if looks_up(self.spec.release) else self._looked_up(position, self.found)
        return looked_up + self._accesses(demand, small(self.drives.read_latency))(position)

    def _metadata_write(self, position: int) -> Step:
        """The durable write of an object's metadata; a journal's commit includes it."""
        if not self.write.takes_time or self.drives.commit_in == "journal":
            return self._commit(position)
        return self._accesses(small(self.write), small(self.drives.write_latency))(position) + self._commit(position)


def small(demand: ServiceDemand) -> ServiceDemand:
    """Return the demand of an access to an object's metadata."""
    return PartDemand.of(demand, times=0, more_bytes=MESSAGE_BYTES) if demand.per_byte else demand
