"""Prices of a catalogue: every drive has one, capacities in between, a user's own entries, and the cost of stores."""

from __future__ import annotations

import re
from typing import Any

import pytest

from models.catalogue.entries import SHIPPED, Catalogue, completed
from models.catalogue.quotes import Quotes
from models.devices.devices import PRESETS
from models.shared.prices import cost, priced_parts
from models.store import levels, load_spec, spec_of
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.spec.spec_file import override


def catalogue(**own: Any) -> Quotes:
    """Return the prices of tailcast's catalogue with entries of one's own."""
    return Quotes(Catalogue.model_validate(completed(own or SHIPPED)))


def minio(*assignments: str, **sections: Any) -> Any:
    """Return the spec of two hosts with four NVMe drives each."""
    data = {
        "store": "minio",
        "workload": {"rate": 10, "duration": "1s", "object_size": "1MiB", "mix": {"GET": 1}},
        "hosts": {"preset": "epyc-2-cores", "count": 2, "cores": 16, "nic": "25Gbit/s"},
        "drives": {"count": 4, "preset": "nvme"},
        "prices": {"catalogue": SHIPPED},
        **sections,
    }
    return spec_of(override(data, assignments), "spec")


def amounts(spec: Any) -> dict[str, float]:
    """Return the price of each part."""
    return {part.name: part.price.amount for part in priced_parts(spec)}


def test_every_entry_has_kind_date_and_source_and_every_drive_a_price():
    shipped = catalogue().catalogue
    entries = [each for of_drive in shipped.drives.values() for each in of_drive]
    entries += [*shipped.nics, *(each for each in (shipped.server, shipped.core, shipped.memory_gb) if each)]
    assert len(entries) > 30
    for entry in entries:
        assert entry.price > 0
        assert entry.source
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", entry.date), entry
    assert shipped.drives.keys() == PRESETS.keys()


def test_capacities_between_two_entries_and_beyond_them():
    own = [{"capacity": "4TB", "price": 100}, {"capacity": "16TB", "price": 340}]
    quotes = catalogue(drives={"hdd-7k2": own})
    prices = [quotes.drive("hdd-7k2", True, tb * 1e12).amount for tb in (4, 10, 16, 2, 32)]
    assert prices == pytest.approx([100, 220, 340, 50, 680])


def test_a_drive_without_a_preset_is_the_usual_one_of_its_kind():
    quotes = catalogue()
    assert quotes.drive(None, True, 16e12).amount == quotes.drive("hdd-7k2", True, 16e12).amount
    assert quotes.drive(None, False, None).amount == quotes.drive("nvme", False, None).amount
    assert quotes.device(PRESETS["optane"]).amount == pytest.approx(1520)


def test_the_smallest_interface_that_suffices_or_several_of_the_largest():
    quotes = catalogue(nics=[{"bandwidth": "25Gbit/s", "price": 300}])
    assert quotes.nic(25e9 / 8).amount == 300  # one's own
    assert quotes.nic(12e9 / 8).amount == 300
    assert quotes.nic(40e9 / 8).amount == catalogue().nic(50e9 / 8).amount
    assert quotes.nic(400e9 / 8).amount == 2 * quotes.nic(200e9 / 8).amount
    assert quotes.nic(0).amount == 0


def test_cost_of_a_cluster_by_hand():
    shipped = catalogue().catalogue
    assert shipped.server and shipped.core and shipped.memory_gb
    host = (
        shipped.server.price + 16 * (shipped.core.price + 8 * shipped.memory_gb.price) + catalogue().nic(3.125e9).amount
    )
    assert cost(minio()) == pytest.approx(2 * host + 8 * shipped.drives["nvme"][0].price)


def test_prices_follow_what_changes():
    before, after = amounts(minio()), amounts(minio("drives.preset=hdd-7k2", "hosts.nic=50Gbit/s"))
    assert after["drive"] == catalogue().drive("hdd-7k2", True, None).amount != before["drive"]
    assert after["nic_gbit"] * 50 == pytest.approx(catalogue().nic(50e9 / 8).amount)


def test_given_prices_go_first():
    found = {part.name: part.price for part in priced_parts(minio(prices={"drive": 700, "catalogue": SHIPPED}))}
    assert (found["drive"].amount, found["drive"].sources) == (700, ("given",))
    assert found["host"].amount > 0
    assert "server" in found["host"].sources[0]


def test_without_a_catalogue_parts_without_a_price_cost_nothing():
    assert cost(minio(prices={"drive": 700})) == 8 * 700
    assert cost(minio(prices=None)) is None


def test_another_currency_has_its_own_entries_only():
    own = {"currency": "EUR", "drives": {"nvme": [{"capacity": "3840GB", "price": 900}]}}
    with pytest.raises(InputError, match=r"prices\.catalogue: has no server; add it, or give prices"):
        cost(minio(prices={"catalogue": own}))
    given = minio(prices={"host": 1, "core": 1, "nic_gbit": 1, "catalogue": own})
    assert amounts(given)["drive"] == 900
    assert {part.currency for part in priced_parts(given)} == {"EUR"}


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ({"drives": {"nvmee": [{"capacity": "1TB", "price": 1}]}}, "'nvmee' is not a drive; did you mean nvme"),
        ({"drives": {"nvme": []}}, "drives.nvme: has no entry"),
        ({"drives": {"nvme": [{"price": 1}]}}, "capacity: is missing"),
        ({"core": {"price": -1}}, "core.price"),
        ({"nics": [{"bandwidth": "25", "prize": 1}]}, "prize"),
    ],
)
def test_mistakes_in_a_catalogue(own, says):
    with pytest.raises(InputError) as refused:
        minio(prices={"catalogue": own})
    assert says in "\n".join(refused.value.messages)


SPECS = (
    "ceph/billion-objects.yaml",
    "bob/one-host.yaml",
    "swift/cluster.yaml",
    "juicefs/mount.yaml",
    "s3fs/files.yaml",
    "minio-12-hdd.yaml",
)


@pytest.mark.parametrize("path", SPECS)
def test_each_store_has_a_cost_by_the_catalogue(path):
    spec = load_spec(EXAMPLES / path, ["prices.catalogue=shipped"])
    total = cost(*levels(spec).values())
    assert total is not None
    assert total > 1000
    assert any(part.price.amount for part in priced_parts(spec))


def test_drives_of_groups_of_hosts_have_the_mean_price():
    groups = {
        "old": {"count": 2, "drives": 4, "device": "hdd-7k2"},
        "new": {"count": 1, "drives": 8, "device": {"preset": "hdd-7k2", "capacity": "16TB"}},
    }
    data = {
        "store": "ceph",
        "workload": {"rate": 10, "duration": "1s", "object_size": "1MiB", "mix": {"GET": 1}},
        "hosts": {"groups": groups},
        "prices": {"catalogue": SHIPPED},
    }
    found = amounts(spec_of(data, "spec"))
    quotes = catalogue()
    small, large = (quotes.drive("hdd-7k2", True, tb * 1e12).amount for tb in (4, 16))
    assert found["drive"] == pytest.approx((small + large) / 2)
