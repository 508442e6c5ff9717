"""A file system of the lab: what it consists of, and the protocol by which the lab starts one of any kind."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from traces.errors import InputError
from validate.lab import processes
from validate.lab.credentials import PROFILE, Credentials, credentials_in
from validate.lab.folder import lab_folder
from validate.lab.mounts import is_mounted
from validate.lab.store import Progress, Store
from validate.s3.account import Target

MOUNT = "mount"
GATEWAY = "gateway"
STORE_RECORDER = "store-recorder"
METADATA_RECORDER = "metadata-recorder"

_WITHOUT = ("AWS", "PYTHON", "VIRTUAL_ENV", "JFS_", "JUICEFS", "META_", "MINIO_", "REDIS")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class FileSystemForm(NamedTuple):
    """How a file system is started.

    Attributes:
        gateway: an S3 gateway instead of a mount.
        meta: where metadata are kept, of a kind that has a choice; empty: the kind's first.
        recorded: whether recorders stand before the store and the metadata.
        store_delay_s: added to each request to the store.
        metadata_delay_s: added to each round to the metadata.
    """

    gateway: bool = False
    meta: str = ""
    recorded: bool = False
    store_delay_s: float = 0.0
    metadata_delay_s: float = 0.0


@dataclass(frozen=True)
class FileSystem:
    """A file system that the lab has started on its store.

    Attributes:
        name: of its kind.
        version: as its program says.
        store: name of the store below.
        store_url: endpoint of that store.
        bucket: has its data; made for it.
        ports: of loopback, by the name of the server.
        options: of its own configuration, as given.
        ready: whether it has once been ready.
    """

    name: str
    version: str
    folder: Path
    form: FileSystemForm
    store: str
    store_url: str
    bucket: str
    ports: Mapping[str, int]
    options: Mapping[str, str] = field(default_factory=dict)
    ready: bool = False

    @property
    def mount_point(self) -> Path:
        """The folder at which it is mounted; a gateway has none."""
        return self.folder / "mount"

    @property
    def store_credentials_file(self) -> Path:
        """The credentials of the store below."""
        return lab_folder() / self.store / "credentials"

    @property
    def store_credentials(self) -> Credentials:
        """What that file holds."""
        return credentials_in(self.store_credentials_file)

    @property
    def store_target(self) -> Target:
        """The store below, as a target of requests that no recorder sees."""
        return Target(self.store_url, PROFILE, self.store_credentials_file)

    @property
    def data_url(self) -> str:
        """Endpoint for its data: that of the store, or of the recorder before it."""
        return self.url(STORE_RECORDER) if self.form.recorded else self.store_url

    @property
    def bucket_url(self) -> str:
        """URL of its bucket."""
        return f"{self.data_url}/{self.bucket}"

    @property
    def credentials_file(self) -> Path:
        """The credentials of its gateway, with the profile ``tailcast-lab``."""
        return self.folder / "credentials"

    @property
    def gateway_credentials(self) -> Credentials:
        """What that file holds."""
        return credentials_in(self.credentials_file)

    @property
    def gateway_target(self) -> Target:
        """Its gateway as a target of requests.

        Raises:
            InputError: it has none.
        """
        if not self.form.gateway:
            raise InputError(f"{self.name} has no gateway")
        return Target(self.url(GATEWAY), PROFILE, self.credentials_file, self.pids, server_version=self.version)

    def target_on(self, store: Store) -> Target:
        """Return its mount as a target of calls, whose server is all that serves them: its processes and the store's.

        Recorders count as devices, which are neither server nor other load.
        """
        below, recorders = store.target, (STORE_RECORDER, METADATA_RECORDER)
        recording = tuple(pid for server, pids in self.running.items() if server in recorders for pid in pids)
        return Target(
            mount=self.mount_point,
            server_pids=(*self.pids, *below.server_pids),
            server_version=self.version,
            store=store.name,
            lab={**store.facts, "file_system": self.facts},
            device_pids=(*below.device_pids, *recording),
        )

    def url(self, server: str) -> str:
        """Return the URL of one of its servers."""
        return f"http://127.0.0.1:{self.ports[server]}"

    def mark(self, server: str) -> str:
        """Return what the processes of a server are marked by."""
        return f"{self.folder} {server}"

    def log(self, server: str) -> Path:
        """Return the file with what a server prints."""
        return self.folder / f"{server}.log"

    def record(self, recorder: str) -> Path:
        """Return the file to which a recorder writes."""
        return self.folder / f"{recorder}.jsonl"

    @property
    def running(self) -> dict[str, tuple[int, ...]]:
        """The process ids of each server that runs, the oldest first."""
        start = len(f"{self.folder} ")
        found = processes.by_mark(self.folder)
        return {mark[start:]: tuple(p.pid for p in processes.by_age([each])) for mark, each in found.items()}

    @property
    def pids(self) -> tuple[int, ...]:
        """All its process ids, without those of the recorders."""
        recorders = (STORE_RECORDER, METADATA_RECORDER)
        return tuple(pid for server, pids in self.running.items() if server not in recorders for pid in pids)

    @property
    def front(self) -> str:
        """The server that takes operations: the mount or the gateway."""
        return GATEWAY if self.form.gateway else MOUNT

    @property
    def alive(self) -> bool:
        """Whether operations can be served: its front runs, and a mount is in place."""
        return self.front in self.running and (self.form.gateway or is_mounted(self.mount_point))

    @property
    def facts(self) -> dict[str, object]:
        """What a Run or a table records of it."""
        return {
            "name": self.name,
            "version": self.version,
            "store": self.store,
            "gateway": self.form.gateway,
            "meta": self.form.meta or None,
            "recorded": self.form.recorded,
            "store_delay_s": self.form.store_delay_s,
            "metadata_delay_s": self.form.metadata_delay_s,
            "options": dict(self.options),
        }

    def to_json(self) -> dict[str, object]:
        """Return what has to be known to find it again."""
        return asdict(self) | {
            "folder": str(self.folder),
            "form": self.form._asdict(),
            "ports": dict(self.ports),
            "options": dict(self.options),
        }

    @staticmethod
    def from_json(state: Mapping[str, Any]) -> FileSystem:
        """Return the file system that a state describes.

        Raises:
            KeyError, TypeError: the state is none of a file system.
        """
        known = dict(state)
        form, folder = FileSystemForm(**known.pop("form")), Path(known.pop("folder"))
        return FileSystem(**known, form=form, folder=folder)

    def as_ready(self) -> FileSystem:
        """Return it as one that has once been ready."""
        return replace(self, ready=True)


def environment(**further: str) -> dict[str, str]:
    """Return the environment of its programs, without settings for another store, another Python or proxies."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_WITHOUT) and name.lower() not in _PROXIES
    }
    return kept | further


def port_of(url: str) -> tuple[str, int]:
    """Return host and port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 80


class SpawnServer(Protocol):
    """Starts a server of a file system, if it does not run."""

    def __call__(self, server: str, command: Sequence[str], further: Mapping[str, str] | None = None) -> None:
        """Start it with a command, and further variables of the environment."""


class FileSystemKind(Protocol):
    """How a file system of one kind is installed and started.

    Attributes:
        name: as in the specs of its model.
        title: what people call it.
        installation: what it takes to install it, for messages.
        servers: names before the dot of its options.
        metas: where it can keep its metadata; empty: in the store.
        has_gateway: whether it has an S3 gateway.
    """

    name: str
    title: str
    installation: str
    servers: tuple[str, ...]
    metas: tuple[str, ...]
    has_gateway: bool

    def find(self) -> Path | None:
        """Return its program, if it is installed with all that it needs."""

    def install(self, progress: Progress) -> Path:
        """Install its programs.

        Raises:
            InputError: the installation fails.
        """

    def version(self, program: Path) -> str:
        """What the program says of itself in a line."""

    def ports(self, form: FileSystemForm) -> tuple[str, ...]:
        """Return the names of its servers that listen at a port, without recorders."""

    def metadata_port(self, fs: FileSystem) -> int | None:
        """Return the port of its metadata server, before which a recorder may stand; None if it has none."""

    def start(self, program: Path, fs: FileSystem, spawn: SpawnServer) -> None:
        """Start the servers that do not run; waits for those that others need.

        Raises:
            InputError: one does not begin to run.
        """

    def unready(self, fs: FileSystem) -> str | None:
        """Return the name of a server that cannot be used yet; None where the whole file system can."""
