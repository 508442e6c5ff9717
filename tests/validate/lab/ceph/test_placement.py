"""Keys that the model places on the OSDs that a Ceph of the lab has."""

from __future__ import annotations

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.faults.osd_map import Epoch
from models.network.placement import key_hashes
from models.store import load_spec
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.trace import Pacing
from validate.lab.ceph.placement import CephPlacement


def test_keys_that_no_name_places_have_the_same_primary() -> None:
    spec = load_spec(EXAMPLES / "ceph" / "box.yaml", ["hosts.count=4"])
    names = [f"k{i}" for i in range(40)]
    trace = trace_of(["GET"] * 40, names, Pacing("closed", 1))
    recorded = {name: [i % 4, (i + 1) % 4, (i + 2) % 4] for i, name in enumerate(names)}
    renamed = CephPlacement.applied(trace, recorded, spec)
    placed = PlacementRows(spec)
    osds = placed.objects(Epoch())[key_hashes(renamed) % placed.count].tolist()
    assert [each[0] for each in osds] == [recorded[name][0] for name in names]
    exact = sum(each == recorded[name] for each, name in zip(osds, names, strict=True))
    assert exact >= 10, "most orders of three of four OSDs are there"
