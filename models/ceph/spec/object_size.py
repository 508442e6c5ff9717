"""The mean size of the objects in a cluster."""

from __future__ import annotations

import numpy as np

from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES
from models.ceph.spec.spec import CephSpec
from traces.trace import Trace
from traces.workload.generate import generate

_SIZES = 1000  # quantiles over which a workload's object size is averaged


def object_bytes(spec: CephSpec, trace: Trace) -> float:
    """Return the mean size of the stored objects in bytes: that of the spec, or that of a Trace's objects."""
    if spec.stored.object_size is not None:
        return float(spec.stored.object_size)
    if spec.access.overwrites:
        return float(RGW_OBJECT_BYTES)
    sizes = trace.size_bytes[trace.size_bytes > 0].astype(float)
    if not len(sizes):  # only LISTs, which have no object
        places = (np.arange(_SIZES) + 0.5) / _SIZES
        sizes = np.concatenate([part.object_size.quantile(places) for part in spec.workload.parts.values()])
    return float(sizes.mean()) or float(RGW_OBJECT_BYTES)


def first_object_bytes(spec: CephSpec) -> float:
    """Return the same from a trace of one request, for a spec that has the object size."""
    return object_bytes(spec, generate(spec.workload.limited(1), 0))
