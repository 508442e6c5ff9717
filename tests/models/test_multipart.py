"""Multipart uploads of clients: which objects have how many parts, demands of parts, what is refused."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.network.route import Visit, single
from models.network.service_demand import ServiceDemand
from models.shared.multipart import Multipart, PartOfUpload
from models.store import compile_spec, spec_of
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.random_streams import uniforms
from traces.workload.distributions import Gamma

MIB = 1 << 20
DEMAND = ServiceDemand(constant=2.0, per_byte=1e-3)


def minio(**multipart):
    data = {"store": "minio", "workload": {"operations": 1, "object_size": "4KiB"}, "hosts": {"cpu": {"PUT": 1}},
            "drives": {"write": 0, "commit": 0}}  # fmt: skip
    return spec_of(data | {"client": {"multipart": multipart}}, "spec")


def test_the_number_of_parts():
    multipart = Multipart(threshold=20 * MIB, part_size=5 * MIB)
    sizes = np.array([0, 5 * MIB, 20 * MIB, 20 * MIB + 1, 25 * MIB, 25 * MIB + 1])
    assert multipart.parts(sizes).tolist() == [0, 0, 0, 5, 5, 6]
    assert Multipart(threshold=0).parts(sizes).tolist() == [0, 0, 2, 2, 2, 2], "a single part is an ordinary PUT"
    assert [multipart.piece_bytes(int(size)) for size in sizes[-3:]] == [5 * MIB] * 3
    assert multipart.piece_bytes(20 * MIB) == 20 * MIB
    assert multipart.simulated(np.array([0, 16, 17, 9000])).tolist() == [0, 16, 17, 17]
    assert Multipart(parallel=64).simulated(np.array([64, 65, 9000])).tolist() == [64, 65, 65]


@given(st.integers(1, 2000), st.integers(1, 64), st.integers(-5 * MIB + 1, 0))
def test_parts_have_all_bytes_and_each_has_the_constant_time(parts, parallel, less):
    """Whether all parts are simulated, or each stands for several."""
    multipart = Multipart(part_size=5 * MIB, threshold=0, parallel=parallel)
    size = np.array([parts * 5 * MIB + less])
    count = int(multipart.simulated(np.maximum(multipart.parts(size), 1))[0])
    mean_s = sum(float(change(DEMAND).mean_s(size)[0]) for change in multipart.demands(count))
    assert mean_s == pytest.approx(parts * 2.0 + 1e-3 * size[0], rel=1e-6)


@pytest.mark.parametrize("count", [3, 17])
def test_parts_of_the_demand_are_parts_of_those_of_each_part(count):
    size = np.array([50 * count * MIB])
    for change in Multipart(part_size=50 * MIB).demands(count):
        whole = change(DEMAND)
        halves = whole.without_bytes.mean_s(size) + whole.of_bytes.mean_s(size)
        assert halves == pytest.approx(whole.mean_s(size))
        assert halves == pytest.approx(2 * whole.scaled(0.5).mean_s(size))
        assert whole.per_shard(4).of_bytes.mean_s(size) == pytest.approx(whole.of_bytes.mean_s(size) / 4)


def test_each_part_has_a_draw_of_its_own():
    varies = ServiceDemand(constant=1.0, distribution=Gamma(cv=1.0))
    part = Multipart().demands(2)[1](varies)
    assert isinstance(part, PartOfUpload)
    size = np.full(2000, 32 * MIB)
    uniform = partial(uniforms, 1, 7, 0, 2000)
    drawn = part.draw_s(uniform, size)
    assert (drawn == varies.draw_s(uniform, size)).all()
    assert drawn.std() == pytest.approx(1.0, abs=0.1)


def test_rounds():
    """Stages of the parts of a round are joined: each needs all its parts."""
    part = [single(Visit(0, DEMAND)), single(Visit(1, DEMAND), Visit(2, DEMAND))]
    stages = Multipart(parallel=4).upload(10, part)
    assert [(len(stage.branches), stage.need) for stage in stages] == [(4, 4)] * 4 + [(2, 2)] * 2
    assert [stage.branches[0][0].station for stage in stages] == [0, 1] * 3


@pytest.mark.parametrize(
    ("multipart", "said"),
    [
        ({"part_size": "4MiB"}, "client.multipart.part_size"),
        ({"part_size": "6GiB"}, "client.multipart.part_size"),
        ({"threshold": "6GiB"}, "client.multipart.threshold"),
        ({"parallel": 0}, "client.multipart.parallel"),
        ({"parallel": 65}, "client.multipart.parallel"),
        ({"chunk_size": "8MiB"}, "client.multipart.chunk_size"),
    ],
)
def test_what_is_not_allowed_is_refused(multipart, said):
    with pytest.raises(InputError, match=said):
        minio(**multipart)


def test_an_object_of_too_many_parts_is_refused():
    with pytest.raises(InputError, match="would have 10001 parts, and S3 allows 10000"):
        compile_spec(minio(part_size="5MiB"), trace_of(["PUT"], ["k"], size_bytes=50_000 * MIB + 1))


def test_a_store_whose_model_has_no_uploads_refuses_them():
    data = {"store": "bob", "workload": {"operations": 1, "object_size": "4KiB"}, "client": {"multipart": {}}}
    with pytest.raises(InputError, match=r"client\.multipart: is not modelled for Bob; allowed is null"):
        spec_of(data | {"hosts": {"count": 3}}, "spec")
