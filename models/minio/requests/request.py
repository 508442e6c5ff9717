"""A kind of request to MinIO, with all that its visits depend on."""

from __future__ import annotations

from dataclasses import dataclass

from models.minio.cluster.file_systems import reads_of, written_back_of
from models.minio.cluster.places import Places
from models.minio.cluster.stations import Pool, Stations
from models.minio.spec.spec import MinioSpec
from models.network.route import Chance, words
from models.network.service_demand import NOTHING
from models.shared.steps import Step
from traces.operations import Op

Branches = tuple[Step, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        pool: number of the object's pool.
        inline: whether the object is stored inside xl.meta.
        large: whether it has several blocks, which pass links and drives at the same time.
        accesses: of a drive that has a shard.
        rounds: how often a GET or PUT waits for acknowledgements of its bytes, if links have queues.
        source_accesses: of a drive that has a shard of the object that a COPY reads.
        more_blocks: of a GET of a range: blocks that it touches beyond those that have as many bytes; all of each block
            is read, as its checksum is that of the whole block. None: not a range, or of an object of one block.
        absent: whether it looks for what does not exist.
        in_parts: whether the object is in parts, of which `large` and `accesses` describe one.
        overwrites: whether a PUT replaces an object.
        metadata_cached: whether the page caches have the object's metadata.
        data_cached: whether they have all that a GET reads after that.
    """

    op: Op
    pool: int = 0
    inline: bool = False
    large: bool = False
    accesses: int = 1
    overwrites: bool = False
    metadata_cached: bool = False
    data_cached: bool = False
    in_parts: bool = False
    rounds: int = 0
    source_accesses: int = 1
    more_blocks: int | None = None
    absent: bool = False

    @property
    def variant(self) -> str:
        """That of the route."""
        return words(
            "inline" * self.inline,
            "large" * self.large,
            f"{self.accesses} accesses" * (self.accesses > 1),
            "overwrite" * self.overwrites,
            "with cached metadata" * self.metadata_cached,
            "cached" * self.data_cached,
            "in parts" * self.in_parts,
            f"{self.rounds} rounds" * (self.rounds > 0),
            f"{self.source_accesses} reads" * (self.source_accesses > 1),
            "" if self.more_blocks is None else f"range and {self.more_blocks}",
            "absent" * self.absent,
            f"pool {self.pool}" * (self.pool > 0),
        )


BASIC = (
    Kind("GET"), Kind("GET", inline=True), Kind("PUT"), Kind("PUT", inline=True), Kind("HEAD"), Kind("DELETE"),
)  # fmt: skip
"""The kinds that every network has; a LIST visits each drive of the cluster."""


class Request:
    """A kind of request on the stations of a spec.

    Attributes:
        kind, op, policy: of the request.
        call: CPU time of each side of a call between nodes.
        queued: whether links have queues.
        limited: whether the hosts of any pool have links of limited bandwidth.
        pool, layout, drives: of the object.
        nic: bandwidth of a host of the pool, B/s; 0: no limit.
        own, mixed: how many drives of the set are the coordinator's own, and whether that depends on the key.
        read, write, commit: demands of the drives.
        calls_nodes: whether there are other nodes to call.
        found, absent: reads of the file system to look up an object that is there, and one that is not.
        written_back: accesses to each drive by which the file system writes metadata of the request later.
        streamed: whether client and host process an object's bytes at the same time.
    """

    def __init__(self, spec: MinioSpec, stations: Stations, places: Places, kind: Kind):
        self.spec, self.stations, self.places = spec, stations, places
        self.hosts, self.client = spec.hosts, spec.client
        self.kind, self.op, self.policy = kind, kind.op, spec.client.policy(kind.op)
        self.call = self.hosts.at_speed(self.hosts.internode.call)
        self.limited = any(pool.hosts.nic for pool in stations.pools)
        self.queued = spec.network.queue > 0
        self.pool: Pool = stations.pools[kind.pool]
        self.layout, self.drives = self.pool.layout, self.pool.drives
        self.nic = self.pool.hosts.nic
        self.own, self.mixed = self.places.local[kind.pool], self.places.mixed[kind.pool]
        self.read, self.write, self.commit = (
            each or NOTHING for each in (self.drives.read, self.drives.write, self.drives.commit)
        )
        self.calls_nodes = stations.nodes > 1
        reads = reads_of(spec, kind.pool, self.pool)
        self.found = tuple(Chance(missed) for missed in reads.found)
        self.absent = self.found[: len(reads.absent)]
        self.written_back = written_back_of(spec, kind.pool, self.pool, kind.op)
        # Client and host process an object's bytes at the same time, if the spec has CPU times of both.
        known = kind.op in self.client.cpu and kind.op in self.hosts.cpu
        self.streamed = not kind.inline and kind.op in ("GET", "PUT") and (known or self.limited)
