"""MinIO's requests as routes: in which order they visit the stations, and what they wait for.

As in MinIO's source at 7aac2a2c (cmd/erasure-object.go, cmd/erasure-encode.go, cmd/erasure-decode.go). An object's
node (its *coordinator*) is any of the cluster. A lock goes to all nodes of the set, and is waited for; so are the
metadata of all drives, and all writes. An object's first block is received before any of it is written, and read before
any of it is sent; the bytes of later blocks pass links, cores and drives at the same time.

With four processes on one host, a PUT of 4 KiB makes 21 calls, a GET 9; the read lock that a PUT releases without
waiting then refused the write lock of a third to a half of them, as measured. A GET of 1 MiB by one client took less
time than its CPU time: the cores of both sides work on later bytes at the same time, if a spec has times of both.

Stages that take no time are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from models.minio.cluster.epochs import HEAL_SLEEP, HEAL_WAIT_S, MOST_HEAL_SLEEP_S, Hang
from models.minio.cluster.file_systems import reads_of
from models.minio.requests.accesses import Accesses, small
from models.minio.requests.parts import MESSAGE_BYTES, METADATA_BYTES, STREAM_BYTES, PartDemand, longest_s
from models.minio.requests.request import Branches
from models.minio.spec.release import has_xl_meta, looks_up
from models.network.route import Chance, Route
from models.network.service_demand import NOTHING, ServiceDemand
from models.shared.steps import (
    Place,
    Stages,
    Step,
    access,
    acquire,
    changed,
    check,
    commit,
    delay,
    detached,
    fan_out,
    in_series,
    instant,
    joined,
    pipelined,
    sometimes,
    use,
    visit,
)
from traces.workload.distributions import Empirical, Occasional

RETRY_S = 0.35
"""The longest pause after a first refusal of a lock, uniform from 0: 250 ms + 100 ms (`lockRetryBackOff`)."""

_UNHEALED = 0.5
"""Fraction of the objects that a drive does not have yet, on average over its healing."""

_LIST_VISITS = 8  # the reads of a page are simulated in as many visits to each drive


class Builder(Accesses):
    """Builds the route of one kind of request."""

    def route(self) -> Route:
        """Return the route of the kind."""
        return Route(self.op, self.stages(), policy=self.policy, variant=self.kind.variant)

    def stages(self) -> Stages:
        """Return the stages of the kind."""
        match self.op:
            case "GET":
                return self._get() + self._refill()
            case "PUT":
                return self._put()
            case "HEAD":
                found = self._hung_call() + (self._missing() if self.kind.absent else self._find(always=True))
                return self._request() + self._lock() + found + self._respond() + self._refill()
            case "DELETE":
                return self._delete()
        return self._request() + self._hung_call() + self._walk() + self._respond()

    def _get(self) -> Stages:
        requested = self._request() + self._lock() + self._elsewhere() + self._hung_read()
        if self.kind.inline:
            read = self._part(self.read, more=METADATA_BYTES, size=self.drives.read_size)
            latency = self._latency_of(self.drives.read_latency)
            found = self.kind.data_cached
            reads = self._cached(carries=True) if found else self._metadata(read, latency, True, self.found)
            moved = self._from_drives(self.layout.size, "all", MESSAGE_BYTES)
            return requested + self._fetch(reads) + moved + self._respond()
        return requested + self._find() + self.fetched() + self._respond()

    def fetched(self) -> Stages:
        """Return the stages in which an object that is not inline is read and sent."""
        if self.drives.direct and not self.calls_nodes and not self.kind.data_cached:
            return self._block_by_block()
        first, later = self._reads()
        blocks = "first" if self.kind.large else "all"
        if not (self.pool.drives.direct and self.calls_nodes) or self.kind.data_cached:
            return self._fetch(first) + self._from_readers(blocks, MESSAGE_BYTES) + self._stream(later)
        # A node sends what it has read while it reads on, so only the bytes of its last read are still to be sent.
        meanwhile = pipelined(self._shards_of_readers(blocks, 0, -STREAM_BYTES))
        last = self._from_readers(blocks, MESSAGE_BYTES, STREAM_BYTES)
        return self._fetch((*first, *meanwhile)) + last + self._stream(later)

    def _fetch(self, reads: Branches) -> Stages:
        """The reads after which the first byte is sent: at once if page caches have all, and no node is called."""
        return fan_out(reads, delivers=True) or in_series(instant(self.stations.latency), delivers=True)

    def _block_by_block(self) -> Stages:
        """Reads of one block after the other, each when all drives have finished the block before.

        While a block is read, the one before it goes to the client.
        """
        count, data = self.kind.accesses, self.layout.data
        read = PartDemand.of(
            self.read, data_shards=data, access_bytes=self.drives.read_size, visits=2 * count,
            per_block_accesses=0 if self.drives.read_size else 2, more_blocks=self.kind.more_blocks,
        )  # fmt: skip
        latency = PartDemand.of(
            self.drives.read_latency, data_shards=data, visits=2 * count, per_block_accesses=2,
            more_blocks=self.kind.more_blocks,
        )  # fmt: skip
        one = self._accesses(read, latency if self.drives.read_latency.takes_time else NOTHING, 2)
        reads = tuple(one(p) for p in range(data))
        links = self._client_links("all", up=False, visits=count) if self.streamed else ()
        sent = pipelined(links + self._cpu_bytes("all", visits=count)) if self.streamed else ()
        middle = fan_out(reads + sent) * (count - 1)
        return fan_out(reads, delivers=True) + middle + fan_out(sent)

    def _put(self) -> Stages:
        looked = self._look_up() if looks_up(self.spec.release) else ()
        after = self._clean_up() + self._heal() + self._finish()
        if self.kind.inline:
            locked = self._lock() + (self._race() if looked else ())
            moved = self._to_drives("all", self._messages(4))
            begun = self._request() + self._written_back()
            return begun + looked + locked + moved + self._hung_call() + self._inline_writes() + after
        body = self._written_back() + self._body(looked)
        return self._request() + body + self._lock() + self._hung_call() + self._rename() + after

    def _body(self, looked: Stages) -> Stages:
        """The body is received, divided into shards and written, after a look-up."""
        writes = self._shard_writes()
        if self.limited:
            first, later = ("first", "later") if self.kind.large else ("all", "")
            arrived = fan_out(pipelined(self._client_links(first, up=True)) + self._acknowledged(up=True))
            received = arrived + fan_out(pipelined(self._cpu_bytes(first))) + self._to_drives(first, self._messages(5))
            streams: Step = ()
            if later:
                streams = self._client_links(later, up=True) + self._cpu_bytes(later) + self._moves_to(later)
            return looked + received + fan_out(pipelined(streams) + writes)
        return (self._stream(()) if self.streamed else ()) + looked + fan_out(writes)

    def _inline_writes(self) -> Stages:
        """The durable writes of metadata with inline data, on all drives of the set."""
        write = self._accesses(self.shard_written(METADATA_BYTES))
        return fan_out(
            self._at(p, self._read_again(p) + (write(p) + self._commit(p)) * self._copies, carries=True)
            for p in range(self.layout.size)
        )

    def _shard_writes(self) -> Branches:
        """The durable writes of shards, each to its drive."""
        write, synced = self._accesses(self.shard_written()), has_xl_meta(self.spec.release)
        return tuple(
            self._at(p, write(p) + (self._commit(p) if synced else ()), carries=True) for p in range(self.layout.size)
        )

    def _rename(self) -> Stages:
        """The durable writes of metadata, after which the object is there."""
        return fan_out(
            self._at(p, self._read_again(p) + self._metadata_write(p) * self._copies) for p in range(self.layout.size)
        )

    def _metadata_writes(self) -> Stages:
        """The durable writes of metadata on all drives of the set: of an upload, a part, or a delete marker."""
        return fan_out(self._at(p, self._metadata_write(p)) for p in range(self.layout.size))

    def _delete(self) -> Stages:
        """DELETE: metadata are read three times, at last by each drive before it removes the object."""
        hung, last = self._hung_call(), self._find(always=not self.spec.versioned, again=True)
        reads = hung + self._find() + hung + self._find(again=True) + hung + last
        marker = self._metadata_writes() if self.spec.versioned else ()
        return self._request() + self._written_back() + self._lock() + reads + marker + self._finish()

    def _walk(self) -> Stages:
        """LIST: all drives of the cluster read the metadata of each entry of the page, and of 6 % more.

        The host of a drive decodes and sends what the drive reads, and the coordinator merges the entries of all. Of a
        prefix without entries there is no folder, and nothing is read.
        """
        each, of_page = 1 + sum(reads_of(self.spec, self.kind.pool, self.pool).files), self._entries
        read = self.read.without_bytes.scaled(each if of_page else 0.0)
        entries = math.ceil(1.06 * of_page) + 4
        count = min(entries, _LIST_VISITS)
        decoded = entries if of_page else 0
        reads = [
            access(
                int(self.stations.drive[pool.first_drive + d]),
                read.scaled(entries / count),
                self._overlapping(
                    pool.drives.read_latency.without_bytes.scaled(entries / count), drive=pool.first_drive + d
                ),
                times=count,
            )
            + use(
                int(self.stations.cpu[pool.first_host + d // pool.drives.count]),
                pool.hosts.entries_demand(pool.hosts.entry_read_cpu, decoded),
            )
            for pool in self.stations.pools
            for d in range(pool.layout.hosts * pool.layout.drives)
        ]
        if not read.takes_time and not (decoded and self.hosts.entry_read_cpu):
            reads = [reads[0][-1:]]
        found = entries * MESSAGE_BYTES * self.spec.total_drives
        names = PartDemand.of(self._wire, more_bytes=found, times=0)
        merged = self.hosts.entries_demand(self.hosts.entry_cpu, of_page)
        answered = in_series(use(self.places.head(self.kind.pool, "cpu"), merged)) if merged.takes_time else ()
        if not self.calls_nodes:
            return fan_out(reads) + answered
        called = in_series(delay(self.stations.latency, self._way_s))
        return called + fan_out(reads) + in_series(use(self.places.head(0, "in"), names)) + answered

    @property
    def _entries(self) -> int:
        """Entries of a page of a listing."""
        return 0 if self.kind.absent else self.spec.listing.entries

    # Locks and metadata.

    def _lock(self) -> Stages:
        """A lock on all nodes of the set, or the release that a request waits for."""
        if not self.calls_nodes:
            return ()
        bare, lockers, pool = self.call.without_bytes, self.layout.lockers, self.kind.pool
        if bare.takes_time or self.queued:
            first = 1 if self.own and not self.mixed else 0  # the coordinator locks its own part in the process
            locked = fan_out(self._call(bare, partial(self.places.locker, pool, n)) for n in range(first, lockers))
        else:  # all take the same time
            locked = in_series(delay(self.places.locker(pool, lockers - 1, "way"), self._way_s))
        return locked + self._hung_lock()

    def _hung_lock(self) -> Stages:
        """Timeouts of lock servers that are silent."""
        return self._hung(lambda hang: hang.lock_s, "lock", "back")

    def _hung_read(self) -> Stages:
        """Timeouts of reads with data from parts that hang."""
        return self._hung(lambda hang: hang.read_s, "read", "back")

    def _hung_call(self) -> Stages:
        """Timeouts of other calls to parts that hang."""
        return self._hung(lambda hang: hang.call_s, "call", "call end")

    def _hung(self, timeout_s: Callable[[Hang], float], part: str, end: str) -> Stages:
        """The wait for each part that hangs, until the timeout or until it is back."""
        stages: Stages = ()
        for number, hang in enumerate(self.places.hangs):
            at = partial(self.places.hang, self.kind.pool, number)
            if timeout_s(hang):
                stages += fan_out([delay(at(part), timeout_s(hang)), check(at(end))], wait_for=1)
        return stages

    def _unlock(self) -> Stages:
        """The release of a lock, which no request waits for: it only loads cores."""
        if not self.calls_nodes or not self.call.without_bytes.takes_time:
            return ()
        return detached(self.stations.latency, (branch for stage in self._lock()[:1] for branch in stage.branches))

    def _look_up(self) -> Stages:
        """The search for the object before a PUT: only one that exists has metadata to read."""
        found = self._find() if self.kind.overwrites else self._missing()
        return self._lock() + self._elsewhere() + self._hung_call() + found + self._unlock()

    def _find(self, always: bool = False, again: bool = False) -> Stages:
        """Metadata of all drives of the set; with `always` also if reads take no time, or `again` by a request."""
        demand, latency = small(self.read), small(self.drives.read_latency)
        cached = self.kind.metadata_cached or (again and self.pool.hosts.page_cache.present)
        takes_time = demand.takes_time or self.drives.read_latency.takes_time
        if cached or not (always or takes_time):
            return self._calls(self.call.without_bytes)
        return fan_out(self._metadata(demand, latency, found=() if again else self.found))

    def _missing(self) -> Stages:
        """Look-ups of an object that is not there, on all drives of the set."""
        if not self._looked_up(0, self.absent):
            return self._calls(self.call.without_bytes)
        return fan_out(self._at(p, self._looked_up(p, self.absent)) for p in range(self.layout.size))

    def _elsewhere(self) -> Stages:
        """Calls to the drives of the other pools, which do not have the object, so there is nothing to read."""
        bare, pool = self.call.without_bytes, self.kind.pool
        others = range(self.places.others(pool))
        return self._alike([self._call(bare, partial(self.places.other, pool, p)) for p in others], bare)

    def _calls(self, demand: ServiceDemand) -> Stages:
        """Calls to all drives of the set that take only the time of a call."""
        if not self.calls_nodes:
            return ()
        return self._alike([self._at(p, ()) for p in range(self.own, self.layout.size)], demand)

    def _alike(self, calls: Sequence[Step], demand: ServiceDemand) -> Stages:
        """Calls of which one stands for all if they take the same time."""
        return fan_out(calls if demand.takes_time or self.queued else calls[-1:])

    def _race(self) -> Stages:
        """The pause of a PUT whose lock is refused, because the release of its first one is in progress."""
        fraction = self.hosts.internode.lock_conflict_fraction
        if not fraction or not self.calls_nodes:
            return ()
        pause = Occasional(probability=fraction, of=Empirical(probabilities=(0, 1), values=(0, 1)))
        return in_series(use(self.stations.latency, ServiceDemand(constant=fraction * RETRY_S / 2, distribution=pause)))

    def _clean_up(self) -> Stages:
        """The removal of the temporary directory on all drives; of an overwritten object's data before."""
        return self._calls(self.call.without_bytes) * (2 if self.kind.overwrites else 1)

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
        back = joined(check(places.hang(pool, n, "back")) for n in range(len(places.hangs)))
        reads, writes = ([places.heal(pool, p, part) for p in range(self.layout.size)] for part in ("reads", "writes"))
        healer = places.head_place(pool, "healer")
        return detached(self.stations.latency, [self._attempt(places.most_lost(pool), back, healer, reads, writes)])

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
        attempt = self._attempt(1, (), self.places.refill(pool), reads, ())
        return detached(self.stations.latency, sometimes([attempt], Chance(_UNHEALED)))

    def _attempt(self, lost: int, back: Step, healer: Place, reads: Sequence[Place], writes: Sequence[Place]) -> Step:
        """Return an attempt to heal an object.

        Args:
            lost: number of drives that are written to, for the pause.
            back: what it waits for.
            healer: what makes the attempts one after the other.
            reads, writes: of the drives of the set, by position.
        """
        drives, inline, size = self.drives, self.kind.inline, self.layout.size
        metadata = small(self.read)
        whole = self._part(self.read, more=METADATA_BYTES, size=drives.read_size) if inline else metadata
        written = self.shard_written(METADATA_BYTES if inline else 0)
        count = getattr(written, "visits", 1)
        rounds = (metadata, whole, *(self.call.without_bytes,) * 2)  # locked before the second one, cleaned up at last
        once_s = sum(longest_s(demand, size - lost) for demand in rounds)
        once_s += lost * (count * written.constant + self.commit.constant)
        once_s += (2 + 2 + lost) * self._way_s * self.calls_nodes
        pause_s = min(HEAL_SLEEP * once_s, MOST_HEAL_SLEEP_S)
        begun = delay(self.places.head_place(self.kind.pool, "heal wait"), HEAL_WAIT_S) + back
        begun += visit(healer, ServiceDemand(constant=once_s + pause_s))
        read = joined(access(at, demand) for demand in (metadata, whole) for at in reads)
        return begun + read + joined(access(at, written, times=count) + commit(at, self.commit) for at in writes)

    # The client's side, and the coordinator's own work.

    def _request(self) -> Stages:
        """The client's work, the way to the coordinator, and its work before it reaches for drives."""
        op, own, is_proxied = self.op, self._of_client(), self.spec.balance == "proxy"
        begun = (changed(own, lambda demand: demand.without_bytes) if self.streamed else own) + self._way
        sends = op == "PUT" and not self.streamed
        links = self._client_links("all", up=True) if sends else self._message_links(up=True)
        if not self.limited and not is_proxied:
            begun, links = begun + links, ()
        if is_proxied:
            begun += use(self.stations.proxy_cpu, self.spec.proxy.cpu_demand) + self._way
        begun += self._accepted()
        demand = self._before_response()
        work = self._work(demand.scaled(1 - self.hosts.after_commit) if op in ("PUT", "DELETE") else demand, ties=True)
        tls = self.hosts.at_speed(self.hosts.tls)
        work += use(self.places.head(self.kind.pool, "cpu"), tls if self._has_body else tls.without_bytes)
        if self.places.bound:
            work += check(self.places.head_place(self.kind.pool, "writes" if op in ("PUT", "DELETE") else "reads"))
        if not links:
            return in_series(begun, work)
        sent = fan_out(pipelined(links) + (self._acknowledged(up=True) if sends else ()))
        return in_series(begun) + sent + in_series(work)

    @property
    def _has_body(self) -> bool:
        """Whether the request or its response has the bytes of the object."""
        return self.op in ("GET", "PUT")

    def _accepted(self) -> Step:
        """The coordinator accepts a request, or refuses it, and keeps one of its slots until the response."""
        at = partial(self.places.head_place, self.kind.pool)
        connected = delay(at("connect"), self.places.connect_s) + check(at("entry")) if self.places.bound else ()
        return connected + (acquire(at("slots")) if self.hosts.max_requests is not None else ())

    def _before_response(self) -> ServiceDemand:
        """Return the coordinator's work that a request waits for, without streamed bytes."""
        demand = self.hosts.cpu_demand(self.op, self.kind.inline, self.kind.absent)
        return (demand.without_bytes if self.streamed else demand).scaled(1 - self.hosts.after_response)

    def _stream(self, later: Branches) -> Stages:
        """The transfer of an object's bytes: client, links, host and further reads take place at the same time."""
        moved = self._cpu_bytes("all") + self._client_links("all", up=self.op == "PUT")
        if self.op == "GET" and self.kind.large:
            moved += self._shards_of_readers("later", 0)
        if not self.streamed or not (moved or later):
            return ()
        return fan_out(pipelined(moved) + later + self._acknowledged(up=self.op == "PUT"))

    def _finish(self) -> Stages:
        """The coordinator's remaining work after a commit, and the response."""
        rest = self._before_response().scaled(self.hosts.after_commit)
        return (in_series(self._work(rest)) if rest.takes_time else ()) + self._respond()

    def _respond(self) -> Stages:
        """The way back, and the work that follows."""
        demand = self.hosts.cpu_demand(self.op, self.kind.inline, self.kind.absent)
        is_proxied = self.spec.balance == "proxy"
        later = (demand.without_bytes if self.streamed else demand).scaled(self.hosts.after_response)
        after = detached(self.stations.latency, [self._work(later)] if later.takes_time else [])
        unlocked = self._unlock() if self.op != "LIST" else ()
        sends = self.op == "GET" and not self.streamed
        links = self._client_links("all", up=False) if sends else ()
        if self.op != "GET":
            links = self._message_links(up=False)
        response: Step = ()
        if self.places.bound and self.stations.nodes > 1:
            response = check(self.places.head_place(self.kind.pool, "response"))
        ways = response + self._way * (2 if is_proxied else 1)
        if self.limited or is_proxied:
            sent = fan_out(pipelined(links) + (self._acknowledged(up=False) if sends else ()))
            return unlocked + after + sent + in_series(ways)
        return unlocked + after + in_series(ways, links)

    def _work(self, demand: ServiceDemand, ties: bool = False) -> Step:
        """Work on the coordinator's cores in scheduling quanta, between which other jobs are served."""
        quanta = max(1, math.ceil(demand.constant / self.hosts.quantum)) if self.hosts.quantum else 1
        cpu, each = self.places.head(self.kind.pool, "cpu"), demand.scaled(1 / quanta)
        return visit(cpu, each, ties=ties) + visit(cpu, each) * (quanta - 1)
