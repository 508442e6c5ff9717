"""Growth of a cluster: its spec at each number of objects, when effects begin, and the cost of reshards."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from models.capabilities import Effect, Growth
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.state import FULL_FRACTIONS, events
from models.ceph.mechanisms.bucket_index import next_shards
from models.ceph.mechanisms.resharding import release_times, reshard
from models.ceph.spec.object_size import object_bytes
from models.ceph.spec.spec import CephSpec
from traces.trace import Trace


@dataclass(frozen=True)
class Step:
    """A reshard of all buckets, which grow at the same rate.

    Attributes:
        objects: number of objects in the cluster at which the buckets outgrow their index shards.
        old_shards, new_shards: index shards of each bucket.
    """

    objects: int
    old_shards: int
    new_shards: int


def grown(spec: CephSpec, objects: float) -> CephSpec:
    """Return the spec of the same cluster when it holds this number of objects, with resharded indexes."""
    shards = next((step.new_shards for step in reversed(steps_until(spec, objects))), spec.buckets.shards)
    return holding(spec, objects).model_copy(update={"buckets": spec.buckets.model_copy(update={"shards": shards})})


def holding(spec: CephSpec, objects: float) -> CephSpec:
    """Return the spec with another number of objects in the same index shards."""
    return spec.model_copy(update={"stored": spec.stored.model_copy(update={"objects": objects})})


def with_object_size(spec: CephSpec, size_bytes: int) -> CephSpec:
    """Return the spec with this mean size of the stored objects."""
    return spec.model_copy(update={"stored": spec.stored.model_copy(update={"object_size": size_bytes})})


def steps_until(spec: CephSpec, objects: float) -> list[Step]:
    """Return the steps in which dynamic resharding increases the shards of buckets, from those of the spec."""
    return list(itertools.takewhile(lambda step: step.objects <= objects, _steps(spec)))


def _steps(spec: CephSpec) -> Iterator[Step]:
    settings, shards = spec.buckets.resharding, spec.buckets.shards
    while settings.dynamic and spec.access.via_gateways and shards < settings.max_shards:
        least = shards * settings.per_shard + 1
        new = next_shards(
            least, spec.release, settings.rounding, settings.multisite, settings.max_shards, settings.per_shard,
            settings.min_shards,
        )  # fmt: skip
        yield Step(shards * settings.per_shard * spec.workload.total_buckets + 1, shards, new)
        shards = new


def state_figures(spec: CephSpec, trace: Trace) -> dict[str, Any]:
    """Return the figures of the state: the fields of `ClusterState`, and ``index_shards`` of each bucket.

    Those of an OSD are of the mean one, if hosts differ of the group whose OSDs are the fullest; ``fill_fraction`` is
    of the fullest OSD, by its number of placement groups.
    """
    costs = CostFunctions(spec, object_bytes(spec, trace))
    state = asdict(costs.state) | {"fill_fraction": costs.fullest_fraction}
    of_levels = {name: list(value) for name, value in state.items() if isinstance(value, tuple)}
    return state | of_levels | {"index_shards": spec.buckets.shards}


def effects(spec: CephSpec, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
    """Return the effects that begin between two numbers of objects, in order, without those present at the lower."""
    begun = _of_osds(CostFunctions(spec, object_bytes(spec, trace)), math.floor(low), math.ceil(high))
    reshards = (_event(step, spec.workload.total_buckets) for step in steps_until(spec, high) if step.objects > low)
    applicable = (event for event in begun if _applies(spec, event))
    return tuple(sorted((*applicable, *reshards), key=lambda event: event.objects))


def _of_osds(costs: CostFunctions, low: int, high: int) -> list[Effect]:
    """Return the effects on OSDs; if hosts differ, each of the group in which it begins first."""
    first: dict[str, Effect] = {}
    for each in costs.of_groups:
        text = f" (hosts of group {each.group})" if each.group else ""
        for effect in events(each.state_inputs, low, high, each.imbalance):
            named = effect if effect.name == "index shards" else replace(effect, text=effect.text + text)
            if effect.objects < first.setdefault(effect.name, named).objects:
                first[effect.name] = named
    return list(first.values())


def _applies(spec: CephSpec, event: Effect) -> bool:
    """Return whether the cluster has the part that the effect concerns."""
    if event.name == "index shards":
        return spec.access.via_gateways and not spec.buckets.resharding.dynamic
    return spec.osd.backend == "bluestore" or event.name in FULL_FRACTIONS


def _event(step: Step, buckets: int) -> Effect:
    whose = "the bucket's index is" if buckets == 1 else f"the indexes of {buckets:,} buckets are"
    text = f"{whose} resharded from {step.old_shards} to {step.new_shards} shards"
    return Effect(f"reshard to {step.new_shards}", step.objects, text)


def lost_to_reshards(spec: CephSpec, low: float, high: float, write_ops: float) -> float:
    """Return the fraction of the clients' time spent waiting for reshards while the cluster grows, at most 1.

    It is 0 in an open loop, where requests arrive anyway. On average a reshard begins half a scan interval after the
    bucket has outgrown its shards, and blocks as many clients as write to the bucket during that time.

    Args:
        spec: the cluster with the fewest objects of its history.
        low, high: objects at the beginning and the end.
        write_ops: objects added per second.
    """
    workload, settings = spec.workload, spec.buckets.resharding
    if workload.rate is not None or workload.groups or not write_ops > 0 or high <= low:
        return 0.0
    growth_ops = write_ops / workload.buckets
    total_wait_s = 0.0
    for step in (step for step in steps_until(spec, high) if step.objects > low):
        objects = step.objects / workload.buckets + growth_ops * settings.interval / 2
        event = reshard(objects, step.old_shards, step.new_shards, settings, spec.release, growth_ops=growth_ops)
        blocked = min(workload.clients, growth_ops * event.blocked_s)
        waits_s = release_times(event, math.ceil(blocked), settings, spec.release, math.inf)
        total_wait_s += workload.buckets * blocked * math.fsum(waits_s) / max(len(waits_s), 1)
    return min(total_wait_s / (workload.clients * (high - low) / write_ops), 1.0)


def on_the_way(spec: CephSpec, low: float, high: float, write_ops: float) -> dict[str, float]:
    """Return the number of `reshards` between two numbers of objects, and `lost_to_reshards`."""
    steps = [step for step in steps_until(spec, high) if step.objects > low]
    return {
        "reshards": len(steps) * spec.workload.total_buckets,
        "lost_to_reshards": lost_to_reshards(spec, low, high, write_ops),
    }


def is_limit(effect: Effect) -> bool:
    """Return whether a plan counts it as a limit: nearfull or full, too large index shards, or RocksDB spillover."""
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
    full_text="the fullest OSD is {:.0%} full, so the cluster takes no writes",
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
