"""OSDs that have only bucket indexes, as a cluster of their own."""

from __future__ import annotations

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.bucket_index import INDEX_ENTRY_BYTES
from models.ceph.mechanisms.redundancy import Protection


def of_index(costs: CostFunctions) -> CostFunctions:
    """Return the cost functions of the OSDs with bucket indexes: those of all, unless the index has its own drives.

    An object has an entry in RocksDB on each of its shard's replicas, and no data on these drives.
    """
    spec = costs.spec
    if spec.index is None:
        return costs
    changed = {
        "device": spec.index.device,
        "db": None,
        "index": None,
        "hosts": spec.hosts.model_copy(update={"drives": spec.index.drives, "osds_per_drive": 1, "groups": {}}),
        "osd": spec.osd.model_copy(update={"device_class": None}),
        "pools": spec.pools.model_copy(update={"data": Protection(replicas=spec.index_replicas)}),
        "rocksdb": spec.rocksdb.model_copy(update={"metadata_bytes_per_object": INDEX_ENTRY_BYTES}),
    }
    index = spec.model_copy(update=changed)
    return CostFunctions(index, 0.0, costs.load, osds=costs.index_osds, group=costs.group)
