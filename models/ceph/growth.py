"""A cluster that fills with objects: its spec on the way, what begins when, and what reshards cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from models.capabilities import Effect, Growth
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.state import FULL_FRACTIONS, events
from models.ceph.mechanisms.bucket_index import next_shards
from models.ceph.mechanisms.resharding import release_times, reshard
from models.ceph.object_size import object_bytes
from models.ceph.spec import CephSpec
from traces.trace import Trace


@dataclass(frozen=True)
class Step:
    """All buckets, which grow in step, outgrow their index shards.

    Attributes:
        objects: in the whole cluster, when they do.
        old_shards, new_shards: of each bucket's index.
    """

    objects: int
    old_shards: int
    new_shards: int


def grown(spec: CephSpec, objects: float) -> CephSpec:
    """The spec of the same cluster when it holds so many objects."""
    shards = next((step.new_shards for step in reversed(steps_until(spec, objects))), spec.buckets.shards)
    return holding(spec, objects).model_copy(update={"buckets": spec.buckets.model_copy(update={"shards": shards})})


def holding(spec: CephSpec, objects: float) -> CephSpec:
    """The spec with so many objects in as many index shards as now."""
    return spec.model_copy(update={"stored": spec.stored.model_copy(update={"objects": objects})})


def with_object_size(spec: CephSpec, size_bytes: int) -> CephSpec:
    """The spec that says how large the objects are that it holds."""
    return spec.model_copy(update={"stored": spec.stored.model_copy(update={"object_size": size_bytes})})


def steps_until(spec: CephSpec, objects: float) -> list[Step]:
    """The steps in which dynamic resharding gives buckets more shards; they begin with those of the spec."""
    return list(itertools.takewhile(lambda step: step.objects <= objects, _steps(spec)))


def _steps(spec: CephSpec) -> Iterator[Step]:
    settings, shards = spec.buckets.resharding, spec.buckets.shards
    while settings.dynamic and spec.access.via_gateways and shards < settings.max_shards:
        least = shards * settings.per_shard + 1
        new = next_shards(
            least, spec.release, settings.rounding, settings.multisite, settings.max_shards, settings.per_shard,
            settings.min_shards,
        )  # fmt: skip
        yield Step(shards * settings.per_shard * spec.workload.buckets + 1, shards, new)
        shards = new


def state_figures(spec: CephSpec, trace: Trace) -> dict[str, Any]:
    """What the cluster has become: the fields of `ClusterState`, and ``index_shards`` of each bucket."""
    state = asdict(CostFunctions(spec, object_bytes(spec, trace)).state)
    of_levels = {name: list(value) for name, value in state.items() if isinstance(value, tuple)}
    return state | of_levels | {"index_shards": spec.buckets.shards}


def effects(spec: CephSpec, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
    """What begins between two numbers of objects, in order; what holds at the lower is left out."""
    begun = events(CostFunctions(spec, object_bytes(spec, trace)).state_inputs, math.floor(low), math.ceil(high))
    reshards = (_event(step, spec.workload.buckets) for step in steps_until(spec, high) if step.objects > low)
    felt = (event for event in begun if _is_felt(spec, event))
    return tuple(sorted((*felt, *reshards), key=lambda event: event.objects))


def _is_felt(spec: CephSpec, event: Effect) -> bool:
    """Whether the cluster has what the event happens to."""
    if event.name == "index shards":
        return spec.access.via_gateways and not spec.buckets.resharding.dynamic
    return spec.osd.backend == "bluestore" or event.name in FULL_FRACTIONS


def _event(step: Step, buckets: int) -> Effect:
    whose = "the bucket's index is" if buckets == 1 else f"the indexes of {buckets:,} buckets are"
    text = f"{whose} resharded from {step.old_shards} to {step.new_shards} shards"
    return Effect(f"reshard to {step.new_shards}", step.objects, text)


def lost_to_reshards(spec: CephSpec, low: float, high: float, write_ops: float) -> float:
    """Share of the clients' time that they wait for reshards while the cluster grows; at most 1.

    Of an open loop it is 0: its requests come anyway. A reshard begins half a scan's interval after the bucket has
    outgrown its shards, on average, and catches as many clients as write to the bucket while it is blocked.

    Args:
        spec: of the cluster as it was with the fewest objects of its history.
        low, high: objects at the beginning and the end.
        write_ops: objects gained a second.
    """
    workload, settings = spec.workload, spec.buckets.resharding
    if workload.rate is not None or not write_ops > 0 or high <= low:
        return 0.0
    growth_ops = write_ops / workload.buckets
    waited_s = 0.0
    for step in (step for step in steps_until(spec, high) if step.objects > low):
        objects = step.objects / workload.buckets + growth_ops * settings.interval / 2
        event = reshard(objects, step.old_shards, step.new_shards, settings, spec.release, growth_ops=growth_ops)
        caught = min(workload.clients, growth_ops * event.blocked_s)
        waits_s = release_times(event, math.ceil(caught), settings, spec.release, math.inf)
        waited_s += workload.buckets * caught * math.fsum(waits_s) / max(len(waits_s), 1)
    return min(waited_s / (workload.clients * (high - low) / write_ops), 1.0)


def on_the_way(spec: CephSpec, low: float, high: float, write_ops: float) -> dict[str, float]:
    """The `reshards` between two numbers of objects, and `lost_to_reshards`."""
    steps = [step for step in steps_until(spec, high) if step.objects > low]
    return {
        "reshards": len(steps) * spec.workload.buckets,
        "lost_to_reshards": lost_to_reshards(spec, low, high, write_ops),
    }


def is_limit(effect: Effect) -> bool:
    """Whether a plan counts it: the cluster is nearly full or full, index shards are too large, or RocksDB spills."""
    return effect.name in ("nearfull", "full", "index shards") or effect.name.startswith("spill ")


GROWTH = Growth[CephSpec](
    objects=lambda spec: spec.stored.objects,
    object_bytes=object_bytes,
    has_object_size=lambda spec: spec.stored.object_size is not None,
    with_object_size=with_object_size,
    holding=holding,
    grown=grown,
    state=state_figures,
    effects=effects,
    is_limit=is_limit,
    on_the_way=on_the_way,
    full_fraction=FULL_FRACTIONS["full"],
    full_text="OSDs are {:.0%} full and take no writes",
    columns=(
        "objects", "fill_fraction", "stored_bytes", "allocated_bytes", "metadata_bytes", "spilled_bytes",
        "onode_hit_fraction", "block_cache_hit_fraction", "slow_reads_per_lookup", "slow_reads_per_absent_lookup",
        "slow_write_fraction", "entries_per_index_shard", "index_shards", "reshards", "lost_to_reshards",
    ),
    evidence=(
        "objects", "fill_fraction", "metadata_bytes", "spilled_bytes", "entries_per_index_shard", "index_shards",
    ),
)  # fmt: skip
"""How a cluster's state follows from the objects in it."""
