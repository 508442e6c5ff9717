"""Where a Ceph of the lab has the objects of a Run, and requests that its model places on the same OSDs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.faults.osd_map import Epoch
from models.ceph.spec.spec import CephSpec
from models.network.placement import key_hashes
from traces.operations import rows_that
from traces.trace import Trace
from validate.lab.ceph import program
from validate.lab.ceph.configuration import ceph_conf
from validate.lab.ceph.reshard import newest_bucket
from validate.lab.store import Store

_ACTING = """
import json, sys, rados
cluster = rados.Rados(conffile=sys.argv[1], name="client.admin")
cluster.connect(timeout=50)
pool, found = "default.rgw.buckets.data", {}
for name in json.loads(sys.argv[2]):
    query = json.dumps({"prefix": "osd map", "pool": pool, "object": name, "format": "json"})
    found[name] = json.loads(cluster.mon_command(query, b"")[1])["acting"]
print(json.dumps(found))
"""
_WITHIN_S = 60.0
_NAMES = 60
"""Names tried for each key; three OSDs have six orders, and three of four 24, not all of which a pool has."""


class CephPlacement:
    """Placement of objects on OSDs."""

    @staticmethod
    def recorded(store: Store, trace: Trace) -> dict[str, list[int]]:
        """Return the OSDs of each object of the newest bucket that a trace reads, the primary first.

        Raises:
            InputError: Ceph's programs fail.
        """
        keys = trace.table.column("key").combine_chunks()
        read = sorted(set(keys.filter(pa.array(rows_that(trace.op, "reads"))).to_pylist()))
        if not read:
            return {}
        conf = str(ceph_conf(store))
        bucket = ["bucket", "stats", f"--bucket={newest_bucket(store)}"]
        stats = program.PROGRAMS.run(["radosgw-admin", "-c", conf, *bucket], _WITHIN_S)
        marker = json.loads(stats)["marker"]
        names = json.dumps([f"{marker}_{key}" for key in read])
        found = json.loads(program.run_python(_ACTING, [conf, names], _WITHIN_S))
        return {name.split("_", 1)[1]: osds for name, osds in found.items()}

    @staticmethod
    def applied(trace: Trace, recorded: Mapping[str, Sequence[int]], spec: CephSpec) -> Trace:
        """Return a trace whose keys the model places on the recorded OSDs, or at least on the same primary.

        Keys are renamed, which changes nothing else, as places depend on names only.
        """
        keys = trace.table.column("key").combine_chunks()
        known = keys.dictionary.to_pylist()
        names = [f"{key}-{number}" for key in known for number in range(_NAMES)]
        rows = replace(trace, table=trace.table.take([0] * len(names)))
        placed = PlacementRows(spec)
        hashes = key_hashes(rows.with_keys(pa.array(names).dictionary_encode()))
        osds = placed.objects(Epoch())[hashes % placed.count].tolist()
        chosen = []
        for number, key in enumerate(known):
            tried = range(number * _NAMES, (number + 1) * _NAMES)
            wanted = recorded.get(key, osds[tried[0]])
            chosen.append(names[max(tried, key=lambda n: (osds[n] == wanted, osds[n][0] == wanted[0]))])
        return trace.with_keys(pa.DictionaryArray.from_arrays(keys.indices, pa.array(chosen)))
