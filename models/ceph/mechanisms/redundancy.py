"""Protection of a pool's objects by replicas or an erasure code, and RGW's striping into RADOS objects."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from models.ceph.mechanisms.releases import Release, since
from models.network.service_demand import ServiceDemand
from traces.spec.field_notes import Basis
from traces.spec.units import Bytes
from traces.workload.distributions import Strict

Plugin = Literal["jerasure", "isa"]

STRIPE_UNIT_BYTES = 4096
"""osd_pool_erasure_code_stripe_unit (src/common/options/global.yaml.in), the default of `Protection.stripe_unit`."""
RGW_OBJECT_BYTES = 4 << 20
"""rgw_max_chunk_size and rgw_obj_stripe_size (src/common/options/rgw.yaml.in): largest size of RADOS objects."""
RGW_WINDOW_OBJECTS = 4
"""RADOS objects of a request that a gateway has in progress: 16 MiB (rgw_put_obj_min_window_size and
rgw_get_obj_window_size)."""

CODING_BYTES_PER_S: dict[Plugin, float] = {"jerasure": 8.4e9, "isa": 16.8e9}
"""Object bytes per second that one core at 3.4 GHz processes for one row of the coding matrix.

jerasure: encoding 6+2 at 4.2 GB/s is two rows. So one chunk would be rebuilt at 8.4 GB/s and two at 4.2; 10 and 3.2
were measured (https://blog.dachary.org/2013/12/21/, Xeon E3-1245 V2, ceph_erasure_code_benchmark). ISA-L: twice
that (assumed; it uses wider vector instructions).
"""

_REPLICAS = re.compile(r"(?:replicas?\s+(\d+)|(\d+)\s*x)")
_CODE = re.compile(r"ec\s+(\d+)\s*\+\s*(\d+)")
_FORMS = "allowed are 'replica 3', '3x', 'ec 4+2', {replicas: 3}, {data: 4, parity: 2}"


class Protection(Strict):
    """Replicas, or an erasure code with data and parity chunks.

    A write waits for all of its chunks; a read goes to the primary, which for an erasure code fetches as many chunks as
    there are data chunks (doc/rados/operations/erasure-code.rst).
    """

    replicas: int | None = Field(
        None, ge=1, le=10, description="Number of copies of each object, each in another failure domain."
    )
    data: int | None = Field(None, ge=2, le=32, description="Number of data chunks (k) of an erasure code.")
    parity: int | None = Field(None, ge=1, le=32, description="Number of parity chunks (m) of an erasure code.")
    plugin: Annotated[Plugin, Basis("Ceph's default of the release: osd_pool_default_erasure_code_profile")] | None = (
        Field(None, description="Library of the erasure code; absent: the release's.")
    )
    stripe_unit: (
        Annotated[Bytes, Basis("Ceph's default: osd_pool_erasure_code_stripe_unit"), Field(multiple_of=4096)] | None
    ) = Field(
        None, gt=0, description="Bytes of a chunk in a stripe of an erasure code: a multiple of 4 KiB; absent: 4 KiB."
    )

    @model_validator(mode="after")
    def _one_form(self) -> Protection:
        coded = self.data is not None and self.parity is not None
        either = self.data is not None or self.parity is not None
        if coded != either or coded == (self.replicas is not None):
            raise ValueError(f"give either replicas, or data and parity; {_FORMS}")
        for name in ("plugin", "stripe_unit"):
            if getattr(self, name) is not None and not coded:
                raise ValueError(f"{name}: is allowed with an erasure code only")
        return self

    @property
    def is_ec(self) -> bool:
        """Whether it is an erasure code."""
        return self.data is not None

    @property
    def data_shards(self) -> int:
        """Number of chunks that a read needs: k, or one replica."""
        return self.data or 1

    @property
    def width(self) -> int:
        """Number of OSDs that hold a part of an object: replicas, or k + m."""
        return self.replicas or self.data_shards + (self.parity or 0)

    @property
    def stripe_bytes(self) -> int:
        """Bytes of a stripe of an erasure code: a stripe unit of each data chunk."""
        return self.data_shards * (self.stripe_unit or STRIPE_UNIT_BYTES)

    def partial_stripes(self, size_bytes: int) -> float:
        """Return the mean number of stripes that an overwrite fills in part, at offsets that are multiples of its size.

        Their other chunks are read first: read-modify-write. 0 for whole stripes and for replicas.
        """
        if not self.is_ec or size_bytes % self.stripe_bytes == 0:
            return 0.0
        period = math.lcm(size_bytes, self.stripe_bytes)
        starts = range(0, period, size_bytes)
        partial = (
            len({at // self.stripe_bytes for at in (start, start + size_bytes) if at % self.stripe_bytes})
            for start in starts
        )
        return sum(partial) / len(starts)

    def chunks_reached(self, size_bytes: float) -> int:
        """Return the number of data chunks that hold the bytes of an object: all if they fill a stripe."""
        return max(1, min(self.data_shards, -int(-size_bytes // (self.stripe_unit or STRIPE_UNIT_BYTES))))

    def chunk_bytes(self, size_bytes: int) -> int:
        """Return the bytes of each replica or chunk of a RADOS object.

        Chunks of an erasure code are padded to whole stripe units (measured: 1 KiB on 2+1 takes three chunks of 4 KiB).
        """
        if not self.is_ec:
            return size_bytes
        return round_up(size_bytes, self.stripe_bytes) // self.data_shards

    def encode(self, release: Release) -> ServiceDemand:
        """Return the primary's CPU demand of a write, by the bytes of the RADOS object; 0 for replicas."""
        return self._coding(self.width - self.data_shards, release)

    def decode(self, missing: int, release: Release) -> ServiceDemand:
        """Return the primary's CPU demand of a read with `missing` data chunks, by the bytes of the RADOS object.

        Raises:
            ValueError: more chunks are missing than the code can rebuild.
        """
        if not 0 <= missing <= self.width - self.data_shards:
            raise ValueError(f"missing is {missing}; 0 to {self.width - self.data_shards} is allowed")
        return self._coding(missing, release)

    def _coding(self, rows: int, release: Release) -> ServiceDemand:
        if not self.is_ec:
            return ServiceDemand()
        return ServiceDemand(per_byte=rows / CODING_BYTES_PER_S[self.plugin or default_plugin(release)])


def default_plugin(release: Release) -> Plugin:
    """Return the erasure-code library of new profiles: ISA-L since Tentacle (osd_pool_default_erasure_code_profile)."""
    return "isa" if since(release, "tentacle") else "jerasure"


def stripes(size_bytes: int, head_bytes: int = RGW_OBJECT_BYTES, stripe_bytes: int = RGW_OBJECT_BYTES) -> Counter[int]:
    """Return the number of RADOS objects of each size of an S3 object: the head, which even an empty one has, stripes.

    A number for each size, as 60 TiB are 16 million objects of two sizes.
    """
    head = min(size_bytes, head_bytes)
    whole, rest = divmod(size_bytes - head, stripe_bytes)
    return Counter([head]) + Counter({stripe_bytes: whole, rest: 1 if rest else 0})


def round_up(size_bytes: float, unit_bytes: int) -> int:
    """Round bytes up to whole units."""
    return -int(-size_bytes // unit_bytes) * unit_bytes


def _read(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    if match := _REPLICAS.fullmatch(text):
        return {"replicas": int(match[1] or match[2])}
    if match := _CODE.fullmatch(text):
        return {"data": int(match[1]), "parity": int(match[2])}
    raise ValueError(f"{value!r} is not a protection; {_FORMS}")


ProtectionField = Annotated[Protection, BeforeValidator(_read, json_schema_input_type=Protection | str)]
"""A `Protection` in a spec: ``replica 3``, ``3x``, ``ec 4+2``, or a mapping of its fields."""
