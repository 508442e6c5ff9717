"""How large the objects are that a cluster holds."""

from __future__ import annotations

import numpy as np

from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES
from models.ceph.spec import CephSpec
from traces.trace import Trace
from traces.workload.generate import generate

_SIZES = 1000  # quantiles whose mean is that of a workload's object sizes


def object_bytes(spec: CephSpec, trace: Trace) -> float:
    """The mean size of the objects that the cluster holds: as the spec says, or that of a Trace's objects."""
    if spec.stored.object_size is not None:
        return float(spec.stored.object_size)
    if spec.access.overwrites:
        return float(RGW_OBJECT_BYTES)
    sizes = trace.size_bytes[trace.size_bytes > 0].astype(float)
    if not len(sizes):  # only LISTs, which name no object
        sizes = spec.workload.object_size.quantile((np.arange(_SIZES) + 0.5) / _SIZES)
    return float(sizes.mean()) or float(RGW_OBJECT_BYTES)


def first_object_bytes(spec: CephSpec) -> float:
    """The same where one request may stand for all: of a spec that says how large the objects are."""
    return object_bytes(spec, generate(spec.workload.model_copy(update={"operations": 1, "duration": None}), 0))
