from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from models.ceph.mechanisms.redundancy import Protection, ProtectionField, default_plugin, round_up, stripes

READ = TypeAdapter(ProtectionField)
EC42 = Protection(data=4, parity=2)
EC21 = Protection(data=2, parity=1)
MIB = 1 << 20

protections = st.one_of(
    st.builds(lambda n: Protection(replicas=n), st.integers(1, 10)),
    st.builds(lambda k, m: Protection(data=k, parity=m), st.integers(2, 20), st.integers(1, 8)),
)


@pytest.mark.parametrize("text", ["replica 3", "replicas 3", " 3x ", "3 X", {"replicas": 3}])
def test_replicas_may_be_written_in_several_ways(text):
    protection = READ.validate_python(text)
    assert (protection.width, protection.data_shards, protection.is_ec) == (3, 1, False)


@pytest.mark.parametrize("text", ["ec 4+2", "EC 4 + 2", {"data": 4, "parity": 2}])
def test_an_erasure_code_may_be_written_in_several_ways(text):
    protection = READ.validate_python(text)
    assert (protection.width, protection.data_shards, protection.is_ec) == (6, 4, True)


@pytest.mark.parametrize(
    "value",
    [
        "ec 4", "4+2", "replica", "3", 3, "replica 0", "replica 11", "ec 1+2", "ec 4+0", {}, {"data": 4}, {"parity": 2},
        {"replicas": 3, "data": 4, "parity": 2}, {"replicas": 3, "parity": 1}, {"replicas": 3, "plugin": "isa"},
    ],
)  # fmt: skip
def test_other_protections_are_refused(value):
    with pytest.raises(ValidationError):
        READ.validate_python(value)


def test_a_refusal_says_what_is_allowed():
    with pytest.raises(ValidationError, match=r"'ec 4' .* allowed are 'replica 3'.*'ec 4\+2'"):
        READ.validate_python("ec 4")


@given(protections)
def test_a_protection_survives_being_written_and_read(protection):
    assert READ.validate_python(protection.model_dump()) == protection


@pytest.mark.parametrize(
    ("protection", "size", "chunk"),
    [
        (EC42, 64 << 10, 16 << 10),  # ceph_redhat_billion_objects.csv: EC chunk size for 64 KB on 4+2
        (EC21, 1 << 10, 4096),  # lab: chunks are padded to 4 KiB
        (EC42, 16 * 1024 + 1, 8192),
        (EC42, 4 * MIB, MIB),
        (Protection(replicas=3), 1000, 1000),
        (EC42, 0, 0),
    ],
)
def test_chunks_are_padded_to_stripe_units(protection, size, chunk):
    assert protection.chunk_bytes(size) == chunk


def test_small_objects_reach_fewer_chunks_since_tentacle():
    # mechanisms: 1 KB on 4+2 takes 24 KiB up to Squid.
    assert (EC42.chunks_reached(1024) + EC42.parity) * EC42.chunk_bytes(1024) == 12 << 10
    assert EC42.chunks_reached(64 << 10) == 4
    assert Protection(replicas=3).chunks_reached(1) == 1


@given(protections, st.integers(1, 10**8))
def test_chunks_hold_the_object(protection, size):
    reached = protection.chunks_reached(size)
    assert reached * protection.chunk_bytes(size) >= size
    assert reached <= protection.data_shards


@given(st.one_of(st.integers(0, 100 * MIB), st.integers(0, 60 << 40)))
def test_stripes_hold_the_object(size):
    parts = stripes(size)
    assert sum(part * count for part, count in parts.items()) == size
    assert parts.total() == max(1, -(-size // (4 * MIB)))
    assert sum(count for part, count in parts.items() if part != 4 * MIB) <= 1
    assert all(0 <= part <= 4 * MIB and count > 0 for part, count in parts.items())


def test_head_and_stripes_may_differ_in_size():
    assert stripes(20, 4, 8) == {4: 1, 8: 2}
    assert stripes(3, 4, 8) == {3: 1}
    assert stripes(0, 4, 8) == {0: 1}
    assert stripes(21, 4, 8) == {4: 1, 8: 2, 1: 1}


def test_coding_has_the_measured_speed():
    # Xeon E3-1245 V2, jerasure 6+2: encodes 4.2 GB/s, rebuilds one chunk at 10 GB/s and two at 3.2 GB/s.
    code, size = Protection(data=6, parity=2, plugin="jerasure"), np.array([10**9])
    assert 1 / code.encode("reef").mean_s(size)[0] == pytest.approx(4.2)
    assert 1 / code.decode(1, "reef").mean_s(size)[0] == pytest.approx(10, rel=0.2)
    assert 1 / code.decode(2, "reef").mean_s(size)[0] == pytest.approx(3.2, rel=0.35)
    assert not code.decode(0, "reef").takes_time
    with pytest.raises(ValueError, match="missing is 3; 0 to 2"):
        code.decode(3, "reef")


def test_the_library_is_the_release_s_unless_given():
    assert (default_plugin("squid"), default_plugin("tentacle")) == ("jerasure", "isa")
    given_plugin = Protection(data=4, parity=2, plugin="isa")
    assert EC42.encode("tentacle") == given_plugin.encode("squid") != EC42.encode("squid")


def test_replicas_need_no_coding():
    assert not Protection(replicas=3).encode("reef").takes_time


@given(st.integers(0, 10**12), st.integers(1, 10**7))
def test_rounding_up_takes_the_least_whole_number_of_units(size, unit):
    up = round_up(size, unit)
    assert up % unit == 0
    assert up - unit < size <= up
