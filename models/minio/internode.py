"""How one of several MinIO servers reaches the drives and locks of the others.

As in MinIO's source at 7aac2a2c and in its own trace (`mc admin trace --all`). A request waits until its object is
locked on all servers, but not for the release (internal/dsync/drwmutex.go). Metadata are read from all drives of the
set and include small objects; a GET or HEAD continues with a quorum of them (`getObjectFileInfo` in
cmd/erasure-object.go). A GET prefers shards on the server's own drives (`preferReaders` in cmd/erasure-decode.go). A
PUT looks up the object under a separate lock, and removes its temporary folder everywhere before it responds. Assumed:
a DELETE looks up the object as a HEAD does, a LIST makes as many calls, and no request waits for another's lock.

An object's first shards represent those on the drives of the receiving server, because clients choose a server
independently of the key.
"""

from __future__ import annotations

from models.minio.sections import NOTHING, Drives, Host
from models.network.route import Stage, Visit, single
from models.network.service_demand import ServiceDemand
from traces.workload.distributions import Empirical, Occasional

RETRY_S = 0.35
"""The longest pause after a first refusal, uniform from 0: 250 ms + 100 ms (`lockRetryBackOff` in drwmutex.go)."""


class Servers:
    """The calls between the servers as stages; empty with one server, or if calls take no time.

    Attributes:
        lock, unlock: lock and release of the object; no request waits for `unlock`.
        lock_anew: lock of a small PUT, which may be refused while the release of its first one is in progress.
        look_up: reads of the object's metadata from the other servers.
        clean_up: removal of a PUT's temporary folder on the other servers.
    """

    def __init__(self, host: Host, drives: Drives, host_cpu: int, latency: int):
        self._own = drives.set_size // host.servers
        self._host_cpu, self._latency = host_cpu, latency
        self._latency_s = host.internode.latency
        self._with_shard = host.internode.call.per_shard(drives.set_size - drives.parity_shards)
        self._bare = host.internode.call.without_bytes
        servers, shards = host.servers - 1, drives.set_size - self._own
        self.lock = self._calls(servers, servers)
        # The branch that takes no time is done first, and the stage needs no other.
        self.unlock = tuple(Stage(((Visit(latency, NOTHING),), *stage.branches), 1) for stage in self.lock)
        self.look_up = self._calls(shards, drives.metadata_quorum - self._own)
        self.clean_up = self._calls(shards, shards)
        self.lock_anew = (*self.lock, *self._retry(host.internode.lock_conflict_fraction)) if self.lock else ()

    def at(self, position: int, *visits: Visit, shard: bool = True) -> tuple[Visit, ...]:
        """Return visits to a drive of the erasure set, by a call if it is another server's.

        With `shard`, the call carries the bytes of a shard.
        """
        if position < self._own:
            return visits
        return self._call(self._with_shard if shard else self._bare, *visits)

    def _calls(self, count: int, need: int) -> tuple[Stage, ...]:
        """Return a stage of `count` parallel calls that move no bytes; the request waits for `need` of them."""
        call = self._call(self._bare)
        return (Stage((call,) * count, need),) if count and call else ()

    def _call(self, demand: ServiceDemand, *visits: Visit) -> tuple[Visit, ...]:
        """Return a call that makes the visits on the other side."""
        side = (Visit(self._host_cpu, demand),) if demand.takes_time else ()
        way = (Visit(self._latency, ServiceDemand(constant=self._latency_s)),) if self._latency_s else ()
        return (*side, *way, *side, *visits, *way)

    def _retry(self, fraction: float) -> tuple[Stage, ...]:
        if not fraction:
            return ()
        pause = Occasional(probability=fraction, of=Empirical(probabilities=(0, 1), values=(0, 1)))
        return (single(Visit(self._latency, ServiceDemand(constant=fraction * RETRY_S / 2, distribution=pause))),)
