"""Large objects of Swift (SLO) as stages: swift/common/middleware/slo.py and s3api/controllers/multi_upload.py.

A large object is a *manifest* and *segments*, which are objects of their own in other partitions. S3's multipart
upload makes one: its initiation writes an empty object, the *marker*; each part is a segment, before which the marker
is looked up; and the completion looks up the marker and, two at a time, all segments, writes the manifest and deletes
the marker. A GET reads the manifest, and then one segment after the other: the next one is requested when the last one
has been sent. A HEAD is that of the manifest. A DELETE of S3 looks up and reads the manifest, deletes the segments, two
at a time, and then the manifest; the accesses of each are those in the logs of drives under a Swift 2.30.1.
"""

from __future__ import annotations

from dataclasses import replace

from models.network.route import Visit
from models.shared.multipart import Multipart, PartOfUpload, further, without_body
from models.shared.steps import Stages, in_series, quiet, revised
from models.swift.requests.routes import Kind, Routes
from traces.operations import Op

_AT_ONCE = 2  # segments that are looked up or deleted (`concurrency` and `delete_concurrency` of the filter slo)


class LargeObjects(Routes):
    """Builds the routes of requests, some of which are for large objects.

    Each request takes the CPU times of its operation, and those within it likewise (assumed).
    """

    def _stages(self, kind: Kind) -> Stages:
        if not kind.parts:
            return super()._stages(kind)
        match kind.op:
            case "PUT":
                return self._uploaded(kind)
            case "DELETE":
                return self._removed(kind)
            case _:
                return self._read(kind)

    def _uploaded(self, kind: Kind) -> Stages:
        new = max(2, kind.directories)
        marker, segment, manifest = (
            self.stored(Kind("PUT", accesses, directories))
            for accesses, directories in ((0, new), (kind.accesses, new), (1, kind.directories))
        )
        request, looked_up = self._request("PUT", "writes"), self._within("HEAD", "reads", self.fetched(Kind("HEAD")))
        initiated = without_body(request + marker + self._respond())
        part = further(request + looked_up + segment + self._respond(), None)
        segments = self._of_segments(kind.parts, self.client.parallel, part)
        begun, found = further(request, None) + looked_up, self._of_segments(kind.parts, _AT_ONCE, looked_up)
        ended = manifest + self._within("DELETE", "writes", self.deleted()) + self._respond()
        return initiated + segments + without_body(begun) + found + without_body(ended)

    def _read(self, kind: Kind) -> Stages:
        manifest = quiet(without_body(self._request("GET", "reads") + self.fetched(Kind("GET"))))
        segment = self._within("GET", "reads", self.fetched(Kind("GET", kind.accesses)))
        segments = self._of_segments(kind.parts, 1, segment)
        return manifest + segments[: len(segment)] + quiet(segments[len(segment) :]) + self._respond()

    def _removed(self, kind: Kind) -> Stages:
        looked_up = self._within("HEAD", "reads", self.fetched(Kind("HEAD")))
        read = self._within("GET", "reads", self.fetched(Kind("GET")))
        within, removed = quiet(without_body(looked_up + read)), self._within("DELETE", "writes", self.deleted())
        segments = self._of_segments(kind.parts, _AT_ONCE, removed)
        return self._request("DELETE", "writes") + within + segments + without_body(removed) + self._respond()

    @property
    def client(self) -> Multipart:
        """How clients upload."""
        assert self.spec.client.multipart is not None
        return self.spec.client.multipart

    def _within(self, op: Op, quorum: str, stages: Stages) -> Stages:
        """A request of the proxy to itself."""
        return further(in_series(self._begun(op, quorum)) + stages, None)

    def _of_segments(self, parts: int, at_once: int, stages: Stages) -> Stages:
        """The stages of all segments, of which a client sends or reads several at the same time.

        The visits of each are to the servers of another partition.
        """

        def of_segment(visit: Visit) -> Visit:
            assert isinstance(visit.demand, PartOfUpload)
            return replace(visit, station=self.places.of_segment(visit.station, visit.demand.number))

        return revised(self.client.model_copy(update={"parallel": at_once}).upload(parts, stages), of_segment)
