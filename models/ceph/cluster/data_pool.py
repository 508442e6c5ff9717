"""A data pool of a Ceph cluster: its placement groups, and where they are in the network."""

from __future__ import annotations

from models.ceph.cluster.placement_rows import PlacementRows, Pool
from models.ceph.spec.spec import CephSpec
from models.shared.placement_table import PlacementTable


class DataPool:
    """Where the objects of a data pool are.

    Attributes:
        name: of the pool.
        spec: the spec with this pool alone.
        rows: of its placement table.
        decodes: most missing chunks of an erasure code.
        first_lock: the lock of its first placement group.
        table: its placement table, which is made last.
    """

    table: PlacementTable

    def __init__(self, name: Pool, spec: CephSpec, rows: PlacementRows, first_lock: int):
        self.name, self.spec, self.rows, self.first_lock = name, spec, rows, first_lock
        self.decodes = 0

    @property
    def width(self) -> int:
        """Number of OSDs of a placement group."""
        return self.spec.pools.data.width
