"""The routes of S3 requests with multipart uploads: RadosMultipartUpload in rgw_sal_rados.cc, rgw_putobj_processor.cc.

An upload has a metadata object with an entry in the shard of the bucket index that the finished object has, too. The
head of a part is written at once, and awaited; then its stripes, an index entry of its own and the attributes of its
head; then its description is added to the metadata object. The completion locks that object, lists the parts in it,
writes the head with the manifest of all parts, and removes the metadata object.

Initiation, parts and completion are requests of their own, with the client's policy, and gateways and slots of their
own. The upload waits for them, and has neither; if a part fails, the client cancels the others.
"""

from __future__ import annotations

from models.ceph.requests.osd_routes import Kind
from models.ceph.requests.stripes import StripedRoutes, of_stripe
from models.network.retry_policy import NO_POLICY, Policy
from models.network.sub_requests import SubRequests
from models.shared.steps import Stages, in_series, starts


class S3Routes(StripedRoutes):
    """Builds the routes of S3 requests."""

    def _policy(self, kind: Kind) -> Policy:
        return NO_POLICY if kind.cut == "in parts" else super()._policy(kind)

    def _put(self, kind: Kind) -> Stages:
        multipart = self.spec.client.multipart
        if kind.cut != "in parts" or multipart is None:
            return super()._put(kind)
        policy = self.spec.client.policy("PUT")
        initiation = self._sub_route("PUT", "initiation", self._initiated(), policy)
        part = self._sub_route("PUT", "part", self._part_uploaded(kind), policy)
        completion = self._sub_route("PUT", "completion", self._completed(), policy)
        parts = SubRequests(part, multipart.part_size, parallel=multipart.parallel, own_keys=False, cancels=True)
        return self._one(initiation) + in_series(starts(self.at.latency, parts)) + self._one(completion)

    def _one(self, route: int) -> Stages:
        """One request without a body."""
        return in_series(starts(self.at.latency, SubRequests(route, size_bytes=0, own_keys=False)))

    def _initiated(self) -> Stages:
        """The metadata object is written, with its index entry."""
        return self._begun("PUT") + self._index() + self._remove() + self._ended("PUT")

    def _part_uploaded(self, kind: Kind) -> Stages:
        """A part is uploaded, after the attributes of the upload were read."""
        stripe = self._sub_route("PUT", of_stripe(kind), self._stripe_written(kind))
        data = self._head_of(stripe, new=True) + self._tail_of(stripe, new=True)
        described = self._remove() + self._remove()
        return self._begun("PUT") + self._stat() + data + self._index() + described + self._ended("PUT")

    def _completed(self) -> Stages:
        """The metadata object is locked and read, the head written, and the metadata object removed."""
        locked, written = self._remove() + self._stat(), self._index() + self._remove() + self._remove()
        return self._begun("PUT") + locked + written + self._ended("PUT")
