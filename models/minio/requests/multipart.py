"""Objects in parts on MinIO as routes: cmd/erasure-multipart.go and cmd/object-multipart-handlers.go at 7aac2a2c.

An upload is several requests of S3: the initiation, a PUT for each part, and the completion.
As the log of the drives shows: the upload has an xl.meta of its own on all drives of the object's set, which each part
and the completion read again. A part is written like an object, and a small file with its metadata after it. The
completion reads these files on all drives, and writes the object's xl.meta. A GET is one request, whose node reads the
files of the parts one after the other (getObjectWithFileInfo in cmd/erasure-object.go).
"""

from __future__ import annotations

from models.minio.cluster.places import Places
from models.minio.cluster.stations import Stations
from models.minio.requests.accesses import small
from models.minio.requests.request import Kind
from models.minio.requests.routes import Builder
from models.minio.spec.release import looks_up
from models.minio.spec.spec import MinioSpec
from models.network.route import Route, words
from models.shared.multipart import Multipart, SubRoutes, without_body
from models.shared.steps import Stages, Step, chunked, fan_out, in_series, instant


class _InParts(Builder):
    """Builds the route of requests for objects in parts, whose kind is otherwise that of one part."""

    def __init__(self, spec: MinioSpec, stations: Stations, places: Places, kind: Kind, started: SubRoutes):
        """`started` gets the routes of sub-requests."""
        super().__init__(spec, stations, places, kind)
        assert self.client.multipart is not None
        self.multipart: Multipart = self.client.multipart
        self._start = started.add

    def _one_by_one(self, part: Route, *, delivers: bool = False) -> Step:
        """The work of the node on all parts, one after the other."""
        return chunked(
            self.stations.latency, self.multipart.part_size, self._start(part), parallel=1, own_keys=False,
            keeps=self.places.coordinator_groups(self.kind.pool), delivers=delivers,
        )  # fmt: skip


class Upload(_InParts):
    """Builds the route of a multipart upload.

    Each request of the upload takes the CPU time of a PUT, the initiation and the completion that without bytes
    (assumed). A proxy or DNS sends each to a node of its own.
    """

    def route(self) -> Route:
        """Return the route of the upload, which waits for its requests and has no timeout of its own."""
        requests = ("initiation", self._initiated()), ("part", self._part_uploaded()), ("completion", self._completed())
        routes = [Route("PUT", stages, policy=self.policy, variant=self._named(name)) for name, stages in requests]
        places, pool, spreads = self.places, self.kind.pool, self.places.spreads_uploads
        sent = self.multipart.requests(
            self.stations.latency, *map(self._start, routes), key_step=places.rows_to_next(pool) if spreads else 0,
            keeps=() if spreads else places.coordinator_groups(pool),
        )  # fmt: skip
        bound = instant(places.head_place(pool, "heal wait")) if places.bound and not spreads else ()
        return Route("PUT", in_series(bound, sent), variant=self.kind.variant)

    def _named(self, request: str) -> str:
        return words(self.kind.variant, request)

    def _initiated(self) -> Stages:
        """The xl.meta of the upload is written on all drives."""
        return self._request() + self._elsewhere() + self._hung_call() + self._metadata_writes() + self._finish()

    def _part_uploaded(self) -> Stages:
        """A part is uploaded; its handler reads the metadata of the upload, and PutObjectPart reads them again."""
        of_upload = self._lock() + self._hung_call() + self._upload_read() + self._unlock()
        looked = self._look_up() if looks_up(self.spec.release) else ()
        body = self._body(of_upload + looked + self._upload_read())
        locks = self._lock() * 2  # of the part, and of the upload
        renamed = locks + self._hung_call() + self._calls(self.call.without_bytes) + self._metadata_writes()
        return self._request() + body + renamed + self._finish()

    def _completed(self) -> Stages:
        """All parts are looked up, and the object's metadata written.

        The lock of the upload may be refused at first, because the release of the last part's lock is in progress.
        """
        locked = self._race() + self._lock() + self._hung_call() + self._upload_read() + self._parts_read()
        removed = self._calls(self.call.without_bytes)
        committed = self._lock() + removed + self._rename() + self._clean_up() + self._heal()
        return without_body(self._request()) + locked + committed + without_body(self._finish())

    def _upload_read(self) -> Stages:
        """The metadata of the upload are read on all drives; page caches have them."""
        return self._find(always=True, again=True)

    def _parts_read(self) -> Stages:
        """The metadata of all parts are read on all drives, by one call to each: one file after the other."""
        demand = small(self.read)
        if self.pool.hosts.page_cache.present or not demand.takes_time:
            return self._calls(self.call.without_bytes)
        read = self._accesses(demand, small(self.drives.read_latency))
        pool = f"pool {self.kind.pool}" * (self.kind.pool > 0)
        branches = []
        for p in range(self.layout.size):
            file = Route("PUT", in_series(read(p)), variant=words("metadata of a part", pool))
            branches.append(self._at(p, self._one_by_one(file)))
        return fan_out(branches)


class Download(_InParts):
    """Builds the route of a GET of an object in parts."""

    def fetched(self) -> Stages:
        """Return the stage in which all parts are read and sent, each when all bytes of the one before are sent."""
        part = Route("GET", super().fetched(), variant=words(self.kind.variant, "part"))
        return in_series(self._one_by_one(part, delivers=True))
