"""The stations of a JuiceFS: mounts or gateways, the metadata engine, buffers of files, and the clients of gateways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models.juicefs.faults import SlowMount
from models.juicefs.metadata import IN_FOLDER, ON_FILE, READS, REPEAT_S, Round, conflicts, rounds
from models.juicefs.sections import BLOCK_BYTES
from models.juicefs.spec import JuiceFSSpec
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.scenario import Action, ActionKind
from models.network.station import Bound, Choice, Group, Member, Station
from models.shared.clients import ClientStations
from models.shared.faults import MountDown, outage_actions, speeds
from models.shared.steps import Place, Step, check, commit, delay, hold, joined, transaction, use, visit

_FILES = 64
"""Rows of the table of files: those with the same hash have one count of what is not stored."""


class Stations:
    """Numbers the stations of a spec after those of the store below.

    Attributes:
        all: the stations.
        tables, groups: those of the layer, to follow those below.
        waits: an infinite server, where requests wait for sub-requests.
        buffered: number of writes of a mount, or of files with the same hash, whose blocks are not stored.
    """

    def __init__(self, spec: JuiceFSSpec, below: Network, locked: Sequence[str]):
        """`locked`: of each folder and file whose transactions are told apart, which of both it is."""
        self.spec, self._first, self.all = spec, len(below.stations), list[Station]()
        self._group, self._table = len(below.groups), len(below.placements)
        self._infinite = Discipline.INFINITE_SERVER
        self.waits = self.add("juicefs", self._infinite)
        self._latency = self.add("metadata network", self._infinite)
        self.latency = self.add("network latency", self._infinite, "juicefs")
        self._engine()
        self._locked = locked
        self._commits: list[int] = []
        if conflicts(spec.metadata.engine) and (spec.mounts.count > 1 or spec.is_gateway):
            kind = Discipline.OPTIMISTIC
            numbers = range(len(locked))
            self._commits = [self.add("metadata conflicts", kind, k, repeat_s=REPEAT_S) for k in numbers]
        self.buffered = max(spec.blocks.buffer // BLOCK_BYTES, 1)
        self._mounts(below)
        self.tables: tuple[np.ndarray[tuple[int, int], np.dtype[np.int32]], ...] = ()
        self.groups: tuple[Group, ...] = ()
        if spec.mounts.count > 1:
            self.groups = (Group(Choice.CLIENT, self._members, role="mounts", indices=(spec.level,)),)
        self.clients: ClientStations | None = None
        if spec.is_gateway:
            self.clients = ClientStations(
                spec.client, self._of_clients, group=self._group + len(self.groups), latency=self.latency,
                network=spec.network,
            )  # fmt: skip
            self.groups += tuple(replace(each, indices=("juicefs", spec.level)) for each in self.clients.groups)

    def add(
        self, role: str, discipline: Discipline, *indices: int | str, servers: int = 1, repeat_s: float = 0.0
    ) -> int:
        """Add a station, and return its index."""
        level = self.spec.level
        name = " ".join(map(str, (role, *indices, *([level] if level > 1 else []))))
        return self._added(Station(name, role, discipline, servers, (*indices, level), repeat_s=repeat_s))

    def _of_clients(self, station: Station) -> int:
        """Add a station of the gateways' clients, which the store below has others of."""
        own = ("juicefs", self.spec.level)
        return self._added(replace(station, name=f"juicefs {station.name}", indices=(*station.indices, *own)))

    def _added(self, station: Station) -> int:
        self.all.append(station)
        return self._first + len(self.all) - 1

    def _engine(self) -> None:
        metadata = self.spec.metadata
        if metadata.engine in ("sql", "tikv"):
            self.server = self.add("metadata", Discipline.SIRO, servers=metadata.servers)
            self._log = self.add("metadata log", Discipline.GROUP_COMMIT)
        else:
            self.server = self._log = self.add("metadata", Discipline.FIFO)
        self._reader = self._infinite_reader() if metadata.engine == "sqlite" else self.server
        servers = dict.fromkeys((self.server, self._log, self._reader))
        down = [fault for fault in self.spec.faults if fault.kind == "metadata_down"]
        self._gate = self.add("metadata pause", Discipline.GATE) if down else None
        self.scenario: list[Action] = []
        for fault in down:
            if fault.back_at is None:  # no one waits for what does not come back
                self.scenario += outage_actions([(fault.at, math.inf)], servers)
            elif self._gate is not None:
                self.scenario.append(Action(ActionKind.SHUT, self._gate, fault.at))
                self.scenario.append(Action(ActionKind.OPEN, self._gate, fault.back_at))
        slow = [fault for fault in self.spec.faults if fault.kind == "slow_metadata"]
        for station in servers:
            self.scenario += speeds(((0, each.at, each.end_s, each.speed) for each in slow), [station])

    def _infinite_reader(self) -> int:
        return self.add("metadata reads", self._infinite)

    def _mounts(self, below: Network) -> None:
        spec, blocks, pool = self.spec, self.spec.blocks, Discipline.POOL
        nics = {each.indices: k for k, each in enumerate(below.stations) if each.role == "client network"}
        rows: list[dict[str, int]] = []
        for number in range(spec.mounts.count):
            parts = {
                "cpu": self.add("mount cpu", Discipline.SIRO, number, servers=spec.mounts.cores.count),
                "uploads": self.add("uploads", pool, number, servers=blocks.uploads),
                "downloads": self.add("downloads", pool, number, servers=blocks.downloads),
                "deletes": self.add("deletes", pool, number, servers=blocks.deletes),
                "buffer": self.add("write buffer", pool, number, servers=self.buffered),
                "disk": self.add("cache disk", Discipline.FIFO, number),
            }
            parts |= {f"lock {k}": self.add(f"{of} lock", pool, number, k) for k, of in enumerate(self._locked)}
            nic = {"in": nics.get((number, "down")), "out": nics.get((number, "up"))} if spec.is_gateway else {}
            rows.append(parts | {name: k for name, k in nic.items() if k is not None})
        self._columns = {name: position for position, name in enumerate(rows[0])}
        self._members = np.array([list(row.values()) for row in rows], np.int32)
        slow = [each for each in spec.faults if isinstance(each, SlowMount)]
        cores = self._members[:, 0].tolist()
        killed = [(each, cores[each.mount]) for each in spec.faults if isinstance(each, MountDown)]
        self.scenario += [act for each, at in killed for act in outage_actions([(each.at, each.back_s)], [at])]
        self._dies = bool(killed)
        self.scenario += speeds(((each.mount, each.at, each.end_s, each.speed) for each in slow), cores)

    def alive(self) -> Step:
        """Return what fails while the mount is killed, if there is such a fault."""
        return check(self.mount("cpu")) if self._dies else ()

    def has(self, part: str) -> bool:
        """Whether mounts have this part: gateways have ``in`` and ``out`` if the NIC below is limited."""
        return part in self._columns

    def mount(self, part: str) -> Place:
        """Return a part of the mount or gateway that the client uses."""
        position = self._columns[part]
        if len(self._members) == 1:
            return int(self._members[0, position])
        return Bound(self._group, position)

    def file(self, part: str) -> Member:
        """Return what counts the writes of a file that are not stored (``unstored``), or its ``sync`` lock."""
        if not self.tables:
            pairs = [
                [self.add("unstored writes", Discipline.POOL, row, servers=self.buffered),
                 self.add("sync of a file", Discipline.POOL, row)] for row in range(_FILES)
            ]  # fmt: skip
            self.tables = (np.array(pairs, np.int32),)
        return Member(self._table, ("unstored", "sync").index(part), (part,))

    def metadata(self, *names: str, folder: int = -1, file: int = -1) -> Step:
        """Return operations on metadata, one after the other: for each round the way, and the work of the server.

        Args:
            names: of the operations.
            folder: in which they make a transaction; -1: in one that no other changes at the same time.
            file: on which they make transactions, likewise.
        """
        number = dict.fromkeys(IN_FOLDER, folder) | dict.fromkeys(ON_FILE, file)
        changing = [k for k, name in enumerate(names) if number.get(name, -1) >= 0]
        if not changing or (self.spec.is_gateway and names[changing[0]] in ("mknod", "mkdir")):
            return joined(self._operation(name) for name in names)  # a gateway's are in a folder for temporary files
        last = changing[0]
        # Of a mount, the kernel locks the folder for the look-ups, too; a gateway has the lock of JuiceFS, of the
        # folder of the file: in a rename, a temporary one.
        looks_up = not self.spec.is_gateway and names[last] in IN_FOLDER
        first = next(k for k, name in enumerate(names) if name != "getattr") if looks_up else last
        before, looked_up, after = names[:first], names[first:last], names[last + 1 :]
        locked = number[names[last]]
        changed = joined(self._operation(name) for name in looked_up) + self._operation(names[last], locked)
        if not (self.spec.is_gateway and names[last] == "rename"):
            changed = hold(self.mount(f"lock {locked}"), changed)
        return self.metadata(*before) + changed + self.metadata(*after, file=file)

    def _operation(self, name: str, locked: int = -1) -> Step:
        metadata, found = self.spec.metadata, rounds(self.spec.metadata.engine, name)
        work, durable = metadata.command_demand, metadata.commit
        way = delay(self._latency, 2 * metadata.latency)
        gate = () if self._gate is None else check(self._gate)
        if metadata.engine == "sqlite":  # its writer is locked from the first statement to the commit
            statements = use(self._reader if name in READS else self.server, work.scaled(len(found)))
            return gate + statements + (use(self.server, durable) if any(each.commits for each in found) else ())
        steps = [
            way + gate + use(self.server, work.scaled(each.commands))
            + (commit(self._log, durable) if each.commits and durable.takes_time else ())
            for each in found
        ]  # fmt: skip
        if locked >= 0 and self._commits:
            return self._tried(steps, found, self._commits[locked])
        return joined(steps)

    def _tried(self, steps: list[Step], found: tuple[Round, ...], counter: int) -> Step:
        """Return the rounds of a transaction that is repeated until no other has committed since its WATCH.

        What follows the commit comes first, for a transaction that is repeated has it, too.
        """
        last = 1 + next(k for k, each in enumerate(found) if each.commits)
        return transaction(counter, *steps[last:], steps[0], visit(counter), *steps[1:last])
