"""Arrival processes of an open loop.

All but the constant process are Poisson processes in operational time: unit-rate exponential gaps are summed and
mapped through the inverse of the cumulative rate (time rescaling: Cinlar, "Introduction to Stochastic Processes",
1975, section 4.7). So the mean rate is the same for every shape, and a longer draw begins with the shorter one.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, model_validator

from traces.errors import InputError
from traces.random_streams import stream_id, uniforms
from traces.spec_file import BareKind
from traces.units import Fraction, Seconds
from traces.workload.distributions import Floats, Strict

MAX_REQUESTS = 200_000_000
"""Maximum number of requests of a trace: about 10 GB of columns."""

_STEPS = 4096  # per diurnal period; the rate is constant within a step


class Poisson(Strict):
    """Exponential gaps, as from many independent users."""

    kind: Literal["poisson"] = "poisson"

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        return _unit_times(seed, count) / rate


class Constant(Strict):
    """Equal gaps, the first request at 0."""

    kind: Literal["constant"] = "constant"

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        return np.arange(count) / rate


class Mmpp2(Strict):
    """Bursts: a Poisson process whose rate alternates between calm and burst phases of exponential duration.

    The two-state Markov-modulated Poisson process (Fischer and Meier-Hellstern, "The Markov-modulated Poisson process
    (MMPP) cookbook", Performance Evaluation 18, 1993), started in its steady state.
    """

    kind: Literal["mmpp2"] = "mmpp2"
    burst_factor: float = Field(10.0, ge=1, description="Ratio of the burst rate to the calm rate.")
    burst_fraction: Fraction = Field(0.1, gt=0, lt=1, description="Fraction of time spent in bursts.")
    burst_duration: Annotated[Seconds, Field(gt=0)] = Field(1.0, description="Mean duration of a burst.")

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

    kind: Literal["diurnal"] = "diurnal"
    period: Annotated[Seconds, Field(gt=0)] = Field(86400.0, description="Time from peak to peak.")
    amplitude: Fraction = Field(0.5, description="Amplitude as a fraction of the mean rate.")

    def times(self, rate: float, seed: int, count: int) -> Floats:
        """Return the first `count` arrival times at this mean rate (requests per second), seconds, ascending."""
        grid = np.linspace(0, 1, _STEPS + 1)
        cumulated = grid + self.amplitude * (1 - np.cos(2 * math.pi * grid)) / (2 * math.pi)
        whole, part = np.divmod(_unit_times(seed, count) / (rate * self.period), 1.0)
        value: Floats = (whole + np.interp(part, cumulated, grid)) * self.period
        return value


class RateStep(Strict):
    """A period of constant rate."""

    duration: Annotated[Seconds, Field(gt=0)] = Field(description="Duration of the step.")
    level: NonNegativeFloat = Field(description="Rate relative to the other steps.")


class Profile(Strict):
    """A rate that cycles through steps; within a step, arrivals follow another process.

    That process runs in operational time: its own durations, such as those of bursts, are longer at lower rates.
    """

    kind: Literal["profile"] = "profile"
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


Process = Poisson | Constant | Mmpp2 | Diurnal | Profile

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
