"""Demands of parts of an object: a shard, the first block or the rest, divided into accesses of limited size."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from models.network.service_demand import ServiceDemand
from traces.workload.distributions import Shape

BLOCK_BYTES = 1 << 20
"""Block of the erasure code (blockSizeV2, cmd/object-api-common.go)."""
HASH_BYTES = 32
"""Checksum before each block of a shard (HighwayHash256S, cmd/bitrot-streaming.go)."""
ALIGNED_BYTES = 4096
"""What direct writes are multiples of; the rest of a file is written by itself (xlStorage.writeAllDirect)."""
STREAM_BYTES = 128 * 1024
"""Largest read of a file that is sent to another node (io.CopyBuffer in cmd/storage-rest-server.go)."""
METADATA_BYTES = 400
"""An object's xl.meta without its data (359 to 436 bytes observed)."""
MESSAGE_BYTES = 1024
"""Bytes of a call without data: metadata of an object, or a request (estimated)."""
_POINTS = 2000


def shard_bytes(size_bytes: NDArray[np.int64], data_shards: int) -> NDArray[np.int64]:
    """Return the size of a shard's file, same shape: a part of each block, and its checksum."""
    return -(-size_bytes // data_shards) + HASH_BYTES * -(-size_bytes // BLOCK_BYTES)


class PartDemand(ServiceDemand):
    """A service demand that applies to a part of an object's bytes.

    Attributes:
        data_shards: divide the bytes into shards of which this is one; 0: the bytes are not divided.
        blocks: the bytes of all blocks, of the first, or of the others.
        times: number of such parts that are moved.
        more_bytes: further bytes, whatever the size.
        access_bytes: largest access; a larger part takes several, each with the constant time; 0: no limit.
        has_tail: whether bytes after the last multiple of 4 KiB are an access of their own.
        by_block: whether accesses end with each block and its checksum; then `data_shards` is 1.
        per_block_accesses: accesses for each block begun, whatever their size; 0: as many as `access_bytes` makes.
        visits: number of visits that these accesses are divided into, each with its own draw.
        last_of: the bytes of the last access of this size only, or with a negative number all but them; 0: all.
        more_blocks: blocks that a range touches beyond those that have as many bytes; then all of each of them is
            moved, as its checksum is that of the whole block. None: the bytes are moved as they are.
    """

    data_shards: int = 0
    blocks: Literal["all", "first", "later"] = "all"
    times: float = 1.0
    more_bytes: int = 0
    access_bytes: int = 0
    has_tail: bool = False
    by_block: bool = False
    per_block_accesses: int = 0
    visits: int = 1
    last_of: int = 0
    more_blocks: int | None = None

    @classmethod
    def of(cls, demand: ServiceDemand, **part: Any) -> PartDemand:
        """Return a demand for a part of the bytes."""
        return cls.model_construct(**{name: getattr(demand, name) for name in ServiceDemand.model_fields}, **part)

    def mean_s(self, size_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean demand in s of visits for objects of `size_bytes`, same shape."""
        if self.blocks == "all":
            return self._mean_s(size_bytes)
        first_s = self._mean_s(np.minimum(size_bytes, BLOCK_BYTES))
        return first_s if self.blocks == "first" else self._mean_s(size_bytes) - first_s

    def accesses(self, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of accesses, same shape."""
        if self.per_block_accesses:
            blocks = np.maximum(-(-size_bytes // BLOCK_BYTES), 1) + (self.more_blocks or 0)
            return np.asarray(blocks * self.per_block_accesses, np.int64)
        if self.by_block:
            whole, rest = np.divmod(size_bytes, BLOCK_BYTES)
            last = rest + HASH_BYTES * (rest > 0) + self.more_bytes
            each = -(-(BLOCK_BYTES + HASH_BYTES) // self.access_bytes)
            return np.asarray(np.maximum(whole * each + -(-last // self.access_bytes), 1), np.int64)
        moved = np.asarray(self._bytes(size_bytes))
        if not self.has_tail:
            return np.maximum(-(-moved // self.access_bytes), 1) if self.access_bytes else np.ones_like(moved)
        tail = moved % ALIGNED_BYTES
        whole = np.where(moved > ALIGNED_BYTES, moved - tail, 0)
        count = -(-whole // self.access_bytes) if self.access_bytes else (whole > 0).astype(np.int64)
        return np.asarray(np.maximum(count + ((tail > 0) | (whole == 0)), 1), np.int64)

    def _bytes(self, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.more_blocks is not None:
            size_bytes = (-(-size_bytes // BLOCK_BYTES) + self.more_blocks) * BLOCK_BYTES
        part = shard_bytes(size_bytes, self.data_shards) if self.data_shards else size_bytes
        moved = np.asarray(part * self.times, np.int64)
        if self.last_of:
            last = np.where(moved > 0, (moved - 1) % abs(self.last_of) + 1, 0)
            moved = last if self.last_of > 0 else moved - last
        return moved + self.more_bytes

    def _mean_s(self, size_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        mean = super().mean_s(self._bytes(size_bytes))
        if self.access_bytes or self.has_tail or self.per_block_accesses:
            mean = mean + self.constant * (self.accesses(size_bytes) - 1)
        return mean / self.visits

    @property
    def always_s(self) -> float | None:
        """None, as the number of accesses may depend on the bytes."""
        return None

    def draw_s(self, uniform: Callable[[], NDArray[np.float64]], size: NDArray[np.int64]) -> NDArray[np.float64]:
        """Draw demands as `ServiceDemand.draw_s` does, with this mean."""
        return _of_one_second(self.distribution).draw_s(uniform, size) * self.mean_s(size)


@lru_cache(256)
def _of_one_second(distribution: Shape) -> ServiceDemand:
    """Return a demand of 1 s on average."""
    return ServiceDemand(constant=1.0, distribution=distribution)


def longest_s(demand: ServiceDemand, count: int) -> float:
    """Return the mean of the longest of several accesses at the same time in s, without their bytes.

    It is the integral of the quantile function of the maximum, whose distribution function is the count-th power.
    """
    middle = (np.arange(_POINTS) + 0.5) / _POINTS
    return demand.constant * float(demand.distribution.quantile(middle ** (1 / max(count, 1))).mean())
