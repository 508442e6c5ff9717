"""Bootstrap of one operation of a Run: the sampling distribution of its throughput and latency statistics.

A circular block bootstrap in time order (Politis and Romano, "A circular block-resampling procedure for stationary
data", in "Exploring the Limits of Bootstrap", Wiley 1992): latencies of neighbouring requests are correlated because
they meet the same queue, so resampling single requests would make intervals too narrow. Blocks are √n requests long,
as for batch means (Flegal and Jones, "Batch means and spectral variance estimators in Markov chain Monte Carlo", Annals
of Statistics 38(2), 2010).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.random_streams import stream_id, uniforms
from traces.run import Run
from traces.statistics.spans import span_s
from traces.statistics.summary import QUANTILES, Floats, latencies, quantiles

Indices = NDArray[np.int64]

_REPLICATES = 400
_SHORTEST_S = 1e-12  # lower bound of the mean time between completions, so that throughput is finite


@dataclass(frozen=True)
class Resamples:
    """Statistics of each resample of an operation's successful requests; all arrays have shape (replicates,).

    Attributes:
        throughput_ops: requests per second, from resampled times between completions.
        latency_s: ``mean`` and the requested quantiles.
        distance_s: Wasserstein-1 distance between the latencies of the resample and the original latencies.
    """

    throughput_ops: Floats
    latency_s: dict[str, Floats]
    distance_s: Floats


def resample(
    run: Run,
    op: str,
    names: Sequence[str],
    seed: int = 0,
    stream: str = "bootstrap",
    progress: Callable[[float], None] = lambda done: None,
) -> Resamples:
    """Resample the successful requests of an operation, of which there must be at least one.

    Args:
        run: the Run.
        op: the operation.
        names: names of the quantiles, from `QUANTILES`.
        seed: seed of the random numbers.
        stream: name of the random stream; two Runs to be compared need different streams to have independent noise.
        progress: called with the completed fraction.
    """
    samples = latencies(run, op)
    starts, length = _blocks(len(samples), seed, stream)
    probabilities = np.array([QUANTILES[name] for name in names])
    quantile_s, distance_s = _ranks(samples, starts, length, probabilities, progress)
    gap_s = np.fmax(_means(_gaps_s(run, op), starts, length), _SHORTEST_S)
    latency_s = {"mean": _means(samples, starts, length)} | {name: quantile_s[:, i] for i, name in enumerate(names)}
    return Resamples(1 / gap_s, latency_s, distance_s)


def interval(values: Floats, confidence: float) -> list[float]:
    """Return the percentile interval [low, high] of resampled values at a confidence level (0 to 1)."""
    result: list[float] = quantiles(values, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return result


def _gaps_s(run: Run, op: str) -> Floats:
    """Return the times between successful completions of an operation; their mean is 1 / throughput."""
    begin_s, last_s = span_s(run, op)
    end_s = np.sort(run.column("end_s")[run.has(op) & ~run.failed])
    end_s[-1] = last_s
    return np.diff(end_s, prepend=begin_s)


def _blocks(n: int, seed: int, stream: str) -> tuple[Indices, int]:
    """Return the first index of each block, shape (replicates, blocks), and the block length, for n samples."""
    length = math.ceil(math.sqrt(n))
    blocks = math.ceil(n / length)
    u = uniforms(seed, stream_id(stream), 0, _REPLICATES * blocks)
    return (u * n).astype(np.int64).reshape(_REPLICATES, blocks), length


def _means(samples: Floats, starts: Indices, length: int) -> Floats:
    """Return the mean of each resample, shape (replicates,)."""
    before = np.concatenate([[0.0], np.cumsum(np.concatenate([samples, samples[:length]]))])
    means: Floats = (before[starts + length] - before[starts]).mean(axis=1) / length
    return means


def _ranks(
    samples: Floats, starts: Indices, length: int, probabilities: Floats, progress: Callable[[float], None]
) -> tuple[Floats, Floats]:
    """Return quantiles, shape (replicates, probabilities), and Wasserstein distances to the samples, (replicates,).

    Resamples are never sorted: the number of times each sample was drawn, summed in rank order, is the distribution
    function of the resample.
    """
    n, total = len(samples), starts.shape[1] * length
    order = np.argsort(samples)
    ranked = samples[order]
    steps_s, below = np.diff(ranked), np.arange(1, n) / n
    rank = probabilities * (total - 1)
    lower, part = np.floor(rank), rank % 1
    quantile_s, distance_s = np.empty((len(starts), len(rank))), np.empty(len(starts))
    for i, begin in enumerate(starts):
        end, change = begin + length, np.zeros(n, np.int32)
        np.add.at(change, begin, 1)
        np.subtract.at(change, end % n, 1)
        taken = np.cumsum(change, dtype=np.int32) + np.int32(np.count_nonzero(end >= n))
        up_to = np.cumsum(taken[order])
        low = ranked[np.searchsorted(up_to, lower, side="right")]
        high = ranked[np.searchsorted(up_to, np.minimum(lower + 1, total - 1), side="right")]
        quantile_s[i] = low + part * (high - low)
        # Not a dot product: starting the BLAS threads for one takes longer than everything else here.
        distance_s[i] = (np.abs(up_to[:-1] / total - below) * steps_s).sum()
        progress((i + 1) / len(starts))
    return quantile_s, distance_s
