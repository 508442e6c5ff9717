"""The stations of versitygw, and the table with a row for each gateway and drive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.hosts.stations import HostStations
from models.network.discipline import Discipline
from models.network.scenario import Action
from models.network.station import UNBOUNDED, Member, Station
from models.shared.faults import outage_actions, shut_actions
from models.shared.links import added_link
from models.shared.placement_table import PlacementTable
from models.versitygw.faults import FileSystemHung, HostDown
from models.versitygw.spec import VersitygwSpec

_PARTS = ("entry", "cpu", "in", "out", "slots", "drive")


class Stations(HostStations):
    """Numbers the stations of a spec.

    Attributes:
        server_in, server_out: links of a remote file system's server.
        hung: a gate that is shut while the file system hangs.
        table: a row for each drive and gateway.
        scenario: what fails, and what is slow.
    """

    def __init__(self, spec: VersitygwSpec):
        # Drives are those of the file system: of the only host, or of the server, which has no other stations here.
        super().__init__(
            spec.client, spec.hosts,
            spec.drives.model_copy(update={"count": 0}), network=spec.network, client_group=0,
        )  # fmt: skip
        depth = spec.drives.queue_depth
        self.drive = np.array([
            [self.add(Station(f"drive {d}", "drive", Discipline.FIFO, depth, (d,))) for d in range(spec.drives.count)]
        ], np.int32)  # fmt: skip
        self.server_in, self.server_out = (
            added_link(self, "file server", "file server", 0, way, spec.file_system.nic, spec.network.queue)
            for way in ("in", "out")
        )
        self.hung = self.add(Station("file system hangs", "silent part", Discipline.GATE))
        hosts = range(spec.hosts.count)
        limit = spec.hosts.max_requests
        slots = [
            self.add(Station(f"host {h} operations", "operations", Discipline.POOL, limit, (h,), queue_limit=UNBOUNDED))
            for h in hosts
        ]
        entry = [self.nowhere] * spec.hosts.count
        self.scenario: list[Action] = []
        for host in sorted({fault.host for fault in spec.faults if isinstance(fault, HostDown)}):
            entry[host] = self.add(
                Station(f"host {host} refuses", "refused", Discipline.INFINITE_SERVER, indices=(host,))
            )
            spans = [(f.at, f.back_s) for f in spec.faults if isinstance(f, HostDown) and f.host == host]
            self.scenario += outage_actions(spans, [entry[host]])
        hangs = [(f.at, f.back_s) for f in spec.faults if isinstance(f, FileSystemHung)]
        self.scenario += shut_actions(self.hung, hangs)
        rows = [
            [entry[h], self.cpu[h], self.ins[h], self.outs[h], slots[h], drive]
            for drive in self.drive[0]
            for h in hosts
        ]
        placement = PlacementTable(0, [(part,) for part in _PARTS], [np.array(rows, np.int32)])
        self._place, self.table = placement.at, placement.stations
        self.gateways = spec.hosts.count

    def at(self, part: str) -> Member:
        """Return a part of a request's gateway, or the drive of its file."""
        place = self._place(part)
        assert isinstance(place, Member)
        return place

    def row_hashes(self, key_hash: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what selects the row of each request, same shape: gateways take turns."""
        turn = np.arange(len(key_hash), dtype=np.uint64) % np.uint64(self.gateways)
        return np.asarray(key_hash % np.uint64(self.drive.size) * np.uint64(self.gateways) + turn, np.uint64)
