"""Links of limited bandwidth, which the models of all stores share: NICs in each direction, with a queue before them.

Transfers share a link equally, as TCP connections do. The packets on their way to a full link wait in a queue, first
in, first out, so whatever comes to a full link waits for the bytes there, however small it is. Linux keeps at most two
buffers of a connection there (TCP small queues: tcp_small_queue_check in net/ipv4/tcp_output.c), each of up to 64 KiB
(GSO_MAX_SIZE). With one connection, 104 and 115 KB were measured in the queue of a box, and 44 to 77 KB for each of
several, with BBR and with CUBIC: one buffer of each.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated

from models.network.discipline import Discipline
from models.network.station import Indices, Station, StationList
from traces.spec.field_notes import Basis, LinkRate
from traces.spec.fit_bounds import Fit
from traces.spec.units import BytesPerSecond

NicBandwidth = Annotated[BytesPerSecond, Fit(1e6, 1e12, "B/s"), Basis("assumed: no limit", 1.25e8, 5e10), LinkRate()]
"""Bandwidth of the network interfaces of equal machines, as a spec gives it; 0: no limit."""

QUEUED_BYTES = 1 << 16
"""Bytes of each transfer in the queue before a full link."""

_HELD_SEGMENTS = 6
_LARGEST_SEGMENT_BYTES = 65483


def segment_bytes(mtu: int) -> int:
    """Return the payload of a packet of `mtu` bytes.

    The headers of IPv4 and of TCP with timestamps take 20 and 32 bytes (RFC 791, 9293, 7323).
    """
    return mtu - 52


def mtu_of(segment: int) -> int:
    """Return the size of a packet whose payload is `segment` bytes."""
    return segment + 52


def payload_fraction(mtu: int) -> float:
    """Return the fraction of the rate of an Ethernet link that payload can take in packets of `mtu` bytes.

    On the wire, header and checksum, preamble and gap add 38 bytes (IEEE 802.3). A client with 1 GbE and packets of
    1,500 bytes received the 94 % that follow from it.
    """
    return segment_bytes(mtu) / (mtu + 38)


def held_bytes(mtu: int) -> int:
    """Return the size of the largest body that Nagle's algorithm holds back until its headers are acknowledged.

    A server that sends headers and body by two writes without TCP_NODELAY sends the last segment of the body only when
    all before it is acknowledged (RFC 896), and a receiver delays the acknowledgement of few segments. Seen: up to 8 to
    9 KB on Ethernet (rook issue 17988), which are six segments; on loopback (65,536 bytes) 20 KiB, not 64 KiB, which
    is more than a segment (radosgw 20.2.4).
    """
    return min(_HELD_SEGMENTS * segment_bytes(mtu), _LARGEST_SEGMENT_BYTES)


FIRST_WINDOW_BYTES = 10 * 1448
"""Bytes that a connection sends in its first round trip: 10 segments (RFC 6928)."""


def link(
    name: str, role: str, indices: Indices, bytes_per_s: float, queue_bytes: float, connections: int = 1
) -> Station:
    """Return the station of a link in one direction, whose rate takes as many connections."""
    plain = Station(name, role, Discipline.PROCESSOR_SHARING, connections, indices)
    if not queue_bytes or not bytes_per_s:
        return plain
    queue_s, each_s = queue_bytes / bytes_per_s, QUEUED_BYTES / bytes_per_s * connections
    return replace(plain, queue_s=queue_s, queued_each_s=each_s)


def added_link(
    stations: StationList, machine: str, role: str, number: int, way: str, bytes_per_s: float, queue_bytes: float
) -> int:
    """Add the link of a machine in a direction, and return its index; that of `NOWHERE` if it has no limit."""
    if not bytes_per_s:
        return stations.nowhere
    return stations.add(link(f"{machine} {way}", f"{role} network", (number, way), bytes_per_s, queue_bytes))


def acknowledged_rounds(size_bytes: int) -> int:
    """Return how often a transfer waits for acknowledgements before all its bytes are on their way.

    A connection that was idle begins with `FIRST_WINDOW_BYTES`, and its window doubles with each round trip
    (slow start: RFC 5681; Linux also starts again after idle times, net.ipv4.tcp_slow_start_after_idle).
    """
    return max(0, math.ceil(math.log2(size_bytes / FIRST_WINDOW_BYTES + 1)) - 1) if size_bytes > 0 else 0
