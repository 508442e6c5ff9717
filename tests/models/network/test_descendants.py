"""The descendants of requests in a Sheet: who starts whom, and what their random numbers depend on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from models.network.background import Background
from models.network.demand_sheet import Sheet, draw_background, draw_sheet
from models.network.descendants import Descendants, by_route, joined, no_descendants
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.placement import part_keys
from models.network.retry_policy import Policy
from models.network.route import Chance, Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from models.network.sub_requests import SubRequests
from tests.networks import poisson
from traces.random_streams import mixed, mixed_words, uniforms_of
from traces.workload.distributions import Exponential

RANDOM = ServiceDemand(constant=1.0, distribution=Exponential())
LEAF = Route("leaf", (single(Visit(0, RANDOM), Visit(0, RANDOM)),))
MIDDLE = Route(
    "middle", (single(Visit(0, RANDOM, starts=SubRequests(2, chunk_bytes=2))),), policy=Policy(retries=1, timeout_s=1e9)
)
ALL = Route(
    "all", (single(Visit(0, RANDOM, starts=SubRequests(1, chunk_bytes=4), chance=Chance(0.5)), Visit(0, RANDOM)),)
)
NETWORK = Network((Station("s", "s", Discipline.INFINITE_SERVER),), (ALL, MIDDLE, LEAF))
SIZES = np.array([9, 0, 4, 12, 7, 1] * 5)
REQUESTS = dataclasses.replace(poisson(len(SIZES), 1.0, 1), size_bytes=SIZES)


def found(sheet: Sheet) -> Descendants:
    assert sheet.descendants is not None
    return sheet.descendants


def test_families_are_those_of_the_routes_and_sizes():
    sheet = draw_sheet(NETWORK, REQUESTS, 3, 0, len(SIZES))
    of = found(sheet)
    for i, size in enumerate(SIZES.tolist()):
        starts = sheet.demand_s[sheet.first_visit[i]] >= 0
        family = of.first_family[i]
        middle = range(of.first_child[family], of.first_child[family + 1])
        assert len(middle) == (max(-(-size // 4), 1) if starts else 0)
        assert of.first[i] == (middle.start if starts else of.first[i + 1])
        leaves = []
        for position, row in enumerate(middle):
            assert of.route[row] == 1
            left = min(4, size - 4 * position)
            for attempt in range(2):
                family = of.first_family[len(SIZES) + row] + attempt
                leaves += range(of.first_child[family], of.first_child[family + 1])
                assert of.first_child[family + 1] - of.first_child[family] == max(-(-left // 2), 1)
        assert leaves == list(range(middle.stop, of.first[i + 1])) if starts else not leaves
        assert (of.route[leaves] == 2).all()
    assert of.first[-1] == len(of.route) == of.first_child[-1]
    assert len(np.unique(of.identity)) == len(of.identity)
    assert len(np.unique(of.visits.demand_s)) == len(of.visits.demand_s)


def test_chunks_draw_the_same():
    whole = found(draw_sheet(NETWORK, REQUESTS, 3, 0, len(SIZES)))
    parts = [(7, draw_sheet(NETWORK, REQUESTS, 3, first, 7).descendants) for first in (0, 7, 14, 21)]
    rest = draw_sheet(NETWORK, REQUESTS, 3, 28, 7)
    together = joined([*parts, (len(rest), rest.descendants)])
    assert together is not None
    for field in dataclasses.fields(Descendants):
        a, b = getattr(whole, field.name), getattr(together, field.name)
        if field.name != "visits":
            if field.name == "first_family":  # what a leaf's would be does not matter
                starts = ~np.append(np.zeros(len(SIZES), bool), whole.route == 2)
                a, b = a[starts], b[starts]
            assert np.array_equal(a, b), field.name
    for a, b in zip(whole.visits.first, together.visits.first, strict=True):
        assert whole.visits.demand_s[a] == together.visits.demand_s[b]


def test_groups_and_loads_have_descendants_of_their_own():
    group = np.arange(len(SIZES), dtype=np.int32) % 2
    grouped = dataclasses.replace(REQUESTS, group=group, groups=("a", "b"))
    alone = found(draw_sheet(NETWORK, REQUESTS, 3, 0, len(SIZES)))
    both = found(draw_sheet(NETWORK, grouped, 3, 0, len(SIZES)))
    swapped = found(draw_sheet(NETWORK, dataclasses.replace(grouped, groups=("b", "a")), 3, 0, len(SIZES)))
    assert not np.intersect1d(alone.identity, both.identity).size
    assert not np.array_equal(both.identity, swapped.identity)
    load = draw_background(NETWORK, Background("scrub", 0, 10.0, 0.0, 3.0, size_bytes=9), 3)
    assert len(found(load).identity) and not np.intersect1d(found(load).identity, alone.identity).size


def test_networks_without_sub_requests_have_no_descendants():
    assert draw_sheet(Network(NETWORK.stations, (LEAF,)), REQUESTS, 3, 0, 5).descendants is None
    assert joined([(3, None), (2, None)]) is None
    empty = found(draw_sheet(NETWORK, REQUESTS, 3, 0, 0))
    assert len(empty.route) == 0 and empty.first.tolist() == no_descendants(0).first.tolist()


def test_keys_of_parts_depend_on_key_and_position():
    keys = np.array([1, 1, 2, 2], np.uint64)
    parts = part_keys(keys, np.array([0, 1, 0, 1]))
    assert len(set(parts.tolist()) | {1, 2}) == 6
    assert part_keys(keys[:1], np.array([0])) == parts[0]


def test_first_chunk_and_the_others():
    """The head of an object, and what follows it: none of an object of one chunk."""
    head, tail = SubRequests(1, 4, most=1, own_keys=False), SubRequests(1, 4, first=1)
    counts, sizes = tail.counts(SIZES), head.sizes(SIZES, np.zeros_like(SIZES))
    assert head.counts(SIZES).tolist() == [1] * len(SIZES)
    assert counts.tolist() == [2, 0, 0, 2, 1, 0] * 5 and sizes.tolist() == [4, 0, 4, 4, 4, 1] * 5
    total = sizes + sum(np.where(counts > k, tail.sizes(SIZES, np.full_like(SIZES, k)), 0) for k in range(2))
    assert (total == SIZES).all()
    starting = Route("starting", (single(Visit(0, RANDOM, starts=head), Visit(0, RANDOM, starts=tail)),))
    network = Network(NETWORK.stations, (starting, LEAF))
    of = found(draw_sheet(network, REQUESTS, 3, 0, len(SIZES)))
    assert (np.diff(of.first) == 1 + counts).all()
    keys = REQUESTS.key_hash
    assert of.key_hash[of.first[0] : of.first[1]].tolist() == [
        keys[0], *part_keys(np.repeat(keys[:1], 2), np.array([1, 2]))
    ]  # fmt: skip


def test_new_keys_are_those_of_no_other_request():
    requests = dataclasses.replace(REQUESTS, key_hash=np.zeros_like(REQUESTS.key_hash))
    for new in (False, True):
        starting = Route("starting", (single(Visit(0, RANDOM, starts=SubRequests(1, count=3, new_keys=new))),))
        of = found(draw_sheet(Network(NETWORK.stations, (starting, LEAF)), requests, 3, 0, len(SIZES)))
        assert len(np.unique(of.key_hash)) == (3 * len(SIZES) if new else 3)


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"first": -1}, "first at least 0"), ({"most": 1}, "give chunk_bytes"), ({"chunk_bytes": 4, "most": 0}, "most"),
     ({"own_keys": False, "new_keys": True}, "new keys are own keys")],
)  # fmt: skip
def test_sub_requests_that_cannot_be(fields, said):
    with pytest.raises(ValueError, match=said):
        SubRequests(1, **fields)


def test_requests_by_route():
    rows = [(k, sizes.tolist(), fraction) for k, sizes, fraction in by_route(NETWORK, 0, np.array([9, 2]))]
    assert rows == [
        (0, [9, 2], 1.0),
        (1, [4, 4, 1, 2], 0.5),
        (2, [2, 2, 2, 2, 1, 2], 0.5),
    ]


def test_hashes_of_many_are_those_of_each():
    seeds = np.array([0, 5, 2**64 - 1], np.uint64)
    words = mixed_words(seeds, 2**63 + 11, np.array([0, 7, 2**40], np.uint64))
    assert words.tolist() == [mixed(seed, 2**63 + 11, i) for seed, i in zip(seeds.tolist(), (0, 7, 2**40), strict=True)]
    u = uniforms_of(mixed_words(np.arange(100_000, dtype=np.uint64), 3, 0))
    assert u.mean() == pytest.approx(0.5, abs=0.005)
    assert np.histogram(u, 10, (0, 1))[0] == pytest.approx(10_000, rel=0.05)
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.01
