"""Ranges of what a Ceph spec assumes if it does not say, with the clusters and data sheets that span them.

A low and a high value are over the default. They are the values of single stores, not the error of a mean: constants
that differ from cluster to cluster for no known reason have the range of these clusters.
"""

from __future__ import annotations

from collections.abc import Mapping

from models.capabilities import Spread

_NICS = Spread(0.4, 4, "10GbE to 100GbE: assumed")
_CORES = Spread(0.5, 4, "16 to 128 threads a host: assumed")
_CPUS = (
    "PassMark's single-thread scores of server processors of 2012 to 2022 (January 2026) are 0.7 to 1.4 times that of "
    "the EPYC 7742, and a busy processor's clock is 0.77 to 1 of its highest"
)
_DRIVES = "data sheets of drives of one class, such as P3700, PM983, P4610 and CD6, and different fills"

_DEVICE: Mapping[str, Spread] = {
    "device.read": Spread(0.6, 1.7, _DRIVES),
    "device.write": Spread(0.4, 1.7, _DRIVES),
    "device.read_latency": Spread(0.8, 1.6, _DRIVES),
    "device.write_latency": Spread(0.4, 2.5, _DRIVES),
}

SPREADS: Mapping[str, Spread] = {
    "client.nic": _NICS,
    "hosts.nic": _NICS,
    "gateways.nic": _NICS,
    "hosts.cores.count": _CORES,
    "gateways.cores.count": Spread(0.5, 2, "4 to 16 cores a gateway: assumed"),
    "hosts.cores.thread_gain": Spread(0.4, 1.4, "0.1 to 0.35: assumed"),
    "network.latency": Spread(0.4, 2.5, "20 to 125 us one way: kernel TCP with and without a sleeping receiver"),
    "network.payload_fraction": Spread(
        0.92, 1.052, "0.87 to 0.99: 54.5 GB/s read from five NICs of 100GbE (2023), jumbo frames"
    ),
    "gateways.cpu": Spread(0.7, 1.8, _CPUS),
    "gateways.cpu.PUT.per_byte": Spread(
        0.6, 2.4, "2.5 to 9.7 ns a byte: 7 nodes (2019), 10 nodes (2023), 12 nodes (2025); digests differ by client"
    ),
    "gateways.cpu.GET.per_byte": Spread(0.7, 1.7, "1 to 2.5 ns a byte: 10 nodes (2023), 12 nodes (2025)"),
    "gateways.scales_to": Spread(0.7, 1.6, "10 to 22 cores: 13 to 15 used by each of 20 gateways (2023)"),
    "osd.read": Spread(
        0.8,
        6.5,
        "0.036 to 0.28 ms a read of 4 KiB without its messages: on RBD volumes (5 and 10 hosts of EPYC 7742, Reef "
        "2023), and of RGW at 5 K/s an OSD (10 nodes of the same kind, Quincy 2023)",
    ),
    "osd.write": Spread(
        0.6, 1.8, f"0.15 to 0.21 ms a transaction of 4 KiB (EPYC 7742, Pacific 2022, Quincy and Reef 2023); {_CPUS}"
    ),
    "osd.message": Spread(0.5, 1.3, "13 to 34 us: assumed, as few clusters tell it from the rest of an operation"),
    "osd.contention": Spread(0.5, 1.5, "0.02 to 0.07: one cluster; from 4 to 12 threads a drive 0.05 to 0.04 there"),
    "osd.commit": Spread(0.5, 3, "assumed: fitted to one cluster"),
    "osd.commit_member": Spread(0.6, 1.8, "8 to 26 us: 110 K transactions/s on one OSD (Pacific 2022), slower cores"),
    "osd.read_depth": Spread(0.25, 1, "1 to 4: two published clusters of hard disks want 1"),
    "osd.random_write_fraction": Spread(0.6, 1.6, "0.3 to 0.8: a published cluster of hard disks wants 0.5"),
    "filestore.overwrite_metadata_writes": Spread(0.2, 2, "0.1 to 1: shared blocks of inodes, or a log force for each"),
    **_DEVICE,
    **{f"{of}.{path}": spread for of in ("db", "index", "hosts.groups.*") for path, spread in _DEVICE.items()},
    "buckets.shard_query": Spread(0.6, 3, "0.06 to 0.3 ms: reads of 4 KiB without a gateway and with one"),
    "buckets.gateway_query": Spread(0.5, 2, "assumed: clock and processor of the published cycles are not known"),
    "buckets.gateway_entry": Spread(0.5, 2, "assumed: clock and processor of the published cycles are not known"),
    "buckets.listed_entry": Spread(0.3, 3, "assumed: published listings took 0.5 to 3 times the predicted time"),
    "access.buffer_pool_hits": Spread(0.8, 1.1, "0.72 to 0.99 of the page accesses: assumed"),
    "access.coalesced_fraction": Spread(0.5, 1.5, "0.25 to 0.75: assumed"),
    "pools.pg_num": Spread(0.25, 4, "256 to 4096: assumed"),
}
