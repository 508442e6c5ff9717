"""Distributions with mean 1 as inverse CDFs: uniforms on (0, 1) map to values, so that variants share random numbers.

Mixtures use each uniform twice: its position among the weights selects the component, and the remainder, rescaled
to (0, 1), is the uniform of that component.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, model_validator

from traces.spec.field_notes import Unit
from traces.spec.fit_bounds import Fit
from traces.spec.units import MOST_CV, Fraction

Floats = NDArray[np.float64]


class Strict(BaseModel):
    """A section of a spec: rejects unknown fields and is immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    def model_post_init(self, context: Any) -> None:
        # A dump without defaults must include the kind, or it could not be read back.
        if "kind" in type(self).model_fields:
            self.model_fields_set.add("kind")


class Quantiles(Protocol):
    """Any distribution with an inverse CDF."""

    def quantile(self, u: Floats) -> Floats:
        """Return the values at the probabilities `u`, in the same shape."""
        ...


class Deterministic(Strict):
    """The constant 1."""

    kind: Literal["deterministic"] = Field("deterministic", description="Constant: every draw equals the mean.")

    def quantile(self, u: Floats) -> Floats:
        return np.ones_like(u)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return 0.0


class Exponential(Strict):
    """Exponential with mean 1."""

    kind: Literal["exponential"] = Field(
        "exponential", description="Exponential distribution: coefficient of variation 1."
    )

    def quantile(self, u: Floats) -> Floats:
        value: Floats = -np.log(1.0 - u)
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return 1.0


class Hyperexponential(Strict):
    """Hyperexponential: two phases with balanced means, mean 1 and the given coefficient of variation (>= 1).

    Balanced means: each phase contributes half of the mean (Allen, "Probability, Statistics and Queueing
    Theory", 1990, section 3.2.9).
    """

    kind: Literal["hyperexponential"] = Field(
        "hyperexponential",
        description="Hyperexponential distribution with balanced means: more variable than exponential.",
    )
    cv: Annotated[float, Field(ge=1, le=MOST_CV), Unit("", "2"), Fit(1.0, 5.0, estimated="spread")] = Field(
        description="Coefficient of variation (standard deviation over mean), at least 1."
    )

    @property
    def _fast_probability(self) -> float:
        c2 = self.cv**2
        return 0.5 * (1 + math.sqrt((c2 - 1) / (c2 + 1)))

    def quantile(self, u: Floats) -> Floats:
        p = self._fast_probability
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

    kind: Literal["lognormal"] = Field(
        "lognormal", description="Lognormal distribution, whose tail is longer than that of a gamma distribution."
    )
    cv: Annotated[NonNegativeFloat, Field(le=MOST_CV), Unit("", "0.5"), Fit(0.02, 5.0, estimated="spread")] = Field(
        description="Coefficient of variation (standard deviation over mean); 0: constant."
    )

    def quantile(self, u: Floats) -> Floats:
        if not self.cv:
            return np.ones_like(u)  # also at u = 0, where the normal quantile is infinite
        sigma2 = math.log1p(self.cv**2)
        value: Floats = np.exp(math.sqrt(sigma2) * scipy.special.ndtri(u) - sigma2 / 2)
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.cv**2


class Gamma(Strict):
    """Gamma with mean 1 and the given coefficient of variation."""

    kind: Literal["gamma"] = Field(
        "gamma", description="Gamma distribution, whose tail is shorter than that of a lognormal one."
    )
    cv: Annotated[PositiveFloat, Field(le=MOST_CV), Unit("", "0.5"), Fit(0.02, 5.0, estimated="spread")] = Field(
        description="Coefficient of variation (standard deviation over mean); 1: exponential."
    )

    def quantile(self, u: Floats) -> Floats:
        shape = 1 / self.cv**2
        value: Floats = scipy.special.gammaincinv(shape, u) / shape
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.cv**2


class Empirical(Strict):
    """Measured quantiles, interpolated linearly and scaled to mean 1.

    `probabilities` ascend from 0 to 1; `values` are the quantiles at these probabilities.
    """

    kind: Literal["empirical"] = Field(
        "empirical", description="Measured quantiles, interpolated linearly and scaled to the mean."
    )
    # Not `Fraction`: hard disks have a hundred of them, made anew for each fill level.
    probabilities: tuple[Annotated[float, Unit("", "0.99")], ...] = Field(
        description="Probabilities of the quantiles, ascending from 0 to 1."
    )
    values: tuple[Annotated[NonNegativeFloat, Unit("", "1.2")], ...] = Field(
        description="Quantiles at these probabilities, on any scale: their mean becomes 1."
    )

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
    """A mixture with mean 1: `base`, and with `probability` a slow mode whose mean is `factor` times as large."""

    kind: Literal["slow_mode"] = Field(
        "slow_mode", description="Slow mode: a mixture in which a small fraction of draws takes many times as long."
    )
    base: Annotated[
        Deterministic | Exponential | Hyperexponential | Lognormal | Gamma | Empirical, Field(discriminator="kind")
    ] = Field(Deterministic(), description="Distribution of the usual draws around their own mean.")
    slow: Annotated[
        Deterministic | Exponential | Hyperexponential | Lognormal | Gamma | Empirical, Field(discriminator="kind")
    ] = Field(Exponential(), description="Distribution of the slow draws around their own mean.")
    probability: Annotated[Fraction, Field(gt=0, lt=1), Fit(1e-4, 0.3, estimated="tail fraction")] = Field(
        description="Fraction of draws that are slow."
    )
    factor: Annotated[float, Field(ge=1), Unit("", "10"), Fit(1.5, 500.0, estimated="tail factor")] = Field(
        description="Ratio of the mean of slow draws to the mean of usual ones."
    )

    @property
    def _scale(self) -> float:
        return 1 / (1 - self.probability + self.probability * self.factor)

    def quantile(self, u: Floats) -> Floats:
        usual = 1 - self.probability
        rare = u >= usual
        value = np.empty_like(u)
        value[~rare] = self.base.quantile(u[~rare] / usual)
        # Rescaling can round up to 1, where an unbounded distribution has no value.
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
    """A mixture with mean 1: `of` with probability `probability`, else 0, as behind a cache that serves the rest."""

    kind: Literal["occasional"] = Field(
        "occasional", description="Mixture with zero: most draws take no time, as behind a cache that serves the rest."
    )
    probability: Annotated[Fraction, Field(gt=0, le=1), Fit(1e-4, 0.3, estimated="tail fraction")] = Field(
        description="Fraction of draws above zero, such as the misses of a cache."
    )
    of: Annotated[
        Deterministic | Exponential | Hyperexponential | Lognormal | Gamma | Empirical, Field(discriminator="kind")
    ] = Field(Deterministic(), description="Distribution of the draws above zero.")

    def quantile(self, u: Floats) -> Floats:
        never = 1 - self.probability
        hit = u >= never
        value = np.zeros_like(u)
        # Rescaling can reach 0 or 1, where a distribution may have no value.
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
