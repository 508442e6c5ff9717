"""The service demand of a visit: a mean that depends on the request's size, times a distribution with mean 1."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from traces.fit_bounds import Fit
from traces.random_streams import uniforms
from traces.units import Bytes, Seconds, parse_seconds
from traces.workload.distributions import Deterministic, Shape, Strict


class ServiceDemand(Strict):
    """``(constant + per_byte x bytes + per_block x ceil(bytes / block)) x distribution``.

    Bytes after the first block may cost less each, where handling them overlaps with the block before.
    """

    constant: Annotated[Seconds, Fit(1e-7, 10.0, "s", "mean")] = Field(
        0.0, description="time of every visit, whatever its size"
    )
    per_byte: Annotated[Seconds, Fit(1e-13, 1e-6, "s/B", "mean")] = Field(0.0, description="time for each byte moved")
    later_byte_factor: float = Field(
        1.0, ge=0, le=10, description="what a byte after the first block takes, as a share of per_byte"
    )
    per_block: Annotated[Seconds, Fit(1e-7, 10.0, "s", "mean")] = Field(0.0, description="time for each block begun")
    block: Annotated[Bytes, Field(gt=0)] = Field(1 << 20, description="size of a block")
    distribution: Shape = Field(Deterministic(), description="multiplies the mean; its own mean is 1")

    @property
    def without_bytes(self) -> ServiceDemand:
        """What every visit takes, whatever its size."""
        return self.model_copy(update={"per_byte": 0.0, "per_block": 0.0})

    @property
    def of_bytes(self) -> ServiceDemand:
        """What the bytes take."""
        return self.model_copy(update={"constant": 0.0})

    @property
    def takes_time(self) -> bool:
        """Whether a visit of some size takes any time."""
        return any((self.constant, self.per_byte, self.per_block))

    def scaled(self, fraction: float) -> ServiceDemand:
        """The demand of a fraction of the work."""
        return self.model_copy(
            update={name: getattr(self, name) * fraction for name in ("constant", "per_byte", "per_block")}
        )

    def per_shard(self, shards: float) -> ServiceDemand:
        """The demand of one of N shards that the bytes are divided into."""
        return self.model_copy(update={"per_byte": self.per_byte / shards})

    def mean_s(self, size_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean demand of visits that move `size_bytes`, same shape."""
        mean = np.full(len(size_bytes), self.constant)
        if self.per_byte:
            mean += self.per_byte * size_bytes
        if self.per_block:
            mean += self.per_block * -(-size_bytes // self.block)
        if self.per_byte and self.later_byte_factor != 1:
            mean += (self.later_byte_factor - 1) * self.per_byte * np.maximum(size_bytes - self.block, 0)
        return mean

    def draw_s(
        self, seed: int, stream: int, first: int, count: int, chosen: NDArray[np.int64] | None, size: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Demands of requests `first` … `first + count - 1`, or of the `chosen` among them (offsets from `first`).

        Args:
            seed, stream: name the random numbers; request i takes draw i of the stream.
            first, count: the requests.
            chosen: offsets of those wanted; None: all.
            size: bytes moved by each wanted request.

        Returns:
            seconds, same shape as `size`.
        """
        if isinstance(self.distribution, Deterministic):
            return self.mean_s(size)
        u = uniforms(seed, stream, first, count)
        value = self.distribution.quantile(u if chosen is None else u[chosen])
        value *= self.mean_s(size) if self.per_byte or self.per_block else self.constant
        return value


def _as_constant(value: Any) -> Any:
    return {"constant": parse_seconds(value)} if isinstance(value, int | float | str) else value


Demand = Annotated[ServiceDemand, BeforeValidator(_as_constant)]
"""A `ServiceDemand` in a spec; a bare duration such as ``5ms`` stands for a constant one."""
