"""BlueStore's inline compression: which writes are tried, which results are kept, and the CPU time.

Sources: options bluestore_compression_* (src/common/options/global.yaml.in; before Quincy src/common/options.cc);
_do_alloc_write (which results are kept) and _choose_write_options (blob sizes) in src/os/bluestore/BlueStore.cc.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from models.ceph.mechanisms.redundancy import round_up
from models.ceph.mechanisms.releases import Release, since
from traces.spec.field_notes import Basis
from traces.spec.units import Bytes, BytesPerSecond, Fraction
from traces.workload.distributions import Strict

Algorithm = Literal["snappy", "lz4", "zstd", "zlib"]
_DEFAULT = Basis("Ceph's default: bluestore_compression_*, src/common/options/global.yaml.in")
_OF_RELEASE = Basis("Ceph's default of the release and drive: bluestore_compression_{min,max}_blob_size_{hdd,ssd}")
_SPEED = Basis("the algorithm's on the Silesia corpus, one core at 4.9 GHz (README of zstd)", 1e7, 1e10)


@dataclass(frozen=True)
class Speed:
    """Speed of one core in uncompressed bytes, and the ratio of compressed to uncompressed size."""

    compress_bytes_per_s: float
    decompress_bytes_per_s: float
    ratio: float


SPEEDS: dict[Algorithm, Speed] = {
    "snappy": Speed(520e6, 1500e6, 1 / 2.089),
    "lz4": Speed(675e6, 3850e6, 1 / 2.101),
    "zstd": Speed(510e6, 1580e6, 1 / 2.887),
    "zlib": Speed(105e6, 390e6, 1 / 2.743),
}
"""Fastest levels on the Silesia corpus, one core at 4.9 GHz (README of zstd 1.5.6 and 1.5.7); small blobs do worse."""


@dataclass(frozen=True)
class Compressed:
    """The result of compressing a write, on average.

    Attributes:
        written_bytes: bytes written to the device.
        allocated_bytes: space allocated.
        tried_bytes: bytes passed through the compressor.
        kept_bytes: bytes, before compression, that are stored compressed.
    """

    written_bytes: float
    allocated_bytes: float
    tried_bytes: int
    kept_bytes: float


class Compression(Strict):
    """Compression of a pool's data."""

    mode: Annotated[Literal["none", "passive", "aggressive", "force"], _DEFAULT] = Field(
        "none", description="Condition under which data are compressed (bluestore_compression_mode); see `hint`."
    )
    algorithm: Annotated[Algorithm, _DEFAULT] = Field(
        "snappy", description="Library that compresses (bluestore_compression_algorithm)."
    )
    hint: Literal["none", "compressible", "incompressible"] = Field(
        "none",
        description="Allocation hint of the clients: `passive` compresses only compressible data, `aggressive` all but "
        "incompressible data.",
    )
    sequential: bool = Field(
        False, description="Whether clients hint that objects are written once and read sequentially: larger blobs."
    )
    required_ratio: Annotated[Fraction, _DEFAULT] = Field(
        0.875, gt=0, le=1, description="Largest ratio of compressed to uncompressed size that is kept."
    )
    min_blob_size: Annotated[Bytes, _OF_RELEASE] | None = Field(
        None, gt=0, description="Size of the blobs that are compressed as a whole; absent: the release's."
    )
    max_blob_size: Annotated[Bytes, _OF_RELEASE] | None = Field(
        None,
        gt=0,
        description="Size of the blobs that are compressed as a whole if data are `sequential`; absent: the release's.",
    )
    compressible: Fraction = Field(
        1.0, ge=0, le=1, description="Fraction of blobs that reach `ratio`; the others do not shrink."
    )
    ratio: Annotated[Fraction, Basis("the algorithm's on the Silesia corpus (README of zstd)", 0.05, 1)] | None = Field(
        None,
        gt=0,
        le=1,
        description="Ratio of compressed to uncompressed size of a blob, with header; absent: the algorithm's.",
    )
    compress: Annotated[BytesPerSecond, _SPEED] | None = Field(
        None, gt=0, description="Compression speed of one core; absent: the algorithm's."
    )
    decompress: Annotated[BytesPerSecond, _SPEED] | None = Field(
        None, gt=0, description="Decompression speed of one core; absent: the algorithm's."
    )

    @property
    def tries(self) -> bool:
        """Whether data are passed to the compressor."""
        if self.mode == "aggressive":
            return self.hint != "incompressible"
        return self.mode == "force" or (self.mode == "passive" and self.hint == "compressible")

    def blob_bytes(self, release: Release, rotational: bool, min_alloc_bytes: int, max_blob_bytes: int) -> int:
        """Return the bytes compressed together: at most a blob, at least two allocation units, as fewer save none."""
        least, most = _default_blobs(release, rotational)
        wanted = (self.max_blob_size or most) if self.sequential else (self.min_blob_size or least)
        return max(min(wanted, max_blob_bytes), 2 * min_alloc_bytes)

    def write(self, size_bytes: int, blob_bytes: int, min_alloc_bytes: int, block_bytes: int) -> Compressed:
        """Return the result of writing the first `size_bytes` of an object.

        A last partial allocation unit is never compressed, nor is a blob of one unit. A blob is stored compressed only
        if it meets the required ratio, both sizes rounded up to allocation units, and saves a unit.
        """
        units = size_bytes // min_alloc_bytes * min_alloc_bytes
        rest = size_bytes - units
        written, allocated = float(round_up(rest, block_bytes)), float(round_up(rest, min_alloc_bytes))
        tried, kept = 0, 0.0
        for count, blob in ((units // blob_bytes, blob_bytes), (1, units % blob_bytes)):
            stored = float(blob)
            if self.tries and count and blob > min_alloc_bytes:
                tried += count * blob
                result = round_up(blob * (self.ratio or SPEEDS[self.algorithm].ratio), min_alloc_bytes)
                if result <= round_up(blob * self.required_ratio, min_alloc_bytes) and result < blob:
                    stored -= self.compressible * (blob - result)
                    kept += count * self.compressible * blob
            written, allocated = written + count * stored, allocated + count * stored
        return Compressed(written, allocated, tried, kept)

    def compress_s(self, result: Compressed) -> float:
        """Return the CPU time of a write in s, in which rejected results cost as much as kept ones."""
        return result.tried_bytes / (self.compress or SPEEDS[self.algorithm].compress_bytes_per_s)

    def decompress_s(self, result: Compressed) -> float:
        """Return the CPU time of reading all of it in s."""
        return result.kept_bytes / (self.decompress or SPEEDS[self.algorithm].decompress_bytes_per_s)


def _default_blobs(release: Release, rotational: bool) -> tuple[int, int]:
    """Return the defaults of bluestore_compression_{min,max}_blob_size_{hdd,ssd}.

    From options.cc before Octopus and global.yaml.in of Reef; they changed with ceph PR 39691 of 2021, assumed to be
    in Pacific.
    """
    if since(release, "pacific"):
        return (8 << 10 if rotational else 64 << 10), 64 << 10
    return (128 << 10, 512 << 10) if rotational else (8 << 10, 64 << 10)
