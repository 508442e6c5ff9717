from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from traces.random_streams import kept_uniforms, mixed, random_words, stream_id, uniforms, uniforms_at, uniforms_of

words = st.integers(0, 2**64 - 1)


@given(words, words, st.integers(0, 2**40), st.integers(0, 100), st.integers(0, 60))
def test_draws_do_not_depend_on_chunking(seed: int, stream: int, first: int, before: int, count: int) -> None:
    larger = uniforms(seed, stream, first, before + count)
    assert (uniforms(seed, stream, first + before, count) == larger[before:]).all()


@given(words, st.lists(words, min_size=1, max_size=4), st.integers(0, 2**62), st.integers(1, 30))
def test_single_draws_of_many_streams_are_the_same(seed: int, streams: list[int], first: int, count: int) -> None:
    drawn = uniforms_at(seed, np.array(streams, np.uint64)[:, None], first + np.arange(count))
    assert (drawn == np.array([uniforms(seed, stream, first, count) for stream in streams])).all()


@given(words, words, st.integers(0, 2**60))
def test_draws_are_strictly_between_0_and_1(seed: int, stream: int, first: int) -> None:
    draws = uniforms(seed, stream, first, 50)
    assert draws.min() > 0
    assert draws.max() < 1
    assert np.isfinite(np.log(draws)).all()
    assert np.isfinite(np.log(1 - draws)).all()


def test_draws_are_uniform_and_streams_independent() -> None:
    a = uniforms(1, stream_id("a"), 0, 50_000)
    others = [uniforms(1, stream_id("b"), 0, 50_000), uniforms(2, stream_id("a"), 0, 50_000)]
    assert stats.kstest(a, "uniform").pvalue > 0.01
    for other in [*others, np.roll(a, 1)]:
        assert abs(np.corrcoef(a, other)[0, 1]) < 4 / np.sqrt(len(a))


def test_draws_are_the_same_on_every_machine() -> None:
    """Values written down once: a change here would change every simulated Run ever recorded."""
    assert stream_id("workload/keys") == 15334338305631200364
    assert stream_id("station", "drive", 3, 1) == 6903963570860553964
    assert uniforms(7, stream_id("workload/keys"), 5, 3).tolist() == [
        0.7738898436398057,
        0.20771117586572918,
        0.6725858830012713,
    ]


def test_mixed_is_even_and_pure() -> None:
    counts = np.bincount([mixed(5, 2, i) % 10 for i in range(20_000)])
    assert mixed(5, 2, 3) == mixed(5, 2, 3)
    assert len({mixed(seed, stream, 0) for seed in range(50) for stream in range(50)}) == 2500
    # Chi-square with 9 degrees of freedom: 27.9 is its 99.9 % quantile.
    assert ((counts - 2000) ** 2 / 2000).sum() < 27.9


def test_draws_that_are_kept_are_the_same_and_cannot_be_changed() -> None:
    kept = kept_uniforms(3, 5, 1, 100)
    assert np.array_equal(kept, uniforms(3, 5, 1, 100))
    assert kept_uniforms(3, 5, 1, 100) is kept
    with pytest.raises(ValueError, match="read-only"):
        kept *= 2


def test_draws_have_the_order_of_their_words() -> None:
    words = random_words(3, 5, 1, 1000)
    assert np.array_equal(uniforms_of(words), uniforms(3, 5, 1, 1000))
    assert (np.diff(uniforms_of(np.sort(words))) >= 0).all()
