"""OSDs that have only bucket indexes, as a cluster of their own."""

from __future__ import annotations

import math

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.bucket_index import INDEX_ENTRY_BYTES
from models.ceph.mechanisms.redundancy import Protection


def of_index(costs: CostFunctions) -> CostFunctions:
    """Return the cost functions of the OSDs with bucket indexes: those of all, unless they have no data.

    An object has an entry in RocksDB on each of its shard's replicas. OSDs without data are those on the drives of the
    index, or on all drives of a group of hosts with another device class than the data.
    """
    spec = costs.spec
    if spec.index is not None:
        on_drives = {
            "device": spec.index.device,
            "db": None,
            "hosts": spec.hosts.model_copy(update={"drives": spec.index.drives, "osds_per_drive": 1, "groups": {}}),
            "osd": spec.osd.model_copy(update={"device_class": None}),
        }
    elif spec.has_index_hosts and not math.isfinite(costs.osds):
        on_drives = {}
    else:
        return costs
    changed = {
        **on_drives,
        "index": None,
        "pools": spec.pools.model_copy(update={"data": Protection(replicas=spec.index_replicas)}),
        "rocksdb": spec.rocksdb.model_copy(update={"metadata_bytes_per_object": INDEX_ENTRY_BYTES}),
    }
    index = spec.model_copy(update=changed)
    return CostFunctions(index, 0.0, costs.load, osds=costs.index_osds, group=costs.group, is_of_index=True)
