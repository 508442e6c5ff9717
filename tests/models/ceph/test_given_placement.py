"""Placement groups and primaries of each OSD as a real cluster has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.given import unused
from models.ceph.doubts import doubts
from models.ceph.growth import effects, grown, state_figures
from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.mechanisms.given_placement import targets
from models.ceph.remedies import REMEDIES
from models.ceph.spec.object_size import object_bytes
from models.ceph.spec.spec import CephSpec
from models.site.gathered import facts_of, read_files
from models.site.known import given, plain
from models.site.setup import Site
from models.store import spec_of, store_named
from sim.simulate import simulate
from tests.models.ceph.test_host_groups import MIXED, MIXED_GROUPS, S3, ceph, figures
from traces.errors import InputError
from traces.workload.generate import generate

RNG = np.random.default_rng(1)
PGS = [int(n) for n in RNG.integers(60, 180, 24)]
PRIMARIES = [int(n) for n in RNG.integers(10, 60, 24)]


def mixed(pg_num: int = 256, **pools: Any) -> CephSpec:
    given_pools = {"data": "replica 3", "pg_num": pg_num, "osd_pgs": PGS, "osd_primaries": PRIMARIES, **pools}
    return ceph(MIXED, groups=MIXED_GROUPS, pools=given_pools)


def counts(osds: np.ndarray) -> np.ndarray:
    return np.bincount(osds[osds != NO_OSD], minlength=24)


@pytest.mark.parametrize("pg_num", [64, 256, 1024])
@pytest.mark.parametrize("domain", ["host", "osd"])
def test_osds_have_the_given_placement_groups_and_primaries(pg_num: int, domain: str) -> None:
    spec = mixed(pg_num, failure_domain=domain)
    placed = PlacementRows(spec).data()
    assert counts(placed).tolist() == targets(PGS, 3 * pg_num).tolist()
    assert counts(placed[:, 0]).tolist() == targets(PRIMARIES, pg_num).tolist()
    domains = spec.layout.host_of_osd[placed] if domain == "host" else placed
    assert all(len(set(row)) == 3 for row in domains.tolist())


def test_lost_osds_move_only_their_own_placement_groups() -> None:
    rows, out = PlacementRows(mixed()), frozenset([3, 4])
    before, after = rows.data(), rows.data(out)
    had = np.isin(before, list(out))
    assert had.any() and not np.isin(after, list(out)).any() and not (after == NO_OSD).any()
    assert (after[~had.any(axis=1)] == before[~had.any(axis=1)]).all()
    assert (np.sort(after[:, :], axis=1) == np.sort(before, axis=1)).all(axis=1).sum() == (~had.any(axis=1)).sum()


def test_numbers_that_hosts_cannot_have_are_approached() -> None:
    # A host has each placement group once at most, so the others of its OSDs leave fewer to the first.
    placed = counts(PlacementRows(mixed(osd_pgs=[1000, *PGS[1:]], osd_primaries=[])).data())
    assert placed[:5].sum() == 256 and placed[0] > 150


def test_targets_have_the_sum_and_the_proportions() -> None:
    assert targets([1, 1, 2], 8).tolist() == [2, 2, 4]
    assert targets([1, 1, 1], 8).sum() == 8 and targets([0, 3], 5).tolist() == [0, 5]


def test_reads_go_to_the_given_primaries() -> None:
    spec = ceph(MIXED, "workload.keys.count=100000", groups=MIXED_GROUPS,
                pools={"data": "replica 3", "pg_num": 1024, "osd_primaries": PRIMARIES})  # fmt: skip
    run = simulate(spec, seed=1)
    assert run.stations is not None
    visits = np.array([row["visits"] for row in run.stations.to_pylist() if row["role"] == "drive"], float)
    expected = np.array(PRIMARIES) / sum(PRIMARIES)
    assert visits / visits.sum() == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(
    "sections",
    [{}, {"faults": [{"kind": "osd_down", "osd": 3, "at": "0.2s", "out_after": "0.2s", "peering": "0.1s"}]}],
    ids=str,
)
def test_engines_agree_on_given_placement(sections: dict[str, Any]) -> None:
    pools = {"data": "ec 2+1", "pg_num": 64, "osd_pgs": PGS[:15], "osd_primaries": PRIMARIES[:15]}
    spec = ceph(S3, "workload.operations=150", pools=pools, **sections)
    assert np.array_equal(figures(spec), figures(spec, "simpy"))


def test_the_fullest_osd_is_doubtful() -> None:
    full = [each.text for each in doubts(mixed(osd_pgs=[300, *[100] * 23])) if each.path == "stored.objects"]
    assert not full
    loaded = ceph(MIXED, groups=MIXED_GROUPS, stored={"objects": 5e8},
                  pools={"data": "replica 3", "pg_num": 256, "osd_pgs": [300, *[100] * 23]})  # fmt: skip
    (text,) = [each.text for each in doubts(loaded) if each.path == "stored.objects"]
    assert text.startswith("fills osd 0, which has ")


@pytest.mark.parametrize("balancer", [True, False])
def test_the_fullest_osd_reaches_the_limits_of_space(balancer: bool) -> None:
    equal = spec_of({**S3, "hosts": {"count": 6, "drives": 4}, "pools": {"balancer": balancer, "pg_num": 256}}, "spec")
    assert isinstance(equal, CephSpec)
    placed = counts(PlacementRows(equal).data())
    over = placed.max() / placed.mean()
    assert over > (1.01 if balancer else 1.1)
    trace = generate(equal.workload, 0)
    (near,) = [each for each in effects(equal, trace, 1e3, 1e12) if each.name == "nearfull"]
    at_limit = grown(equal, near.objects)
    assert state_figures(at_limit, trace)["fill_fraction"] == pytest.approx(0.85, rel=1e-4)
    mean = CostFunctions(at_limit, object_bytes(at_limit, trace)).state.fill_fraction
    assert mean == pytest.approx(0.85 / over, rel=1e-4)
    assert f"the fullest OSD is 85% full; OSDs are {mean:.0%} full on average" in near.text


def test_remedies_with_other_osds_leave_the_numbers_out() -> None:
    spec = mixed()
    more = [change for change in REMEDIES.changes(spec, spec) if any(path.endswith(".count") for path in change)]
    of_hosts = [change for change in more if any(path.startswith("hosts.groups") for path in change)]
    assert of_hosts and all(change["pools.osd_pgs"] == change["pools.osd_primaries"] == [] for change in of_hosts)
    assert all("pools.osd_pgs" not in change for change in REMEDIES.changes(ceph(S3), ceph(S3)))


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ({"osd_pgs": [1, 2]}, "pools.osd_pgs: has 2 numbers for 24 OSDs; give one for each"),
        ({"osd_pgs": [1.0] * 10 + [0.0] * 14}, "above 0 are on 2 hosts; required are at least 3"),
        ({"osd_primaries": [0.0] * 24}, "pools.osd_primaries: numbers above 0 are on 0 hosts"),
        ({"osd_pgs": [-1.0] * 24}, "pools.osd_pgs.0"),
    ],
)
def test_refusals_name_the_numbers(pools: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        mixed(**pools)


def of_cluster(tmp_path: Path, *contents: object) -> CephSpec:
    """Return the spec that `init --from` writes for files."""
    setup, paths = store_named("ceph").setup, []
    for number, content in enumerate(contents):
        paths.append(tmp_path / f"file{number}")
        paths[-1].write_text(json.dumps(content))
    asked = {"rate": "200/s", "size": "64KiB", "objects": 10**6, "nic": "10Gbit/s", "gateways": 2}
    known = {**facts_of(read_files(paths, setup.readers)), **{name: given(value) for name, value in asked.items()}}
    spec = spec_of({"store": "ceph", **plain(setup.draft(Site(setup.questions, known)))}, "spec")
    assert isinstance(spec, CephSpec)
    return spec


def _df_tree(pgs: dict[int, int], hosts: list[list[int]]) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [{"id": -1, "name": "default", "type": "root", "children": []}]
    for number, osds in enumerate(hosts):
        nodes.append({"id": -2 - number, "name": f"node{number}", "type": "host", "children": osds})
        nodes += [
            {"id": osd, "name": f"osd.{osd}", "type": "osd", "device_class": "hdd", "status": "up", "kb": 7.8e9,
             "kb_used": 1e9, "pgs": pgs[osd]} for osd in osds
        ]  # fmt: skip
    return {"nodes": nodes, "stray": [], "summary": {}}


def test_init_writes_the_placement_groups_of_a_mixed_cluster(tmp_path: Path) -> None:
    """Hosts with 5, 5, 5, 4 and 5 OSDs, as in rook issue 8120; the small one comes last in the spec."""
    hosts = [[*range(5)], [*range(5, 10)], [*range(10, 15)], [*range(15, 19)], [*range(19, 24)]]
    pgs = dict(enumerate(PGS))
    spec = of_cluster(tmp_path, _df_tree(pgs, hosts))
    order = [*range(15), *range(19, 24), *range(15, 19)]
    assert spec.pools.osd_pgs == tuple(pgs[osd] for osd in order) and not spec.pools.osd_primaries
    placed = counts(PlacementRows(spec).data())
    assert placed.tolist() == targets([pgs[osd] for osd in order], placed.sum()).tolist()


def test_init_takes_acting_sets_before_the_numbers_of_all_pools(tmp_path: Path) -> None:
    hosts = [[2, 3], [0, 1], [4, 5]]
    stats = [{"pgid": f"7.{n:x}", "acting": [n % 2, 2 + n % 2, 4], "stat_sum": {"num_bytes": 1}} for n in range(16)]
    spec = of_cluster(tmp_path, _df_tree(dict.fromkeys(range(6), 50), hosts), {"pg_stats": stats})
    assert spec.pools.osd_pgs == (8, 8, 8, 8, 16, 0) and spec.pools.osd_primaries == (0, 0, 8, 8, 0, 0)
    assert spec.pools.pg_num == 16
    assert counts(PlacementRows(spec).data())[:6].tolist() == [8, 8, 8, 8, 16, 0]


def test_the_balancer_has_no_effect_on_given_placement():
    paths = {"pools.balancer", "pools.upmap_max_deviation"}
    assert paths <= set(unused(mixed(), ["GET"]))
    assert not paths & set(unused(mixed(osd_pgs=[], osd_primaries=[]), ["GET"]))
    assert paths & set(unused(mixed(osd_pgs=[], osd_primaries=[], balancer=False), ["GET"])) == {
        "pools.upmap_max_deviation"
    }
