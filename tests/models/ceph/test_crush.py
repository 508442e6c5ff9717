from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ceph.mechanisms import crush
from models.ceph.mechanisms.crush import NO_OSD, place
from tests.profiles import examples
from traces.errors import InputError

shapes = st.tuples(st.integers(1, 6), st.integers(6, 9), st.integers(1, 5), st.sampled_from(["osd", "host"]))


@examples(40)
@given(shapes, st.integers(0, 2**32))
def test_each_failure_domain_has_at_most_one_osd(shape, seed):
    width, hosts, drives, domain = shape
    table = place(50, width, hosts, drives, domain, seed=seed)
    assert table.shape == (50, width)
    assert table.min() >= 0
    assert table.max() < hosts * drives
    domains = table // drives if domain == "host" else table
    assert all(len(set(row)) == width for row in domains.tolist())


def test_racks_have_at_most_one_osd_each():
    table = place(200, 3, 12, 4, "rack", racks=4)
    assert all(len(set(row)) == 3 for row in (table // 12).tolist())
    assert len(np.unique(table)) == 48


@pytest.mark.parametrize(("domain", "racks"), [("osd", 1), ("host", 1), ("rack", 8)])
def test_placement_is_as_even_as_chance(domain, racks):
    pgs, width, osds = 8192, 6, 128
    counts = np.bincount(place(pgs, width, 16, 8, domain, racks=racks).ravel(), minlength=osds)
    # Each placement group has an OSD or not: a binomial count. The quantiles of chi-square with 127 degrees of freedom
    # at 0.05 % and 99.95 % are 80 and 189.
    mean = pgs * width / osds
    assert 80 < ((counts - mean) ** 2 / (mean * (1 - width / osds))).sum() < 189


def test_primaries_are_even_too():
    counts = np.bincount(place(8192, 3, 16, 8)[:, 0], minlength=128)
    assert 80 < ((counts - 64) ** 2 / 64).sum() < 189


def test_osds_have_data_in_proportion_to_their_weights():
    weights = np.repeat([1.0, 2.0], 64)
    table = place(8192, 1, 128, 1, "host", weights=weights)
    heavy = (table >= 64).mean()
    assert heavy == pytest.approx(2 / 3, abs=4 * np.sqrt(2 / 9 / 8192))
    assert (place(8192, 3, 8, 2, weights=np.tile([0.0, 1.0], 8)) % 2 == 1).all()


@examples(20)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sets(st.integers(0, 100), max_size=5))
def test_single_straws_choose_as_those_of_all_groups(seed, drives, down):
    """Large clusters draw the straws of each placement group one by one."""
    hosts, weights = 90, np.linspace(0.5, 2.0, 90 * drives)
    down = {osd for osd in down if osd < hosts * drives}
    found = []
    for sparse in (1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(crush, "_SPARSE", sparse)
            found.append(place(9000, 2, hosts, drives, weights=weights, down=down, seed=seed))
    assert (found[0] == found[1]).all()


def test_placement_depends_on_the_seed_alone():
    table = place(9000, 3, 10, 3, seed=7)
    assert (place(9000, 3, 10, 3, seed=7) == table).all()
    assert (place(9000, 3, 10, 3, seed=8) != table).any(axis=1).mean() > 0.9


def test_a_placement_group_s_osds_do_not_depend_on_how_many_there_are():
    assert (place(9000, 3, 10, 3)[:100] == place(100, 3, 10, 3)).all()


@examples(30)
@given(st.sets(st.integers(0, 39), min_size=1, max_size=6), st.sampled_from(["osd", "host"]))
def test_an_osd_that_is_out_moves_only_what_it_had(down, domain):
    before = place(300, 3, 10, 4, domain)
    after = place(300, 3, 10, 4, domain, down=down)
    lost = np.isin(before, list(down))
    assert (after == before)[~lost].all()
    assert not np.isin(after, [*down, NO_OSD]).any()
    domains = after // 4 if domain == "host" else after
    assert all(len(set(row)) == 3 for row in domains.tolist())


def test_more_replicas_come_after_those_there_were():
    assert (place(500, 6, 10, 4)[:, :2] == place(500, 2, 10, 4)).all()


def test_what_an_osd_had_is_spread_over_the_others():
    before, after = place(8192, 3, 10, 10), place(8192, 3, 10, 10, down={0})
    moved = np.bincount(after[before == 0], minlength=100)
    assert moved[0] == 0
    assert (moved[1:] > 0).mean() > 0.8
    # Its own host has no other claim than any other's.
    assert moved[1:10].sum() == pytest.approx(moved.sum() / 8, rel=0.5)


def test_a_lost_host_leaves_holes_where_no_other_host_is_free():
    before, after = place(500, 3, 3, 2), place(500, 3, 3, 2, down={2, 3})
    assert ((after == NO_OSD) == (before // 2 == 1)).all()
    assert ((after == NO_OSD).sum(axis=1) == 1).all()


def test_a_lost_osd_s_host_stands_in_where_no_other_is_free():
    before, after = place(500, 3, 3, 2), place(500, 3, 3, 2, down={2})
    assert (after[before == 2] == 3).all()


def test_of_weight_an_osd_gains_only():
    light, heavy = np.ones(16), np.ones(16)
    heavy[3] = 2
    before = place(2000, 1, 16, 1, weights=light)
    after = place(2000, 1, 16, 1, weights=heavy)
    assert (after[before != after] == 3).all()
    assert (before != after).sum() > 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hosts": 5}, "failure_domain: 6 OSDs .* hosts, there are 5"),
        ({"failure_domain": "rack", "racks": 3, "hosts": 9}, "racks, there are 3"),
        ({"failure_domain": "rack", "racks": 2}, "racks: 7 hosts .* 2 racks"),
        ({"weights": np.ones(5)}, "weights: 14 numbers"),
        ({"weights": -np.ones(14)}, "weights: 14 numbers"),
        ({"weights": np.repeat([1.0, 0.0], [10, 4])}, "there are 5"),
        ({"down": {14}}, "there is no OSD 14; allowed are 0 to 13"),
    ],
)
def test_what_cannot_be_placed_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        place(**{"pgs": 10, "width": 6, "hosts": 7, "drives_per_host": 2} | arguments)


@pytest.mark.parametrize(
    ("hosts", "drives", "width", "domain"), [(400, 4, 6, "host"), (700, 1, 11, "host"), (90, 8, 3, "osd")]
)
def test_of_many_domains_those_with_the_longest_of_all_straws_are_chosen(monkeypatch, hosts, drives, width, domain):
    found = place(500, width, hosts, drives, domain, seed=3)
    monkeypatch.setattr(crush, "_CANDIDATES", 10**6)  # so that all straws are computed
    assert np.array_equal(found, place(500, width, hosts, drives, domain, seed=3))


def test_placement_groups_with_too_few_great_words_take_all_straws(monkeypatch):
    monkeypatch.setattr(crush, "_CANDIDATES", -23)  # one domain of each is computed, on average
    found = place(500, 6, 400, 4, seed=3)
    monkeypatch.setattr(crush, "_CANDIDATES", 10**6)
    assert np.array_equal(found, place(500, 6, 400, 4, seed=3))
