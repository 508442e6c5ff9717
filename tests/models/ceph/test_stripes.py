"""Objects of several RADOS objects: by hand on idle clusters, bytes, gateways, both engines, parts in parallel."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.ceph_clusters import (
    COMMIT,
    COMMIT_MEMBER,
    CPU,
    HOP,
    READ,
    READ_CPU,
    WITH_DB,
    WRITE,
    WRITE_CPU,
    alone,
    ceph,
    compiled,
    latency_s,
    of_name,
    of_role,
)
from tests.small_traces import trace_of

MIB = 1 << 20
LOG = 0.1e-3 + COMMIT + COMMIT_MEMBER
INDEX = HOP + WRITE_CPU + (HOP + WRITE_CPU + HOP) + HOP + LOG
SPACIOUS = ("hosts.count=150", "hosts.drives=1", "pools.pg_num=4096")
"""Enough hosts for the RADOS objects of this key to be on different ones."""
STRIPE_WRITTEN = HOP + WRITE_CPU + (HOP + WRITE_CPU + WRITE + LOG + HOP) + HOP
STRIPE_READ = HOP + READ_CPU + READ + HOP + HOP


@pytest.mark.parametrize(("size", "rounds"), [(5 * MIB, 1), (16 * MIB, 1), (20 * MIB, 1), (32 * MIB, 2), (68 * MIB, 4)])
def test_four_stripes_at_a_time_before_or_after_the_head(size, rounds):
    """A PUT writes its stripes, then its index entry and the head; a GET reads the head first."""
    spec = ceph(*SPACIOUS, *WITH_DB)
    put_s = HOP + CPU["PUT"] + rounds * STRIPE_WRITTEN + INDEX + STRIPE_WRITTEN + HOP
    assert latency_s(spec, "PUT", size) == pytest.approx(put_s, rel=1e-3)
    assert latency_s(spec, "GET", size) == pytest.approx(HOP + CPU["GET"] + (1 + rounds) * STRIPE_READ, rel=1e-3)


def test_a_stripe_begins_when_another_one_ends():
    """Of stripes that take different times, none waits for the slowest of the four before it."""
    spec = ceph(*SPACIOUS, *WITH_DB, 'device.write={"per_byte": "1ns"}')
    slow_s = 4 * MIB * 1e-9
    found_s = latency_s(spec, "PUT", 26 * MIB)  # a head, four stripes, one, and one of 2 MiB
    plain_s = HOP + CPU["PUT"] + 3 * (STRIPE_WRITTEN - WRITE) + INDEX + HOP
    assert found_s == pytest.approx(plain_s + 3 * slow_s, rel=1e-3)


def test_first_byte_is_that_of_the_head():
    spec = ceph(*SPACIOUS)
    outcome = alone(spec, "GET", 64 * MIB)
    assert outcome.first_byte_s[0] == pytest.approx(HOP + CPU["GET"] + STRIPE_READ, rel=1e-3)
    assert outcome.end_s[0] > 3 * outcome.first_byte_s[0]


@pytest.mark.parametrize("extra", [(), ("proxy.nic=1GB/s",), ("pools.data=ec 4+2",)])
@pytest.mark.parametrize("op", ["GET", "PUT"])
def test_all_bytes_pass_the_links_and_cores_of_one_gateway(op, extra):
    """As often as those of as many objects of 4 MiB do."""
    nics = ("hosts.nic=1GB/s", "client.nic=1GB/s", "gateways.nic=1GB/s", "network.secure=true", "gateways.tls=true")
    spec = ceph(*nics, *extra)
    found = {}
    for size in (MIB, 4 * MIB, 40 * MIB):
        network, _ = compiled(spec, op, size)
        outcome = alone(spec, op, size)
        link = "up" if op == "GET" else "down"
        of_gateways = [of_name(network, outcome.busy_s, f"rgw {g} {link}") for g in range(spec.gateways.count)]
        assert sum(busy_s > 0 for busy_s in of_gateways) == 1
        found[size] = [
            of_role(network, outcome.busy_s, role) for role in ("client network", "network", "proxy network")
        ]
        found[size].append(of_role(network, outcome.busy_s, "rgw cpu"))
    few, some, many = (np.array(of_size) for of_size in found.values())
    assert many - few == pytest.approx((some - few) * 39 / 3, rel=1e-6)
    assert some[-1] > few[-1] + 1e-3


def test_stripes_of_gateways_without_slots_left_go_on():
    """A stripe takes no slot: as many requests as slots, each with more stripes than slots, all end."""
    spec = ceph("gateways.count=1", "gateways.max_requests=2", "gateways.reads_in_flight=1")
    trace = trace_of(["PUT", "GET"] * 6, [f"k{i}" for i in range(12)], size_bytes=60 * MIB, arrival_s=np.zeros(12))
    outcome = compiled_engine.run(Program.of(*compile_spec(spec, trace), 0))
    assert np.isfinite(outcome.end_s).all() and not outcome.failure.any()


@pytest.mark.parametrize(
    "assignments",
    [
        ("pools.data=ec 4+2", "gateways.cache.size=200MiB", "osd.cache.hit_ratio=0.3"),
        ("pools.fast_read=true", "pools.data=ec 4+2", "gateways.balance=power_of_two", "client.timeout=60ms"),
        ("client.timeout=40ms", "client.retry.retries=2", "client.hedge.after=5ms", "client.hedge.budget=null"),
        ('faults=[{"kind": "osd_down", "osd": 3, "at": "0.1s", "back_at": "0.4s"}]', "gateways.collocated=true"),
        ('faults=[{"kind": "gateway_down", "gateway": 1, "at": "0.1s", "back_at": "0.4s"}]', "client.retry.retries=3",
         "gateways.count=2", "gateways.collocated=false"),
        ("access=rbd", "pools.data=ec 4+2", "pools.ec_optimizations=true", "release=tentacle"),
        ("client.multipart={part_size: 5MiB, threshold: 12MiB, parallel: 3}", "client.timeout=80ms",
         "client.retry.retries=2", "gateways.queue=2", "gateways.max_requests=4"),
    ],
)  # fmt: skip
def test_both_engines_have_the_same_stripes(assignments):
    spec = ceph(*assignments)
    count, ops = 40, ["PUT", "GET", "GET", "DELETE"]
    trace = trace_of(
        [ops[i % (4 if spec.access.via_gateways else 2)] for i in range(count)], [f"k{i % 9}" for i in range(count)],
        size_bytes=np.array([1, 3, 5, 12, 21, 47])[np.arange(count) % 6] * MIB + 17, arrival_s=np.arange(count) * 0.01,
    )  # fmt: skip
    program = Program.of(*compile_spec(spec, trace), 5)
    one, two = compiled_engine.run(program), simpy_engine.run(program)
    for name in ("end_s", "first_byte_s", "failure", "visits", "busy_s"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert (~one.failure.astype(bool)).sum() > count / 2


def uploads(parallel: int, seed: int, clients: int, nic: str) -> float:
    """Return the mean latency in s of uploads of 64 MiB in parts."""
    spec = ceph(
        f"client.multipart={{part_size: 8MiB, threshold: 8MiB, parallel: {parallel}}}", *WITH_DB,
        'device.write={"constant": "1ms", "per_byte": "2ns"}', f"hosts.nic={nic}", f"gateways.nic={nic}",
        f"workload={{clients: {clients}, operations: 24, object_size: 64MiB, mix: {{PUT: 1}}}}",
    )  # fmt: skip
    return float(simulate(spec, seed=seed).latency_s.mean())


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["1GB/s", "10GB/s"]))
def test_more_parallel_parts_are_not_slower(seed, nic):
    """A lone upload leaves links and cores free."""
    found_s = [uploads(parallel, seed, 1, nic) for parallel in (1, 2, 4, 8)]
    assert all(after < before * 1.01 for before, after in pairwise(found_s))
    assert found_s[-1] < found_s[0] / 2


def test_retries_are_those_of_a_part():
    """A timeout between the time of a part and that of the upload lets all uploads succeed."""
    fields = ("client.multipart={part_size: 8MiB, threshold: 8MiB, parallel: 1}", "client.retry.retries=1", *WITH_DB)
    upload_s = latency_s(ceph(*fields), "PUT", 64 * MIB)
    outcome = alone(ceph(*fields, f"client.timeout={upload_s / 3}s"), "PUT", 64 * MIB)
    assert not outcome.failure.any() and outcome.end_s[0] == pytest.approx(upload_s)
    outcome = alone(ceph(*fields, f"client.timeout={upload_s / 30}s"), "PUT", 64 * MIB)
    assert outcome.failure.all()
