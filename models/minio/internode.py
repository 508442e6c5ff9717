"""How one of several MinIO servers reaches the drives and locks of the others.

As in MinIO's source at 7aac2a2c and in its own trace (`mc admin trace --all`). An object is locked on all servers,
which is waited for; its release is not (internal/dsync/drwmutex.go). Metadata are asked of all drives of the set, small
objects come with them, and a GET or HEAD goes on with a quorum of them (`getObjectFileInfo` in
cmd/erasure-object.go). A GET takes shards of its own drives first (`preferReaders` in cmd/erasure-decode.go). A PUT
looks the object up under a lock of its own, and removes its temporary folder everywhere before it answers. Assumed: a
DELETE looks the object up as a HEAD does, a LIST makes as many calls, and no request waits for another's lock.

An object's first shards stand for those on the drives of the server that is asked: clients choose it whatever the key.
"""

from __future__ import annotations

from models.minio.sections import NOTHING, Drives, Host
from models.network.route import Stage, Visit, single
from models.network.service_demand import ServiceDemand
from traces.workload.distributions import Empirical, Occasional

RETRY_S = 0.35
"""The longest pause after a first refusal, evenly from 0: 250 ms + 100 ms (`lockRetryBackOff` in drwmutex.go)."""


class Servers:
    """The calls between the servers as stages; none where there is one server, or where calls take no time.

    Attributes:
        lock, unlock: of the object; nobody waits for `unlock`.
        lock_anew: the lock of a small PUT, which may be refused as the release of its first one is still under way.
        look_up: the other servers are asked for the object's metadata.
        clean_up: the other servers remove what a PUT has left.
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
        """Visits to a drive of the erasure set, by a call where it is another server's.

        `shard`: the call carries the bytes of a shard.
        """
        if position < self._own:
            return visits
        return self._call(self._with_shard if shard else self._bare, *visits)

    def _calls(self, count: int, need: int) -> tuple[Stage, ...]:
        """So many calls at once that move no bytes, `need` of which are waited for."""
        call = self._call(self._bare)
        return (Stage((call,) * count, need),) if count and call else ()

    def _call(self, law: ServiceDemand, *visits: Visit) -> tuple[Visit, ...]:
        """A call that makes the visits on the other side."""
        side = (Visit(self._host_cpu, law),) if law.takes_time else ()
        way = (Visit(self._latency, ServiceDemand(constant=self._latency_s)),) if self._latency_s else ()
        return (*side, *way, *side, *visits, *way)

    def _retry(self, fraction: float) -> tuple[Stage, ...]:
        if not fraction:
            return ()
        pause = Occasional(probability=fraction, of=Empirical(probabilities=(0, 1), values=(0, 1)))
        return (single(Visit(self._latency, ServiceDemand(constant=fraction * RETRY_S / 2, distribution=pause))),)
