"""The service demand of a visit: a mean that depends on the request's size, times a distribution with mean 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from traces.spec.field_notes import Basis, Unit
from traces.spec.fit_bounds import Fit
from traces.spec.units import Bytes, Seconds, parse_seconds
from traces.workload.distributions import Deterministic, Occasional, Shape, Strict

SecondsPerByte = Annotated[
    float, Unit("s/B", "2ns"), BeforeValidator(parse_seconds, json_schema_input_type=float | str)
]
"""A time for each byte in a spec."""


@dataclass(frozen=True)
class PlausibleBandwidth:
    """Marks a field that has a demand with the bandwidths, 1 / `per_byte`, of real devices; others are implausible.

    Attributes:
        low, high: bytes per second.
    """

    low: float
    high: float


DRIVE_BANDWIDTH = PlausibleBandwidth(1e7, 8e9)
"""From the slowest disks to PCIe 4.0 on four lanes (7.9 GB/s); the first drives of PCIe 5.0 read 14 GB/s."""


class ServiceDemand(Strict):
    """``(constant + per_byte x bytes + per_block x ceil(bytes / block)) x distribution``.

    Bytes after the first block may take less time each if their processing overlaps with the block before.
    """

    constant: Annotated[Seconds, Fit(1e-7, 10.0, "s", "mean")] = Field(
        0.0, description="Mean time of each visit that does not depend on the size."
    )
    per_byte: Annotated[SecondsPerByte, Fit(1e-13, 1e-6, "s/B", "mean")] = Field(
        0.0, description="Mean time for each byte moved: the reciprocal of a bandwidth."
    )
    later_byte_factor: Annotated[float, Unit("", "0.5"), Basis("assumed: bytes of all blocks take the same time")] = (
        Field(1.0, ge=0, le=10, description="Time of a byte after the first block, as a multiple of `per_byte`.")
    )
    per_block: Annotated[Seconds, Fit(1e-7, 10.0, "s", "mean")] = Field(
        0.0, description="Mean time for each block begun, for work done once per block."
    )
    block: Annotated[Bytes, Field(gt=0), Basis("block of MinIO's erasure code (cmd/object-api-common.go)")] = Field(
        1 << 20, description="Size of the blocks that `per_block` and `later_byte_factor` refer to."
    )
    distribution: Shape = Field(
        Deterministic(),
        description="Variation from visit to visit: a distribution with mean 1 that multiplies the time.",
    )

    @property
    def without_bytes(self) -> ServiceDemand:
        """The part of the demand that does not depend on the size."""
        return self.model_copy(update={"per_byte": 0.0, "per_block": 0.0})

    @property
    def of_bytes(self) -> ServiceDemand:
        """The part of the demand that depends on the size."""
        return self.model_copy(update={"constant": 0.0})

    @property
    def takes_time(self) -> bool:
        """Whether a visit takes any time, given a large enough size."""
        return any((self.constant, self.per_byte, self.per_block))

    @property
    def occasion(self) -> float:
        """Fraction of the visits that are above zero: below 1 if the distribution is `Occasional`."""
        return self.distribution.probability if isinstance(self.distribution, Occasional) else 1.0

    @property
    def on_occasion(self) -> ServiceDemand:
        """The demand of these visits."""
        if not isinstance(self.distribution, Occasional):
            return self
        return self.scaled(1 / self.occasion).model_copy(update={"distribution": self.distribution.of})

    def scaled(self, fraction: float) -> ServiceDemand:
        """Return the demand of a fraction of the work."""
        return self.model_copy(
            update={name: getattr(self, name) * fraction for name in ("constant", "per_byte", "per_block")}
        )

    def per_shard(self, shards: float) -> ServiceDemand:
        """Return the demand of one of N shards that the bytes are divided into."""
        return self.model_copy(update={"per_byte": self.per_byte / shards})

    def mean_s(self, size_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean demand in s of visits that move `size_bytes`, same shape."""
        mean = np.full(len(size_bytes), self.constant)
        if self.per_byte:
            mean += self.per_byte * size_bytes
        if self.per_block:
            mean += self.per_block * -(-size_bytes // self.block)
        if self.per_byte and self.later_byte_factor != 1:
            mean += (self.later_byte_factor - 1) * self.per_byte * np.maximum(size_bytes - self.block, 0)
        return mean

    @property
    def always_s(self) -> float | None:
        """The demand in s if it is the same for all requests, else None."""
        varies = self.per_byte or self.per_block or not isinstance(self.distribution, Deterministic)
        return None if varies else self.constant

    def draw_s(self, uniform: Callable[[], NDArray[np.float64]], size: NDArray[np.int64]) -> NDArray[np.float64]:
        """Draw the demands of requests.

        Args:
            uniform: returns a random number on (0, 1) for each of them; it is called only if their demands vary.
            size: bytes moved by each of them.

        Returns:
            seconds, same shape as `size`.
        """
        if isinstance(self.distribution, Deterministic):
            return self.mean_s(size)
        value = self.distribution.quantile(uniform())
        value *= self.mean_s(size) if self.per_byte or self.per_block else self.constant
        return value


NOTHING = ServiceDemand()
"""The demand of a visit that takes no time."""


def _as_constant(value: Any) -> Any:
    return {"constant": parse_seconds(value)} if isinstance(value, int | float | str) else value


Demand = Annotated[ServiceDemand, BeforeValidator(_as_constant)]
"""A `ServiceDemand` in a spec; a bare duration such as ``5ms`` means a constant one."""
