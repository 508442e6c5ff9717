"""Multipart uploads of clients: which objects have how many parts, demands of parts, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from models.network.service_demand import ServiceDemand
from models.shared.multipart import Multipart
from models.store import compile_spec, spec_of
from tests.small_traces import trace_of
from traces.errors import InputError

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
