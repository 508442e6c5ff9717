"""The routes of S3 requests with multipart uploads: RadosMultipartUpload in rgw_sal_rados.cc, rgw_putobj_processor.cc.

An upload has a metadata object with an entry in the shard of the bucket index that the finished object has, too. A part
is written like an object, with stripes and an index entry of its own; then its description is added to the metadata
object. The completion locks that object, lists the parts in it, writes the head with the manifest of all parts, and
removes the metadata object.
"""

from __future__ import annotations

from models.ceph.requests.osd_routes import Kind
from models.ceph.requests.rgw_routes import AFTER_DATA, Routes
from models.shared.multipart import further, without_body
from models.shared.steps import Stages, Step, fan_out


class S3Routes(Routes):
    """Builds the routes of S3 requests."""

    def _put(self, kind: Kind) -> Stages:
        multipart = self.spec.client.multipart
        if not kind.uploaded or multipart is None:
            return super()._put(kind)
        part = further(self._part_uploaded(kind), self.at.gateway("slots"))
        return self._initiated() + multipart.upload(kind.uploaded, part) + self._completed()

    def _initiated(self) -> Stages:
        """The metadata object is written, with its index entry."""
        ended = further(self._end_of_write(self.costs.gateway_cpu("PUT"), []), self.at.gateway("slots"))
        return without_body(self._begun() + self._index() + self._remove() + ended)

    def _part_uploaded(self, kind: Kind) -> Stages:
        """A part is uploaded, after the attributes of the upload were read."""
        demand = self.costs.gateway_cpu("PUT")
        accept = self._accept("PUT", self._arrive(), demand=demand.scaled(1 - AFTER_DATA))
        index = fan_out(self._index_of_part(member) for member in range(self.spec.index_replicas))
        ended = self._end_of_write(demand, self._deferred_writes(kind))
        return accept + self._stat() + index + self._write(kind) + self._remove() + ended

    def _index_of_part(self, member: int) -> Step:
        """An OSD of the index shard commits the entry of a part.

        The primary keeps the shard for its own commit only, not until its replicas have committed: parts that go
        through their stages together would otherwise wait for each other.
        """
        if member:
            return self.hop + self._index_commit(member, looks_up=True)
        lookups = self._accesses(self.at.index_osd(0), self.index_costs.entry_accesses)
        return self._go("index", writes=True) + self._index_of_primary(lookups) + self.hop

    def _completed(self) -> Stages:
        """The metadata object is locked and read, the head written, and the metadata object removed."""
        begun = further(self._begun(), self.at.gateway("slots"))
        locked = self._remove() + self._stat()
        written = self._index() + self._remove() + self._remove()
        return without_body(begun + locked + written + self._end_of_write(self.costs.gateway_cpu("PUT"), []))

    def _begun(self) -> Stages:
        """A request without a body arrives; it takes the CPU time of a PUT without bytes (assumed)."""
        return self._accept("PUT", demand=self.costs.gateway_cpu("PUT").scaled(1 - AFTER_DATA))
