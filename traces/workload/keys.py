"""Key popularity: which key each request names, as an index from 0; the most popular key is 0."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from traces.random_streams import stream_id, uniforms
from traces.spec.field_notes import Basis, Unit
from traces.spec.spec_file import BareKind
from traces.spec.units import Fraction
from traces.workload.distributions import Floats, Strict
from traces.workload.reuse import ReuseKeys

Indices = NDArray[np.int64]

KeyCount = Annotated[
    int,
    Basis("assumed: enough keys that requests rarely meet at one of them"),
    Field(ge=1, le=10_000_000_000, description="Number of distinct keys that requests may name."),
]

_ONCE = 1 << 30  # one-hit keys are numbered from here, after those of DELETEs
_HEAD = 1 << 20  # ranks of a Zipf law that are summed one by one


class UniformKeys(Strict):
    """All keys are equally likely."""

    kind: Literal["uniform"] = Field("uniform", description="Uniform popularity: all keys are equally likely.")
    count: KeyCount = 10_000

    def choose(self, seed: int, count: int) -> Indices:
        """Draw the keys of the first `count` requests, shape (count,)."""
        return self.quantile(_draws(seed, count))

    def quantile(self, u: Floats) -> Indices:
        """Return the keys at these cumulated probabilities, same shape."""
        return (u * self.count).astype(np.int64)


class ZipfKeys(Strict):
    """Key k (from 0) has probability proportional to (k + 1)^-exponent."""

    kind: Literal["zipf"] = Field(
        "zipf", description="Zipf popularity: the key of rank k has a probability proportional to k^-exponent."
    )
    count: KeyCount = 10_000
    exponent: Annotated[float, Unit("", "0.9"), Basis("YCSB's default (Cooper et al., SoCC 2010)", 0, 2)] = Field(
        0.99, ge=0, le=10, description="Skew of the popularity; 0: uniform, 1: classic Zipf."
    )
    one_hit: Fraction = Field(0.0, ge=0, le=1, description="Fraction of requests whose key no other request names.")

    def choose(self, seed: int, count: int) -> Indices:
        """Draw the keys of the first `count` requests, shape (count,); one-hit keys are numbered after all others.

        Inverse CDF. Beyond the head, the sum of k^-s is replaced by its midpoint integral, with a relative error of
        order 1 / head^2.
        """
        keys = self.quantile(_draws(seed, count))
        if self.one_hit:
            once = np.flatnonzero(uniforms(seed, stream_id("workload/keys/once"), 0, count) < self.one_hit)
            keys[once] = self.count + _ONCE + once
        return keys

    def quantile(self, u: Floats) -> Indices:
        """Return the keys at these cumulated probabilities of those that are not one-hit keys, same shape."""
        ranks = np.arange(1, min(self.count, _HEAD) + 1, dtype=np.float64)
        head = np.cumsum(ranks**-self.exponent)
        weight = u * (head[-1] + self._tail(len(head)))
        chosen = np.searchsorted(head, weight).astype(np.int64)
        beyond = chosen == len(head)
        chosen[beyond] = self._tail_rank(len(head), weight[beyond] - head[-1])
        keys: Indices = np.minimum(chosen, self.count - 1)
        return keys

    def _tail(self, head: int) -> float:
        """Return the total weight of the ranks after the first `head`."""
        first, s = head + 0.5, 1 - self.exponent
        span = math.log((self.count + 0.5) / first)
        return span if s == 0 else first**s * math.expm1(s * span) / s

    def _tail_rank(self, head: int, weight: Floats) -> Indices:
        """Return the keys at which the cumulative weight after the first `head` ranks reaches `weight`."""
        first, s = head + 0.5, 1 - self.exponent
        span = weight if s == 0 else np.log1p(s * weight / first**s) / s
        edge = first * np.exp(span)
        rank: Indices = np.ceil(edge - 0.5).astype(np.int64)
        return rank - 1


class SequentialKeys(Strict):
    """Keys in order, repeated cyclically."""

    kind: Literal["sequential"] = Field("sequential", description="Keys in order, from the first again after the last.")
    count: KeyCount = 10_000

    def choose(self, seed: int, count: int) -> Indices:
        """Return the keys of the first `count` requests, shape (count,)."""
        return np.arange(count, dtype=np.int64) % self.count

    def quantile(self, u: Floats) -> Indices:
        """Return the keys at these cumulated fractions of the requests, same shape."""
        return (u * self.count).astype(np.int64)


class WriteOnceReadOnce(Strict):
    """Every key is written once; after all writes, every key is read once in the same order.

    This is the access pattern of s3bench. `operations` is the number of keys, of PUTs and of GETs.
    """

    phases: ClassVar[tuple[str, str]] = ("PUT", "GET")
    """The operation of the first half of the requests, and of the second."""

    kind: Literal["write_once_read_once"] = Field(
        "write_once_read_once",
        description="Access pattern of s3bench: all keys are written once, then read once in the same order.",
    )

    def choose(self, seed: int, count: int) -> Indices:
        """Return the keys of the first `count` requests, shape (count,); the first half are writes."""
        return np.arange(count, dtype=np.int64) % (count // 2)


Keys = Annotated[
    UniformKeys | ZipfKeys | SequentialKeys | ReuseKeys | WriteOnceReadOnce,
    Field(discriminator="kind"),
    BareKind(),
]
"""A choice of keys; a bare name selects one with its defaults."""


def _draws(seed: int, count: int) -> Floats:
    return uniforms(seed, stream_id("workload/keys"), 0, count)
