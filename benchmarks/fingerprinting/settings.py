"""Settings with which examples are simulated for fingerprints: short runs, policies, variants of stores and faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """What is simulated of a spec beyond its own workload.

    Attributes:
        shorter: settings that make its own simulation take a second at most.
        few: settings for some hundred requests, for the engine that is slow.
        other: settings that make a closed loop of its open one, or an open loop of its closed one.
    """

    shorter: str = ""
    few: str = "workload.operations=300"
    other: str = "workload.rate=300/s workload.duration=null workload.operations=3000"


UNIFORM = "workload.keys={kind: uniform, count: 500}"
EXAMPLES: Mapping[str, Example] = {
    "minio-12-hdd": Example(
        shorter="workload.duration=30s", other="workload.rate=null workload.clients=12 workload.duration=20s"
    ),
    "minio-erasure-set": Example(other="workload.rate=150/s workload.duration=20s"),
    "demo/minio": Example(other="workload.rate=700/s"),
    "reference/minio-hdd-s3bench": Example(
        few="workload.operations=60", other=f"'{UNIFORM}' workload.rate=20/s workload.operations=1000"
    ),
    "reference/minio-s3bench": Example(other=f"'{UNIFORM}' workload.rate=1500/s workload.operations=3000"),
    "reference/minio-s3bench-tail": Example(other=f"'{UNIFORM}' workload.rate=500/s workload.operations=3000"),
    "ceph/billion-objects": Example(
        shorter="workload.operations=5000", other=f"'{UNIFORM}' workload.rate=3000/s workload.operations=3000"
    ),
    "ceph/mysql": Example(shorter="workload.operations=20000"),
    "ceph/nvme-quincy": Example(
        shorter="workload.operations=30000", other="workload.rate=60000/s workload.operations=5000"
    ),
    "ceph/osd-down": Example(few="workload.duration=12s", other="workload.rate=150/s"),
    "ceph/redhat-112-hdd": Example(shorter="workload.operations=5000"),
    "ceph/radosbench": Example(shorter="workload.operations=8000"),
    "ceph/rbd-fio": Example(
        shorter="workload.operations=20000", other="workload.rate=50000/s workload.operations=10000"
    ),
    "minio-two-groups": Example(
        shorter="workload.duration=20s",
        few="workload.duration=3s",
        other="workload.duration=20s workload.groups.backup.rate=5/s",
    ),
    "ceph/two-groups": Example(
        shorter="workload.duration=5s",
        few="workload.duration=1s",
        other="workload.duration=5s workload.groups.backup.rate=20/s",
    ),
    "ceph/reshard-stall": Example(few="workload.duration=11s", other="workload.rate=60/s"),
}
"""By file below examples/, without its ending; a spec that is not here is simulated as it stands."""

POLICIES: Mapping[str, str] = {
    "hedge after p95": "client.hedge.after=p95",
    "hedge all after a delay": "client.hedge.after=2ms client.hedge.budget=null client.hedge.operations=[GET,PUT]",
    "tied": "client.hedge.after=0s client.hedge.budget=null",
    "hedge without cancelling": "client.hedge.after=p90 client.hedge.cancel=false client.hedge.budget=0.3",
    "timeout and retries": "client.timeout=50ms client.retry.retries=2",
    "all policies": (
        "client.timeout=20ms client.retry.retries=3 client.retry.backoff=5ms client.retry.budget=0.2 "
        "client.retry.jitter=0.5 client.hedge.after=p95 client.hedge.operations=[GET,PUT]"
    ),
}
POLICIES_ON: Mapping[str, str] = {
    "minio": "workload.clients=24 workload.duration=5s",
    "minio-erasure-set": "workload.clients=24 workload.duration=5s",
    "minio-12-hdd": "workload.duration=20s",
    "ceph/osd-down": "gateways.count=2 gateways.collocated=false workload.clients=12",
    "ceph/nvme-quincy": "workload.operations=5000 workload.clients=2000 'workload.mix={GET: 70, PUT: 30}'",
    "ceph/redhat-112-hdd": "workload.operations=2000 'workload.mix={GET: 70, PUT: 30}'",
}

MIXED = "'workload.mix={GET: 50, PUT: 25, HEAD: 10, DELETE: 10, LIST: 5}'"
ODD_SIZES = "'workload.object_size={kind: lognormal, mean: 3MiB, cv: 2, max: 40MiB}'"
MINIO_VARIANTS: Mapping[str, str] = {
    "32 clients, 1 MiB": "workload.clients=32 workload.object_size=1MiB workload.duration=3s",
    "mixed, lognormal sizes": f"{MIXED} {ODD_SIZES} workload.duration=5s",
    "four servers": "drives.count=4 hosts.processes=4 hosts.internode.call.constant=0.1ms workload.duration=5s",
    "four servers, locks": (
        "drives.count=4 hosts.processes=4 hosts.internode.call.constant=0.1ms hosts.internode.latency=0.05ms "
        "hosts.internode.lock_conflict_fraction=0.3 'workload.mix={GET: 50, PUT: 50}' workload.duration=5s"
    ),
    "profile": "workload.duration=5s",
    "zipf, bursts": (
        "workload.rate=300/s 'workload.keys={kind: zipf, count: 300, exponent: 0.9}' workload.duration=20s "
        "'workload.arrivals={kind: mmpp2, burst_factor: 3, burst_fraction: 0.1, burst_duration: 1s}'"
    ),
    "constant arrivals, sequential keys": (
        "workload.rate=300/s workload.arrivals=constant workload.duration=5s "
        "'workload.keys={kind: sequential, count: 300}'"
    ),
    "ranges and think time": (
        "'workload.ranges={fraction: 0.5, size: 16KiB}' workload.object_size=512KiB workload.duration=10s "
        "'workload.think_time={mean: 5ms, distribution: exponential}' workload.stagger=2ms"
    ),
    "own machine, bandwidth, wake": (
        "client.placement=own network.bandwidth=100MB/s hosts.setup_time=0.05ms workload.clients=32 "
        "workload.duration=5s"
    ),
    "in order of age": "hosts.age_bias=1 hosts.quantum=0.5ms workload.clients=32 workload.duration=5s",
    "neighbour": (
        "workload.rate=200/s workload.duration=10s "
        "'faults=[{kind: noisy_neighbour, at: 3s, until: 6s, resource: cpu, fraction: 0.4}]'"
    ),
}
CEPH_VARIANTS: Mapping[str, str] = {
    "mixed": f"{MIXED} workload.operations=3000",
    "mixed, large objects": f"{MIXED} {ODD_SIZES} workload.operations=2000",
    "fast_read, tls": "pools.fast_read=true gateways.tls=true 'workload.mix={GET: 1}' workload.operations=3000",
    "own gateways, power of two": (
        f"gateways.collocated=false gateways.balance=power_of_two {MIXED} workload.operations=3000"
    ),
    "own gateways, least outstanding": (
        f"gateways.collocated=false gateways.balance=least_outstanding {MIXED} workload.operations=3000"
    ),
    "own gateways, random, civetweb": (
        "gateways.collocated=false gateways.balance=random gateways.frontend=civetweb gateways.threads=4 "
        "workload.operations=3000"
    ),
    "refused by a short queue": (
        "gateways.max_requests=3 gateways.queue=2 workload.clients=120 client.retry.retries=3 workload.operations=3000"
    ),
    "replicas on flash, quincy": f"release=quincy device=nvme pools.data='replica 3' {MIXED} workload.operations=5000",
    "no block.db": f"db=null {MIXED} workload.operations=2000",
    "filled and warm": (
        f"stored.objects=2.5e8 osd.cache.hit_ratio=0.3 stored.churn=0.2 {MIXED} workload.operations=3000"
    ),
    "tentacle, compressed": (
        "release=tentacle 'bluestore.compression={algorithm: snappy, compressible: 0.6, ratio: 0.5, "
        f"compress: 265MB/s, decompress: 765MB/s}}' {MIXED} workload.operations=3000"
    ),
    "filestore": f"osd.backend=filestore release=jewel db=null {MIXED} workload.operations=2000",
}
HDD_EVENTS: Mapping[str, str] = {
    "drive down": "{kind: drive_down, drive: 0, at: 8s, back_at: 16s, detected_after: 2s}",
    "host down": "{kind: host_down, at: 8s, back_at: 10s}",
    "slow drive, neighbour": (
        "{kind: slow_drive, drive: 1, at: 5s, until: 15s, speed: 0.2}, "
        "{kind: noisy_neighbour, at: 10s, until: 18s, resource: network, fraction: 0.5}"
    ),
    "two drives down": "{kind: drive_down, drive: 0, at: 5s}, {kind: drive_down, drive: 3, at: 9s, back_at: 15s}",
}
OSD_EVENTS: Mapping[str, str] = {
    "host down": "{kind: host_down, host: 1, at: 5s, back_at: 12s}",
    "gateway down": "{kind: gateway_down, gateway: 1, at: 5s, back_at: 12s}",
    "hangs": "{kind: osd_down, osd: 2, at: 5s, back_at: 15s, detected_by: heartbeat, grace: 3s}",
    "slow drive, neighbour": (
        "{kind: slow_drive, osd: 1, at: 5s, until: 15s, speed: 0.2}, "
        "{kind: noisy_neighbour, host: 2, at: 8s, until: 14s, fraction: 0.5}"
    ),
    "reshard": "{kind: reshard, at: 5s, entries: 20000, shards: 29}",
}
