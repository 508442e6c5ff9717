"""Bytes that links and drives of a MinIO cluster move for each byte of the objects requested, without simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.minio.cluster.stations import Stations
from models.minio.compile import compile
from models.minio.spec.spec import MinioSpec
from models.network.demand_sheet import draw_sheet
from models.network.service_demand import ServiceDemand
from models.network.visit_draws import bound_of
from traces.workload.generate import generate

_BYTE = ServiceDemand(per_byte=1.0)


def moved_per_byte(spec: MinioSpec) -> dict[str, float]:
    """Return the bytes received, sent, and written to drives, of a host on average, for each byte of the objects.

    They are the service demands of the spec's workload with a second for each byte on links and drives.
    """
    drives = {"read": ServiceDemand(), "write": _BYTE, "commit": ServiceDemand()}
    counted: dict[str, Any] = {
        "hosts": spec.hosts.model_copy(update={"nic": 1.0}),
        "network": spec.network.model_copy(update={"payload_fraction": 1.0}),
        "drives": spec.drives.model_copy(update=drives),
    }
    spec, trace = spec.model_copy(update=counted), generate(spec.workload, 0)
    network, requests = compile(spec, trace)
    sheet = draw_sheet(network, requests, 0, 0, len(requests))
    place = sheet.station.copy()
    for code in np.unique(place[place < 0]).tolist():  # of one of the hosts: that of the client
        bound = bound_of(code)
        place[place == code] = network.groups[bound.group].members[0, bound.position]
    taken_s = np.bincount(place, weights=np.maximum(sheet.demand_s, 0), minlength=len(network.stations))
    total = float(trace.transfer_bytes.sum()) * spec.hosts.count

    stations = Stations(spec)

    def of(places: NDArray[np.int32]) -> float:
        return float(sum(taken_s[places[places != stations.nowhere]]))

    return {
        "received_per_byte": of(stations.ins) / total,
        "sent_per_byte": of(stations.outs) / total,
        "written_per_byte": of(stations.drive) / total,
    }


def _one(name: str, spec: MinioSpec) -> float:
    return moved_per_byte(spec)[name]


FIGURES: Mapping[str, Callable[[MinioSpec], float]] = {
    name: partial(_one, name) for name in ("received_per_byte", "sent_per_byte", "written_per_byte")
}
"""The figures of reference cases."""
