"""Arrival processes of an open loop.

All but the constant process are Poisson processes in operational time: unit-rate exponential gaps are summed and
mapped through the inverse of the cumulative rate (time rescaling: Cinlar, "Introduction to Stochastic Processes",
1975, section 4.7). So the mean rate is the same for every shape, and a longer draw begins with the shorter one.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat, model_validator

from traces.errors import InputError
from traces.random_streams import stream_id, uniforms
from traces.spec.field_notes import Basis, Unit
from traces.spec.spec_file import BareKind
from traces.spec.units import Fraction, Seconds
from traces.workload.distributions import Floats, Strict

MAX_REQUESTS = 200_000_000
"""Maximum number of requests of a trace: about 10 GB of columns."""

_MOST_INTERVALS = 1 << 23  # of the shortest scale in a cycle
_ROUNDING = 1e-3  # of a logarithm of durations, which a file may have rounded
_STEPS = 4096  # per diurnal period; the rate is constant within a step


class Poisson(Strict):
    """Exponential gaps, as from many independent users."""

    kind: Literal["poisson"] = Field(
        "poisson", description="Poisson process: exponential gaps, as from many independent users."
    )

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        return _unit_times(seed, count) / rate


class Constant(Strict):
    """Equal gaps, the first request at 0."""

    kind: Literal["constant"] = Field(
        "constant", description="Equal gaps between arrivals, as from a load generator with a fixed rate."
    )

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        return np.arange(count) / rate


class Mmpp2(Strict):
    """Bursts: a Poisson process whose rate alternates between calm and burst phases of exponential duration.

    The two-state Markov-modulated Poisson process (Fischer and Meier-Hellstern, "The Markov-modulated Poisson process
    (MMPP) cookbook", Performance Evaluation 18, 1993), started in its steady state.
    """

    kind: Literal["mmpp2"] = Field(
        "mmpp2", description="Bursts: a Poisson process that alternates between a calm rate and a burst rate."
    )
    burst_factor: Annotated[float, Unit("", "10"), Basis("assumed: bursts of ten times the calm rate", 1, 1000)] = (
        Field(10.0, ge=1, description="Ratio of the arrival rate in bursts to that in calm phases; 1: no bursts.")
    )
    burst_fraction: Annotated[Fraction, Basis("assumed: rare bursts", 1e-4, 0.5)] = Field(
        0.1, gt=0, lt=1, description="Fraction of time spent in bursts."
    )
    burst_duration: Annotated[Seconds, Field(gt=0), Basis("assumed: bursts of a second", 1e-3, 3600)] = Field(
        1.0, description="Mean duration of a burst; single durations are exponential."
    )

    @property
    def calm_duration(self) -> float:
        """Mean duration of a calm phase, seconds."""
        return self.burst_duration * (1 - self.burst_fraction) / self.burst_fraction

    def calm_rate(self, rate: float) -> float:
        """Return the rate of calm phases that results in this mean rate."""
        return rate / (1 - self.burst_fraction + self.burst_fraction * self.burst_factor)

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        due = _unit_times(seed, count)
        cycle = self.burst_duration + self.calm_duration
        sojourns = 2 * math.ceil(count / (rate * cycle)) + 64
        while True:
            switch, cumulated = self._switches(rate, seed, sojourns)
            if cumulated[-1] >= due[-1]:
                return np.interp(due, cumulated, switch)
            sojourns *= 2

    def _switches(self, rate: float, seed: int, sojourns: int) -> tuple[Floats, Floats]:
        """Return the times of state changes and the expected arrivals until then, both of shape (sojourns + 1,)."""
        start_in_burst = uniforms(seed, stream_id("workload/arrivals/state"), 0, 1)[0] < self.burst_fraction
        burst = (np.arange(sojourns) % 2 == 0) == start_in_burst
        mean = np.where(burst, self.burst_duration, self.calm_duration)
        lasts = -np.log1p(-uniforms(seed, stream_id("workload/arrivals/sojourns"), 0, sojourns)) * mean
        pace = np.where(burst, self.burst_factor, 1.0) * self.calm_rate(rate)
        zero = np.zeros(1)
        return np.concatenate([zero, np.cumsum(lasts)]), np.concatenate([zero, np.cumsum(lasts * pace)])


class Diurnal(Strict):
    """A Poisson process with rate proportional to 1 + amplitude sin(2 pi t / period)."""

    kind: Literal["diurnal"] = Field(
        "diurnal", description="Daily profile: a Poisson process whose rate follows a sine wave around the mean."
    )
    period: Annotated[Seconds, Field(gt=0), Basis("one day")] = Field(
        86400.0, description="Time from one peak of the rate to the next."
    )
    amplitude: Annotated[Fraction, Basis("assumed: the peak is three times the trough")] = Field(
        0.5, ge=0, le=1, description="Difference between peak rate and mean rate, as a fraction of the mean rate."
    )

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        grid = np.linspace(0, 1, _STEPS + 1)
        cumulated = grid + self.amplitude * (1 - np.cos(2 * math.pi * grid)) / (2 * math.pi)
        whole, part = np.divmod(_unit_times(seed, count) / (rate * self.period), 1.0)
        value: Floats = (whole + np.interp(part, cumulated, grid)) * self.period
        return value


class RateStep(Strict):
    """A period of constant rate."""

    duration: Annotated[Seconds, Field(gt=0)] = Field(description="Time for which the rate stays constant.")
    level: Annotated[NonNegativeFloat, Unit("", "1.5")] = Field(
        description="Rate of this step relative to the other steps; their scale has no meaning."
    )


class Profile(Strict):
    """A rate that cycles through steps; within a step, arrivals follow another process.

    That process runs in operational time: its own durations, such as those of bursts, are longer at lower rates.
    """

    kind: Literal["profile"] = Field(
        "profile", description="Rate that cycles through the given steps; within a step another process applies."
    )
    steps: tuple[RateStep, ...] = Field(min_length=1, description="Steps in order, repeated cyclically.")
    within: Annotated[Poisson | Constant | Mmpp2, Field(discriminator="kind"), BareKind()] = Field(
        Poisson(), description="Arrival process at the rate of each step."
    )

    @model_validator(mode="after")
    def _some_level(self) -> Profile:
        if not 0 < sum(step.duration * step.level for step in self.steps) < math.inf:
            raise ValueError("the levels of the steps must be finite and not all 0")
        return self

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        whole, part = np.divmod(self.within.times(rate, seed, count), self.period_s)
        value: Floats = whole * self.period_s + np.interp(part, *self.cumulated())
        return value

    @property
    def period_s(self) -> float:
        """Total duration of the steps, seconds."""
        return sum(step.duration for step in self.steps)

    def cumulated(self) -> tuple[Floats, Floats]:
        """Return operational and clock time at the edges of the steps, seconds, both shape (steps + 1,)."""
        duration = np.array([step.duration for step in self.steps])
        work = duration * [step.level for step in self.steps]
        zero = np.zeros(1)
        clock = np.concatenate([zero, np.cumsum(duration)])
        return np.concatenate([zero, np.cumsum(work)]) / work.sum() * self.period_s, clock


class Multiscale(Strict):
    """Bursts at every time scale: steps of known rate, each halved again and again into parts of random rates.

    A conservative multiplicative cascade (Riedi, Crouse, Ribeiro and Baraniuk, "A multifractal wavelet model with
    application to network traffic", IEEE Transactions on Information Theory 45(3), 1999) below a profile: the halves of
    an interval have the fractions A and 1 - A of its arrivals, with A logistic-normal around a half.
    """

    kind: Literal["multiscale"] = Field(
        "multiscale",
        description="Bursts at every time scale: a rate that cycles through steps, each of which is divided into "
        "halves of random rates, down to the shortest scale.",
    )
    steps: tuple[RateStep, ...] = Field(min_length=1, description="Steps in order, repeated cyclically.")
    shortest: Annotated[Seconds, Field(gt=0)] = Field(
        description="Shortest time scale: the rate is constant in intervals of this length, up to twice as long."
    )
    spread: tuple[Annotated[Fraction, Field(ge=0, le=0.99)], ...] = Field(
        description="Variance of the difference between the rates of both halves of an interval, relative to the "
        "square of their sum: of intervals of twice the shortest scale, four times, and so on; 0: equal halves. Longer "
        "intervals are halved evenly."
    )

    @model_validator(mode="after")
    def _some_level(self) -> Multiscale:
        if not 0 < sum(step.duration * step.level for step in self.steps) < math.inf:
            raise ValueError("the levels of the steps must be finite and not all 0")
        if (intervals := float((2.0 ** self._halvings()).sum())) > _MOST_INTERVALS:
            raise ValueError(
                f"the steps have {intervals:,.0f} intervals of the shortest scale; at most {_MOST_INTERVALS:,}"
            )
        return self

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        due = _unit_times(seed, count) / rate
        period_s = sum(step.duration for step in self.steps)
        cycles = int(due[-1] / period_s) + 1 if count else 1
        width, mass = self._intervals(seed, cycles)
        zero = np.zeros(1)
        clock = np.concatenate([zero, np.cumsum(np.tile(width, cycles))])
        work = np.concatenate([zero, np.cumsum(mass)])
        times: Floats = np.interp(due, work * (cycles * period_s / work[-1]), clock)
        return times

    def _halvings(self) -> NDArray[np.int64]:
        """Return how often each step is halved, shape (steps,)."""
        ratio = np.array([step.duration for step in self.steps]) / self.shortest
        halvings: NDArray[np.int64] = np.floor(np.log2(np.maximum(ratio, 1.0)) + _ROUNDING).astype(np.int64)
        return halvings

    def _intervals(self, seed: int, cycles: int) -> tuple[Floats, Floats]:
        """Return the widths of the intervals of constant rate of a cycle, and their expected arrivals in all cycles."""
        duration = np.array([step.duration for step in self.steps])
        work = duration * [step.level for step in self.steps]
        halvings = self._halvings()
        parts = 1 << halvings
        first = np.cumsum(parts) - parts
        mass = np.empty((cycles, int(parts.sum())))
        for depth in np.unique(halvings).tolist():
            chosen = np.flatnonzero(halvings == depth)
            part = np.broadcast_to(work[chosen], (cycles, len(chosen))).reshape(-1)
            for scale in reversed(range(depth)):
                spread = self.spread[scale] if scale < len(self.spread) else 0.0
                part = _halved(part, spread, seed, f"workload/arrivals/halves/{depth}/{scale}")
            at = (first[chosen][:, None] + np.arange(1 << depth)).ravel()
            mass[:, at] = part.reshape(cycles, -1)
        return np.repeat(duration / parts, parts), mass.ravel()


def _halved(mass: Floats, spread: float, seed: int, stream: str) -> Floats:
    """Divide each interval into halves of random mass, shape (2 * intervals,)."""
    if spread == 0:
        return np.repeat(mass / 2, 2)
    normal = scipy.special.ndtri(uniforms(seed, stream_id(stream), 0, len(mass)))
    left = scipy.special.expit(_logistic_sigma(spread) * normal)
    result: Floats = np.stack([mass * left, mass * (1 - left)], axis=1).ravel()
    return result


def _logistic_sigma(spread: float) -> float:
    """Return the sigma at which the halves A = 1 / (1 + exp(-sigma Z)) have E (2 A - 1)^2 = `spread`; Z is normal."""
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        below = float(weight @ np.tanh(middle * z / 2) ** 2) < spread
        low, high = (middle, high) if below else (low, middle)
    return low


Process = Poisson | Constant | Mmpp2 | Diurnal | Profile | Multiscale

Arrivals = Annotated[Process, Field(discriminator="kind"), BareKind()]
"""An arrival process; a bare name selects one with its defaults."""


def _unit_times(seed: int, count: int) -> Floats:
    """Return the first arrival times of a Poisson process of rate 1."""
    gaps = -np.log1p(-uniforms(seed, stream_id("workload/arrivals"), 0, count))
    times: Floats = np.cumsum(gaps)
    return times


def arrival_times(
    process: Process,
    rate: float,
    seed: int,
    operations: int | None,
    duration_s: float | None,
) -> Floats:
    """Return the arrival times of a trace, seconds, ascending.

    Args:
        process: the arrival process.
        rate: mean rate, requests per second.
        seed: seed of the random numbers.
        operations: maximum number of arrivals; None means no limit.
        duration_s: end of the trace; None means no limit. At least one of both limits is needed.

    Raises:
        InputError: the duration contains more requests than a trace may have.
    """
    if duration_s is None:
        assert operations is not None
        return process.times(rate, seed, operations)
    count = math.ceil(rate * duration_s * 1.05) + 64
    if operations is not None:
        count = min(count, operations)
    elif count > MAX_REQUESTS:
        raise InputError(f"{rate:g}/s for {duration_s:g} s exceeds the maximum of {MAX_REQUESTS:,} requests per trace")
    times = process.times(rate, seed, count)
    while times[-1] < duration_s and count != operations:
        count = 2 * count if operations is None else min(2 * count, operations)
        times = process.times(rate, seed, count)
    return times[: np.searchsorted(times, duration_s)]
