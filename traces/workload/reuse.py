"""Keys with measured reuse: how often objects are requested, and how soon again.

Each object has a number of requests and, between these, gaps drawn from the distribution of its class: a renewal
process (Cox, "Renewal Theory", 1962). All objects together define the order of requests: time is counted in requests,
and the object that is due next is requested next. How many requests name each object is therefore given, and the hit
ratio of an LRU cache follows from the gaps (Xiang et al., "HOTL: a higher order theory of locality", ASPLOS 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from traces.operations import ObjectOp
from traces.random_streams import stream_id, uniforms
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import Fraction, Weight
from traces.workload.distributions import Floats, Strict
from traces.workload.sizes import SizeDistribution

Indices = NDArray[np.int64]

ONLY, FIRST, MIDDLE, LAST = range(4)
"""The place of a request among those for the same object."""

_ITERATIONS = 60  # of bisection
_STEEPEST = 60.0  # exponent of the spread of requests over the objects of a class
_POINTS = 1000


class PopularityClass(Strict):
    """Objects that are requested about equally often."""

    objects: Annotated[int, Unit("", "1000")] = Field(ge=1, description="Number of objects in this class.")
    requests: Annotated[float, Unit("", "2.6")] = Field(ge=1, description="Mean number of requests for each of them.")
    least: Annotated[int, Unit("", "2")] | None = Field(
        None, ge=1, description="Fewest requests for one of them; absent: as many as the mean, rounded."
    )
    most: Annotated[int, Unit("", "4")] | None = Field(
        None, ge=1, description="Most requests for one of them; absent: as many as the mean, rounded."
    )
    gaps: tuple[Annotated[float, Unit("", "100"), Field(ge=1)], ...] = Field(
        (),
        description="Number of requests from one request for an object to the next one for it (1: the next request): "
        "quantiles at equal steps of probability from 0 to 1.",
    )
    lasting: Annotated[Fraction, Basis("assumed: what is popular remains so", 0, 1)] = Field(
        1.0,
        ge=0,
        le=1,
        description="Fraction of these objects that is requested again after as many requests as the classes describe; "
        "new objects replace the others.",
    )
    object_size: SizeDistribution | None = Field(
        None, description="Sizes of these objects; absent: those of the workload."
    )

    @model_validator(mode="after")
    def _possible(self) -> PopularityClass:
        least, most = self.bounds
        if not least <= self.requests <= most:
            raise ValueError("requests must be between least and most")
        if most > 1 and not self.gaps:
            raise ValueError("gaps is missing; objects that are requested more than once need it")
        if any(later < earlier for earlier, later in zip(self.gaps, self.gaps[1:], strict=False)):
            raise ValueError("gaps must ascend")
        return self

    @property
    def bounds(self) -> tuple[int, int]:
        """The fewest and the most requests for an object of this class."""
        least = int(np.floor(self.requests)) if self.least is None else self.least
        most = int(np.ceil(self.requests)) if self.most is None else self.most
        return least, most

    def counts(self) -> Indices:
        """Return the number of requests for each object, descending, shape (objects,).

        Between the fewest and the most, the objects follow a power law with the given mean.
        """
        least, most = self.bounds
        u = (np.arange(self.objects) + 0.5) / self.objects
        if least == most:
            return np.full(self.objects, least, np.int64)
        if most == least + 1:
            return np.where(u < self.requests - least, most, least).astype(np.int64)
        points = (np.arange(min(self.objects, _POINTS)) + 0.5) / min(self.objects, _POINTS)
        low, high = -_STEEPEST, _STEEPEST
        for _ in range(_ITERATIONS):
            middle = (low + high) / 2
            above = _between(points, least, most, middle).mean() > self.requests
            low, high = (middle, high) if above else (low, middle)
        return np.sort(_between(u, least, most, low))[::-1]


def _between(u: Floats, least: int, most: int, exponent: float) -> Indices:
    """Return the values at probabilities `u` of a power law with density x^-(exponent + 1), rounded to its bounds."""
    low, high = least - 0.5, most + 0.5
    span = np.log(high / low)
    if abs(exponent) < 1e-9:
        value = low * np.exp(u * span)
    else:
        value = low * np.exp(-np.log1p(u * np.expm1(-exponent * span)) / exponent)
    result: Indices = np.clip(np.rint(value), least, most).astype(np.int64)
    return result


class OperationsInOrder(Strict):
    """Weights of the operations by the place of a request among those for the same object."""

    only: dict[ObjectOp, Weight] = Field(
        {}, description="Operations on objects that are requested once; absent: those of `first`."
    )
    first: dict[ObjectOp, Weight] = Field(
        description="Operation of the first request for an object, such as the PUT that creates it."
    )
    middle: dict[ObjectOp, Weight] = Field(
        description="Operations of the requests between the first and the last one for an object."
    )
    last: dict[ObjectOp, Weight] = Field(
        {}, description="Operation of the last request for an object; absent: those of `middle`."
    )

    @model_validator(mode="after")
    def _some_weight(self) -> OperationsInOrder:
        for name in ("only", "first", "middle", "last"):
            weights = getattr(self, name)
            if (weights or name in ("first", "middle")) and not 0 < sum(weights.values()) < float("inf"):
                raise ValueError(f"the weights of {name} must be finite and not all 0")
        return self

    def at(self, place: int) -> dict[str, float]:
        """Return the weights of the operations at a place (`ONLY`, `FIRST`, `MIDDLE` or `LAST`)."""
        weights = (self.only or self.first, self.first, self.middle, self.last or self.middle)[place]
        return dict(weights.items())


@dataclass(frozen=True)
class KeysInOrder:
    """Keys in the order of their requests; both arrays have shape (requests,).

    Attributes:
        key: index of the key, from 0; the most popular is 0.
        place: place of the request among those for the same object: `ONLY`, `FIRST`, `MIDDLE` or `LAST`.
    """

    key: Indices
    place: NDArray[np.int8]


class ReuseKeys(Strict):
    """Objects of several popularities, each with gaps between its requests."""

    kind: Literal["reuse"] = Field(
        "reuse",
        description="Measured reuse: how often objects are requested, and after how many requests again; "
        "`trace fit` learns it.",
    )
    classes: tuple[PopularityClass, ...] = Field(
        min_length=1,
        description="Objects by popularity, the most popular first. Together they have the number of requests that "
        "they describe; a shorter workload ends before, a longer one continues with the objects that last.",
    )
    operations: OperationsInOrder | None = Field(
        None,
        description="Operations by the place of a request among those for the same object, instead of `mix` (which "
        "still has the fraction of LISTs and of operations with own objects); absent: drawn from `mix`.",
    )

    @property
    def count(self) -> int:
        """Number of objects."""
        return sum(each.objects for each in self.classes)

    def counts(self) -> Indices:
        """Return the number of requests for each object, shape (objects,)."""
        return np.concatenate([each.counts() for each in self.classes])

    def choose(self, seed: int, count: int) -> Indices:
        """Draw the keys of the first `count` requests, shape (count,)."""
        return self.in_order(seed, count).key

    def in_order(self, seed: int, count: int) -> KeysInOrder:
        """Draw the keys of the first `count` requests with their places.

        As many requests as the classes describe are a cycle. In each further cycle, objects that last are requested
        again, and new objects replace the others.
        """
        counts = self.counts()
        per_cycle = int(counts.sum())
        lasts = self._lasting(seed)
        parts = [self._cycle(counts, lasts, seed, i) for i in range(max(-(-count // per_cycle), 1))]
        key = np.concatenate([part.key for part in parts])[:count] if len(parts) > 1 else parts[0].key[:count]
        place = np.concatenate([part.place for part in parts])[:count] if len(parts) > 1 else parts[0].place[:count]
        return KeysInOrder(key, place)

    def sizes(self, seed: int, keys: Indices, default: SizeDistribution) -> Floats:
        """Return the sizes of the objects of these keys; replacements have the size of the object that they replace."""
        sizes = np.empty(self.count)
        begin = 0
        for i, each in enumerate(self.classes):
            draws = uniforms(seed, stream_id(f"workload/keys/sizes/{i}"), 0, each.objects)
            stratum = np.argsort(draws, kind="stable")
            u = (stratum + draws) / each.objects
            sizes[begin : begin + each.objects] = (each.object_size or default).quantile(np.clip(u, 2**-53, 1 - 2**-53))
            begin += each.objects
        result: Floats = sizes[keys % self.count]
        return result

    def _lasting(self, seed: int) -> NDArray[np.bool_]:
        fractions = np.repeat([each.lasting for each in self.classes], [each.objects for each in self.classes])
        lasting: NDArray[np.bool_] = uniforms(seed, stream_id("workload/keys/lasting"), 0, len(fractions)) < fractions
        return lasting

    def _cycle(self, counts: Indices, lasts: NDArray[np.bool_], seed: int, cycle: int) -> KeysInOrder:
        """Draw one cycle: the requests of each object one after the other, then sorted by time."""
        total, objects = int(counts.sum()), len(counts)
        stream = f"workload/keys/cycle/{cycle}"
        end = np.cumsum(counts)
        first, last = end - counts, end - 1
        wait = np.empty(total)  # from the previous request for the object, in other requests
        draws = uniforms(seed, stream_id(f"{stream}/gaps"), 0, total)
        of_class = np.concatenate([[0], np.cumsum([each.objects for each in self.classes])])
        for i, each in enumerate(self.classes):
            rows = slice(int(first[of_class[i]]), int(end[of_class[i + 1] - 1]))
            wait[rows] = quantiles_at(each.gaps, draws[rows]) - 1 if each.gaps else 0.0
        wait[first] = 0.0
        at = np.cumsum(wait)
        start = at[first]
        span = at[last] - start
        # Requests that were spread evenly over all of the cycle would span this.
        even = total * (counts - 1) / (counts + 1)
        shrink = np.where(span < total, 1.0, even / np.maximum(span, 1.0))
        born = uniforms(seed, stream_id(f"{stream}/births"), 0, objects) * (total - span * shrink)
        at = (at - np.repeat(start, counts)) * np.repeat(shrink, counts) + np.repeat(born, counts)
        order = np.argsort(at, kind="stable")
        place = np.full(total, MIDDLE, np.int8)
        place[first] = FIRST if cycle == 0 else np.where(lasts, MIDDLE, FIRST)
        place[last] = np.where(lasts, MIDDLE, LAST) if cycle else LAST
        place[first[counts == 1]] = ONLY
        name = np.arange(objects) + (np.where(lasts, 0, cycle * objects) if cycle else 0)
        return KeysInOrder(np.repeat(name, counts)[order], place[order])


def quantiles_at(quantiles: tuple[float, ...], u: Floats) -> Floats:
    """Return the values at probabilities `u`, from quantiles at equal steps.

    They are interpolated logarithmically, those of the first step linearly: like the gaps between independent requests.
    """
    if len(quantiles) == 1:
        return np.full(len(u), quantiles[0])
    place = u * (len(quantiles) - 1)
    value: Floats = np.exp(np.interp(place, np.arange(len(quantiles)), np.log(quantiles)))
    first = place < 1
    value[first] = quantiles[0] + place[first] * (quantiles[1] - quantiles[0])
    return value
