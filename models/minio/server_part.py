"""The part of a request's latency that a MinIO server sees."""

from __future__ import annotations

from dataclasses import replace

from models.capabilities import ServerPart
from models.minio.spec.garbage_collector import COLLECTING
from models.minio.spec.spec import MinioSpec
from models.network.network import Network
from models.network.route import Route
from models.shared.steps import Step, in_series, quiet


def stamped(spec: MinioSpec, network: Network) -> Network:
    """Return the network with the time of each request's first byte set to its arrival at the server.

    Of an upload in parts, that is the arrival of its initiation. What a node does for itself does not arrive.
    """
    uploads = {k: step for k, route in enumerate(network.routes) if (step := _requests_of_upload(route))}
    sent = {visit.starts.route for step in uploads.values() for visit in step if visit.starts is not None}
    inner = {sub.route for route in network.routes for _, sub in route.starts} - sent
    routes = (
        route if k in inner else _stamped_upload(route, uploads[k]) if k in uploads else _stamped_route(spec, route)
        for k, route in enumerate(network.routes)
    )
    return replace(network, routes=tuple(routes))


def _requests_of_upload(route: Route) -> Step:
    """Return the step that starts the requests of an upload; nothing if the route is of another request."""
    step = route.stages[-1].branches[0]
    return step if sum(visit.starts is not None for visit in step) > 1 else ()


def _stamped_upload(route: Route, step: Step) -> Route:
    first, initiation = next((n, visit.starts) for n, visit in enumerate(step) if visit.starts is not None)
    begun = replace(step[first], starts=replace(initiation, delivers=True))
    return replace(route, stages=route.stages[:-1] + in_series(step[:first], (begun,), step[first + 1 :]))


def _stamped_route(spec: MinioSpec, route: Route) -> Route:
    before = (route.operation in spec.client.cpu) + bool(spec.network.latency)
    first = int(route.variant.endswith(COLLECTING))
    (step,) = route.stages[first].branches
    begun = in_series(step[:before], delivers=True) + in_series(step[before:])
    return replace(route, stages=route.stages[:first] + begun + quiet(route.stages[first + 1 :]))


SERVER_PART = ServerPart(stamped, lambda spec: spec.network.latency)
