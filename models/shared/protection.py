"""How the objects of a store are protected: by replicas or an erasure code, with the quorums of reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64] | int
"""Numbers of lost parts, of one object or of several."""


@dataclass(frozen=True)
class Protection:
    """The parts of an object, and how many of them requests need.

    Attributes:
        data: parts that together have all of the object's bytes: one replica, or k data shards.
        parity: further parts: n - 1 replicas, or m parity shards.
        write_quorum: parts that have to be written before a write succeeds.
        read_quorum: parts that a read needs.
    """

    data: int
    parity: int
    write_quorum: int
    read_quorum: int

    def __post_init__(self) -> None:
        if self.data < 1 or self.parity < 0:
            raise ValueError(f"an object has at least one data part, and no fewer than 0 of parity, not {self}")
        if not self.data <= self.read_quorum <= self.width or not 1 <= self.write_quorum <= self.width:
            raise ValueError(f"quorums are at most {self.width}, and a read needs the data at least, not {self}")

    @classmethod
    def replicas(cls, count: int, write_quorum: int | None = None, read_quorum: int = 1) -> Protection:
        """Return the protection by copies; a write waits for all of them if no quorum is given."""
        return cls(1, count - 1, count if write_quorum is None else write_quorum, read_quorum)

    @classmethod
    def erasure(cls, data: int, parity: int, write_quorum: int | None = None) -> Protection:
        """Return the protection by an erasure code; a write waits for all shards if no quorum is given."""
        return cls(data, parity, data + parity if write_quorum is None else write_quorum, data)

    @property
    def width(self) -> int:
        """Number of parts, each of which is elsewhere."""
        return self.data + self.parity

    def left(self, lost: Counts) -> NDArray[np.int64]:
        """Return the number of parts that are left, same shape as `lost`."""
        return np.asarray(self.width - np.asarray(lost), np.int64)

    def can_read(self, lost: Counts) -> NDArray[np.bool_]:
        """Return whether objects that lost this number of parts can be read, same shape as `lost`."""
        return np.asarray(self.left(lost) >= self.read_quorum)

    def can_write(self, lost: Counts) -> NDArray[np.bool_]:
        """Return whether objects can be written if this number of places of parts is lost, same shape as `lost`."""
        return np.asarray(self.left(lost) >= self.write_quorum)

    def lacking(self, lost: int) -> int:
        """Return the number of parts that a write needs elsewhere (hinted handoff) if this number of places is lost."""
        return max(0, self.write_quorum - self.width + lost)
