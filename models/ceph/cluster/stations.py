"""The stations of a Ceph cluster, and the placement tables that map objects to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.ceph.cluster.placement_rows import PlacementRows, Pool
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.disk_load import DiskLoad
from models.ceph.faults.fault_timeline import fault_timeline, gateway_outages
from models.ceph.faults.osd_map import Epoch
from models.ceph.faults.peering_gates import PeeringGates
from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.mechanisms.osd_threads import has_pg_locks, usable_cores
from models.ceph.mechanisms.releases import default
from models.ceph.spec.access import Mysql
from models.ceph.spec.sections import IndexDrives
from models.ceph.spec.spec import CephSpec
from models.network.discipline import Discipline
from models.network.scenario import Action
from models.network.station import UNBOUNDED, Bound, Choice, Group, Indices, Member, Station, station_of
from models.shared.clients import ClientStations, HostStations
from models.shared.faults import speeds
from models.shared.links import link
from models.shared.placement_table import PlacementTable, epoch_changes, epoch_names, numbered
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
"""The placement tables of RADOS objects and of the bucket index."""
_GATEWAY_PARTS = ("cpu", "up", "down", "slots", "reads", "dma")

Table = NDArray[np.int32]


@dataclass(frozen=True)
class Osd:
    """The places of an OSD's parts: columns of a placement table, whose names begin with its role."""

    role: Indices
    table: PlacementTable
    is_of_data: bool = True

    def __getattr__(self, part: str) -> Member | Bound:
        return self.table.at(*self.role, part)


def _osd_parts(spec: CephSpec) -> tuple[str, ...]:
    """Return the names of an OSD's stations, in the order of their columns; those of its host are shared."""
    parts = ["cpu", "up", "down", "drive", "latency", "kv", "throttle", "threads"]
    if spec.db:
        parts.append("db")
    if spec.hosts.cluster_nic:
        parts += ["cluster_up", "cluster_down"]
    if spec.hosts.dma_bandwidth:
        parts.append("dma")
    if spec.osds_share_cores:
        parts.append("cores")
    if has_pg_locks(spec.pools.pg_num * spec.pools.data.width / spec.osds, spec.workers.count):
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
        self._depth, has_one_access, self._member_s, self._deferred, *_ = self.costs_of(spec, costs)
        self._workers = spec.workers
        # Commits and data take turns on a drive that has both, and no part of an access that overlaps with others.
        alone = spec.db is None and spec.hosts.osds_per_drive == 1 and spec.osd.backend == "bluestore"
        self._commits_on_drive = alone and has_one_access
        self._flush_s = spec.device.flush / (_COMMIT_ACCESSES - 1) if self._commits_on_drive else 0.0
        self.all: list[Station] = []
        hosts, gateways = spec.hosts, spec.gateways
        self.latency = self._add("network latency", "network latency", Discipline.INFINITE_SERVER)
        if not spec.client.on_storage_hosts:
            self._add_clients()
        daemons = spec.osds_per_host + spec.index_osds_per_host
        cores = hosts.cores.effective(spec.osd_cores)
        usable = usable_cores(cores, daemons, spec.osd.contention)
        self.host_cpus: list[int] = []
        self._names = _osd_parts(spec)
        self._parts = len(self._names)
        self.has_pg_locks = "lock" in self._names
        osds = spec.osds + hosts.count * spec.index_osds_per_host
        self._osds = np.empty((osds, self._parts), np.int32)
        # Work of a gateway takes longer than the quantum of a scheduler, unlike that of an OSD.
        order = Discipline.PROCESSOR_SHARING if spec.shares_cores else Discipline.SIRO
        for h in range(hosts.count):
            count = cores if spec.osds_share_cores else usable
            cpu = self._add(f"host {h} cpu", "osd host cpu", order, count, (h,))
            self.host_cpus.append(cpu)
            of_host = self._host_links(h)
            if spec.osds_share_cores:  # others use what the OSDs cannot
                of_host["cores"] = self._add(f"host {h} osd cores", "osd cores", Discipline.POOL, usable, (h,))
            of_host |= {"cpu": cpu, "latency": self.latency, "lock": self.latency}
            for number, osd in enumerate(range(h * spec.osds_per_host, (h + 1) * spec.osds_per_host)):
                if spec.db and number % spec.db.osds_per_device == 0:
                    db, depth = number // spec.db.osds_per_device, spec.db.device.queue_depth
                    of_host["db"] = self._add(f"host {h} db {db}", "db device", Discipline.FIFO, depth, (h, db))
                if number % hosts.osds_per_drive == 0:
                    name = f"osd {osd} drive"
                    of_host["drive"] = self._add(name, "drive", Discipline.FIFO, self._depth, (h, number))
                mine = of_host | self._osd(osd, (h, number), self._commits_on_drive)
                self._osds[osd] = [mine[name] for name in self._names]
            if spec.index:
                self._add_index_osds(h, spec.index, of_host)
        if spec.client.on_storage_hosts:
            names = [name for name in ("cpu", "up", "down", "dma") if name in self._names]
            columns = self._osds[: spec.osds : spec.osds_per_host, [self._names.index(name) for name in names]]
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
        self.rows = PlacementRows(spec, self.timeline.reshards)
        self._gates: PeeringGates | None = None
        self.decodes = 0
        self._shards = self._add_shards()
        self._first_lock = len(self.all)
        if self.has_pg_locks:
            for number in range(spec.pools.pg_num * self.width):
                self._add(f"pg lock {number}", "pg lock", Discipline.POOL, indices=divmod(number, self.width))
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
            self.proxy = ProxyStations.added(proxy, self._take, spec.network.queue, machines)

    @staticmethod
    def costs_of(spec: CephSpec, costs: CostFunctions) -> tuple[int, bool, float, int, float | None, DiskLoad | None]:
        """Return what stations depend on besides their spec; the time that faults take depends on all costs."""
        of_faults = (costs.object_bytes, costs.load) if spec.faults else (None, None)
        drive = costs.drive
        return drive.queue_depth, drive.has_one_access, costs.commit_member_s, costs.deferred_limit, *of_faults

    def _add_clients(self, hosts: Sequence[HostStations] = ()) -> None:
        """Add the client machines, whose group follows that of the gateways."""
        spec = self.spec
        group = 1 if spec.access.via_gateways else 0
        self.clients = ClientStations(
            spec.client, self._take, hosts=hosts, group=group, latency=self.latency,
            connections=spec.network.connections(spec.client.nic), queue=spec.network.queue,
        )  # fmt: skip

    @property
    def width(self) -> int:
        """Number of OSDs of a placement group of the data pool."""
        return self.spec.pools.data.width

    def osd(self, member: int) -> Osd:
        """Return the OSD with chunk or replica `member` of the RADOS object; member 0 is the primary."""
        return Osd(("osd", DATA, member), self._tables[DATA])

    @property
    def shard(self) -> Member | Bound:
        """The token of an object's bucket index shard."""
        return self._tables[INDEX].at("shard")

    def index_osd(self, member: int) -> Osd:
        """Return an OSD of an object's bucket index shard; member 0 is the primary."""
        return Osd(("index osd", member), self._tables[INDEX], is_of_data=False)

    def decoders(self) -> list[Member | Bound]:
        """Return where a read decodes, one place per missing chunk; a gate that is always open for other rows."""
        return [self._tables[DATA].at("decoder", DATA, missing) for missing in range(self.decodes)]

    def gates(self, pool: Pool, writes: bool) -> Step:
        """Return the gates before operations on a placement group; none if no fault shuts gates."""
        return self._gates.passages(pool, writes) if self._gates else ()

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

    def _nic(self, kind: str, number: int, nic_bytes_per_s: float, network: str = "") -> tuple[int, int]:
        """Add a NIC; its rate takes as many connections as it has servers, each of which has a largest rate."""
        name = f"{kind} {number} {network}".strip()
        section = self.spec.network
        servers = section.connections(nic_bytes_per_s)
        up, down = (
            self._take(link(
                f"{name} {way}", "network", (kind, number, network, way), nic_bytes_per_s, section.queue, servers
            ))
            for way in ("up", "down")
        )  # fmt: skip
        return up, down

    def _host_links(self, h: int) -> dict[str, int]:
        """Add the NICs of a host, and what limits its DMA; return their stations by name."""
        up, down = self._nic("host", h, self.spec.hosts.nic)
        found = {"up": up, "down": down}
        if self.spec.hosts.cluster_nic:
            found["cluster_up"], found["cluster_down"] = self._nic("host", h, self.spec.hosts.cluster_nic, "cluster")
        if self.spec.hosts.dma_bandwidth:
            found["dma"] = self._add(f"host {h} dma", "host dma", Discipline.PROCESSOR_SHARING, indices=(h,))
        return found

    def _add_index_osds(self, h: int, index: IndexDrives, of_host: dict[str, int]) -> None:
        """Add the OSDs of a host that have only bucket indexes, after all those with data."""
        first, device = self.spec.osds + h * index.drives, index.device
        in_turns = device.has_one_access and self.spec.osd.backend == "bluestore"
        for number, osd in enumerate(range(first, first + index.drives)):
            drive = self._add(f"osd {osd} drive", "index drive", Discipline.FIFO, device.queue_depth, (h, number))
            mine = of_host | {"drive": drive, "db": drive} | self._osd(osd, (h, number, "index"), in_turns)
            self._osds[osd] = [mine[name] for name in self._names]

    def _osd(self, osd: int, indices: Indices, commits_on_drive: bool) -> dict[str, int]:
        """Add the stations of an OSD alone, but for its drive; return them by name."""
        return {
            "kv": self._add(
                f"osd {osd} kv", "kv sync", Discipline.GROUP_COMMIT, 1, indices, batch_item_s=self._member_s,
                shares_server=commits_on_drive, parts=_COMMIT_ACCESSES if commits_on_drive else 1,
                flush_s=self._flush_s,  # of data: OSDs of the index have none
            ),
            "throttle": self._add(f"osd {osd} deferred", "deferred writes", Discipline.POOL, self._deferred, indices),
            "threads": self._add_shards_of(osd, indices),
        }  # fmt: skip

    def _add_shards_of(self, osd: int, indices: Indices) -> int:
        """Add the worker threads of each shard of an OSD; return the first shard's station, which others follow."""
        first = len(self.all)
        for shard in range(self._workers.shards):
            name = f"osd {osd} shard {shard} threads"
            self._add(name, "osd threads", Discipline.POOL, self._workers.threads_per_shard, (*indices, shard))
        return first

    def _in_shards(self, osds: Table, groups: NDArray[np.int64], lost: NDArray[np.bool_]) -> Table:
        """Return the stations of OSDs with the threads of the shards that have these placement groups.

        Args:
            osds: stations of the first shards, shape (rows, members, parts).
            groups: numbers of the placement groups, shape (rows,).
            lost: whether the member is down, shape (rows, members).
        """
        found = osds.copy()
        shard = (groups % self._workers.shards)[:, None]
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
            host = g % self.spec.hosts.count * self.spec.osds_per_host
            up, down, *dma = (int(self._osds[host, self._names.index(name)]) for name in parts)
        else:
            up, down, *dma = self._nic("rgw", g, gateways.nic)
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

    def _data_columns(self) -> list[Indices]:
        osds = [("osd", DATA, member, part) for member in range(self.width) for part in self._names]
        return [*osds, *(("decoder", DATA, missing) for missing in range(self.decodes))]

    def _data_block(self, epoch: Epoch) -> Table:
        """Return the OSDs of each row's placement group in an epoch, and where a read decodes."""
        members = self.rows.objects(epoch)
        found = self._in_shards(self._osds[members], self.rows.groups, members == NO_OSD)
        if self.has_pg_locks:
            locks = self._first_lock + self.rows.groups[:, None] * self.width + np.arange(self.width)
            lock = self._names.index("lock")
            found[..., lock] = np.where(members == NO_OSD, found[..., lock], locks)
        parts = found.reshape(self.rows.count, -1)
        if self.decodes:
            missing = self.rows.missing(epoch)[:, None] > np.arange(self.decodes)
            parts = np.hstack([parts, np.where(missing, parts[:, :1], self._osds[-1, 0])])
        return parts.astype(np.int32)

    def _index_block(self, epoch: Epoch) -> Table:
        """Return the token of each row's index shard in an epoch, and its OSDs."""
        shards, members = self.rows.tokens(epoch), self.rows.index(epoch)
        found = self._in_shards(self._osds[members], shards, members == NO_OSD)
        tokens = (self._shards + shards)[:, None]
        return np.hstack([tokens, found.reshape(self.rows.count, -1)]).astype(np.int32)

    def _add_faults(self) -> None:
        """Add the effects of faults to the network."""
        timeline = self.timeline
        if timeline.gateways:
            members = np.array(self._processes, np.int32)[:, None] if self._processes else self.groups[0].members
            redispatch = self.spec.gateways.redispatch
            self.scenario += gateway_outages(timeline.gateways, members, not self.spec.collocated, redispatch)
        if timeline.epochs != (Epoch(),):
            # An always open gate replaces the lost members of a placement group: visits there take no time.
            open_gate = self._add("nowhere", "osd that is down", Discipline.GATE)
            self._osds = np.vstack([self._osds, np.full(self._parts, open_gate, np.int32)])
        self._place(timeline.epochs)
        if timeline.reshards or timeline.outages:
            table = len(self.placements)
            self._gates = PeeringGates(self.spec, self.rows, timeline, self._take, table, len(self.groups))
            self.placements += (self._gates.table,)
            self.groups += self._gates.groups
            self.scenario += self._gates.scenario

    def _slow_down(self) -> None:
        """Add slowdowns: of drives, of commits if the log is on the drive, of cores and NICs; and rebuilding."""
        if not self.spec.faults:
            return
        slow, of_drive = self.timeline.slow, self.spec.hosts.osds_per_drive
        drive, kv, latency = (
            self._osds[: self.spec.osds, self._names.index(part)] for part in ("drive", "kv", "latency")
        )
        for number in sorted({slowdown[0] for slowdown in slow}):
            osd = number * of_drive
            name, indices = f"osd {osd} latency", (*divmod(osd, self.spec.osds_per_host), "latency")
            latency[osd : osd + of_drive] = self._add(name, "drive", Discipline.INFINITE_SERVER, indices=indices)
        rebuilding = tuple((osd // of_drive, at, end, speed) for osd, at, end, speed in self.timeline.rebuilding)
        self.scenario += speeds(slow + rebuilding, drive[::of_drive].tolist())
        self.scenario += speeds(slow, latency[::of_drive].tolist())
        if self.spec.db is None:
            for osd in range(of_drive):
                self.scenario += speeds(slow, kv[osd::of_drive].tolist())
        osds, cores = self.spec.osds_per_host, self.timeline.cores
        self.scenario += speeds(cores, self.host_cpus)
        for part in ("up", "down", "cluster_up", "cluster_down"):
            if part in self._names:
                stations = self._osds[: self.spec.osds : osds, self._names.index(part)]
                self.scenario += speeds(self.timeline.links, stations.tolist())
        if self.spec.collocated and not self.spec.shares_cores:
            count, hosts = self.spec.gateways.count, self.spec.hosts.count
            collocated = [
                (g, start, end, speed) for host, start, end, speed in cores for g in range(host, count, hosts)
            ]
            self.scenario += speeds(collocated, self.groups[0].members[:, 0].tolist())

    def _place(self, maps: tuple[Epoch, ...]) -> None:
        """Build the placement tables, the groups that bind requests to epochs, and the actions that change these."""
        names: list[int] = []
        if maps != (Epoch(),):
            if self.spec.pools.data.is_ec:
                lacks = max(self.rows.missing(epoch).max() for epoch in maps)
                self.decodes = min(int(lacks), self.width - self.spec.pools.data.data_shards)
            names = epoch_names(self._take, len(maps), "osd map", "osd map")
        first = len(self.groups)

        def table(number: int, columns: list[Indices], blocks: list[Table]) -> PlacementTable:
            return PlacementTable(number, columns, blocks, names, first + number, "osd map", (number,))

        self._tables = [table(DATA, self._data_columns(), [self._data_block(epoch) for epoch in maps])]
        if self.spec.access.via_gateways:
            osds = numbered("index osd", self.spec.index_replicas, self._names)
            self._tables.append(table(INDEX, [("shard",), *osds], [self._index_block(epoch) for epoch in maps]))
        self.placements: tuple[Table, ...] = tuple(table.stations for table in self._tables)
        for number, each in enumerate(self._tables if names else ()):
            self.groups += each.groups
            self.scenario += epoch_changes(first + number, names, [epoch.at_s for epoch in maps])

    def _take(self, station: Station) -> int:
        self.all.append(station)
        return len(self.all) - 1
