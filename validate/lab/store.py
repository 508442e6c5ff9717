"""A real store of the lab: what it consists of, and the protocol by which the lab starts one of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psutil

from traces.errors import InputError
from traces.trace import Trace
from validate.lab.box.box import Box, drive_folder
from validate.lab.credentials import PROFILE, Credentials, credentials_in
from validate.lab.faults import LabFault
from validate.lab.processes import is_alive, of_folder
from validate.replay.replay import Faults
from validate.s3.account import Target

Progress = Callable[[str], None]
"""Called with a line now and then."""


class Form(NamedTuple):
    """The hosts of a store and their drives.

    Hosts are numbered from 0: those with drives, then gateways, then monitors, then load balancers.

    Attributes:
        drives: of each host that has drives.
        hosts: number of hosts with drives.
        set_size: number of drives of an erasure set, for stores that let one choose; None: the store chooses.
        gateways: number of hosts without drives that take the clients' requests; 0: those with drives take them.
        monitors: number of hosts without drives that clients do not reach.
        balancers: number of hosts with a load balancer, which take the clients' requests and pass them to gateways.
    """

    drives: int = 1
    hosts: int = 1
    set_size: int | None = None
    gateways: int = 0
    monitors: int = 0
    balancers: int = 0

    @property
    def drive_count(self) -> int:
        """Number of drives of all hosts."""
        return self.drives * self.hosts

    @property
    def host_count(self) -> int:
        """Number of all hosts, with drives and without."""
        return self.hosts + self.gateways + self.monitors + self.balancers

    @property
    def entrances(self) -> range:
        """The hosts that take the clients' requests."""
        return self.balancer_hosts or self.gateway_hosts or range(self.hosts)

    @property
    def gateway_hosts(self) -> range:
        """The hosts with a gateway."""
        return range(self.hosts, self.hosts + self.gateways)

    @property
    def balancer_hosts(self) -> range:
        """The hosts with a load balancer."""
        return range(self.host_count - self.balancers, self.host_count)

    def role(self, host: int) -> str:
        """What a host is: ``host`` (with drives), ``gateway``, ``monitor`` or ``balancer``."""
        counts = {"host": self.hosts, "gateway": self.gateways, "monitor": self.monitors, "balancer": self.balancers}
        return [role for role, count in counts.items() for _ in range(count)][host]

    def host_of(self, drive: int) -> int:
        """Return the host of a drive; drives are numbered from 0, host by host."""
        return drive // self.drives

    def __str__(self) -> str:
        drives = f"{self.drives} drive{'s' if self.drives > 1 else ''}"
        sets = f" in sets of {self.set_size}" if self.set_size is not None else ""
        gateways = f", {self.gateways} gateway{'s' if self.gateways > 1 else ''}" if self.gateways else ""
        balanced = " behind a load balancer" if self.balancers else ""
        return (f"{drives} on each of {self.hosts} hosts" if self.hosts > 1 else drives) + sets + gateways + balanced


@dataclass(frozen=True)
class Node:
    """The servers of a host of a store.

    Attributes:
        endpoint_url: of its server, or of the first of them.
        processes: those that were started, and those they have started in turn; empty where there is none.
        listens_at: host and port that its server is to listen at, where that is not `address`: a proxy is between.
        running: names of its servers that run; a server that is the only one of its host has none.
    """

    endpoint_url: str
    processes: tuple[psutil.Process, ...] = ()
    listens_at: str = ""
    running: frozenset[str] = frozenset()

    @property
    def address(self) -> str:
        """Host and port."""
        return self.endpoint_url.partition("://")[2]

    @property
    def bind_address(self) -> str:
        """Host and port that its server listens at."""
        return self.listens_at or self.address

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
        box: its links and drives; None if it is on loopback and plain folders.
        ready: whether it has once been ready; if not, it is starting, or its start was broken off.
        options: of the store's own configuration, as given.
    """

    name: str
    form: Form
    version: str
    folder: Path
    nodes: tuple[Node, ...]
    box: Box | None = None
    ready: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def entrances(self) -> tuple[Node, ...]:
        """The nodes that take the clients' requests."""
        return tuple(self.nodes[host] for host in self.form.entrances)

    @property
    def gateways(self) -> tuple[Node, ...]:
        """The nodes with a gateway."""
        return tuple(self.nodes[host] for host in self.form.gateway_hosts)

    @property
    def endpoint_url(self) -> str:
        """That of the first node that takes requests."""
        return self.entrances[0].endpoint_url

    @property
    def credentials_file(self) -> Path:
        """The AWS shared-credentials file with the profile ``tailcast-lab``."""
        return self.folder / "credentials"

    @property
    def credentials(self) -> Credentials:
        """What that file holds."""
        return credentials_in(self.credentials_file)

    def drive_folder(self, host: int, drive: int) -> Path:
        """Return the folder that the server of a host uses as one of its drives, from 0."""
        return drive_folder(self.folder, host, drive)

    def contents(self, host: int, drive: int) -> Path:
        """Return the folder that has the contents of a drive; reading it is no access to the drive."""
        where = self.drive_folder(host, drive)
        return where if self.box is None else self.box.backing(where)

    def target_host(self, host: int) -> Target:
        """Return the store as a target of requests that all go to one of its hosts.

        Raises:
            InputError: there is no such host, or it takes no requests.
        """
        if host not in (entrances := self.form.entrances):
            raise InputError(
                f"{self.name} has no host {host} that takes requests; allowed are {entrances[0]} to {entrances[-1]}"
            )
        url = self.nodes[host].endpoint_url
        return replace(self.target, endpoint_url=url, node_urls=(url,), lab=self.facts | {"requests_to": host})

    @property
    def target(self) -> Target:
        """The store as a target of requests, with the processes of all its nodes and the endpoints for requests."""
        pids = tuple(process.pid for node in self.nodes for process in node.processes)
        urls = tuple(node.endpoint_url for node in self.entrances)
        where = (self.endpoint_url, PROFILE, self.credentials_file)
        devices = () if self.box is None else tuple({process.pid for process in of_folder(self.folder)} - {*pids})
        return Target(*where, pids, urls, self.version, self.name, self.facts, devices)

    @property
    def facts(self) -> dict[str, object]:
        """Its hosts and drives, the shape of its box and its options, as a Run records them."""
        box = self.box
        form = self.form
        further = {"gateways": form.gateways, "balancers": form.balancers, "options": dict(self.options)}
        return {
            "hosts": self.form.hosts,
            "drives_per_host": self.form.drives,
            "set_size": self.form.set_size,
            "shape": None if box is None else box.shape.model_dump(mode="json", exclude_unset=True),
            "seed": None if box is None else box.seed,
            "delays": None if box is None else box.delays or None,
            **{name: value for name, value in further.items() if value},
        }

    @property
    def alive(self) -> bool:
        """Whether any of its processes still runs."""
        return any(node.alive for node in self.nodes)


class Spawn(Protocol):
    """Starts a server of a node, unless that runs already, or is not to run."""

    def __call__(self, node: Node, command: Sequence[str], environment: Mapping[str, str], name: str = "") -> None:
        """Start it with a command and an environment; servers of the same node have different names."""


class RequestTrace(Protocol):
    """What a store says of its requests, recorded from when it is made."""

    def end(self) -> None:
        """Take what is still to come, and hang up."""

    def write(self, path: Path) -> None:
        """Write a line for each request, without credentials and signatures, in a format that `traces.readers` has."""


FaultEvent = Callable[[Store, LabFault, float, float | None], dict[str, object] | None]
"""Returns a fault of the lab in the words of a spec."""


class Placement(Protocol):
    """Where a store has its objects, and requests that its model places in the same way."""

    def recorded(self, store: Store, trace: Trace) -> dict[str, list[int]]:
        """Return the numbers of the drives of each object that a trace reads, of a store that was replayed to."""

    def applied(self, trace: Trace, recorded: Mapping[str, Sequence[int]], spec: Any) -> Trace:
        """Return the requests with names of keys that the model of a spec places on these drives."""


class StagedFaults(Faults, Protocol):
    """What happens to a store during a replay.

    Attributes:
        problems: what could not be done, a sentence each.
    """

    problems: list[str]


class StoreKind(Protocol):
    """How a real store of one kind is installed, started and inspected.

    What only some stores have is absent by default.

    Attributes:
        name: as in the specs of its model.
        title: what people call it.
        installation: what it takes to install it, for messages.
        forms: topologies it can be started in, by name; the first is the default.
        request_trace: begins to record the requests of a target; None where the store does not tell of them. Raises
            `InputError` where the target refuses, or is another store.
        trace_format: the format of that record, as `traces.readers.registry` names it; None where there is none.
        file_name: the name of a file on a drive without what differs between objects, for stores whose files are not
            named by objects; None for the others.
        has_db: whether it keeps a database that a drive of its own may hold.
        has_accounts: whether its access keys have the form ``account:user``.
        installed_by_up: whether its program is installed when it is first started; otherwise only by request.
        fault_event: the entry of the section `faults` of its model's spec for a fault that began at `at` s and lasted
            until `until` s (None: to the end); None if the model has no such fault. None where it has none at all.
        placement: where it has its objects; None where it does not tell.
        reshard: reshards the index of the newest bucket at a time in s of a replay, to a number of shards; None where
            there is no such index.
        discard: removes what deletes have left on the drives; None where they leave nothing.
        settle: waits until what was written is read from where it stays; None where it is at once.
    """

    name: str
    title: str
    installation: str
    forms: Mapping[str, Form]
    request_trace: Callable[[Target], RequestTrace] | None = None
    trace_format: str | None = None
    file_name: Callable[[str], str] | None = None
    has_db: bool = False
    has_accounts: bool = False
    installed_by_up: bool = True
    fault_event: FaultEvent | None = None
    placement: Placement | None = None
    reshard: Callable[[Store, float, int], StagedFaults] | None = None
    discard: Callable[[Store], None] | None = None
    settle: Callable[[Store], None] | None = None

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        """Check that the store can be started in a form, with options of its own configuration.

        Raises:
            InputError: it cannot; the message names what is allowed.
        """

    def site(self, store: Store) -> dict[str, object]:
        """Return what the questions of its model's `init` ask beyond hosts and drives, by their names."""

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
        """Start the servers of a store that do not run, on its data, with its credentials.

        Waits for none of them unless others need it.

        Raises:
            InputError: a server that others need does not begin to run.
        """

    def unready(self, store: Store) -> Node | None:
        """A node that cannot be used yet; None where the whole store can."""
