"""Figures of published tables that follow from a cluster's spec and stored objects, without simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.bluestore import BLOCK_BYTES
from models.ceph.mechanisms.compression import Compressed
from models.ceph.mechanisms.resharding import Reshard, Resharding, reshard
from models.ceph.spec.object_size import object_bytes
from models.ceph.spec.spec import CephSpec
from traces.workload.generate import generate

FigureOfSpec = Callable[[CephSpec], float]


def _space_amplification(costs: CostFunctions) -> float:
    return costs.state.allocated_bytes / costs.state.stored_bytes


def _reshard(costs: CostFunctions) -> Reshard:
    spec = costs.spec
    entries = spec.stored.objects / spec.workload.total_buckets
    return reshard(entries, spec.buckets.shards, spec.buckets.shards, Resharding(), spec.release)


def _written(costs: CostFunctions) -> tuple[int, Compressed]:
    """Return the mean size of a write, and the result of compressing it."""
    settings, size = costs.bluestore, round(float(generate(costs.spec.workload, 0).size_bytes.mean()))
    blob, unit = settings.compression_blob_bytes, settings.min_alloc_bytes
    return size, settings.compression.write(size, blob, unit, BLOCK_BYTES)


def _compressed_fraction(costs: CostFunctions) -> float:
    _, result = _written(costs)
    return result.kept_bytes / result.tried_bytes


def _saved_fraction(costs: CostFunctions) -> float:
    size, result = _written(costs)
    return (costs.bluestore.allocated_bytes(size) - result.allocated_bytes) / result.kept_bytes


def _figure(of: Callable[[CostFunctions], float]) -> FigureOfSpec:
    return lambda spec: of(CostFunctions(spec, object_bytes(spec, generate(spec.workload, 0))))


FIGURES: Mapping[str, FigureOfSpec] = {
    "shard_objects_per_osd": _figure(lambda costs: costs.state.shard_objects),
    "metadata_bytes_per_shard_object": _figure(lambda costs: costs.state.metadata_bytes / costs.state.shard_objects),
    "spilled_gb_per_osd": _figure(lambda costs: costs.state.spilled_bytes / 1e9),
    "fill_fraction": _figure(lambda costs: costs.state.fill_fraction),
    "space_amplification": _figure(_space_amplification),
    "reshard_s": _figure(lambda costs: _reshard(costs).end_s),
    "writes_blocked_s": _figure(lambda costs: _reshard(costs).blocked_s),
    "compressed_fraction": _figure(_compressed_fraction),
    "saved_fraction": _figure(_saved_fraction),
}
"""``shard_objects_per_osd``, ``metadata_bytes_per_shard_object``, ``spilled_gb_per_osd`` (RocksDB's bytes on the data
device in GB), ``fill_fraction`` (of the data device), ``space_amplification`` (allocated over stored bytes),
``reshard_s`` and ``writes_blocked_s`` (of a reshard of one bucket), ``compressed_fraction`` (bytes kept compressed over
bytes tried) and ``saved_fraction`` (space saved over bytes kept compressed, both of the workload's writes)."""
