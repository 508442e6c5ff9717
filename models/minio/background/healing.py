"""What healing an object on a new drive does, as stages: healObject in cmd/erasure-healing.go."""

from __future__ import annotations

from collections.abc import Sequence

from models.minio.cluster.fixed_places import FixedPlaces
from models.minio.cluster.stations import Stations
from models.minio.requests.accesses import small
from models.minio.requests.parts import MESSAGE_BYTES, METADATA_BYTES
from models.minio.requests.request import Branches, Kind
from models.minio.requests.routes import Builder
from models.minio.spec.spec import MinioSpec
from models.network.service_demand import ServiceDemand
from models.network.station import Member
from models.shared.steps import Stages, Step, access, commit, delay, detached, fan_out, hold, in_series, pipelined, use


class Healed(Builder):
    """Builds the stages of an object that is healed: the other drives are read, the new one is written to."""

    def __init__(
        self, spec: MinioSpec, stations: Stations, places: FixedPlaces, kinds: tuple[Kind, Kind], drive: int,
        listers: Sequence[Member],
    ):  # fmt: skip
        """`kinds` are the GET and the PUT of the object; `drive` is the number of the new drive.

        `listers` have the token of the listing of each drive of the set, by position.
        """
        super().__init__(spec, stations, places, kinds[0])
        self.new, self.written, self.listers = drive, Builder(spec, stations, places, kinds[1]), listers

    def stages(self) -> Stages:
        """Return the stages; the worker waits for all but the listing.

        The listing of the set reads the metadata of each object on all drives, on each of them one object after the
        other (WalkDir in cmd/metacache-walk.go), however many workers there are. An attempt then reads them twice, the
        second time with a lock and with inline data; a larger object's parts are looked up and k shards read.
        """
        latency = self.stations.latency
        found = detached(latency, self._listed()) + self._find(always=True) + self._lock()
        if self.kind.inline:
            whole = self._part(self.read, more=METADATA_BYTES, size=self.drives.read_size)
            reads = self._metadata(whole, self._latency_of(self.drives.read_latency), carries=True)
            moved = self._from_drives(self.layout.size, "all", 3 * MESSAGE_BYTES)
            work = fan_out(reads) + moved + self._computed() + in_series(self._new_shard())
        else:
            first, later = self._reads()
            links = pipelined(self._shards_of_readers("all", MESSAGE_BYTES))
            work = self._find(always=True) + self._calls(self.call.without_bytes)
            if self.kind.large or later:  # one block after the other, so that reads, links and writes overlap
                work += fan_out((*first, *later, *links, self._new_shard())) + self._computed()
            else:
                work += fan_out(first) + fan_out(links) + self._computed() + in_series(self._new_shard())
            work += in_series(self._new_metadata())
        return found + work + self._unlock() + self._clean_up() + in_series(delay(latency, self.spec.healing.pause))

    def _listed(self) -> Branches:
        """The reads of the listing that finds the object."""
        listed = self._find(always=True)[0].branches
        if len(listed) != len(self.listers):
            return listed
        return tuple(hold(lister, read) for lister, read in zip(self.listers, listed, strict=True))

    def _new_shard(self) -> Step:
        """The durable write of the shard to the new drive, which is the worker's own."""
        demand = self.written.shard_written(METADATA_BYTES if self.kind.inline else 0)
        return self._new(demand, getattr(demand, "visits", 1))

    def _new_metadata(self) -> Step:
        """The durable write of the metadata to the new drive; a journal's commit includes it."""
        return self._new(small(self.write), int(self.write.takes_time and self.drives.commit_in != "journal"))

    def _new(self, demand: ServiceDemand, times: int) -> Step:
        overlapping = self._overlapping(self._latency_of(self.drives.write_latency), drive=self.new)
        written = access(int(self.stations.drive[self.new]), demand, overlapping, times=times)
        return written + commit(int(self.stations.journal[self.new]), self.commit)

    def _computed(self) -> Stages:
        """The CPU time of the drive's host."""
        return in_series(use(self.places.head(self.kind.pool, "cpu"), self.hosts.at_speed(self.spec.healing.cpu)))
