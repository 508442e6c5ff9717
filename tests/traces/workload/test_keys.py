from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from traces.workload import keys as module
from traces.workload.keys import SequentialKeys, UniformKeys, WriteOnceReadOnce, ZipfKeys


@given(
    st.sampled_from([UniformKeys, ZipfKeys, SequentialKeys]),
    st.integers(1, 10_000_000_000),
    st.integers(0, 2**64 - 1),
    st.integers(0, 200),
)
def test_keys_are_in_range_and_do_not_depend_on_how_many_are_drawn(kind: type, count: int, seed: int, n: int) -> None:
    if kind is ZipfKeys:
        count = min(count, 100_000)  # the head of each is summed anew
    chosen = kind(count=count).choose(seed, n + 50)
    assert chosen.min() >= 0
    assert chosen.max() < count
    assert (chosen[:n] == kind(count=count).choose(seed, n)).all()


def test_uniform_keys_are_uniform() -> None:
    counts = np.bincount(UniformKeys(count=20).choose(1, 20_000), minlength=20)
    assert stats.chisquare(counts).pvalue > 0.01


@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.99, 1.0, 1.7])
@pytest.mark.parametrize("head", [1 << 20, 50])
def test_zipf_frequencies(monkeypatch: pytest.MonkeyPatch, exponent: float, head: int) -> None:
    """Also where most ranks lie beyond the summed head: the midpoint integral is as good from rank 50 on."""
    monkeypatch.setattr(module, "_HEAD", head)
    count, draws = 400, 200_000
    chosen = ZipfKeys(count=count, exponent=exponent).choose(4, draws)
    weights = np.arange(1, count + 1) ** -exponent
    expected = weights / weights.sum() * draws
    assert stats.chisquare(np.bincount(chosen, minlength=count), expected).pvalue > 0.01


def test_the_tail_of_a_zipf_law_is_its_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far beyond the head the choice agrees with the choice by a full table."""
    keys = ZipfKeys(count=300_000, exponent=0.9)
    monkeypatch.setattr(module, "_HEAD", 1000)
    integral = keys.choose(9, 50_000)
    monkeypatch.setattr(module, "_HEAD", 1_000_000)
    table = keys.choose(9, 50_000)
    assert (np.abs(integral - table) <= 1).all()
    assert np.mean(integral == table) > 0.99


def test_sequential_keys_come_round() -> None:
    assert SequentialKeys(count=3).choose(1, 7).tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_write_once_read_once_names_every_key_twice_in_one_order() -> None:
    assert WriteOnceReadOnce().choose(1, 6).tolist() == [0, 1, 2, 0, 1, 2]
