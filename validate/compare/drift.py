"""Whether a figure of a Run stays as it is while the Run goes on.

An operation's requests are cut into up to 20 blocks by time, equally many in each; the first is left out, as caches and
connections warm up in it. The statistic is the greatest excursion of the cumulative sum of the blocks' log-figures
about their mean (Page, "Continuous inspection schemes", Biometrika 41, 1954), and where it is greatest is where the
figure changed. Chance is what the statistic is in random permutations of the blocks: a test that needs no law of the
latencies (Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 3rd ed. 2005), though blocks that can be
exchanged. Those of a queue are so only nearly, as a long queue lasts.

``benchmarks/judgement.py`` counts false alarms of the whole judgement on simulated stationary Runs of MinIO, 3 and 10 s
long: in 3,200, none in closed loops of 1 to 32 clients nor in open loops up to 60 % of the capacity, 1.0 % at 80 %,
1.8 % at 90 %. Where all CPU demands grow by half in the middle of a Run, it finds 98 % of them and more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from traces.random_streams import stream_id, uniforms
from traces.run import Run
from traces.statistics.summary import Floats, latencies, ops_of
from traces.tables import OPS

_BLOCKS = 20
_IN_BLOCK = 5  # requests at least
_FEWEST_BLOCKS = 6
_PERMUTATIONS = 3999
_LEAST = 1e-12  # anything less counts as this, so that every logarithm is finite


@dataclass(frozen=True)
class Change:
    """The greatest change of a figure in the course of a Run.

    Attributes:
        op: of which operation.
        figure: ``median latency`` or ``throughput``.
        log_ratio: logarithm of the figure after the change over that before.
        at_s: when, in seconds since the operation's first request.
        p_value: how often chance would change the figure as much or more.
    """

    op: str
    figure: str
    log_ratio: float
    at_s: float
    p_value: float

    @property
    def relative(self) -> float:
        """The change as a share of the figure before it."""
        return math.expm1(self.log_ratio)


def latency_changes(run: Run) -> list[Change]:
    """The change of each operation's median latency; an operation with fewer than 30 successful requests has none."""
    changes = []
    for op, arrival_s, first in _blocks(run):
        parts = np.split(latencies(run, op), first[1:-1])
        changes.append(_change(op, "median latency", np.array([np.median(part) for part in parts]), arrival_s[first]))
    return changes


def rate_changes(run: Run) -> list[Change]:
    """The same of how fast an operation's successful requests were begun: of an open loop, what was asked."""
    return [
        _change(op, "throughput", np.diff(first) / np.maximum(np.diff(arrival_s[first]), _LEAST), arrival_s[first])
        for op, arrival_s, first in _blocks(run)
    ]


def _blocks(run: Run) -> list[tuple[str, Floats, NDArray[np.int64]]]:
    """Each operation's intended starts in order, and the first request of each block and of what would follow."""
    blocks = []
    for op in ops_of(run):
        arrival_s = np.sort(run.column("arrival_s")[(run.op == OPS.index(op)) & ~run.failed])
        count = min(_BLOCKS, len(arrival_s) // _IN_BLOCK)
        if count >= _FEWEST_BLOCKS:
            blocks.append((op, arrival_s, np.linspace(0, len(arrival_s) - 1, count + 1).astype(np.int64)))
    return blocks


def _change(op: str, figure: str, values: Floats, begin_s: Floats) -> Change:
    logs = np.log(np.maximum(values[1:], _LEAST))
    excursions = np.abs(np.cumsum(logs - logs.mean()))[:-1]
    at = int(excursions.argmax()) + 1
    by_chance = np.abs(np.cumsum(logs[_permutations(len(logs))] - logs.mean(), axis=1))[:, :-1].max(axis=1)
    # The same numbers summed in another order differ in their last digits.
    reached = (by_chance >= excursions[at - 1] - 1e-9).sum()
    return Change(
        op,
        figure,
        log_ratio=float(logs[at:].mean() - logs[:at].mean()),
        at_s=float(begin_s[1 + at] - begin_s[0]),
        p_value=float((1 + reached) / (1 + _PERMUTATIONS)),
    )


@lru_cache
def _permutations(count: int) -> NDArray[np.int64]:
    """Permutations of so many blocks, shape (permutations, blocks): always the same ones."""
    draws = uniforms(0, stream_id("drift"), 0, _PERMUTATIONS * count)
    return np.argsort(draws.reshape(_PERMUTATIONS, count), axis=1)
