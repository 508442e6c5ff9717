"""The routes of S3 objects with several RADOS objects: a head and stripes of 4 MiB, each of which is a sub-request.

A gateway has 16 MiB of a request in progress, and begins the next stripe when one has ended: BlockingAioThrottle and
YieldingAioThrottle in src/rgw/rgw_aio_throttle.cc. A PUT writes the stripes while their bytes arrive, and then, after
the bucket index entry was prepared, the head (AtomicObjectProcessor in src/rgw/rgw_putobj_processor.cc keeps the first
4 MiB until then; the model has them arrive then, which takes as long). A GET reads the head with the attributes of the
object, sends it, and then reads and sends the stripes (RGWRados::Object::Read::iterate in src/rgw/rgw_rados.cc).

A copy of an object reads and writes the head, and adds a reference to each other stripe of the source, which both
objects have then (RGWRados::copy_obj). A copy to a part of an upload reads one stripe after the other, and writes it
meanwhile (RGWPutObj::execute in src/rgw/rgw_op.cc): two are in progress in the model.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES, RGW_WINDOW_OBJECTS
from models.ceph.requests.osd_routes import Kind
from models.ceph.requests.rgw_routes import AFTER_DATA, Routes
from models.network.route import words
from models.network.sub_requests import SubRequests
from models.shared.steps import Stages, Step, detached, in_series, release, starts, use
from traces.operations import Op

GC_MAX_IO = 10
"""rgw_gc_max_concurrent_io (src/common/options/rgw.yaml.in): removals that garbage collection has in progress."""

COPY_MAX_IO = 10
"""rgw_max_copy_obj_concurrent_io (the same file): references to stripes that a copy adds at the same time."""

_COPIED = 2  # stripes in progress: one is read while the one before is written
_GATEWAYS = (0,)
"""The group whose member the stripes have in common with their request."""


class StripedRoutes(Routes):
    """Builds the routes of requests through gateways, whose objects may have several RADOS objects."""

    def _get(self, kind: Kind) -> Stages:
        if not kind.cut:
            return super()._get(kind)
        stripe = self._sub_route("GET", of_stripe(kind), self._stripe_read(kind))
        accept = self._accept("GET", demand=self.costs.gateway_cpu("GET").without_bytes)
        done = in_series(release(self.at.gateway("slots")))
        return accept + self._head_of(stripe, delivers=True) + self._tail_of(stripe) + done

    def _put(self, kind: Kind) -> Stages:
        if not kind.cut:
            return super()._put(kind)
        stripe = self._sub_route("PUT", of_stripe(kind), self._stripe_written(kind))
        return self._begun("PUT") + self._tail_of(stripe) + self._index() + self._head_of(stripe) + self._ended("PUT")

    def _delete(self, kind: Kind) -> Stages:
        if not kind.tail:
            return super()._delete(kind)
        tail = SubRequests(self._garbage, first=1, count=kind.tail, size_bytes=0, parallel=GC_MAX_IO)
        return self._deleted([starts(self.at.latency, tail)])

    def _copy(self, kind: Kind) -> Stages:
        if not kind.cut:
            return super()._copy(kind)
        stripe = self._sub_route("COPY", of_stripe(kind), self._stripe_copied(kind))
        begun = self._begun("COPY") + self._stat()
        if not kind.shares:
            data = self._head_of(stripe, new=True) + self._tail_of(stripe, new=True, parallel=_COPIED)
            return begun + self._stat() + data + self._index() + self._remove() * 2 + self._ended("COPY")
        referred = self._sub_route("COPY", "reference to a stripe", self._remove())
        tail = SubRequests(referred, RGW_OBJECT_BYTES, first=1, parallel=COPY_MAX_IO, keeps=_GATEWAYS)
        refers = in_series(starts(self.at.latency, tail))
        return begun + refers + self._index() + self._head_of(stripe) + self._ended("COPY")

    @cached_property
    def _garbage(self) -> int:
        """The route of the removal of a stripe."""
        return self._sub_route("DELETE", "stripe", self._remove())

    def _begun(self, op: Op) -> Stages:
        """A request arrives at a gateway, without the bytes of its body."""
        demand = self.costs.gateway_cpu(op).without_bytes
        return self._accept(op, demand=demand.scaled(1 - AFTER_DATA), with_body=False)

    def _ended(self, op: Op) -> Stages:
        """A write whose bytes have been processed ends."""
        return self._end_of_write(self.costs.gateway_cpu(op).without_bytes, [])

    def _head_of(self, stripe: int, *, new: bool = False, delivers: bool = False) -> Stages:
        """The head of an object, by the route of its stripes; `new`: it is not where the key of the request says."""
        head = SubRequests(
            stripe, RGW_OBJECT_BYTES, most=1, own_keys=new, new_keys=new, keeps=_GATEWAYS, delivers=delivers
        )
        return in_series(starts(self.at.latency, head))

    def _tail_of(self, stripe: int, *, new: bool = False, parallel: int = RGW_WINDOW_OBJECTS) -> Stages:
        """The other stripes of an object, by default as many at a time as are in a window."""
        tail = SubRequests(stripe, RGW_OBJECT_BYTES, first=1, parallel=parallel, new_keys=new, keeps=_GATEWAYS)
        return in_series(starts(self.at.latency, tail))

    def _stripe_read(self, kind: Kind) -> Stages:
        """A stripe is read, and sent to the client."""
        read = () if kind.at_gateway else self._read(kind)
        return read + in_series(self._bytes_of("GET"), self._leave(), self.hop, delivers=True)

    def _stripe_written(self, kind: Kind) -> Stages:
        """A stripe arrives at the gateway, and is written."""
        proxy = self.at.proxy.body() if self.at.proxy else ()
        arrived = in_series(self.net.client("up"), proxy, self._arrive(), self.at.alive(), self._bytes_of("PUT"))
        return arrived + self._write(kind) + detached(self.at.latency, self._deferred_writes(kind))

    def _stripe_copied(self, kind: Kind) -> Stages:
        """A stripe is read, and written."""
        read = self._read(kind) + in_series(self._bytes_of("COPY"))
        return read + self._write(kind) + detached(self.at.latency, self._deferred_writes(kind))

    def _bytes_of(self, op: Op) -> Step:
        """The gateway processes the bytes of a body."""
        return use(self.at.gateway("cpu"), self.costs.gateway_cpu(op).of_bytes)


def of_stripe(kind: Kind) -> str:
    """Return the variant of the route of the RADOS objects of requests of a kind."""
    return words("stripe", "of a part" * (kind.cut == "in parts"), replace(kind, cut="").variant)
