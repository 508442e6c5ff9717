"""A real store of the lab: what it consists of, and the protocol by which the lab starts one of any kind."""

from __future__ import annotations

import configparser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import psutil

from validate.lab.processes import is_alive
from validate.s3.account import Target

PROFILE = "tailcast-lab"
"""The profile in the credentials file of a store."""

Progress = Callable[[str], None]
"""Called with a line now and then."""


class Form(NamedTuple):
    """How many drives a store has in all, and over how many nodes they are spread."""

    drives: int
    nodes: int = 1

    def __str__(self) -> str:
        drives = f"{self.drives} drive{'s' if self.drives > 1 else ''}"
        return f"{drives} on {self.nodes} nodes" if self.nodes > 1 else drives


class Credentials(NamedTuple):
    """What requests are signed with."""

    access_key: str
    secret_key: str


@dataclass(frozen=True)
class Node:
    """A server of a store.

    Attributes:
        processes: the one that was started, and those it has started in turn; empty where there is none.
    """

    endpoint_url: str
    processes: tuple[psutil.Process, ...] = ()

    @property
    def address(self) -> str:
        """Host and port."""
        return self.endpoint_url.partition("://")[2]

    @property
    def pid(self) -> int:
        """The process that was started; 0 where there is none."""
        return self.processes[0].pid if self.processes else 0

    @property
    def alive(self) -> bool:
        """Whether one of its processes still runs."""
        return any(map(is_alive, self.processes))


@dataclass(frozen=True)
class Store:
    """A store that the lab has started.

    Attributes:
        name: of its kind.
        version: as the server's program says.
        folder: holds its data, logs, credentials and state.
    """

    name: str
    form: Form
    version: str
    folder: Path
    nodes: tuple[Node, ...]

    @property
    def endpoint_url(self) -> str:
        """The first node's."""
        return self.nodes[0].endpoint_url

    @property
    def credentials_file(self) -> Path:
        """The AWS shared-credentials file with the profile ``tailcast-lab``."""
        return self.folder / "credentials"

    @property
    def credentials(self) -> Credentials:
        """What that file holds."""
        file = configparser.RawConfigParser()
        file.read(self.credentials_file)
        return Credentials(file[PROFILE]["aws_access_key_id"], file[PROFILE]["aws_secret_access_key"])

    @property
    def data_folder(self) -> Path:
        """The folder under which its drives are."""
        return self.folder / "data"

    @property
    def target(self) -> Target:
        """The store as a target of requests, with the processes and the endpoints of all its nodes."""
        pids = tuple(process.pid for node in self.nodes for process in node.processes)
        urls = tuple(node.endpoint_url for node in self.nodes)
        return Target(self.endpoint_url, PROFILE, self.credentials_file, pids, urls, self.version, self.name)

    @property
    def alive(self) -> bool:
        """Whether any of its processes still runs."""
        return any(node.alive for node in self.nodes)


Spawn = Callable[[Node, Sequence[str], Mapping[str, str]], None]
"""Starts a node's process with a command and an environment, unless the node runs already."""


class RequestTrace(Protocol):
    """What a store says of its requests, recorded from when it is made."""

    def end(self) -> None:
        """Take what is still to come, and hang up."""

    def write(self, path: Path) -> None:
        """Write a line for each request, without credentials and signatures, in a format that `traces.readers` has."""


class StoreKind(Protocol):
    """How a real store of one kind is installed, started and asked about itself.

    Attributes:
        name: as in the specs of its model.
        title: what people call it.
        installation: what it takes to install it, for messages.
        forms: the topologies it can be started in, by name; the first is the default.
        request_trace: begins to record the requests of a target; None where the store does not tell of them. Raises
            `InputError` where the target refuses, or is another store.
        trace_format: the format of that record, as `traces.readers.registry` names it; None where there is none.
    """

    name: str
    title: str
    installation: str
    forms: Mapping[str, Form]
    request_trace: Callable[[Target], RequestTrace] | None
    trace_format: str | None

    def find(self) -> Path | None:
        """The server's program, if it is installed.

        Raises:
            InputError: what the environment names is no program.
        """

    def install(self, progress: Progress) -> Path:
        """Install the server's program.

        Raises:
            InputError: what it takes is missing, or the installation fails.
        """

    def version(self, program: Path) -> str:
        """What the program says of itself in a line; empty where it says nothing."""

    def start(self, program: Path, store: Store, spawn: Spawn) -> None:
        """Start the nodes of a store that do not run, on its data, with its credentials; waits for none of them."""

    def unready(self, store: Store) -> Node | None:
        """A node that cannot be used yet; None where the whole store can."""
