"""The description of a box: the links and drives of a store's hosts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from validate.lab.box.network import PORT, Network
from validate.lab.box.shape import DriveShape, Shape


def drive_folder(folder: Path, host: int, drive: int) -> Path:
    """Return the folder that the server of a host uses as one of its drives, from 0, in a store's folder."""
    return folder / "data" / f"h{host}" / f"d{drive}"


@dataclass(frozen=True)
class Box:
    """The links and drives of a store's hosts.

    Attributes:
        folder: of the store.
        drives: number of drives for data of each host that has drives.
        seed: selects the random numbers of the drives.
        delays: what adds the delay of the shape: ``netem``, ``proxy``, or nothing.
        hosts: number of hosts that have drives, the first ones of the network; None: all.
    """

    folder: Path
    network: Network
    shape: Shape
    drives: int
    seed: int = 0
    delays: str = ""
    hosts: int | None = None

    def mount_point(self, host: int, drive: int) -> Path:
        """Return the folder at which the server of a host finds one of its drives."""
        return drive_folder(self.folder, host, drive)

    @property
    def control_folder(self) -> Path:
        """The folder with the drives' configurations, control sockets and access logs."""
        return self.folder / "drives"

    def backing(self, mount_point: Path) -> Path:
        """Return the folder behind a drive."""
        return self.folder / "backing" / mount_point.relative_to(self.folder / "data")

    def endpoint_url(self, host: int) -> str:
        """Return where clients and other hosts reach the server of a host."""
        return f"http://{self.network.address(host)}:{PORT}"

    @property
    def proxied(self) -> bool:
        """Whether a proxy stands before each server."""
        return self.delays == "proxy"

    @property
    def bind_address(self) -> str:
        """Where a server listens behind its host's proxy."""
        return f"127.0.0.1:{PORT}"

    def to_json(self) -> dict[str, object]:
        """Return what has to be known to find the box again."""
        return {
            "subnet": self.network.subnet,
            "namespaces": list(self.network.namespaces),
            "client_link": self.network.client_link,
            "mounts": [str(self.mount_point(*place)) for place in self.places],
            "shape": self.shape.model_dump(mode="json", exclude_unset=True),
            "drives": self.drives,
            "seed": self.seed,
            "delays": self.delays,
        }

    @property
    def places(self) -> list[tuple[int, int]]:
        """The host of each drive, and its number there; first all for data, then those for databases, if any."""
        hosts = self.network.hosts if self.hosts is None else self.hosts
        kinds = 1 if self.shape.db_drives is None else 2
        return [
            (host, kind * self.drives + drive)
            for kind in range(kinds)
            for host in range(hosts)
            for drive in range(self.drives)
        ]

    def shape_of(self, drive: int) -> DriveShape:
        """Return the shape of a drive, by its number on its host."""
        db = self.shape.db_drives
        return self.shape.drives if db is None or drive < self.drives else db
