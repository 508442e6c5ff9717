"""Whether repetitions of a measurement agree: Runs of one configuration on a machine that did not change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from traces.run import Run
from traces.statistics.summary import Floats, latencies, ops_of
from validate.compare.run_quality import LEAST_REQUESTS, MOST_DRIFT

_ERRORS = 4.0  # a difference of more standard errors than this is not due to the number of requests


def repetition_warnings(runs: Sequence[tuple[str, Run]]) -> list[str]:
    """Return a sentence for each operation whose median latencies differ between repetitions, of the two farthest.

    They differ if the ratio is beyond `MOST_DRIFT`, as within a Run, and significantly: something between the two Runs
    has changed, and neither says which of them is typical.

    Args:
        runs: the Runs of one configuration, with their names.
    """
    found = []
    for op in dict.fromkeys(op for _, run in runs for op in ops_of(run)):
        medians = [
            (name, *_log_median(samples)) for name, run in runs if len(samples := latencies(run, op)) >= LEAST_REQUESTS
        ]
        pairs = [
            (abs(a - b), one, other)
            for (one, a, error), (other, b, other_error) in combinations(medians, 2)
            if abs(a - b) > max(math.log1p(MOST_DRIFT), _ERRORS * math.hypot(error, other_error))
        ]
        if pairs:
            apart, one, other = max(pairs)
            found.append(
                f"{one} and {other} repeat each other, but their medians of {op} differ by "
                f"{100 * math.expm1(apart):.3g} % (limit {100 * MOST_DRIFT:g} %): the machine or the store changed"
            )
    return found


def _log_median(samples: Floats) -> tuple[float, float]:
    """Return the logarithm of the median and its standard error, from the order statistics around it."""
    half = 0.5 / math.sqrt(len(samples))
    low, middle, high = np.log(np.maximum(np.quantile(samples, [0.5 - half, 0.5, 0.5 + half]), 1e-12))
    return float(middle), float(high - low) / 2
