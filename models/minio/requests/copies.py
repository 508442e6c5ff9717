"""Copies within MinIO: CopyObjectHandler, CopyObjectPartHandler (cmd/object-handlers.go, object-multipart-handlers.go).

The coordinator reads the source as for a GET, and writes what it reads as the body of a PUT: block by block, so that
reads, links and writes overlap after the first block. No bytes pass the client. The source is taken to be in the set of
the new object, where that of an UploadPartCopy from the object itself is. The CPU times are those of a GET and a PUT.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from models.minio.cluster.places import Places
from models.minio.cluster.stations import Stations
from models.minio.requests.parts import MESSAGE_BYTES, METADATA_BYTES
from models.minio.requests.request import Branches, Kind
from models.minio.requests.routes import Builder
from models.minio.requests.transfers import of_blocks
from models.minio.spec.spec import MinioSpec
from models.network.route import Route
from models.shared.steps import Stages, Step, changed, fan_out, in_series, joined, pipelined, use


class Copied(Builder):
    """Builds the route of a copy: that of a PUT whose body is what the coordinator reads."""

    reader: ClassVar[type[Builder]] = Builder
    """The class that builds the reads of the source."""

    def __init__(self, spec: MinioSpec, stations: Stations, places: Places, kind: Kind):
        super().__init__(spec, stations, places, replace(kind, op="PUT"))
        self._source = self.reader(spec, stations, places, replace(kind, op="GET", accesses=kind.source_accesses))
        self._reads_of_source = ((), ()) if kind.inline else self._source._reads()

    def route(self) -> Route:
        """Return the route of the copy."""
        return Route("COPY", self.stages(), policy=self.client.policy("COPY"), variant=self.kind.variant)

    def _request(self) -> Stages:
        """The request, and the first block of the source."""
        return super()._request() + self._found()

    def _found(self) -> Stages:
        """The source is locked and looked up, and its first block read."""
        source, cpu = self._source, self.places.head(self.kind.pool, "cpu")
        work = self.hosts.cpu_demand("GET", self.kind.inline)
        begun = in_series(use(cpu, work.without_bytes if self.streamed else work))
        begun += source._lock() + source._elsewhere() + source._hung_read()
        if self.kind.inline:
            read = source._part(source.read, more=METADATA_BYTES, size=source.drives.read_size)
            reads = source._metadata(read, source._latency_of(source.drives.read_latency), carries=True)
            return begun + fan_out(reads) + source._from_drives(self.layout.size, "all", MESSAGE_BYTES)
        moved = source._from_readers("first" if self.kind.large else "all", MESSAGE_BYTES)
        return begun + source._find() + fan_out(self._reads_of_source[0]) + moved

    def _shard_writes(self) -> Branches:
        """The writes of shards, while later blocks of the source are read."""
        links = self._source._shards_of_readers("later", 0) if self.kind.large else ()
        return super()._shard_writes() + self._reads_of_source[1] + pipelined(links)

    def _finish(self) -> Stages:
        return self._source._unlock() + super()._finish()

    # Without a body.

    @property
    def _has_body(self) -> bool:
        return False

    def _of_client(self) -> Step:
        work = self.stations.clients.work("COPY")
        return changed(work, self.hosts.at_speed) if self.client.on_storage_hosts else work

    def _client_links(self, blocks: str, up: bool, visits: int = 1) -> Step:
        return ()

    def _cpu_bytes(self, blocks: str, visits: int = 1) -> Step:
        """The work on the bytes of source and copy."""
        cpu = self.places.head(self.kind.pool, "cpu")
        each = (self.hosts.cpu_demand(op, False).of_bytes for op in ("GET", "PUT"))
        return joined(use(cpu, of_blocks(demand, blocks, visits)) for demand in each)
