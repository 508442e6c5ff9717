"""Former names of fields in specs and profiles, and their present ones: for messages, as former names are refused."""

from __future__ import annotations

from collections.abc import Sequence

RENAMED = {
    "a_month": "per_month",
    "access.rewritten": "coalesced_fraction",
    "after_answer": "after_response",
    "avoided_after": "detected_after",
    "burst_share": "burst_fraction",
    "cell": "configuration",
    "client.nodes": "machines",
    "client.on_host": "placement",
    "collector": "garbage_collector",
    "cooling": "decay",
    "events": "faults",
    "fairness": "age_bias",
    "findings": "notes",
    "garbage": "allocations",
    "garbage_collector.after": "allocation_interval",
    "hedge.share": "budget",
    "hosts.caches": "cpu_caches",
    "hosts.nodes": "processes",
    "hosts.servers": "processes",
    "hosts.slice": "quantum",
    "hosts.wake": "setup_time",
    "inline_garbage": "inline_allocations",
    "later_bytes": "later_byte_factor",
    "law": "distribution",
    "lock_refused": "lock_conflict_fraction",
    "mark": "mark_work",
    "misfit": "discrepancy",
    "noticed_after": "detected_after",
    "osd.scattered": "random_write_fraction",
    "refill": "cold_penalty",
    "requests_max": "max_requests",
    "retry.share": "budget",
    "share": "fraction",
    "stored.bytes_each": "object_size",
    "takes": "resource",
    "trusted_after": "readmitted_after",
    "warming": "warm_up",
}
"""The end of a former path, and the present name of its last part."""


MOVED = {
    "distribution": "balance",
    "drives.cached": "hosts.page_cache.hit_ratio",
    "gateways.cores.cpu": "gateways.cores.speed",
    "hosts.cores.cpu": "hosts.cores.speed",
    "network.internal_latency": "hosts.internode.latency",
    "osd.threads": "osd.shards and osd.threads_per_shard",
    "stored.warm": "osd.cache.hit_ratio",
}
"""A former path, and the present one in another section, or of a name that other fields still have; or two paths."""


def present_path(path: Sequence[str]) -> str | None:
    """Return the present path of a field that has moved; None if no such field has moved."""
    return MOVED.get(".".join(path))


def present_name(path: Sequence[str]) -> str | None:
    """Return the present name of the last part of a former path; None if no field had that name."""
    return RENAMED.get(".".join(path[-2:])) or RENAMED.get(".".join(path[-1:]))
