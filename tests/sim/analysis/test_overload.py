from __future__ import annotations

import pytest

from models.shared.links import payload_fraction
from models.store import compile_spec, load_spec, spec_of
from sim.analysis.bounds import bounds
from sim.analysis.overload import slow_parts
from tests.paths import EXAMPLES
from tests.specs import minio
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

OPEN = override(minio("workload.operations=2000"), ["workload.rate=9000", "hosts.cores.count=4"])


def test_the_slowest_part_is_the_bottleneck_of_the_bounds():
    spec = spec_of(OPEN, "spec")
    (part,) = slow_parts(spec)
    found = bounds(*compile_spec(spec, generate(spec.workload, 0)))
    assert (part.part, part.offered_ops) == (found.bottleneck, 9000)
    assert part.max_ops == pytest.approx(found.max_throughput_ops, rel=1e-6)


def test_drives_count_together():
    data = override(load_mapping(EXAMPLES / "minio-12-hdd.yaml"), ["workload.rate=400"])
    (part,) = slow_parts(spec_of(data, "spec"))
    assert (part.part, part.stations) == ("drive", 12) and 60 < part.max_ops < 100


def test_a_narrow_network_is_named():
    data = override(OPEN, ["workload.rate=500", "network.bandwidth=1Gbit/s", "workload.object_size=1MiB"])
    (down,) = slow_parts(spec_of(data, "spec"))  # the other direction is free: GETs only
    assert (down.part, down.stations) == ("network down", 1)
    assert down.max_ops == pytest.approx(payload_fraction(1500) * 125e6 / 2**20)


def test_nothing_is_too_slow_below_saturation_or_in_a_closed_loop():
    assert slow_parts(spec_of(override(OPEN, ["workload.rate=1000"]), "spec")) == ()
    assert slow_parts(load_spec(EXAMPLES / "minio.yaml")) == ()


def test_a_given_trace_has_its_own_rate():
    spec = spec_of(OPEN, "spec")
    trace = generate(spec_of(override(OPEN, ["workload.rate=50"]), "spec").workload, 0)
    assert slow_parts(spec, trace) == ()
