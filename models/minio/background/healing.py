"""What healing an object on a new drive does, as stages: healObject in cmd/erasure-healing.go."""

from __future__ import annotations

from collections.abc import Sequence

from models.minio.cluster.fixed_places import FixedPlaces
from models.minio.cluster.stations import Stations
from models.minio.requests.accesses import small
from models.minio.requests.parts import MESSAGE_BYTES, METADATA_BYTES
from models.minio.requests.request import Kind, Stages
from models.minio.requests.routes import Builder
from models.minio.spec.spec import MinioSpec
from models.network.route import Stage, Visit, single
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Member


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
        listing = Stage(((self.instant,), *self._listed()), 1)
        commits = (*self._new("write"), Visit(int(self.stations.journal[self.new]), self.commit))
        found = (listing, *self._find(always=True), *self._lock())
        if self.kind.inline:
            whole = self._part(self.read, more=METADATA_BYTES, size=self.drives.read_size)
            reads = self._metadata(whole, self._latency_of(self.drives.read_latency), carries=True)
            moved = self._from_drives(self.layout.size, "all", 3 * MESSAGE_BYTES)
            work: Stages = (Stage(reads, len(reads)), *moved, *self._computed(), single(*commits))
        else:
            first, later = self._reads()
            links = self._shards_of_readers("all", MESSAGE_BYTES)
            renamed = (*self._new("metadata"), Visit(int(self.stations.journal[self.new]), self.commit))
            work = (*self._find(always=True), *self._calls(self.call.without_bytes))
            if self.kind.large or later:  # one block after the other, so that reads, links and writes overlap
                branches = (*first, *later, *((link,) for link in links), commits)
                work += (Stage(branches, len(branches)), *self._computed(), single(*renamed))
            else:
                work += (Stage(first, len(first)), *self._parallel(links), *self._computed())
                work += (single(*commits), single(*renamed))
        pause_s = self.spec.healing.pause
        pause = (single(Visit(self.stations.latency, ServiceDemand(constant=pause_s))),) if pause_s else ()
        return (*found, *work, *self._unlock(), *self._clean_up(), *pause)

    def _listed(self) -> tuple[tuple[Visit, ...], ...]:
        """The reads of the listing that finds the object."""
        stage = self._find(always=True)[0]
        listed = list(stage.branches)
        if len(listed) == len(self.listers):
            listed = [
                (Visit(lister, NOTHING), *visits, Visit(lister, NOTHING, releases=True))
                for lister, visits in zip(self.listers, listed, strict=True)
            ]
        return tuple(listed)

    def _new(self, part: str) -> tuple[Visit, ...]:
        """Return the write of the shard, or of the metadata, to the new drive, which is the worker's own."""
        if part == "metadata":
            if not self.write.takes_time or self.drives.commit_in == "journal":
                return ()
            demand, count = small(self.write), 1
        else:
            demand = self.written.shard_written(METADATA_BYTES if self.kind.inline else 0)
            count = getattr(demand, "visits", 1)
        overlapping = self._overlapping(self._latency_of(self.drives.write_latency))
        return (*overlapping, Visit(int(self.stations.drive[self.new]), demand)) * count

    def _computed(self) -> Stages:
        """The CPU time of the drive's host."""
        cpu = self.hosts.at_speed(self.spec.healing.cpu)
        return (single(Visit(self.places.head(self.kind.pool, "cpu"), cpu)),) if cpu.takes_time else ()
