"""Distributions as inverse CDFs: each maps uniforms on (0, 1) to values, so that draws can be shared between variants.

Mixtures use a uniform twice: its place among the weights picks the component, the rest, stretched back
to (0, 1), is that component's uniform.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeFloat, PositiveFloat, model_validator

from traces.fit_bounds import Fit
from traces.units import Bytes, parse_bytes

Floats = NDArray[np.float64]


class Strict(BaseModel):
    """A part of a spec: unknown fields are refused, values do not change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def model_post_init(self, context: Any) -> None:
        # A dump of what was set has to say which of several kinds it is, else it cannot be read again.
        if "kind" in type(self).model_fields:
            self.model_fields_set.add("kind")


class Quantiles(Protocol):
    """Anything that has an inverse CDF."""

    def quantile(self, u: Floats) -> Floats:
        """Values at the probabilities `u`, same shape."""
        ...


class Deterministic(Strict):
    """Always 1."""

    kind: Literal["deterministic"] = "deterministic"

    def quantile(self, u: Floats) -> Floats:
        return np.ones_like(u)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return 0.0


class Exponential(Strict):
    """Exponential with mean 1."""

    kind: Literal["exponential"] = "exponential"

    def quantile(self, u: Floats) -> Floats:
        value: Floats = -np.log(1.0 - u)
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return 1.0


class Hyperexponential(Strict):
    """Two exponential phases with balanced means, mean 1 and the given coefficient of variation (>= 1).

    Balanced means: each phase carries half of the mean (Allen, "Probability, Statistics and Queueing
    Theory", 1990, section 3.2.9).
    """

    kind: Literal["hyperexponential"] = "hyperexponential"
    cv: Annotated[float, Field(ge=1), Fit(1.0, 5.0, estimated="spread")]

    @property
    def _fast_share(self) -> float:
        c2 = self.cv**2
        return 0.5 * (1 + math.sqrt((c2 - 1) / (c2 + 1)))

    def quantile(self, u: Floats) -> Floats:
        p = self._fast_share
        fast = u < p
        v = np.where(fast, u / p, (u - p) / (1 - p))
        value: Floats = -np.log(1.0 - v) / np.where(fast, 2 * p, 2 * (1 - p))
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.cv**2


class Lognormal(Strict):
    """Lognormal with mean 1 and the given coefficient of variation."""

    kind: Literal["lognormal"] = "lognormal"
    cv: Annotated[NonNegativeFloat, Fit(0.02, 5.0, estimated="spread")]

    def quantile(self, u: Floats) -> Floats:
        sigma2 = math.log1p(self.cv**2)
        value: Floats = np.exp(math.sqrt(sigma2) * scipy.special.ndtri(u) - sigma2 / 2)
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.cv**2


class Gamma(Strict):
    """Gamma with mean 1 and the given coefficient of variation."""

    kind: Literal["gamma"] = "gamma"
    cv: Annotated[PositiveFloat, Fit(0.02, 5.0, estimated="spread")]

    def quantile(self, u: Floats) -> Floats:
        shape = 1 / self.cv**2
        value: Floats = scipy.special.gammaincinv(shape, u) / shape
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.cv**2


class Empirical(Strict):
    """Quantiles measured elsewhere, joined linearly and scaled to mean 1.

    `probabilities` ascend from 0 to 1; `values` are the quantiles there.
    """

    kind: Literal["empirical"] = "empirical"
    probabilities: tuple[float, ...]
    values: tuple[NonNegativeFloat, ...]

    @model_validator(mode="after")
    def _ascending(self) -> Empirical:
        p, v = np.array(self.probabilities), np.array(self.values)
        if len(p) != len(v) or len(p) < 2:
            raise ValueError("probabilities and values need the same length, at least 2")
        if p[0] != 0 or p[-1] != 1 or (np.diff(p) <= 0).any():
            raise ValueError("probabilities must ascend from 0 to 1")
        if (np.diff(v) < 0).any() or v[-1] <= 0:
            raise ValueError("values must not descend and must end above 0")
        return self

    @property
    def _mean(self) -> float:
        v = np.array(self.values)
        return float(np.sum(np.diff(self.probabilities) * (v[1:] + v[:-1]) / 2))

    def quantile(self, u: Floats) -> Floats:
        value: Floats = np.interp(u, self.probabilities, self.values) / self._mean
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        v = np.array(self.values)
        second = np.sum(np.diff(self.probabilities) * (v[1:] ** 2 + v[1:] * v[:-1] + v[:-1] ** 2) / 3)
        return float(second / self._mean**2 - 1)


class SlowMode(Strict):
    """Mostly `base`; with probability `probability` a slow mode whose mean is `factor` times the base's. Mean 1."""

    kind: Literal["slow_mode"] = "slow_mode"
    base: Annotated[
        Deterministic | Exponential | Hyperexponential | Lognormal | Gamma | Empirical, Field(discriminator="kind")
    ] = Deterministic()
    slow: Annotated[
        Deterministic | Exponential | Hyperexponential | Lognormal | Gamma | Empirical, Field(discriminator="kind")
    ] = Exponential()
    probability: Annotated[float, Field(gt=0, lt=1), Fit(1e-4, 0.3, estimated="tail fraction")]
    factor: Annotated[float, Field(ge=1), Fit(1.5, 500.0, estimated="tail factor")]

    @property
    def _scale(self) -> float:
        return 1 / (1 - self.probability + self.probability * self.factor)

    def quantile(self, u: Floats) -> Floats:
        usual = 1 - self.probability
        rare = u >= usual
        value = np.empty_like(u)
        value[~rare] = self.base.quantile(u[~rare] / usual)
        # Stretching can round up to 1, where an unbounded law has no value.
        stretched = np.minimum((u[rare] - usual) / self.probability + 2.0**-54, 1 - 2.0**-53)
        value[rare] = self.slow.quantile(stretched) * self.factor
        return value * self._scale

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        second = (1 - self.probability) * (1 + self.base.scv)
        second += self.probability * self.factor**2 * (1 + self.slow.scv)
        return second * self._scale**2 - 1


class Occasional(Strict):
    """0, but for a share `probability` of the draws, which follow `of`: a cache that answers the rest. Mean 1."""

    kind: Literal["occasional"] = "occasional"
    probability: Annotated[float, Field(gt=0, le=1), Fit(1e-4, 0.3, estimated="tail fraction")]
    of: Annotated[
        Deterministic | Exponential | Hyperexponential | Lognormal | Gamma | Empirical, Field(discriminator="kind")
    ] = Deterministic()

    def quantile(self, u: Floats) -> Floats:
        never = 1 - self.probability
        hit = u >= never
        value = np.zeros_like(u)
        # Stretching can reach 0 or 1, where a law may have no value.
        stretched = np.clip((u[hit] - never) / self.probability, 2.0**-54, 1 - 2.0**-53)
        value[hit] = self.of.quantile(stretched) / self.probability
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return (1 + self.of.scv) / self.probability - 1


Shape = Annotated[
    Deterministic | Exponential | Hyperexponential | Lognormal | Gamma | Empirical | SlowMode | Occasional,
    Field(discriminator="kind"),
]
"""A distribution with mean 1 that multiplies a mean given elsewhere."""


class FixedSize(Strict):
    """Every object has the same size."""

    kind: Literal["fixed"] = "fixed"
    size: Bytes

    def quantile(self, u: Floats) -> Floats:
        return np.full_like(u, self.size)


class LognormalSize(Strict):
    """Lognormal sizes with the given mean and coefficient of variation, cut at `max`."""

    kind: Literal["lognormal"] = "lognormal"
    mean: Bytes
    cv: NonNegativeFloat
    max: Bytes | None = None

    def quantile(self, u: Floats) -> Floats:
        value = Lognormal(cv=self.cv).quantile(u) * self.mean
        return value if self.max is None else np.minimum(value, self.max)


class HistogramSize(Strict):
    """Sizes uniform within bins: `edges` has one element more than `weights`."""

    kind: Literal["histogram"] = "histogram"
    edges: tuple[Bytes, ...]
    weights: tuple[NonNegativeFloat, ...]

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
        bin_ = np.searchsorted(cumulated, u, side="right") - 1  # never a bin of weight 0: it has no width here
        low, high = np.array(self.edges[:-1], dtype=float), np.array(self.edges[1:], dtype=float)
        part = (u - cumulated[bin_]) / np.diff(cumulated)[bin_]
        value: Floats = low[bin_] + part * (high - low)[bin_]
        return value


class SizeComponent(Strict):
    """One component of a mixture of sizes."""

    weight: PositiveFloat
    size: Annotated[
        FixedSize | LognormalSize | HistogramSize, Field(discriminator="kind"), BeforeValidator(lambda v: _as_fixed(v))
    ]


class MixtureSize(Strict):
    """A weighted mixture of sizes."""

    kind: Literal["mixture"] = "mixture"
    components: Annotated[tuple[SizeComponent, ...], Field(min_length=1)]

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
    """A bare size stands for a fixed size."""
    return {"kind": "fixed", "size": parse_bytes(value)} if isinstance(value, int | float | str) else value


SizeDistribution = Annotated[
    FixedSize | LognormalSize | HistogramSize | MixtureSize, Field(discriminator="kind"), BeforeValidator(_as_fixed)
]
"""Object sizes in bytes; a bare size such as ``64KiB`` stands for a fixed one."""
