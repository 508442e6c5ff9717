"""Copies within Swift (X-Copy-From, and copies of S3): swift/common/middleware/copy.py.

The proxy requests the source as for a GET, and sends what it receives as the body of a PUT, so that reads, links and
writes overlap if there are several accesses. No bytes pass the client. The CPU times are those of a GET and a PUT.
"""

from __future__ import annotations

from models.network.route import Route
from models.shared.steps import Stages, Step, fan_out, in_series, quiet, use
from models.swift.requests.routes import Kind, Routes
from traces.operations import Op


class Copies(Routes):
    """Builds the routes of copies."""

    _meanwhile: tuple[Step, ...] = ()

    def route(self, kind: Kind) -> Route:
        """Return the route of a copy."""
        put = Kind("PUT", kind.accesses, kind.directories)
        begun = self._request("COPY", None) + in_series(self._begun("PUT", "writes"), self._begun("GET", "reads"))
        read = quiet(self.fetched(Kind("GET", kind.source_accesses)))
        overlap = kind.source_accesses > 1 and not self.places.hedged
        self._meanwhile = tuple(branch for stage in read for branch in stage.branches) if overlap else ()
        stages = begun + (() if overlap else read) + self.stored(put) + self._respond()
        return Route("COPY", stages, policy=self.spec.client.policy("COPY"), variant=kind.variant)

    def _received(self, kind: Kind) -> Stages:
        written = tuple(branch for stage in super()._received(kind) for branch in stage.branches)
        return fan_out(written + self._meanwhile)

    def _to_client(self) -> Step:
        return ()

    def _from_client(self) -> Step:
        return self._proxy_bytes("PUT")

    def _proxy_bytes(self, op: Op) -> Step:
        return use(self.places.proxy("cpu"), self.spec.proxy_demand(op).of_bytes)
