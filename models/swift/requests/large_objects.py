"""Large objects of Swift (SLO) as stages: swift/common/middleware/slo.py and s3api/controllers/multi_upload.py.

A large object is a *manifest* and *segments*, which are objects of their own in other partitions. S3's multipart
upload makes one: its initiation writes an empty object, the *marker*; each part is a segment, before which the marker
is looked up; and the completion looks up the marker and, two at a time, all segments, writes the manifest and deletes
the marker. A GET reads the manifest, and then one segment after the other: the next one is requested when the last one
has been sent. A HEAD is that of the manifest. A DELETE of S3 looks up and reads the manifest, deletes the segments, two
at a time, and then the manifest; the accesses of each are those in the logs of drives under a Swift 2.30.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from models.network.route import Route
from models.shared.multipart import Multipart, SubRoutes, without_body
from models.shared.steps import Stages, chunked, in_series, quiet
from models.swift.requests.copies import Copies
from models.swift.requests.routes import Kind, Routes
from traces.operations import Op

_AT_ONCE = 2  # segments that are looked up or deleted (`concurrency` and `delete_concurrency` of the filter slo)


class LargeObjects(Routes):
    """Builds the routes of requests, some of which are for large objects.

    Each request takes the CPU times of its operation, and those within it likewise (assumed).
    """

    def routes(self, kinds: Sequence[Kind]) -> tuple[Route, ...]:
        """Return the routes of kinds of requests, then those of their sub-requests."""
        self._started = SubRoutes(len(kinds))
        copies = Copies(self.spec, self.stations, self.places)
        found = []
        for kind in kinds:
            if kind.op == "COPY":
                found.append(copies.route(kind))
            else:
                found.append(self._uploaded(kind) if kind.in_parts and kind.op == "PUT" else self.route(kind))
        return (*found, *self._started.all)

    def _stages(self, kind: Kind) -> Stages:
        if not kind.in_parts:
            return super()._stages(kind)
        return self._removed() if kind.op == "DELETE" else self._read(kind)

    def _uploaded(self, kind: Kind) -> Route:
        """An upload, which waits for its requests and has no timeout of its own."""
        new, policy = max(2, kind.directories), self.spec.client.policy("PUT")
        marker, segment, manifest = (
            self.stored(Kind("PUT", accesses, directories))
            for accesses, directories in ((0, new), (kind.accesses, new), (1, kind.directories))
        )
        request, looked_up = self._request("PUT", "writes"), self._within("HEAD", "reads", self.fetched(Kind("HEAD")))
        found = self._segments(Route("HEAD", looked_up, variant="of a segment"), _AT_ONCE)
        ended = manifest + self._within("DELETE", "writes", self.deleted()) + self._respond()
        requests = {
            "initiation": request + marker + self._respond(),
            "part": request + looked_up + segment + self._respond(),
            "completion": request + looked_up + found + without_body(ended),
        }
        routes = [
            Route("PUT", stages, policy=policy, variant=f"{kind.variant} {name}") for name, stages in requests.items()
        ]
        started, step = map(self._started.add, routes), self.places.segment_step
        sent = self._multipart.requests(self.stations.latency, *started, key_step=step)
        return Route("PUT", in_series(sent), variant=kind.variant)

    def _read(self, kind: Kind) -> Stages:
        manifest = quiet(without_body(self._request("GET", "reads") + self.fetched(Kind("GET"))))
        segment = self._within("GET", "reads", self.fetched(Kind("GET", kind.accesses)))
        read = Route("GET", segment, variant=f"{kind.variant} segment")
        return manifest + self._segments(read, 1, delivers=True) + self._respond()

    def _removed(self) -> Stages:
        looked_up = self._within("HEAD", "reads", self.fetched(Kind("HEAD")))
        read = self._within("GET", "reads", self.fetched(Kind("GET")))
        within = quiet(without_body(looked_up + read))
        removed = without_body(self._within("DELETE", "writes", self.deleted()))
        segments = self._segments(Route("DELETE", removed, variant="of a segment"), _AT_ONCE)
        return self._request("DELETE", "writes") + within + segments + removed + self._respond()

    @property
    def _multipart(self) -> Multipart:
        """How clients upload."""
        assert self.spec.client.multipart is not None
        return self.spec.client.multipart

    def _within(self, op: Op, quorum: str, stages: Stages) -> Stages:
        """A request of the proxy to itself."""
        return in_series(self._begun(op, quorum)) + stages

    def _segments(self, route: Route, at_once: int, *, delivers: bool = False) -> Stages:
        """The requests of the proxy to itself for all segments, which are in other partitions."""
        segments = chunked(
            self.stations.latency, self._multipart.part_size, self._started.add(route), parallel=at_once,
            own_keys=False, key_step=self.places.segment_step, keeps=self.places.proxies, delivers=delivers,
        )  # fmt: skip
        return in_series(segments)
