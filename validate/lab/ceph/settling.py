"""Brings what a Ceph of the lab has acknowledged to where it stays on its drives."""

from __future__ import annotations

import time

from validate.lab.ceph import program
from validate.lab.ceph.configuration import ceph_conf
from validate.lab.store import Store

_DEFER_INTERVAL_S = 3.0
"""Time after which an OSD writes deferred data without a further reason (bluestore_max_defer_interval)."""
_WRITES_WITHIN_S = 3.0
"""Of a batch of deferred data, on the drives of a box."""
_WITHIN_S = 60.0
_COMMITS = """
import sys, rados
cluster = rados.Rados(conffile=sys.argv[1], name="client.admin")
cluster.connect(timeout=50)
pool = cluster.open_ioctx("default.rgw.buckets.data")
names = [f"tailcast-{number}" for number in range(16)]
for name in names:
    pool.set_xattr(name, "tailcast", b"")
for name in names:
    pool.remove_object(name)
"""


def settle(store: Store) -> None:
    """Wait until deferred data are written, and have each OSD commit several times.

    An OSD serves a deferred write from memory until the second commit after it was written, however long ago that was
    (BlueStore::_kv_sync_thread). Objects without data, which are on all OSDs by chance, make commits alone.

    Raises:
        InputError: Ceph's programs fail.
    """
    time.sleep(_DEFER_INTERVAL_S + _WRITES_WITHIN_S)
    program.run_python(_COMMITS, [str(ceph_conf(store))], _WITHIN_S)
