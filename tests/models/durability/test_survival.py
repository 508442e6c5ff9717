"""What specs of each store survive, and whether they keep promises."""

from __future__ import annotations

from typing import Any

import pytest

from models.basis.promises import breaches, kept_of
from models.durability.durability import Durability, Rebuild
from models.durability.kept import kept
from models.durability.promise import EVENTS, Promise
from models.store import Spec, names, spec_of, store_named
from tests.paths import ROOT
from traces.spec.spec_file import load_mapping, override

EXAMPLES = {
    "minio": "minio/hdd-4x4.yaml",
    "ceph": "ceph/nvme-squid.yaml",
    "swift": "swift/cluster.yaml",
    "bob": "bob/cluster.yaml",
    "openio": "openio/cluster.yaml",
    "silo": "silo/cluster.yaml",
    "rustfs": "rustfs/cluster.yaml",
    "garage": "garage/three-nodes.yaml",
    "seaweedfs": "seaweedfs/cluster.yaml",
    "versitygw": "versitygw/nfs.yaml",
}
RAID_6 = "drives.raid={level: 6, members: 6}"
DATABASE = "filer.store.copies=2"


def spec(store: str, *sets: str) -> Spec:
    return spec_of(override(load_mapping(ROOT / "examples" / EXAMPLES[store]), sets), store)


@pytest.mark.parametrize("store", EXAMPLES)
def test_a_store_says_what_its_objects_survive(store: str) -> None:
    found = kept_of(spec(store, *([RAID_6] if store == "versitygw" else [])))[""]
    assert found.settings
    assert found.source
    assert found.rebuild_s is not None
    assert found.annual_loss is not None
    assert 0 < found.annual_loss < 1e-3


@pytest.mark.parametrize(
    ("store", "sets"),
    [("bob", []), ("openio", []), ("rustfs", []), ("garage", []), ("garage", ["data_fsync=true"]),
     ("seaweedfs", [DATABASE]), ("seaweedfs", [DATABASE, "volumes.fsync=true"])],
)  # fmt: skip
def test_stores_that_do_not_sync_lose_newest_objects_with_the_power_of_all_hosts(store: str, sets: list[str]) -> None:
    found = kept_of(spec(store, *sets))[""]
    assert found.loses == ()
    assert "power" in found.loses_newest
    assert not {"drive", "host"} & set(found.loses_newest)
    broken = breaches(spec(store, *sets, "promise.survives=[power]"))
    assert [path for path, _ in broken] == ["promise.survives.power"]
    assert breaches(spec(store, *sets, "promise.survives=[power]", "promise.acknowledged=written")) == []


@pytest.mark.parametrize(
    ("store", "sets"),
    [
        ("minio", []),
        ("silo", []),
        ("ceph", []),
        ("swift", []),
        ("rustfs", ["durability=strict"]),
        ("garage", ["data_fsync=true", "metadata.fsync=true"]),
        ("seaweedfs", [DATABASE, "volumes.fsync=true", "filer.store.synced=true"]),
    ],
)
def test_stores_that_sync_keep_the_default_promise(store: str, sets: list[str]) -> None:
    assert breaches(spec(store, *sets, "promise.survives=[drive, host, host_power, power]")) == []


def test_an_entry_of_a_filer_is_lost_with_its_host_at_first() -> None:
    found = kept_of(spec("seaweedfs"))[""]
    assert found.loses == ()
    assert set(found.loses_newest) == {"drive", "host", "host_power", "power"}
    broken = breaches(spec("seaweedfs", "promise.survives=[host]"))
    assert "entries of filers have one copy, not synced" in broken[0][1].text


def test_versitygw_keeps_what_its_file_system_keeps() -> None:
    assert kept_of(spec("versitygw", RAID_6))[""].loses_newest == ()
    on_close = kept_of(spec("versitygw", RAID_6, "file_system.synced=false"))[""]
    assert on_close.loses_newest == ("host_power", "power")


@pytest.mark.parametrize(
    ("level", "members", "fatal", "usable"), [(1, 3, 1, 1 / 3), (5, 4, 6, 3 / 4), (6, 6, 20, 4 / 6), (10, 6, 3, 1 / 2)]
)
def test_arrays_lose_files_to_sets_of_drives(level: int, members: int, fatal: int, usable: float) -> None:
    one = store_named("versitygw").durability
    assert one is not None
    found = one(spec("versitygw", f"drives.raid={{level: {level}, members: {members}}}", "drives.count=2"))
    assert found.fatal == 2 * fatal
    assert found.usable_fraction == pytest.approx(usable)


def test_usable_space_of_erasure_coded_volumes_is_that_of_both_kinds() -> None:
    of = store_named("seaweedfs").durability
    assert of is not None
    coded = of(spec_of(load_mapping(ROOT / "examples/seaweedfs/erasure.yaml"), "coded"))
    assert coded.usable_fraction == pytest.approx(1 / (0.1 * 2 + 0.9 * 1.4))


@pytest.mark.parametrize(
    ("store", "sets", "lost"),
    [
        ("minio", ["erasure.parity=2", "hosts.racks=1"], ("host",)),  # four drives of a host in a set of 16
        ("minio", ["hosts.racks=2", "erasure.parity=4"], ("rack",)),
        ("minio", ["hosts.racks=4", "erasure.parity=4"], ()),
        ("ceph", ["pools.data=replica 1"], ("drive", "host")),
        ("swift", ["ring.replicas=1", "hosts.zones=1"], ("drive", "host")),
        ("swift", ["hosts.zones=1"], ()),
        ("bob", ["vdisks.replicas=1", "quorum=1"], ("drive", "host")),
        ("openio", ["chunks.erasure=null", "chunks.replicas=1"], ("drive", "host")),
        ("openio", ["directory.replicas=1"], ("drive", "host")),
        ("silo", ["erasure.parity=2"], ("host",)),
        ("rustfs", ["erasure.parity=2"], ("host",)),
        ("garage", ["replication=1"], ("drive", "host")),
        ("garage", ["replication=2"], ()),
        ("seaweedfs", ["volumes.copies=1"], ("drive", "host")),
        ("versitygw", [], ("drive", "host")),
        ("versitygw", [RAID_6], ("host",)),
        ("versitygw", ["drives.raid={level: 0, members: 4}"], ("drive", "host")),
    ],
)
def test_what_settings_lose(store: str, sets: list[str], lost: tuple[str, ...]) -> None:
    assert kept_of(spec(store, *sets))[""].loses == lost


@pytest.mark.parametrize(
    ("store", "sets", "opening"),
    [
        ("versitygw", [], "what a drive loses that fails is not rebuilt"),
        ("minio", ["erasure.parity=0"], "what a drive loses that fails is not rebuilt"),
        ("minio", [], "after a drive fails, all is whole again in "),
        ("versitygw", [RAID_6], "after a drive fails, all is whole again in "),
    ],
)
def test_a_rebuild_takes_time_only_where_something_can_be_rebuilt(store: str, sets: list[str], opening: str) -> None:
    assert kept_of(spec(store, *sets))[""].figures.startswith(opening)


def test_empty_objects_take_a_block_of_each_drive() -> None:
    empty, small = (kept_of(spec("minio", f"workload.object_size={size}"))[""].rebuild_s for size in ("0B", "16KiB"))
    assert empty is not None
    assert empty == small


def test_a_quorum_of_one_may_lose_what_it_just_acknowledged() -> None:
    for found in (kept_of(spec("bob", "quorum=1"))[""], kept_of(spec("garage", "consistency=dangerous"))[""]):
        assert found.loses == ()
        assert set(found.loses_newest) >= {"drive", "host", "host_power", "power"}


def test_a_slow_rebuild_and_probable_loss_break_a_promise() -> None:
    sets = ["promise.rebuild=1s", "promise.annual_loss=0.0000000000000000000000000000000001", "promise.survives=[]"]
    assert [path for path, _ in breaches(spec("ceph", *sets))] == ["promise.rebuild", "promise.annual_loss"]


def test_layers_say_it_of_the_store_below() -> None:
    layered = spec_of(load_mapping(ROOT / "examples/juicefs/mount.yaml"), "layer")
    assert list(kept_of(layered)) == ["below"]
    data = override(load_mapping(ROOT / "examples/juicefs/mount.yaml"), ["promise.survives=[drive]"])
    promised = spec_of(data, "layer")
    assert [path for path, _ in breaches(promised)] == ["promise"]


def facts(**changed: Any) -> Durability:
    fields: dict[str, Any] = {
        "width": 3, "data": 1, "acknowledged": 3, "synced": True, "on_host": 1, "on_rack": None, "hosts": 3,
        "fatal": 1.0, "rebuild": Rebuild(3600.0, None, "a test"), "is_disk": True, "reason": "why", "source": "where",
        "settings": "replica 3",
    }  # fmt: skip
    return Durability(**{**fields, **changed})


def test_more_copies_elsewhere_survive_no_less() -> None:
    for width in range(1, 5):
        for acknowledged in range(1, width + 1):
            for synced in (False, True):
                less, more = (
                    facts(width=w, acknowledged=a, synced=synced)
                    for w, a in ((width, acknowledged), (width + 1, acknowledged + 1))
                )
                for event in EVENTS:
                    for newest in (False, True):
                        assert more.survives(event, newest) >= less.survives(event, newest)


def test_waiting_for_a_new_drive_counts() -> None:
    waits, at_once = facts(), facts(rebuild=Rebuild(3600.0, 600.0, "a test"))
    promise = Promise(replaced_after=7200.0)
    assert waits.rebuild.total_s(promise) == 10800
    assert at_once.rebuild.total_s(promise) == 4200
    losses = [each.annual_loss(promise) for each in (waits, at_once)]
    assert losses[0] is not None
    assert losses[1] is not None
    assert losses[0] / losses[1] == pytest.approx((10800 / 4200) ** 2, rel=0.01)


def test_an_unknown_rebuild_is_no_kept_promise() -> None:
    unknown = facts(rebuild=Rebuild(None, None, "a test"))
    found = kept(unknown, Promise(rebuild=1e6, annual_loss=0.1))
    assert [breach.clause for breach in found.breaches] == ["rebuild", "annual_loss"]


def test_every_store_with_a_setup_has_durability_options_and_evidence() -> None:
    for name in names():
        store = store_named(name)
        if store.issues is None and store.setup is not None:
            assert store.durability is not None, name
            assert store.setup.options is not None, name
            assert store.evidence is not None, name
            assert (ROOT / store.evidence.page).exists(), name
