"""MinIO's requests as routes: in which order they visit the stations, and what they wait for.

As in MinIO's source at 7aac2a2c (cmd/erasure-object.go, cmd/erasure-encode.go, cmd/erasure-decode.go). An object's
node (its *coordinator*) is any of the cluster. A lock goes to all nodes of the set, and is waited for; so are the
metadata of all drives, and all writes. An object's first block is received before any of it is written, and read before
any of it is sent; the bytes of later blocks pass links, cores and drives at the same time.

Stages that take no time are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from models.minio.cluster.epochs import HEAL_SLEEP, HEAL_WAIT_S, MOST_HEAL_SLEEP_S
from models.minio.requests.accesses import Accesses, small
from models.minio.requests.parts import MESSAGE_BYTES, METADATA_BYTES, PartDemand, longest_s
from models.minio.requests.request import Branches, Stages
from models.minio.spec.release import looks_up
from models.network.route import Chance, Stage, Visit, single
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Bound, Member
from traces.workload.distributions import Empirical, Occasional

Place = int | Member | Bound

RETRY_S = 0.35
"""The longest pause after a first refusal of a lock, uniform from 0: 250 ms + 100 ms (`lockRetryBackOff`)."""

_UNHEALED = 0.5
"""Fraction of the objects that a drive does not have yet, on average over its healing."""

_LIST_VISITS = 8  # the reads of a page are simulated in as many visits to each drive


class Builder(Accesses):
    """Builds the stages of one kind of request."""

    def stages(self) -> Stages:
        """Return the stages of the kind."""
        match self.op:
            case "GET":
                return (*self._get(), *self._refill())
            case "PUT":
                return self._put()
            case "HEAD":
                found = (*self._hung_call(), *self._find(always=True))
                return (*self._request(), *self._lock(), *found, *self._respond(), *self._refill())
            case "DELETE":
                return self._delete()
        return (*self._request(), *self._hung_call(), *self._walk(), *self._respond())

    def _get(self) -> Stages:
        requested = (*self._request(), *self._lock(), *self._elsewhere(), *self._hung_read())
        if self.kind.inline:
            read = self._part(self.read, more=METADATA_BYTES, size=self.drives.read_size)
            latency = self._latency_of(self.drives.read_latency)
            found = self.kind.data_cached
            reads = self._cached(carries=True) if found else self._metadata(read, latency, carries=True)
            fetch = Stage(reads, len(reads), delivers=True)
            moved = self._from_drives(self.layout.size, "all", MESSAGE_BYTES)
            return (*requested, fetch, *moved, *self._respond())
        return (*requested, *self._find(), *self.fetched(), *self._respond())

    def fetched(self) -> Stages:
        """Return the stages in which an object that is not inline is read and sent."""
        if self.drives.direct and not self.calls_nodes and not self.kind.data_cached:
            return self._block_by_block()
        first, later = self._reads()
        fetch = Stage(first, len(first), delivers=True)
        moved = self._from_readers("first" if self.kind.large else "all", MESSAGE_BYTES)
        return (fetch, *moved, *self._stream(later))

    def _block_by_block(self) -> Stages:
        """Reads of one block after the other, each when all drives have finished the block before.

        While a block is read, the one before it goes to the client.
        """
        count, data = self.kind.accesses, self.layout.data
        read = PartDemand.of(
            self.read, data_shards=data, access_bytes=self.drives.read_size, visits=2 * count,
            per_block_accesses=0 if self.drives.read_size else 2,
        )  # fmt: skip
        latency = PartDemand.of(self.drives.read_latency, data_shards=data, visits=2 * count, per_block_accesses=2)
        one = self._accesses(read, latency if self.drives.read_latency.takes_time else NOTHING, 2)
        reads = [one(p) for p in range(data)]
        sent = [(v,) for v in self._client_links("all", up=False, visits=count)] if self.streamed else []
        sent += [(v,) for v in self._cpu_bytes("all", visits=count)] if self.streamed else []
        stages = []
        for number in range(count + 1):
            parts = (reads, 0), (sent, 1)
            branches = [b for each, behind in parts if 0 <= number - behind < count for b in each]
            if branches:
                stages.append(Stage(tuple(branches), len(branches), delivers=number == 0))
        return tuple(stages)

    def _put(self) -> Stages:
        looked = self._look_up() if looks_up(self.spec.release) else ()
        if self.kind.inline:
            commits = self._inline_writes()
            race = self._race() if looked else ()
            moved = self._to_drives("all", self._messages(4))
            stages = (
                *looked,
                *self._lock(),
                *race,
                *moved,
                *self._hung_call(),
                commits,
                *self._clean_up(),
                *self._heal(),
            )
            return (*self._request(), *stages, *self._finish())
        committed = (*self._lock(), *self._hung_call(), self._rename(), *self._clean_up(), *self._heal())
        return (*self._request(), *self._body(looked), *committed, *self._finish())

    def _body(self, looked: Stages) -> Stages:
        """The body is received, divided into shards and written, after a look-up."""
        writes = self._shard_writes()
        if self.limited:
            first, later = ("first", "later") if self.kind.large else ("all", "")
            arrived = self._parallel(self._arrival(first), self._acknowledged(up=True))
            received = (*arrived, *self._parallel(self._cpu_bytes(first)))
            received += self._to_drives(first, self._messages(5))
            streams = [*self._arrival(later), *self._cpu_bytes(later), *self._moves_to(later)] if later else []
            writing = Stage((*((visit,) for visit in streams), *writes), len(streams) + len(writes))
            return (*looked, *received, writing)
        if self.streamed:
            return (*self._stream(()), *looked, Stage(writes, len(writes)))
        return (*looked, Stage(writes, len(writes)))

    def _inline_writes(self) -> Stage:
        """The durable writes of metadata with inline data, on all drives of the set."""
        write = self._accesses(self.shard_written(METADATA_BYTES))
        branches = tuple(
            self._at(p, (*self._read_again(p), *((*write(p), self._commit(p)) * self._copies)), carries=True)
            for p in range(self.layout.size)
        )
        return Stage(branches, self.layout.size)

    def _shard_writes(self) -> Branches:
        """The durable writes of shards, each to its drive."""
        write = self._accesses(self.shard_written())
        return tuple(self._at(p, (*write(p), self._commit(p)), carries=True) for p in range(self.layout.size))

    def _rename(self) -> Stage:
        """The durable writes of metadata, after which the object is there."""
        renames = tuple(
            self._at(p, (*self._read_again(p), *((*self._metadata_write(p), self._commit(p)) * self._copies)))
            for p in range(self.layout.size)
        )
        return Stage(renames, len(renames))

    def _delete(self) -> Stages:
        """DELETE: metadata are read three times, at last by each drive before it removes the object."""
        hung, last = self._hung_call(), self._find(always=not self.spec.versioned, again=True)
        reads = (*hung, *self._find(), *hung, *self._find(again=True), *hung, *last)
        marker: Stages = ()
        if self.spec.versioned:
            size = self.layout.size
            written = tuple(self._at(p, (*self._metadata_write(p), self._commit(p))) for p in range(size))
            marker = (Stage(written, size),)
        return (*self._request(), *self._lock(), *reads, *marker, *self._finish())

    def _walk(self) -> Stages:
        """LIST: all drives of the cluster read the metadata of each entry of the page, and of 6 % more."""
        read = self.read.without_bytes
        entries = math.ceil(1.06 * self.spec.listing.entries) + 4
        count = min(entries, _LIST_VISITS)
        demand = read.scaled(entries / count)
        branches = tuple(
            (
                *self._overlapping(pool.drives.read_latency.without_bytes.scaled(entries / count)),
                Visit(int(drive), demand),
            )
            * count
            for pool in self.stations.pools
            for drive in self.stations.drive[pool.first_drive :][: pool.layout.hosts * pool.layout.drives]
        )
        if not read.takes_time:
            branches = (branches[0][-1:],)
        found = entries * MESSAGE_BYTES * self.spec.total_drives
        names = PartDemand.of(self._wire, more_bytes=found, times=0)
        moved = self._parallel([Visit(self.places.head(0, "in"), names)] if self.nic and self.calls_nodes else [])
        way = self._way_s if self.calls_nodes else 0.0
        call = (single(Visit(self.stations.latency, ServiceDemand(constant=way))),) if way else ()
        return (*call, Stage(branches, len(branches)), *moved)

    # Locks and metadata.

    def _lock(self) -> Stages:
        """A lock on all nodes of the set, or the release that a request waits for."""
        if not self.calls_nodes:
            return ()
        bare, way = self.call.without_bytes, self._way_s
        lockers = self.layout.lockers
        if not bare.takes_time and not self.queued:
            visits = [
                Visit(self.places.locker(self.kind.pool, lockers - 1, "way"), ServiceDemand(constant=way))
            ] * bool(way)
        else:
            visits = []
        branches = tuple(self._call(bare, partial(self.places.locker, self.kind.pool, n)) for n in range(lockers))
        if bare.takes_time or self.queued:
            first = 1 if self.own and not self.mixed else 0  # the coordinator locks its own part in the process
            stages: Stages = (Stage(branches[first:], lockers - first),) if lockers > first else ()
        else:
            stages = (single(*visits),) if visits else ()
        return (*stages, *self._hung_lock())

    def _hung_lock(self) -> Stages:
        """Timeouts of lock servers that are silent."""
        return tuple(self._hung(n, "lock", h.lock_s, "back") for n, h in enumerate(self.places.hangs) if h.lock_s)

    def _hung_read(self) -> Stages:
        """Timeouts of reads with data from parts that hang."""
        return tuple(self._hung(n, "read", h.read_s, "back") for n, h in enumerate(self.places.hangs))

    def _hung_call(self) -> Stages:
        """Timeouts of other calls to parts that hang."""
        return tuple(self._hung(n, "call", h.call_s, "call end") for n, h in enumerate(self.places.hangs))

    def _hung(self, number: int, part: str, timeout_s: float, end: str) -> Stage:
        place = partial(self.places.hang, self.kind.pool, number)
        return Stage(((Visit(place(part), ServiceDemand(constant=timeout_s)),), (Visit(place(end), NOTHING),)), 1)

    def _unlock(self) -> Stages:
        """The release of a lock, which no request waits for: it only loads cores."""
        if not self.calls_nodes or not self.call.without_bytes.takes_time:
            return ()
        # The branch that takes no time is done first, and the stage needs no other.
        return tuple(Stage(((self.instant,), *stage.branches), 1) for stage in self._lock()[:1])

    def _look_up(self) -> Stages:
        """The search for the object before a PUT: only one that exists has metadata to read."""
        found = self._find() if self.kind.overwrites else self._calls(self.call.without_bytes)
        return (*self._lock(), *self._elsewhere(), *self._hung_call(), *found, *self._unlock())

    def _find(self, always: bool = False, again: bool = False) -> Stages:
        """Metadata of all drives of the set; with `always` also if reads take no time, or `again` by a request."""
        demand = small(self.read)
        if self.kind.metadata_cached or (again and self.pool.hosts.page_cache.present):
            return self._calls(self.call.without_bytes)
        if not always and not demand.takes_time and not self.drives.read_latency.takes_time:
            return self._calls(self.call.without_bytes)
        reads = self._metadata(demand, latency=small(self.drives.read_latency))
        return (Stage(reads, len(reads)),)

    def _elsewhere(self) -> Stages:
        """Calls to the drives of the other pools, which do not have the object, so there is nothing to read."""
        bare = self.call.without_bytes
        branches = tuple(
            self._call(bare, partial(self.places.other, self.kind.pool, p))
            for p in range(self.places.others(self.kind.pool))
        )
        if not bare.takes_time and not self.queued:
            branches = branches[-1:]
        branches = tuple(branch for branch in branches if branch)
        return (Stage(branches, len(branches)),) if branches else ()

    def _calls(self, demand: ServiceDemand) -> Stages:
        """Calls to all drives of the set that take only the time of a call."""
        if not self.calls_nodes:
            return ()
        branches = tuple(self._at(p, ()) for p in range(self.own, self.layout.size))
        if not demand.takes_time and not self.queued:
            branches = branches[-1:]  # all take the same time
        branches = tuple(branch for branch in branches if branch)
        return (Stage(branches, len(branches)),) if branches else ()

    def _race(self) -> Stages:
        """The pause of a PUT whose lock is refused, because the release of its first one is in progress."""
        fraction = self.hosts.internode.lock_conflict_fraction
        if not fraction or not self.calls_nodes:
            return ()
        pause = Occasional(probability=fraction, of=Empirical(probabilities=(0, 1), values=(0, 1)))
        demand = ServiceDemand(constant=fraction * RETRY_S / 2, distribution=pause)
        return (single(Visit(self.stations.latency, demand)),)

    def _clean_up(self) -> Stages:
        """The removal of the temporary directory on all drives; of an overwritten object's data before."""
        once = self._calls(self.call.without_bytes)
        return once * 2 if self.kind.overwrites else once

    def _heal(self) -> Stages:
        """The attempt to heal an object that a write missed drives of, which no request waits for.

        A node makes its attempts one after the other, and pauses after each. All other drives read the object's
        metadata twice, with inline data the second time; drives that are back by then are written to. There is one
        attempt, so what was missed earlier stays missing until it is read or scanned; but an attempt waits for a part
        that hangs. The accesses are one after the other here.

        For the pause, each round of reads takes as long as the slowest of the drives, and the drives that are back are
        written to one after the other (healObject in cmd/erasure-healing.go), without queueing.
        """
        if not self.places.loses_drives:
            return ()
        pool, places = self.kind.pool, self.places
        waits = [Visit(places.hang(pool, n, "back"), NOTHING) for n in range(len(places.hangs))]
        reads, writes = ([places.heal(pool, p, part) for p in range(self.layout.size)] for part in ("reads", "writes"))
        return self._attempt(places.most_lost(pool), waits, places.head_place(pool, "healer"), reads, writes)

    def _refill(self) -> Stages:
        """The attempt to heal an object that a read finds missing on a drive that replaces another one.

        No request waits for it (getObjectFileInfo in cmd/erasure-object.go). A drive is healed object by object, so on
        average half of the objects are missing meanwhile. The write of the object is that of `Healed`, whose worker
        finds nothing to do when it comes to the object.
        """
        if not self.places.refills:
            return ()
        pool = self.kind.pool
        reads = [self.places.refill(pool, p) for p in range(self.layout.size)]
        (stage,) = self._attempt(1, (), self.places.refill(pool), reads, ())
        chance = Chance(_UNHEALED)
        branch = tuple(replace(visit, chance=chance) for visit in stage.branches[-1])
        return (replace(stage, branches=(stage.branches[0], branch)),)

    def _attempt(
        self, lost: int, waits: Sequence[Visit], healer: Place, reads: Sequence[Place], writes: Sequence[Place]
    ) -> Stages:
        """Return the stage of an attempt to heal an object, which no request waits for.

        Args:
            lost: number of drives that are written to, for the pause.
            waits: visits to what it waits for.
            healer: what makes the attempts one after the other.
            reads, writes: of the drives of the set, by position.
        """
        drives, inline, size = self.drives, self.kind.inline, self.layout.size
        metadata = small(self.read)
        whole = self._part(self.read, more=METADATA_BYTES, size=drives.read_size) if inline else metadata
        written = self.shard_written(METADATA_BYTES if inline else 0)
        rounds = (metadata, whole, *(self.call.without_bytes,) * 2)  # locked before the second one, cleaned up at last
        once_s = sum(longest_s(demand, size - lost) for demand in rounds)
        once_s += lost * (getattr(written, "visits", 1) * written.constant + self.commit.constant)
        once_s += (2 + 2 + lost) * self._way_s * self.calls_nodes
        pause_s = min(HEAL_SLEEP * once_s, MOST_HEAL_SLEEP_S)
        wait = self.places.head_place(self.kind.pool, "heal wait")
        visits = [Visit(wait, ServiceDemand(constant=HEAL_WAIT_S)), *waits]
        visits.append(Visit(healer, ServiceDemand(constant=once_s + pause_s)))
        visits += [Visit(at, demand) for demand in (metadata, whole) for at in reads]
        for at in writes:
            visits += [Visit(at, written)] * getattr(written, "visits", 1) + [Visit(at, self.commit)]
        return (Stage(((self.instant,), tuple(visits)), 1),)

    # The client's side, and the coordinator's own work.

    def _request(self) -> Stages:
        """The client's work, the way to the coordinator, and its work before it reaches for drives."""
        op, pool = self.op, self.kind.pool
        own = self._of_client()
        visits = [replace(v, demand=v.demand.without_bytes) for v in own] if self.streamed else [*own]
        visits += self._latency()
        sends = op == "PUT" and not self.streamed
        links = self._client_links("all", up=True) if sends else self._message_links(up=True)
        if not self.limited and self.spec.distribution != "proxy":
            visits, links = [*visits, *links], []
        if self.spec.distribution == "proxy":
            cpu = self.spec.proxy.cpu
            visits += [Visit(self.stations.proxy_cpu, cpu)] if cpu.takes_time else []
            visits += self._latency()
        if self.places.bound:
            if self.places.connect_s:
                visits.append(
                    Visit(self.places.head_place(pool, "connect"), ServiceDemand(constant=self.places.connect_s))
                )
            visits.append(Visit(self.places.head_place(pool, "entry"), NOTHING))
        if self.hosts.requests_max is not None:
            visits.append(Visit(self.places.head_place(pool, "slots"), NOTHING))
        demand = self._before_response()
        before = demand.scaled(1 - self.hosts.after_commit) if op in ("PUT", "DELETE") else demand
        first, *rest = self._work(before)
        work = [replace(first, ties=True), *rest]
        if self.hosts.tls.takes_time:
            tls = self.hosts.at_speed(self.hosts.tls)
            work.append(Visit(first.station, tls if op in ("GET", "PUT") else tls.without_bytes))
        if self.places.bound:
            quorum = "writes" if op in ("PUT", "DELETE") else "reads"
            work.append(Visit(self.places.head_place(pool, quorum), NOTHING))
        if not links:
            return (single(*visits, *work),)
        sent = (single(*visits),) if visits else ()
        return (*sent, *self._parallel(links, self._acknowledged(up=True) if sends else ()), single(*work))

    def _before_response(self) -> ServiceDemand:
        """Return the coordinator's work that a request waits for, without streamed bytes."""
        demand = self.hosts.cpu_demand(self.op, self.kind.inline)
        return (demand.without_bytes if self.streamed else demand).scaled(1 - self.hosts.after_response)

    def _stream(self, later: Branches) -> Stages:
        """The transfer of an object's bytes: client, links, host and further reads take place at the same time."""
        visits = [*self._cpu_bytes("all"), *self._client_links("all", up=self.op == "PUT")]
        if self.op == "GET" and self.kind.large:
            visits += self._shards_of_readers("later", 0)
        if not self.streamed or not (visits or later):
            return ()
        return self._parallel(visits, (*later, *self._acknowledged(up=self.op == "PUT")))

    def _finish(self) -> Stages:
        """The coordinator's remaining work after a commit, and the response."""
        rest = self._before_response().scaled(self.hosts.after_commit)
        return (*((single(*self._work(rest)),) if rest.takes_time else ()), *self._respond())

    def _respond(self) -> Stages:
        """The way back, and the work that follows."""
        demand = self.hosts.cpu_demand(self.op, self.kind.inline)
        later = (demand.without_bytes if self.streamed else demand).scaled(self.hosts.after_response)
        # The branch that takes no time is done first, and the stage needs no other.
        after = (Stage(((self.instant,), self._work(later)), 1),) if later.takes_time else ()
        unlock = self._unlock() if self.op != "LIST" else ()
        sends = self.op == "GET" and not self.streamed
        links = self._client_links("all", up=False) if sends else []
        if self.op != "GET":
            links = self._message_links(up=False)
        response = []
        if self.places.bound and self.stations.nodes > 1:
            response = [Visit(self.places.head_place(self.kind.pool, "response"), NOTHING)]
        ways = self._latency() * (2 if self.spec.distribution == "proxy" else 1)
        if self.limited or self.spec.distribution == "proxy":
            visits = [*response, *ways]
            acknowledged = self._acknowledged(up=False) if sends else ()
            return (*unlock, *after, *self._parallel(links, acknowledged), *((single(*visits),) if visits else ()))
        visits = [*response, *ways, *links]
        return (*unlock, *after, *((single(*visits),) if visits else ()))

    def _work(self, demand: ServiceDemand) -> tuple[Visit, ...]:
        """Work on the coordinator's cores in scheduling quanta, between which other jobs are served."""
        quanta = max(1, math.ceil(demand.constant / self.hosts.quantum)) if self.hosts.quantum else 1
        return (Visit(self.places.head(self.kind.pool, "cpu"), demand.scaled(1 / quanta)),) * quanta
