"""Hard disks by mechanism: seek curve, rotation, zones, and the order in which queued accesses are served."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from models.network.service_demand import ServiceDemand
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import BytesPerSecond, Fraction, Seconds
from traces.workload.distributions import Empirical, Strict

Floats = NDArray[np.float64]
AccessKind = Literal["read", "write"]

SeekTime = Annotated[Seconds, Basis("no default: presets have the figures of data sheets", 1e-4, 0.04)]
TransferRate = Annotated[BytesPerSecond, Basis("no default: presets have the figures of data sheets", 2e7, 3.5e8)]

_POINTS = 128  # block addresses in the grid of pairs that distances are taken from
_TIMES = 512  # points at which the distribution of positioning times is evaluated
# The accesses that stay queued are the distant ones, so n queued accesses count as fewer independent ones. With this
# exponent means agree with a simulated head within 3 % for n up to 32 over all blocks, 9 % over a twentieth of them.
_FRESH = 0.89
# Denser towards both ends, because the tail consists of rare values.
_PROBABILITIES = (1 - np.cos(np.linspace(0, np.pi, 97))) / 2


class Seek(Strict):
    """Seek time by distance: the seek curve of Lee and Katz through the three figures of a data sheet.

    Over a fraction d of all tracks: ``track + b sqrt(d) + c d``, with b and c such that the longest seek and the mean
    over all pairs of tracks are as given ("An analytic performance model of disk arrays", SIGMETRICS 1993, section 3).
    """

    track: SeekTime = Field(description="Seek time from a track to the next one.")
    average: SeekTime = Field(description="Mean seek time over all pairs of tracks, as in data sheets.")
    full_stroke: SeekTime = Field(description="Seek time from the outermost to the innermost track.")

    @model_validator(mode="after")
    def _never_falls(self) -> Seek:
        if not 0 <= self.root <= 2 * (self.full_stroke - self.track):
            least, most = (self.track + fraction * (self.full_stroke - self.track) for fraction in (1 / 3, 11 / 15))
            raise ValueError(
                f"average is {self.average:g} s; with this track and full_stroke {least:g} to {most:g} s is allowed"
            )
        return self

    @property
    def root(self) -> float:
        """b, from the mean distance of two random tracks, 1/3 of all, and the mean of its square root, 8/15."""
        return 5 * (self.average - self.track - (self.full_stroke - self.track) / 3)

    @property
    def linear(self) -> float:
        """c."""
        return self.full_stroke - self.track - self.root

    def seconds(self, distance: Floats) -> Floats:
        """Return the time of seeks over these fractions of all tracks (0 to 1), same shape."""
        return self.track + self.root * np.sqrt(distance) + self.linear * distance


class Hdd(Strict):
    """A hard disk and its use: the accessed blocks, and the number of queued accesses that it chooses from.

    Tracks get shorter inwards, and the transfer rate falls in proportion from `outer` to `inner`; so outer tracks hold
    more blocks. Block addresses begin at the outer edge.
    """

    read_seek: Seek = Field(description="Seek times before reads.")
    write_seek: Seek = Field(description="Seek times before writes, which need a more exact position.")
    rpm: Annotated[
        float, Unit("rpm", "7200"), Basis("no default: presets have the figures of data sheets", 4200, 15000)
    ] = Field(gt=0, description="Spindle speed in rotations per minute; half a rotation is the mean rotational delay.")
    outer: TransferRate = Field(gt=0, description="Transfer rate at the outer edge, where it is highest.")
    inner: TransferRate = Field(gt=0, description="Transfer rate at the inner edge, where it is lowest.")
    overhead: Annotated[Seconds, Basis("assumed: none; presets have those of data sheets", 0, 2e-3)] = Field(
        0.0, description="Time that the controller of the disk adds to each access."
    )
    at: Fraction = Field(0.0, ge=0, lt=1, description="Start of the blocks in use, as a fraction of all blocks.")
    span: Fraction = Field(1.0, gt=0, le=1, description="Length of the blocks in use, as a fraction of all blocks.")
    depth: Annotated[float, Unit("", "4"), Basis("assumed: one access at a time", 1, 256)] = Field(
        1.0, ge=1, description="Mean number of queued accesses, of which the disk serves the one that it reaches first."
    )

    @model_validator(mode="after")
    def _fits(self) -> Hdd:
        if self.at + self.span > 1 + 1e-9:
            raise ValueError(f"at + span is {self.at + self.span:g}; at most 1 (all blocks) is allowed")
        if self.inner > self.outer:
            raise ValueError(f"inner is {self.inner:g} B/s; at most outer ({self.outer:g} B/s) is allowed")
        return self

    @property
    def turn_s(self) -> float:
        """Time of one rotation."""
        return 60 / self.rpm

    def rate(self, address: Floats) -> Floats:
        """Return the transfer rate in B/s at addresses (fractions of all blocks, 0 = outer edge), same shape."""
        return np.sqrt(self.outer**2 - (self.outer**2 - self.inner**2) * address)

    def track(self, address: Floats) -> Floats:
        """Return the tracks of addresses as fractions of all tracks, same shape."""
        if self.outer == self.inner:
            return address
        return (self.outer - self.rate(address)) / (self.outer - self.inner)

    @lru_cache(maxsize=64)  # noqa: B019  # disks are immutable, and runs have many equal ones
    def access(self, kind: AccessKind) -> ServiceDemand:
        """Return the time of an access to a random block in use: positioning, then transfer at the mean rate.

        The distribution is that of positioning, which overstates the spread of large accesses: transfer varies less.
        """
        values = self._positioning_s(self.read_seek if kind == "read" else self.write_seek)
        mean_s = float(np.sum(np.diff(_PROBABILITIES) * (values[1:] + values[:-1]) / 2))
        ends = self.rate(np.array([self.at, min(self.at + self.span, 1.0)]))
        return ServiceDemand(
            constant=mean_s,
            per_byte=1 / float(ends.mean()),
            distribution=Empirical(probabilities=tuple(_PROBABILITIES.tolist()), values=tuple(values.tolist())),
        )

    def _positioning_s(self, seek: Seek) -> Floats:
        """Return the quantiles of overhead + seek + rotation at `_PROBABILITIES`.

        A seek connects two random blocks in use; rotation then takes a uniform time of up to one turn. Of n queued
        accesses the one that the head can reach first is served (shortest access time first: Jacobson and Wilkes, HP
        Laboratories, HPL-CSP-91-7, 1991): the minimum of `n ** _FRESH` such times.
        """
        tracks = self.track(self.at + self.span * (np.arange(_POINTS) + 0.5) / _POINTS)
        seeks = np.sort(seek.seconds(np.abs(tracks[:, None] - tracks)).ravel())
        seeks = seeks.reshape(-1, _POINTS // 4).mean(axis=1)
        times = np.linspace(seeks[0], seeks[-1] + self.turn_s, _TIMES)
        reached = np.clip((times[:, None] - seeks) / self.turn_s, 0, 1).mean(axis=1)
        one = 1 - (1 - _PROBABILITIES) ** self.depth**-_FRESH
        quantiles: Floats = self.overhead + np.interp(one, reached, times)
        return quantiles


def rescaled(demand: ServiceDemand, before: ServiceDemand, after: ServiceDemand) -> ServiceDemand:
    """Return `after` if the demand is `before`, the mechanism's own; else the demand changed in proportion."""
    if demand == before:
        return after
    return demand.model_copy(
        update={
            "constant": demand.constant * after.constant / before.constant,
            "per_byte": demand.per_byte * after.per_byte / before.per_byte,
        }
    )
