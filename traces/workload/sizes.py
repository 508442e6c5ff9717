"""Distributions of object sizes, as inverse CDFs (see `traces.workload.distributions`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, NonNegativeFloat, model_validator

from traces.spec.field_notes import Unit
from traces.spec.units import MOST_CV, Bytes, Weight, parse_bytes
from traces.workload.distributions import Floats, Lognormal, Strict


class FixedSize(Strict):
    """Every object has the same size."""

    kind: Literal["fixed"] = Field(
        "fixed", description="One size for all objects; a bare size such as 64KiB is enough."
    )
    size: Bytes = Field(description="Size that every object has.")

    def quantile(self, u: Floats) -> Floats:
        return np.full_like(u, self.size)


class LognormalSize(Strict):
    """Lognormal sizes with the given mean and coefficient of variation, limited to `max`."""

    kind: Literal["lognormal"] = Field(
        "lognormal", description="Lognormal sizes: many small objects and a few large ones."
    )
    mean: Bytes = Field(description="Mean object size, before `max` is applied.")
    cv: Annotated[NonNegativeFloat, Field(le=MOST_CV), Unit("", "1.5")] = Field(
        description="Coefficient of variation of the sizes (standard deviation over mean); 0: all the same."
    )
    max: Bytes | None = Field(None, description="Largest object size; larger draws are cut to it; absent: no limit.")

    def quantile(self, u: Floats) -> Floats:
        value = Lognormal(cv=self.cv).quantile(u) * self.mean
        return value if self.max is None else np.minimum(value, self.max)


class HistogramSize(Strict):
    """Sizes distributed uniformly within bins: `edges` has one element more than `weights`."""

    kind: Literal["histogram"] = Field(
        "histogram", description="Histogram of sizes, which are uniform within each bin."
    )
    edges: tuple[Bytes, ...] = Field(description="Edges of the bins, ascending: one more than there are weights.")
    weights: tuple[Weight, ...] = Field(description="Weight of each bin, such as its number of objects.")

    @model_validator(mode="after")
    def _bins(self) -> HistogramSize:
        if len(self.edges) != len(self.weights) + 1:
            raise ValueError("edges needs exactly one element more than weights")
        if any(b <= a for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise ValueError("edges must ascend")
        if sum(self.weights) <= 0:
            raise ValueError("weights must not all be 0")
        return self

    def quantile(self, u: Floats) -> Floats:
        cumulated = np.concatenate([[0.0], np.cumsum(self.weights)])
        cumulated /= cumulated[-1]
        bin_ = np.searchsorted(cumulated, u, side="right") - 1  # never a bin of weight 0, as it has no width here
        low, high = np.array(self.edges[:-1], dtype=float), np.array(self.edges[1:], dtype=float)
        part = (u - cumulated[bin_]) / np.diff(cumulated)[bin_]
        value: Floats = low[bin_] + part * (high - low)[bin_]
        return value


class SizeComponent(Strict):
    """One component of a mixture of sizes."""

    weight: Annotated[Weight, Field(gt=0)] = Field(description="Weight of this component among all of them.")
    size: Annotated[
        FixedSize | LognormalSize | HistogramSize, Field(discriminator="kind"), BeforeValidator(lambda v: _as_fixed(v))
    ] = Field(description="Sizes of the objects of this component.")


class MixtureSize(Strict):
    """A weighted mixture of sizes."""

    kind: Literal["mixture"] = Field("mixture", description="Weighted mixture of other size distributions.")
    components: Annotated[tuple[SizeComponent, ...], Field(min_length=1)] = Field(
        description="Parts of the mixture, each with a weight and sizes of its own."
    )

    def quantile(self, u: Floats) -> Floats:
        weights = np.array([c.weight for c in self.components])
        edges = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
        edges[-1] = 1.0
        index = np.searchsorted(edges, u, side="right") - 1
        value = np.empty_like(u)
        for i, component in enumerate(self.components):
            chosen = index == i
            stretched = (u[chosen] - edges[i]) / (edges[i + 1] - edges[i])
            value[chosen] = component.size.quantile(np.clip(stretched, 2.0**-54, 1 - 2.0**-53))
        return value


def _as_fixed(value: Any) -> Any:
    """Expand a bare size to a fixed size."""
    return {"kind": "fixed", "size": parse_bytes(value)} if isinstance(value, int | float | str) else value


SizeDistribution = Annotated[
    FixedSize | LognormalSize | HistogramSize | MixtureSize, Field(discriminator="kind"), BeforeValidator(_as_fixed)
]
"""A distribution of object sizes in bytes; a bare size such as ``64KiB`` is a fixed size."""
