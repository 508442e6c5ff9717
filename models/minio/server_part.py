"""The part of a request's latency that a MinIO server sees."""

from __future__ import annotations

from dataclasses import replace

from models.capabilities import ServerPart
from models.minio.spec.spec import MinioSpec
from models.network.network import Network
from models.network.route import Route
from models.shared.steps import in_series, quiet


def stamped(spec: MinioSpec, network: Network) -> Network:
    """Return the network with the time of each request's first byte set to its arrival at the server."""
    return replace(network, routes=tuple(_stamped_route(spec, route) for route in network.routes))


def _stamped_route(spec: MinioSpec, route: Route) -> Route:
    before = (route.operation in spec.client.cpu) + bool(spec.network.latency)
    (step,) = route.stages[0].branches
    begun = in_series(step[:before], delivers=True) + in_series(step[before:])
    return replace(route, stages=begun + quiet(route.stages[1:]))


SERVER_PART = ServerPart(stamped, lambda spec: spec.network.latency)
