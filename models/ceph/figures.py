"""Figures of published tables that follow from a cluster's spec and what it holds, without simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from models.ceph.demands.cost_functions import Laws
from models.ceph.mechanisms.bluestore import BLOCK_BYTES
from models.ceph.mechanisms.compression import Compressed
from models.ceph.mechanisms.resharding import Reshard, Resharding, reshard
from models.ceph.object_size import object_bytes
from models.ceph.spec import CephSpec
from traces.workload.generate import generate

Figure = Callable[[CephSpec], float]


def _space_amplification(laws: Laws) -> float:
    return laws.state.allocated_bytes / laws.state.stored_bytes


def _reshard(laws: Laws) -> Reshard:
    spec = laws.spec
    entries = spec.stored.objects / spec.workload.buckets
    return reshard(entries, spec.buckets.shards, spec.buckets.shards, Resharding(), spec.release)


def _written(laws: Laws) -> tuple[int, Compressed]:
    """The size of a write, and what compression makes of it."""
    settings, size = laws.bluestore, round(float(generate(laws.spec.workload, 0).size_bytes.mean()))
    blob, unit = settings.compression_blob_bytes, settings.min_alloc_bytes
    return size, settings.compression.write(size, blob, unit, BLOCK_BYTES)


def _compressed_share(laws: Laws) -> float:
    _, result = _written(laws)
    return result.kept_bytes / result.tried_bytes


def _saved_share(laws: Laws) -> float:
    size, result = _written(laws)
    return (laws.bluestore.allocated_bytes(size) - result.allocated_bytes) / result.kept_bytes


def _figure(of: Callable[[Laws], float]) -> Figure:
    return lambda spec: of(Laws(spec, object_bytes(spec, generate(spec.workload, 0))))


FIGURES: Mapping[str, Figure] = {
    "shard_objects_per_osd": _figure(lambda laws: laws.state.shard_objects),
    "metadata_bytes_per_shard_object": _figure(lambda laws: laws.state.metadata_bytes / laws.state.shard_objects),
    "spilled_gb_per_osd": _figure(lambda laws: laws.state.spilled_bytes / 1e9),
    "fill_share": _figure(lambda laws: laws.state.fill_share),
    "space_amplification": _figure(_space_amplification),
    "reshard_s": _figure(lambda laws: _reshard(laws).end_s),
    "writes_blocked_s": _figure(lambda laws: _reshard(laws).blocked_s),
    "compressed_share": _figure(_compressed_share),
    "saved_share": _figure(_saved_share),
}
"""``shard_objects_per_osd``, ``metadata_bytes_per_shard_object``, ``spilled_gb_per_osd`` (RocksDB's bytes on the data
device, 1e9), ``fill_share`` (of the data device), ``space_amplification`` (allocated over stored bytes), ``reshard_s``
and ``writes_blocked_s`` (of a reshard of one bucket), ``compressed_share`` (bytes kept compressed over bytes tried) and
``saved_share`` (space saved over bytes kept compressed, both of the workload's writes)."""
