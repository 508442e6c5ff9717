"""A comparison decides nothing from few requests, whose resamples hardly vary."""

from __future__ import annotations

import pytest

from tests.runs import run_of
from validate.compare.compare import compare


@pytest.mark.parametrize(("count", "word"), [(1, "agree"), (9, "agree"), (10, "differ")])
def test_few_requests_never_differ(count, word):
    arrival_s = [float(i) for i in range(count)]
    a, b = (run_of([latency_s] * count, arrival_s=arrival_s) for latency_s in (0.1, 0.9))
    result = compare(a, b)
    assert result.verdict == word
    assert ("w1" in result.ops["GET"].unsure_of) == (word == "agree")
