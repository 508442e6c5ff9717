from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from models.minio.requests.parts import PartDemand
from models.network.service_demand import ServiceDemand
from models.network.visit_draws import grouped
from traces.random_streams import uniforms
from traces.workload.distributions import Exponential


def test_mean_is_constant_plus_bytes_plus_blocks():
    demand = ServiceDemand(constant="1ms", per_byte="2ns", per_block="3us", block="1KiB")
    sizes = np.array([0, 1, 1024, 1025])
    assert demand.mean_s(sizes) == pytest.approx(
        [1e-3, 1e-3 + 2e-9 + 3e-6, 1e-3 + 2048e-9 + 3e-6, 1e-3 + 2050e-9 + 6e-6]
    )


def test_fractions_of_the_work_add_up():
    demand = ServiceDemand(constant="1ms", per_byte="2ns", per_block="3us")
    sizes = np.array([0, 5_000_000])
    assert demand.scaled(0.3).mean_s(sizes) + demand.scaled(0.7).mean_s(sizes) == pytest.approx(demand.mean_s(sizes))
    assert 4 * demand.per_shard(4).mean_s(sizes)[1] == pytest.approx(demand.mean_s(sizes)[1] + 3 * (1e-3 + 5 * 3e-6))


def test_bytes_after_the_first_block_have_a_cost_of_their_own():
    demand = ServiceDemand(constant="1ms", per_byte="3ns", later_byte_factor=1 / 3, block="1KiB")
    sizes = np.array([0, 1024, 5 * 1024])
    assert demand.mean_s(sizes) == pytest.approx([1e-3, 1e-3 + 1024 * 3e-9, 1e-3 + 1024 * 3e-9 + 4096e-9])
    assert 2 * demand.scaled(0.5).mean_s(sizes) == pytest.approx(demand.mean_s(sizes))
    assert 4 * (demand.per_shard(4).mean_s(sizes) - 1e-3) == pytest.approx(demand.mean_s(sizes) - 1e-3)
    free = ServiceDemand(per_byte="1ns", later_byte_factor=0, block="1KiB", distribution=Exponential())
    assert free.draw_s(partial(uniforms, 1, 1, 0, 20_000), np.full(20_000, 4096)).mean() == pytest.approx(
        1024e-9, rel=0.05
    )


def test_mean_of_draws_is_that_of_the_demand():
    demand = ServiceDemand(constant=2.0, per_byte=0.5, distribution=Exponential())
    draws = demand.draw_s(partial(uniforms, 1, 1, 0, 200_000), np.full(200_000, 4))
    assert draws.mean() == pytest.approx(4.0, rel=0.01)


def test_a_demand_that_never_varies_is_that_of_all_requests():
    sizes = np.array([0, 5000])
    fixed = ServiceDemand(constant="1ms")
    assert fixed.always_s == 1e-3 and (fixed.draw_s(partial(uniforms, 1, 2, 0, 2), sizes) == fixed.always_s).all()
    for varying in ({"per_byte": "1ns"}, {"per_block": "1us"}, {"distribution": Exponential()}):
        assert ServiceDemand(constant="1ms", **varying).always_s is None
    access = PartDemand.of(fixed, data_shards=1, access_bytes=1024)
    assert access.always_s is None and access.draw_s(partial(uniforms, 1, 2, 0, 2), sizes).tolist() == [1e-3, 5e-3]


def test_requests_are_grouped_by_their_routes():
    route = np.array([3, 0, 3, 1, 0, 3], np.int32)
    assert [each.tolist() for each in grouped(route, 5)] == [[1, 4], [3], [], [0, 2, 5], []]
    many = grouped(np.array([1 << 17, 5], np.int64), (1 << 17) + 1)
    assert many[5].tolist() == [1] and many[-1].tolist() == [0]
