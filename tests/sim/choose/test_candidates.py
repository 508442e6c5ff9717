"""Settings of each store for some hardware: the first that keep the promise, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from models.durability.promise import Promise
from models.site.options import Hardware
from models.store import store_named
from sim.choose.candidates import Candidate, Excluded, Wanted, candidate_of, stores_to_compare
from sim.choose.hardware import HardwareFile, read_hardware
from tests.paths import EXAMPLES
from traces.errors import InputError

FILES = sorted((EXAMPLES / "choose").glob("*.yaml"))
STORES = stores_to_compare([])


def wanted(name: str = "nvme", promise: dict[str, Any] | None = None, **pins: tuple[str, ...]) -> Wanted:
    file, data = read_hardware(EXAMPLES / "choose" / f"{name}.yaml")
    return Wanted(file, file.promise if promise is None else Promise(**promise), data["workload"], 2000, pins)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("store", STORES)
def test_settings_keep_the_promise_and_hold_the_objects(file, store):
    asked = wanted(file.stem)
    found = candidate_of(store, asked)
    if isinstance(found, Excluded):
        assert found.reason
        return
    assert found.kept.breaches == ()
    assert found.usable_bytes >= asked.file.stored_bytes
    spec = found.described.spec
    assert spec.workload.rate == asked.file.workload.rate
    assert spec.workload.mix == asked.file.workload.mix
    assert spec.workload.operations == 2000


@pytest.mark.parametrize("store", ["bob", "openio"])
def test_stores_that_do_not_sync_are_chosen_without_the_same_promise_only(store):
    refused = candidate_of(store, wanted())
    assert isinstance(refused, Excluded)
    assert "power" in refused.reason
    assert isinstance(candidate_of(store, wanted(promise={"acknowledged": "written"})), Candidate)


@pytest.mark.parametrize(
    ("store", "written", "synced"),
    [
        ("rustfs", "EC 8+4, relaxed", "EC 8+4, strict"),
        ("garage", "replica 3", "replica 3, fsync"),
        ("seaweedfs", "001", "001, fsync, SQL filer store"),
    ],
)
def test_settings_sync_if_the_promise_needs_it(store, written, synced):
    survives = ["drive", "host", "power"]
    for acknowledged, text in (("written", written), ("synced", synced)):
        found = candidate_of(store, wanted(promise={"survives": survives, "acknowledged": acknowledged}))
        assert isinstance(found, Candidate)
        assert found.option.text == text


def test_versitygw_is_on_an_array_of_one_host():
    unsynced = {"survives": ["drive", "power"], "acknowledged": "written"}
    home = candidate_of("versitygw", wanted("home", unsynced))
    assert isinstance(home, Candidate)
    assert home.option.text == "RAID 6 of 4 drives"
    assert home.described.spec.drives.count == 1
    assert home.usable_bytes == pytest.approx(0.95 * 2 * home.described.spec.drives.capacity / 2)
    several = candidate_of("versitygw", wanted("nvme", unsynced))
    assert isinstance(several, Excluded)
    assert "a file system in common" in several.reason


def test_more_must_survive_with_more_copies():
    few = candidate_of("bob", wanted(promise={"survives": ["drive"], "acknowledged": "written"}))
    many = candidate_of("bob", wanted(promise={"survives": ["drive", "host"]}))
    assert isinstance(few, Candidate)
    assert isinstance(many, Candidate)
    assert many.described.spec.protection.write_quorum >= 2
    assert few.option.text == "replica 3, quorum 2"


def test_a_store_takes_an_erasure_code_if_replicas_do_not_hold_the_objects():
    asked = wanted()
    stored = asked.file.stored.model_copy(update={"objects": 1.2e8})
    full = replace(asked, file=asked.file.model_copy(update={"stored": stored}))
    found = candidate_of("ceph", full)
    assert isinstance(found, Candidate)
    assert found.option.text.startswith("ec ")


def test_pins_hold_in_the_spec():
    found = candidate_of("ceph", wanted(ceph=("pools.data=ec 4+2",)))
    assert isinstance(found, Candidate)
    assert found.described.spec.pools.data.width == 6
    with pytest.raises(InputError, match=r"pin ceph: .*no_such"):
        candidate_of("ceph", wanted(ceph=("no_such=1",)))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("hosts", "drives"), [(1, 1), (1, 4), (3, 1), (5, 12)])
def test_options_are_different_and_answer_questions_of_the_store(store, hosts, drives):
    setup = store_named(store).setup
    hardware = Hardware(hosts, drives, 8, False, 10**12, 64 << 30, 1e12)
    if store == "versitygw" and hosts > 1:
        with pytest.raises(InputError, match="a file system in common"):
            list(setup.options(hardware))
        return
    options = list(setup.options(hardware))
    assert len({option.text for option in options}) == len(options)
    questions = {question.name for question in setup.questions} | {"collocated", "index-replicas"}
    for option in options:
        assert set(option.facts) <= questions


def test_exclusions_name_stores():
    assert "minio" not in stores_to_compare(["minio"])
    with pytest.raises(InputError, match="did you mean ceph"):
        stores_to_compare(["cehp"])
    with pytest.raises(InputError, match="no store is left"):
        stores_to_compare(STORES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workload": {"clients": 4, "object_size": "1MiB", "mix": {"GET": 1}}}, "workload.rate: is missing"),
        ({"drives": {"count": 4, "preset": "nvmee"}}, "did you mean nvme"),
        ({"objectives": []}, "objectives"),
        ({"hosts": {"count": 0, "cores": 4, "nic": "1Gbit/s"}}, "hosts.count"),
        ({"promise": {"survives": ["fire"]}}, "promise.survives"),
    ],
)
def test_mistakes_in_the_file_are_named(change, message, tmp_path):
    import yaml

    _, data = read_hardware(EXAMPLES / "choose" / "home.yaml")
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**data, **change}))
    with pytest.raises(InputError, match=message):
        read_hardware(path)


def test_the_cost_is_that_of_all_hosts():
    file, _ = read_hardware(EXAMPLES / "choose" / "nvme.yaml")
    assert isinstance(file, HardwareFile)
    assert file.cost(2) == 2 * (9000 + 4 * 800)
