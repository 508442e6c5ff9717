"""The stations of a Ceph cluster, and the placement tables that map objects to them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.ceph.cluster.data_pool import DataPool
from models.ceph.cluster.equipment import Equipment
from models.ceph.cluster.placement_rows import PlacementRows, Pool
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.faults.fault_timeline import fault_timeline, gateway_outages
from models.ceph.faults.osd_map import Epoch
from models.ceph.faults.peering_gates import PeeringGates
from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.mechanisms.osd_threads import Workers, usable_cores
from models.ceph.mechanisms.releases import default
from models.ceph.spec.access import Mysql
from models.ceph.spec.sections import IndexDrives
from models.ceph.spec.spec import CephSpec
from models.network.discipline import Discipline
from models.network.scenario import Action
from models.network.station import NOWHERE, UNBOUNDED, Bound, Choice, Group, Indices, Member, Station, station_of
from models.shared.clients import ClientStations, HostStations
from models.shared.faults import speeds
from models.shared.links import link
from models.shared.placement_table import PlacementTable, epoch_changes, epoch_names
from models.shared.proxies import ProxyStations
from models.shared.steps import Step, check

_CHOICES = {
    "round_robin": Choice.ROUND_ROBIN,
    "random": Choice.RANDOM,
    "least_outstanding": Choice.LEAST_OUTSTANDING,
    "power_of_two": Choice.POWER_OF_TWO,
}
_COMMIT_ACCESSES = 4
"""Accesses of a commit, between which a drive serves others: the log of RocksDB, a sync, that of BlueFS, a sync.

A batch that has data which are not deferred syncs these first (force_flush in BlueStore::_kv_sync_thread). A sync takes
a third of the device's `flush`, which is the time of all accesses after the first.
"""
DATA, INDEX = 0, 1
"""The placement tables of RADOS objects and of the bucket index; those of other data pools follow."""
DATA_POOLS: tuple[Pool, ...] = ("data", "second")
_GATEWAY_PARTS = ("cpu", "up", "down", "slots", "reads", "dma")

Table = NDArray[np.int32]


@dataclass(frozen=True)
class Osd:
    """The places of an OSD's parts: columns of a placement table, whose names begin with its role.

    If hosts differ, those `of` a group are where the OSD is on a host of it, and elsewhere a gate that is always open.
    """

    role: Indices
    table: PlacementTable
    is_of_data: bool = True

    def __getattr__(self, part: str) -> Member | Bound:
        return self.table.at(*self.role, part)

    def of(self, group: str) -> Osd:
        """Return the places of an OSD on the hosts of a group."""
        return replace(self, role=(*self.role, group))


def _osd_parts(spec: CephSpec, groups: Sequence[CephSpec], has_locks: bool) -> tuple[str, ...]:
    """Return the names of an OSD's stations, in the order of their columns; those of its host are shared."""
    parts = ["cpu", "up", "down", "drive", "latency", "kv", "throttle", "threads"]
    if any(group.db for group in groups):
        parts.append("db")
    if any(group.hosts.cluster_nic for group in groups):
        parts += ["cluster_up", "cluster_down"]
    if spec.hosts.dma_bandwidth:
        parts.append("dma")
    if spec.osds_share_cores:
        parts.append("cores")
    if has_locks:
        parts.append("lock")
    return tuple(parts)


class Stations:
    """Numbers the stations of a spec and builds the placement tables.

    A row is the place of an object: in the table of RADOS objects the OSDs of its placement group and, if there are
    gateways, in the table of the index the token of its bucket index shard and the OSDs of that. Rows are spread evenly
    over placement groups and shards. If faults change the OSD map, a request is bound to the present epoch at its first
    visit to a table.

    Attributes:
        all: the stations.
        clients: those of the client machines.
        batches: the gate at which deferred writes wait for their batch; None: they do not. It is the same for all
            OSDs: the replicas of an object are deferred together, so their intervals begin together.
        placements, groups, scenario: those of the network.
    """

    def __init__(self, spec: CephSpec, costs: CostFunctions):
        self.spec = spec
        equipment, _ = self.costs_of(spec, costs)
        self._equipment = equipment
        self.all: list[Station] = []
        hosts, gateways, parts = spec.hosts, spec.gateways, tuple(spec.host_groups.values())
        self.layout = spec.layout
        self.latency = self._add("network latency", "network latency", Discipline.INFINITE_SERVER)
        if not spec.client.on_storage_hosts:
            self._add_clients()
        self._workers = [part.workers for part in parts]
        self.host_cpus: list[int] = []
        has_locks = any(own.has_pg_locks(part) for own, part in zip(equipment, parts, strict=True))
        self._names = _osd_parts(spec, parts, has_locks)
        self._parts = len(self._names)
        self.has_pg_locks = "lock" in self._names
        self._osds = np.empty((self.layout.all_osds, self._parts), np.int32)
        # Work of a gateway takes longer than the quantum of a scheduler, unlike that of an OSD.
        order = Discipline.PROCESSOR_SHARING if spec.shares_cores or hosts.cores.shared else Discipline.SIRO
        machine: dict[str, int] = {}  # the cores of one machine, if the hosts share them
        for h, group in enumerate(self.layout.group_of_host.tolist()):
            part, own = parts[group], equipment[group]
            cores = part.hosts.cores.effective(part.hosts.cores.count - spec.gateway_cores_on_host)
            osds = self.layout.all_osds if hosts.cores.shared else part.osds_per_host + part.index_osds_per_host
            usable = usable_cores(cores, osds, spec.osd.contention)
            count = cores if spec.osds_share_cores else usable
            host = self.layout.named(f"host {h}", h)
            named = "host" if hosts.cores.shared else host
            own_cores = machine or {"cpu": self._add(f"{named} cpu", "osd host cpu", order, count, (h,))}
            self.host_cpus.append(own_cores["cpu"])
            of_host = self._host_links(h, part)
            if spec.osds_share_cores and not machine:  # others use what the OSDs cannot
                own_cores["cores"] = self._add(f"{named} osd cores", "osd cores", Discipline.POOL, usable, (h,))
            if hosts.cores.shared:
                machine = own_cores
            of_host |= {**own_cores, "latency": self.latency, "lock": self.latency}
            for number, osd in enumerate(self.layout.osds_on(h)):
                if part.db and number % part.db.osds_per_device == 0:
                    db, depth = number // part.db.osds_per_device, part.db.device.queue_depth
                    of_host["db"] = self._add(f"{host} db {db}", "db device", Discipline.FIFO, depth, (h, db))
                if number % part.hosts.osds_per_drive == 0:
                    name = f"{self.layout.named(f'osd {osd}', h)} drive"
                    of_host["drive"] = self._add(name, "drive", Discipline.FIFO, own.depth, (h, number))
                in_turns = own.commits_on_drive(part)
                flush_s = part.device.flush / (_COMMIT_ACCESSES - 1) if in_turns else 0.0
                mine = of_host | self._osd(osd, (h, number), in_turns, group, own, flush_s)
                mine.setdefault("db", mine["drive"])
                self._osds[osd] = [mine[name] for name in self._names]
            if part.index:
                self._add_index_osds(h, part.index, of_host, group, own)
        if spec.client.on_storage_hosts:
            names = [name for name in ("cpu", "up", "down", "dma") if name in self._names]
            columns = self._of_hosts[:, [self._names.index(name) for name in names]]
            self._add_clients([HostStations(**dict(zip(names, row, strict=True))) for row in columns.tolist()])
        self.groups: tuple[Group, ...] = ()
        self._processes: list[int] = []
        if spec.shares_cores and spec.faults:
            self._processes = [
                self._add(f"rgw {g} process", "rgw process", Discipline.INFINITE_SERVER, indices=(g,))
                for g in range(gateways.count)
            ]
        if spec.access.via_gateways:
            members = [self._gateway(g) for g in range(gateways.count)]
            self.groups = (Group(_CHOICES[gateways.balance], np.array(members, np.int32), role="gateways"),)
        self.groups += self.clients.groups
        if isinstance(spec.access, Mysql) and spec.access.log_writers:
            turns = spec.workload.total_buckets * spec.access.log_writers
            self.logs = self._add("database logs", "database log", Discipline.POOL, turns)
        self.timeline = fault_timeline(spec, costs)
        least = max(1024, *(pools.pg_num for pools in spec.pools.each))
        of_pools = [PlacementRows(each, self.timeline.reshards, least) for each in spec.data_pools]
        self.rows = of_pools[0]
        self._gates: PeeringGates | None = None
        self._shards = self._add_shards()
        self._pools = [self._with_locks(name, rows) for name, rows in zip(DATA_POOLS, of_pools, strict=False)]
        self._pool = self._pools[0]
        self.scenario: list[Action] = []
        self.batches: int | None = None
        if spec.bluestore.defer_interval and spec.osd.backend == "bluestore":
            self.batches = self._add(
                "deferred batches", "gate", Discipline.GATE, 1, ("deferred",), period_s=spec.bluestore.defer_interval
            )
        self._slow_down()
        self._add_faults()
        self.proxy: ProxyStations | None = None
        if spec.access.via_gateways and spec.proxy is not None:
            machines = spec.gateway_hosts if spec.has_ingress else 1
            proxy = spec.proxy.model_copy(update={"nic": 0.0}) if spec.has_ingress else spec.proxy
            self.proxy = ProxyStations.added(proxy, self._take, spec.network, machines)

    @staticmethod
    def costs_of(spec: CephSpec, costs: CostFunctions) -> tuple[tuple[Equipment, ...], tuple[object, ...]]:
        """Return what stations depend on besides their spec; the time that faults take depends on all costs."""
        of_faults = (costs.object_bytes, costs.load) if spec.faults else ()
        return tuple(Equipment.of(each) for each in costs.of_groups), of_faults

    @property
    def _of_hosts(self) -> Table:
        """The stations of the first OSD with data of each host, shape (hosts, parts)."""
        return self._osds[self.layout.first_osd[:-1]]

    def _add_clients(self, hosts: Sequence[HostStations] = ()) -> None:
        """Add the client machines, whose group follows that of the gateways."""
        spec = self.spec
        group = 1 if spec.access.via_gateways else 0
        self.clients = ClientStations(
            spec.client, self._take, hosts=hosts, group=group, latency=self.latency,
            connections=spec.network.connections(spec.client.nic), network=spec.network,
        )  # fmt: skip

    def _with_locks(self, name: Pool, rows: PlacementRows) -> DataPool:
        """Add the locks of a data pool's placement groups, if there are any, and return the pool."""
        pool = DataPool(name, rows.spec, rows, len(self.all))
        if self.has_pg_locks:
            which = () if name == "data" else (name,)
            for number in range(rows.spec.pools.pg_num * pool.width):
                named = " ".join((*which, f"pg lock {number}"))
                self._add(named, "pg lock", Discipline.POOL, indices=(*which, *divmod(number, pool.width)))
        return pool

    def of_pool(self, number: int) -> Stations:
        """Return the same stations, for routes to this data pool."""
        of_pool = copy(self)
        of_pool._pool = self._pools[number]
        return of_pool

    def osd(self, member: int) -> Osd:
        """Return the OSD with chunk or replica `member` of the RADOS object; member 0 is the primary."""
        return Osd(("osd", DATA, member), self._pool.table)

    @property
    def shard(self) -> Member | Bound:
        """The token of an object's bucket index shard."""
        return self._index.at("shard")

    def index_osd(self, member: int) -> Osd:
        """Return an OSD of an object's bucket index shard; member 0 is the primary."""
        return Osd(("index osd", member), self._index, is_of_data=False)

    def decoders(self) -> list[Member | Bound]:
        """Return where a read decodes, one place per missing chunk; a gate that is always open for other rows."""
        return [self._pool.table.at("decoder", DATA, missing) for missing in range(self._pool.decodes)]

    def gates(self, pool: Literal["data", "index"], writes: bool) -> Step:
        """Return the gates before operations on a placement group; none if no fault shuts gates."""
        return self._gates.passages(self._pool.name if pool == "data" else pool, writes) if self._gates else ()

    @staticmethod
    def gateway(part: str) -> Bound:
        """Return a part of the gateway that a request is bound to."""
        return Bound(0, _GATEWAY_PARTS.index(part))

    def alive(self) -> Step:
        """Return a check of the gateway's process, which refuses requests if the gateway has failed.

        Gateways with cores of their own fail with these.
        """
        if not self._processes:
            return ()
        return check(Bound(0, self.groups[0].members.shape[1] - 1))

    def _add(
        self, name: str, role: str, discipline: Discipline, servers: int = 1, indices: Indices = (), **more: float
    ) -> int:
        return self._take(station_of(name, role, discipline, servers, indices, **more))

    def _nic(self, name: str, machine: tuple[str, int], nic_bytes_per_s: float, network: str = "") -> tuple[int, int]:
        """Add a NIC; its rate takes as many connections as it has servers, each of which has a largest rate."""
        section = self.spec.network
        servers = section.connections(nic_bytes_per_s)
        up, down = (
            self._take(link(
                f"{name} {way}", "network", (*machine, network, way), nic_bytes_per_s, section.queue, servers
            ))
            for way in ("up", "down")
        )  # fmt: skip
        return up, down

    def _host_links(self, h: int, part: CephSpec) -> dict[str, int]:
        """Add the NICs of a host, and what limits its DMA; return their stations by name.

        `part`: the spec with the hosts of its group.
        """
        host = self.layout.named(f"host {h}", h)
        up, down = self._nic(host, ("host", h), part.hosts.nic)
        found = {"up": up, "down": down, "cluster_up": up, "cluster_down": down}
        if part.hosts.cluster_nic:
            links = self._nic(f"{host} cluster", ("host", h), part.hosts.cluster_nic, "cluster")
            found["cluster_up"], found["cluster_down"] = links
        if part.hosts.dma_bandwidth:
            found["dma"] = self._add(f"{host} dma", "host dma", Discipline.PROCESSOR_SHARING, indices=(h,))
        return found

    def _add_index_osds(self, h: int, index: IndexDrives, of_host: dict[str, int], group: int, own: Equipment) -> None:
        """Add the OSDs of a host that have only bucket indexes, after all those with data."""
        device = index.device
        in_turns = device.has_one_access and self.spec.osd.backend == "bluestore"
        for number, osd in enumerate(self.layout.index_osds_on(h)):
            name = f"{self.layout.named(f'osd {osd}', h)} drive"
            drive = self._add(name, "index drive", Discipline.FIFO, device.queue_depth, (h, number))
            indices = (h, number, "index")
            mine = of_host | {"drive": drive, "db": drive} | self._osd(osd, indices, in_turns, group, own)
            self._osds[osd] = [mine[name] for name in self._names]

    def _osd(
        self, osd: int, indices: Indices, commits_on_drive: bool, group: int, own: Equipment, flush_s: float = 0.0
    ) -> dict[str, int]:
        """Add the stations of an OSD alone, but for its drive; return them by name.

        `flush_s`: of its data; OSDs of the index have none.
        """
        name = self.layout.named(f"osd {osd}", int(indices[0]))
        return {
            "kv": self._add(
                f"{name} kv", "kv sync", Discipline.GROUP_COMMIT, 1, indices, batch_item_s=own.member_s,
                shares_server=commits_on_drive, parts=_COMMIT_ACCESSES if commits_on_drive else 1, flush_s=flush_s,
            ),
            "throttle": self._add(f"{name} deferred", "deferred writes", Discipline.POOL, own.deferred, indices),
            "threads": self._add_shards_of(name, indices, self._workers[group]),
        }  # fmt: skip

    def _add_shards_of(self, osd: str, indices: Indices, workers: Workers) -> int:
        """Add the worker threads of each shard of an OSD; return the first shard's station, which others follow."""
        first = len(self.all)
        for shard in range(workers.shards):
            name = f"{osd} shard {shard} threads"
            self._add(name, "osd threads", Discipline.POOL, workers.threads_per_shard, (*indices, shard))
        return first

    def _in_shards(self, members: Table, groups: NDArray[np.int64]) -> Table:
        """Return the stations of OSDs with the threads of the shards that have these placement groups.

        Args:
            members: the OSDs of each row, `NO_OSD` where one is down, shape (rows, members).
            groups: numbers of the placement groups, shape (rows,).

        Returns:
            shape (rows, members, parts).
        """
        found, lost = self._osds[members], members == NO_OSD
        shards = np.array([workers.shards for workers in self._workers])
        shard = groups[:, None] % shards[self.layout.group_of_osd[members]]
        found[..., self._names.index("threads")] += np.where(lost, 0, shard).astype(np.int32)
        return found

    def _gateway(self, g: int) -> tuple[int, ...]:
        gateways = self.spec.gateways
        if self.spec.shares_cores:
            cpu = self.host_cpus[g % len(self.host_cpus)]
        else:
            cores = self.spec.gateway_cores.effective(min(gateways.cores.count, gateways.scales_to))
            cpu = self._add(f"rgw {g} cpu", "rgw cpu", Discipline.SIRO, cores, (g,))
        parts = [name for name in ("up", "down", "dma") if name in self._names]
        if self.spec.collocated:
            of_host = self._of_hosts[g % self.spec.host_count]
            up, down, *dma = (int(of_host[self._names.index(name)]) for name in parts)
        else:
            up, down, *dma = self._nic(f"rgw {g}", ("rgw", g), gateways.nic)
        threads = gateways.threads or int(default("rgw_thread_pool_size", self.spec.release))
        slots = threads if gateways.frontend == "civetweb" else gateways.max_requests
        limit = UNBOUNDED if gateways.queue is None else gateways.queue
        slot = self._add(f"rgw {g} slots", "rgw slots", Discipline.POOL, slots, (g,), queue_limit=limit)
        read = self._add(f"rgw {g} reads", "rgw reads", Discipline.POOL, gateways.reads_in_flight, (g,))
        process = self._processes[g : g + 1]
        return cpu, up, down, slot, read, *dma, *process

    def _add_shards(self) -> int:
        """Add the tokens of the initial index shards, then those of each reshard; return the index of the first."""
        first = len(self.all)
        if self.spec.access.via_gateways:
            for shard in range(self.rows.shards):
                self._add(f"index shard {shard}", "index shard", Discipline.POOL, indices=(shard,))
            for number in range(len(self.timeline.reshards)):
                for shard in range(self.rows.new_shards(number)):
                    name = f"index shard {shard} after reshard {number}"
                    self._add(name, "index shard", Discipline.POOL, indices=(shard, number))
        return first

    def _data_columns(self, pool: DataPool) -> list[Indices]:
        osds = [name for member in range(pool.width) for name in self._columns_of("osd", DATA, member)]
        return [*osds, *(("decoder", DATA, missing) for missing in range(pool.decodes))]

    def _data_block(self, pool: DataPool, epoch: Epoch) -> Table:
        """Return the OSDs of each row's placement group in an epoch, and where a read decodes."""
        rows = pool.rows
        members = rows.objects(epoch)
        found = self._in_shards(members, rows.groups)
        if self.has_pg_locks:
            locks = pool.first_lock + rows.groups[:, None] * pool.width + np.arange(pool.width)
            lock = self._names.index("lock")
            found[..., lock] = np.where(members == NO_OSD, found[..., lock], locks)
        parts = self._by_group(found, members).reshape(rows.count, -1)
        if pool.decodes:
            missing = rows.missing(epoch)[:, None] > np.arange(pool.decodes)
            parts = np.hstack([parts, np.where(missing, parts[:, :1], self._nowhere)])
        return parts.astype(np.int32)

    def _index_block(self, epoch: Epoch) -> Table:
        """Return the token of each row's index shard in an epoch, and its OSDs."""
        shards, members = self.rows.tokens(epoch), self.rows.index(epoch)
        found = self._by_group(self._in_shards(members, shards), members)
        tokens = (self._shards + shards)[:, None]
        return np.hstack([tokens, found.reshape(self.rows.count, -1)]).astype(np.int32)

    def _by_group(self, found: Table, members: Table) -> Table:
        """Return the stations of OSDs, and after them those of each group, with a gate where an OSD is of another one.

        Args:
            found: the stations, shape (rows, members, parts).
            members: the OSDs, shape (rows, members).

        Returns:
            shape (rows, members, (1 + groups) x parts); (rows, members, parts) if hosts are equal.
        """
        if not self.spec.hosts.groups:
            return found
        group = np.where(members == NO_OSD, -1, self.layout.group_of_osd[members])[..., None]
        of_each = [np.where(group == number, found, self._nowhere) for number in range(len(self.layout.groups))]
        return np.concatenate([found, *of_each], axis=-1)

    def _columns_of(self, *osd: int | str) -> list[Indices]:
        """Return the names of the columns of an OSD, in the order of `_by_group`."""
        groups = self.layout.groups if self.spec.hosts.groups else ()
        return [(*osd, *of, part) for of in ((), *((group,) for group in groups)) for part in self._names]

    def _add_faults(self) -> None:
        """Add the effects of faults to the network."""
        timeline = self.timeline
        if timeline.gateways:
            members = np.array(self._processes, np.int32)[:, None] if self._processes else self.groups[0].members
            redispatch = self.spec.gateways.redispatch
            self.scenario += gateway_outages(timeline.gateways, members, not self.spec.collocated, redispatch)
        # An always open gate replaces the lost members of a placement group: visits there take no time.
        if self.spec.hosts.groups:
            self._nowhere = self._take(NOWHERE)
        elif timeline.epochs != (Epoch(),):
            self._nowhere = self._add("nowhere", "osd that is down", Discipline.GATE)
        if timeline.epochs != (Epoch(),):
            self._osds = np.vstack([self._osds, np.full(self._parts, self._nowhere, np.int32)])
        self._place(timeline.epochs)
        if timeline.reshards or timeline.outages:
            table = len(self.placements)
            of_pools = {pool.name: pool.rows for pool in self._pools}
            self._gates = PeeringGates(self.spec, of_pools, timeline, self._take, table, len(self.groups))
            self.placements += (self._gates.table,)
            self.groups += self._gates.groups
            self.scenario += self._gates.scenario

    def _slow_down(self) -> None:
        """Add slowdowns: of drives, of commits if the log is on the drive, of cores and NICs; and rebuilding."""
        if not self.spec.faults:
            return
        slow, osds = self.timeline.slow, self.layout.data_osds
        drive_of_osd = self.layout.drive_of_osd
        firsts = np.unique(drive_of_osd, return_index=True)[1]  # the first OSD of each drive
        drive, kv, latency = (self._osds[:osds, self._names.index(part)] for part in ("drive", "kv", "latency"))
        for number in sorted({slowdown[0] for slowdown in slow}):
            osd = int(firsts[number])
            host, in_host = self.layout.place(osd)
            name, indices = f"{self.layout.named(f'osd {osd}', host)} latency", (host, in_host, "latency")
            latency[drive_of_osd == number] = self._add(name, "drive", Discipline.INFINITE_SERVER, indices=indices)
        rebuilding = tuple((int(drive_of_osd[osd]), at, end, speed) for osd, at, end, speed in self.timeline.rebuilding)
        self.scenario += speeds(slow + rebuilding, drive[firsts].tolist())
        self.scenario += speeds(slow, latency[firsts].tolist())
        without_db = {number for number, own in enumerate(self._equipment) if not own.logs_on_db}
        commits = [each for each in slow if self.layout.group_of_osd[firsts[each[0]]] in without_db]
        for nth in range(max(self.layout.osds_per_drive)):  # OSD of a drive
            has_it = np.append(np.diff(firsts), osds - firsts[-1]) > nth
            of_nth = [each for each in commits if has_it[each[0]]]
            self.scenario += speeds(of_nth, kv[np.minimum(firsts + nth, osds - 1)].tolist())
        cores = self.timeline.cores
        self.scenario += speeds(cores, self.host_cpus)
        for part in ("up", "down", "cluster_up", "cluster_down"):
            if part in self._names:
                stations = self._of_hosts[:, self._names.index(part)]
                self.scenario += speeds(self.timeline.links, stations.tolist())
        if self.spec.collocated and not self.spec.shares_cores:
            count, hosts = self.spec.gateways.count, self.spec.host_count
            collocated = [
                (g, start, end, speed) for host, start, end, speed in cores for g in range(host, count, hosts)
            ]
            self.scenario += speeds(collocated, self.groups[0].members[:, 0].tolist())

    def _place(self, maps: tuple[Epoch, ...]) -> None:
        """Build the placement tables, the groups that bind requests to epochs, and the actions that change these."""
        names: list[int] = []
        if maps != (Epoch(),):
            for pool in self._pools:
                if pool.spec.pools.data.is_ec:
                    lacks = max(pool.rows.missing(epoch).max() for epoch in maps)
                    pool.decodes = min(int(lacks), pool.width - pool.spec.pools.data.data_shards)
            names = epoch_names(self._take, len(maps), "osd map", "osd map")
        first = len(self.groups)

        def table(number: int, columns: list[Indices], blocks: list[Table]) -> PlacementTable:
            return PlacementTable(number, columns, blocks, names, first + number, "osd map", (number,))

        def of_data(number: int, pool: DataPool) -> PlacementTable:
            blocks = [self._data_block(pool, epoch) for epoch in maps]
            pool.table = table(number, self._data_columns(pool), blocks)
            return pool.table

        first_pool, *others = self._pools
        tables = [of_data(DATA, first_pool)]
        if self.spec.access.via_gateways:
            replicas = range(self.spec.index_replicas)
            osds = [name for member in replicas for name in self._columns_of("index osd", member)]
            self._index = table(INDEX, [("shard",), *osds], [self._index_block(epoch) for epoch in maps])
            tables.append(self._index)
        for pool in others:
            tables.append(of_data(len(tables), pool))
        self.placements: tuple[Table, ...] = tuple(each.stations for each in tables)
        for number, each in enumerate(tables if names else ()):
            self.groups += each.groups
            self.scenario += epoch_changes(first + number, names, [epoch.at_s for epoch in maps])

    def _take(self, station: Station) -> int:
        self.all.append(station)
        return len(self.all) - 1
