"""The spec of a RustFS cluster: MinIO's layout, with the settings that differ.

As in RustFS's source at 20d12664 (1.0.0-rc.3, 2026-08-23).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.devices.presets import PRESETS_OF
from models.minio.spec.sections import Hosts
from models.minio.spec.spec import MinioSpec
from models.rustfs import presets
from traces.spec.field_notes import Basis
from traces.spec.units import Seconds
from traces.workload.distributions import Strict

_HEDGE = "RustFS's default: shard_read_hedge_delay, crates/ecstore/src/erasure/coding/decode.rs"
_SHARD_BYTES = 128 * 1024
_INLINE_OBJECT_BYTES = 256 * 1024
_VERSIONED = 8


class RustfsHosts(Hosts):
    """The machines that RustFS runs on, which are identical."""

    max_requests: (
        Annotated[int, Basis("RustFS's default is no limit: crates/config/src/constants/object.rs")] | None
    ) = Field(
        None,
        ge=1,
        description="Most PUTs in progress in the whole cluster, divided among its nodes "
        "(RUSTFS_PUT_FOREGROUND_ADMISSION_LIMIT of a node, times nodes); further ones get 503 SlowDown. Absent: no "
        "limit.",
    )


class Reads(Strict):
    """How a GET reads the shards of an object that is not inline."""

    shards: Annotated[Literal["all", "data"], Basis("RustFS's default: all")] = Field(
        "all",
        description="Shards that are read: all that are there, in lockstep; or those with data first, and those of "
        "parity one by one after `hedge_after` (RUSTFS_GET_LOCKSTEP_DATA_SHARDS_ONLY_ENABLE).",
    )
    hedge_after: Annotated[Seconds, Field(gt=0), Basis(_HEDGE, 0.01, 1)] = Field(
        0.1, description="Time after which a stripe waits for k + 1 shards only instead of all that are read."
    )
    per_node: Annotated[int, Basis("RustFS's default: RUSTFS_OBJECT_MAX_CONCURRENT_DISK_READS", 1, 4096)] = Field(
        64, ge=1, description="Number of GETs that read from drives at the same time on a node; others wait."
    )


class RustfsSpec(MinioSpec):
    """A RustFS cluster, its clients and their workload."""

    store: Literal["rustfs"] = Field(description="Selects the model of RustFS.")  # type: ignore[assignment]
    release: Annotated[
        Literal["2025-01-01"], Basis("the order of requests before 2025-07-23, of which RustFS's is")
    ] = Field(
        "2025-01-01",
        description="Date of MinIO's releases that lay out objects and order requests as RustFS does; no other is "
        "allowed.",
    )
    hosts: RustfsHosts = Field(
        RustfsHosts(), description="Hosts of RustFS: number, cores, network interfaces, CPU times."
    )
    durability: Annotated[
        Literal["strict", "relaxed", "none"],
        Basis("RustFS's default for new buckets: crates/ecstore/src/bucket/durability.rs"),
    ] = Field(
        "relaxed",
        description="What a PUT syncs on each drive: data and metadata; data only, so nothing of inline objects; or "
        "nothing. What is not synced is written back while no client waits.",
    )
    reads: Reads = Field(Reads(), description="Reads of shards: how many, how long they are waited for, their limit.")

    @property
    def inline_bytes(self) -> int:
        """Largest shard that is stored inside xl.meta: an object of 256 KiB, and at most 128 KiB a shard.

        should_inline, crates/ecstore/src/config/storageclass.rs.
        """
        if self.inline_limit is not None:
            return self.inline_limit
        most = min(_SHARD_BYTES, -(-_INLINE_OBJECT_BYTES // self.data_shards))
        return most // _VERSIONED if self.versioned else most

    @property
    def reads_per_node(self) -> int | None:
        """Number of GETs that a node lets read from drives at the same time."""
        return self.reads.per_node

    @model_validator(mode="after")
    def _is_one_pool(self) -> RustfsSpec:
        if self.pools:
            raise ValueError("pools: are not modelled for RustFS; allowed is one pool")
        return self


PRESETS_OF[RustfsHosts] = presets.hosts
