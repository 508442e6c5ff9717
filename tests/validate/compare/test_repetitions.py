"""Repetitions that differ are found; those that do not differ are not."""

from __future__ import annotations

import numpy as np

from tests.runs import run_of
from traces.run import Run
from validate.compare.repetitions import repetition_warnings


def repetition(factor: float = 1.0, n: int = 2000, seed: int = 0, op: str = "GET") -> Run:
    return run_of(factor * np.random.default_rng(seed).lognormal(-6, 0.4, n), op=[op] * n)


def test_repetitions_that_differ_are_named_with_the_ratio_of_their_medians():
    runs = [("a", repetition()), ("b", repetition(1.1, seed=1)), ("c", repetition(1.5, seed=2))]
    (sentence,) = repetition_warnings(runs)
    assert sentence.startswith("a and c ") and "GET" in sentence
    percent = float(sentence.partition("differ by ")[2].split()[0])
    assert 45 <= percent <= 55
    assert repetition_warnings(runs[:2]) == []


def test_a_single_run_and_other_operations_are_not_compared():
    assert repetition_warnings([("a", repetition())]) == []
    assert repetition_warnings([("a", repetition()), ("b", repetition(3, op="PUT"))]) == []


def test_few_requests_differ_by_chance():
    found = [
        repetition_warnings([("a", repetition(n=30, seed=2 * i)), ("b", repetition(n=30, seed=2 * i + 1))])
        for i in range(300)
    ]
    assert sum(map(bool, found)) <= 3
    assert repetition_warnings([("a", repetition(n=20)), ("b", repetition(9, n=20))]) == []
