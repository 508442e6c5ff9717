"""What the stations of OSDs depend on besides the spec."""

from __future__ import annotations

from dataclasses import dataclass

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.osd_threads import has_pg_locks
from models.ceph.spec.spec import CephSpec


@dataclass(frozen=True)
class Equipment:
    """What the stations of the OSDs of a group of hosts depend on besides the spec.

    Attributes:
        depth: accesses that a drive serves at a time.
        has_one_access: whether no part of an access overlaps with others.
        member_s: time of the kv_sync thread for each transaction of a batch.
        deferred: number of deferred writes of an OSD in progress.
        pgs: mean number of placement groups of an OSD.
        logs_on_db: whether the log is on a device of its own.
    """

    depth: int
    has_one_access: bool
    member_s: float
    deferred: int
    pgs: float
    logs_on_db: bool

    @staticmethod
    def of(costs: CostFunctions) -> Equipment:
        """Return that of the OSDs with these costs."""
        drive, pools = costs.drive, costs.spec.pools
        pgs = pools.pg_num * pools.data.width / costs.osds
        return Equipment(
            drive.queue_depth, drive.has_one_access, costs.commit_member_s, costs.deferred_limit, pgs, costs.logs_on_db
        )

    def commits_on_drive(self, spec: CephSpec) -> bool:
        """Whether commits and data take turns on a drive that has both, as no part of an access overlaps."""
        alone = not self.logs_on_db and spec.hosts.osds_per_drive == 1 and spec.osd.backend == "bluestore"
        return alone and self.has_one_access

    def has_pg_locks(self, spec: CephSpec) -> bool:
        """Whether operations wait for the locks of placement groups, because an OSD has few of them."""
        return has_pg_locks(self.pgs, spec.workers.count)
