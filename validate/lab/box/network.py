"""The network of a box: a namespace for each host, all joined by a bridge in one of its own, and the client's link.

The client's end of its link is in the namespace of this process, so that every client reaches the hosts by their
addresses. No host has a route to anything else, so nothing leaves the machine. Addresses of all ends are resolved
beforehand (permanent neighbours): a cut link is silence, on which only timeouts help.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError
from validate.lab.box.shape import NicShape, Shape

PORT = 9000
"""The port of every host's server."""

MOST_HOSTS = 100
_FIRST_HOST, _CLIENT = 100, 254  # last bytes of addresses
_SUBNETS = 256
_NETNS = Path("/run/netns")
_QUEUE_S = 0.05
_LEAST_QUEUE_BYTES = 1 << 18
_EXISTS = "File exists"


@dataclass(frozen=True)
class Network:
    """The names and addresses of a box's network.

    Attributes:
        prefix: of all names, which differs between labs.
        subnet: third byte of the addresses ``10.77.x.y``.
        hosts: number of hosts, which are numbered from 0.
    """

    prefix: str
    subnet: int
    hosts: int

    @property
    def bridge_namespace(self) -> str:
        """The namespace of the bridge."""
        return f"{self.prefix}-net"

    def namespace(self, host: int) -> str:
        """Return the namespace of a host."""
        return f"{self.prefix}-h{host}"

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All namespaces, that of the bridge first."""
        return (self.bridge_namespace, *map(self.namespace, range(self.hosts)))

    @property
    def client_link(self) -> str:
        """The client's end of its link; it vanishes with the bridge's namespace."""
        return f"{self.prefix}c"

    @property
    def range(self) -> str:
        """The addresses of the box."""
        return f"10.77.{self.subnet}.0/24"

    def address(self, host: int) -> str:
        """Return the address of a host."""
        return f"10.77.{self.subnet}.{_FIRST_HOST + host}"

    def entered(self, host: int, command: Sequence[str]) -> list[str]:
        """Return the command that runs `command` on a host, as the same process."""
        return ["nsenter", f"--net={_NETNS / self.namespace(host)}", *command]


def network_of(folder: Path, hosts: int) -> Network:
    """Return the network of a lab's folder, with a range of addresses to which there is no route yet.

    Raises:
        InputError: there are too many hosts.
    """
    if hosts > MOST_HOSTS:
        raise InputError(f"hosts is {hosts}; a box has at most {MOST_HOSTS}")
    digest = hashlib.blake2b(str(folder.resolve()).encode(), digest_size=4)
    taken = {str(route.get("dst")) for route in json.loads(_output(["ip", "-json", "route", "show", "table", "all"]))}
    first = digest.digest()[0]
    for i in range(_SUBNETS):
        network = Network(prefix_of(folder), (first + i) % _SUBNETS, hosts)
        if network.range not in taken:
            return network
    raise InputError("all addresses 10.77.0.0/16 are in use; a box needs 256 of them")


def prefix_of(folder: Path) -> str:
    """Return what all names of the network of a lab's folder begin with."""
    return f"tc{hashlib.blake2b(str(folder.resolve()).encode(), digest_size=4).hexdigest()}"


def set_up(network: Network, shape: Shape) -> bool:
    """Make the namespaces, links and the bridge; return whether the kernel adds the delay of the shape.

    Raises:
        InputError: the system refuses.
        FileExistsError: another lab has taken the addresses meanwhile.
    """
    for name in network.namespaces:
        _run(["ip", "netns", "add", name])
    delays = bool(shape.delay) and _can_delay(network)
    _run(["ip", "link", "add", network.client_link, *_client_link(network)])
    _batch(["ip", "-n", network.bridge_namespace], _bridge_commands(network))
    _batch(["ip"], _end_commands(network, network.client_link, _CLIENT))
    for host in range(network.hosts):
        _batch(["ip", "-n", network.namespace(host)], _host_commands(network, host))
    limit(network, range(network.hosts), shape.nic, shape.delay if delays else 0.0)
    client = shape.client_nic or shape.nic
    _shape_ends(network, "client", None, network.client_link, client, shape.delay if delays else 0.0)
    return delays


def limit(network: Network, hosts: Iterable[int], nic: NicShape | None, delay_s: float) -> None:
    """Set the rate of hosts' links, in both directions; the delay is that of what a host sends.

    Raises:
        InputError: the system refuses.
    """
    for host in hosts:
        _shape_ends(network, f"h{host}", network.namespace(host), "eth0", nic, delay_s)


def cut(network: Network, host: int, is_cut: bool) -> None:
    """Cut the link of a host, or restore it; no end of it notices, frames are lost on the way.

    Raises:
        InputError: the system refuses.
    """
    master = ["nomaster"] if is_cut else ["master", "bridge"]
    _run(["ip", "-n", network.bridge_namespace, "link", "set", "dev", f"h{host}", *master])


def left_of(folder: Path) -> list[str]:
    """Return the namespaces of a lab's folder that exist."""
    prefix = f"{prefix_of(folder)}-"
    return sorted(path.name for path in _NETNS.glob(f"{prefix}*"))


def remove(folder: Path) -> None:
    """Remove all namespaces of a lab's folder, and with them all links; harmless if there are none.

    Raises:
        InputError: the system refuses.
    """
    client = f"{prefix_of(folder)}c"
    if (Path("/sys/class/net") / client).exists():
        _run(["ip", "link", "delete", client])
    for name in left_of(folder):
        _run(["ip", "netns", "delete", name])


def _mac(network: Network, number: int) -> str:
    return f"02:77:{int(network.prefix[2:4], 16):02x}:{network.subnet:02x}:00:{number:02x}"


def _bridge_commands(network: Network) -> Iterator[str]:
    yield "link add bridge type bridge stp_state 0 forward_delay 0"
    yield "link set bridge up"
    for host in range(network.hosts):
        peer = f"name eth0 address {_mac(network, _FIRST_HOST + host)} netns {network.namespace(host)}"
        yield f"link add h{host} type veth peer {peer}"
        yield f"link set h{host} master bridge up"
    yield "link set client master bridge up"


def _client_link(network: Network) -> list[str]:
    peer = ["type", "veth", "peer", "name", "client", "netns", network.bridge_namespace]
    return ["address", _mac(network, _CLIENT), *peer]


def _end_commands(network: Network, device: str, own: int) -> Iterator[str]:
    """Yield the commands that give an end of a link its address, its route and its neighbours."""
    own_address = f"10.77.{network.subnet}.{own}"
    yield f"addr add {own_address}/24 dev {device} noprefixroute"
    yield f"link set {device} up"
    # Without quick acknowledgements, a server that does not set TCP_NODELAY has steps of 40 ms (Nagle's algorithm).
    yield f"route add {network.range} dev {device} src {own_address} quickack 1"
    for other in (*range(_FIRST_HOST, _FIRST_HOST + network.hosts), _CLIENT):
        if other != own:
            lladdr = _mac(network, other)
            yield f"neigh replace 10.77.{network.subnet}.{other} lladdr {lladdr} dev {device} nud permanent"


def _host_commands(network: Network, host: int) -> Iterator[str]:
    yield "link set lo up"
    yield from _end_commands(network, "eth0", _FIRST_HOST + host)


def _shape_ends(
    network: Network, port: str, namespace: str | None, device: str, nic: NicShape | None, delay_s: float
) -> None:
    inside = ["tc"] if namespace is None else ["tc", "-n", namespace]
    _batch(inside, shaping(device, nic, delay_s))
    _batch(["tc", "-n", network.bridge_namespace], shaping(port, nic, 0.0))


def queue_bytes(bytes_per_s: float, burst: int) -> int:
    """Return how many bytes wait before a link of a box; further ones are lost."""
    return max(_LEAST_QUEUE_BYTES, round(bytes_per_s * _QUEUE_S) + burst)


def shaping(device: str, nic: NicShape | None, delay_s: float) -> list[str]:
    """Return the commands of tc for the rate of what a device sends, and its delay by netem."""
    parent, commands = "root handle 1:", [] if nic is not None else [f"qdisc replace dev {device} root noqueue"]
    if delay_s:
        commands.append(f"qdisc replace dev {device} root handle 1: netem delay {delay_s * 1e6:.0f}us limit 100000")
        parent = "parent 1:1 handle 10:"
    if nic is not None:
        rate = f"rate {nic.rate * 8:.0f}bit burst {nic.burst}b limit {queue_bytes(nic.rate, nic.burst)}b"
        commands.append(f"qdisc replace dev {device} {parent} tbf {rate}")
    return commands


def _can_delay(network: Network) -> bool:
    """Whether the kernel has netem."""
    trial = ["tc", "-n", network.bridge_namespace, "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "1ms"]
    return subprocess.run(trial, capture_output=True, check=False).returncode == 0


def _batch(command: list[str], lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if text:
        _run([*command, "-batch", "-"], text)


def _run(command: list[str], text: str | None = None) -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        if _EXISTS in said and text is not None and "quickack" in text:
            raise FileExistsError(said)
        raise InputError(f"network of the box: {' '.join(command)}: {said}")


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout or "[]"
