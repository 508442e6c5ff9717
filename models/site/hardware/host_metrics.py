"""What the metrics of node_exporter mean: cores, drives and links of hosts, and how busy they are.

Names and units: https://github.com/prometheus/node_exporter, collectors cpu, diskstats, netclass and netdev. The busy
time of a drive is that in which it had one access at least (`io_ticks` of Linux's diskstats): of a drive that serves
several accesses at a time it is more than its utilisation.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from traces.metrics.series import Metrics, Series

NAMES = (
    "node_cpu_seconds_total", "node_disk_io_time_seconds_total", "node_disk_io_time_weighted_seconds_total",
    "node_disk_reads_completed_total", "node_disk_writes_completed_total", "node_disk_read_bytes_total",
    "node_disk_written_bytes_total", "node_network_receive_bytes_total", "node_network_transmit_bytes_total",
    "node_network_speed_bytes",
)  # fmt: skip
"""The metrics that are used."""

DRIVES = r"nvme\d+n\d+|[svh]d[a-z]+|xvd[a-z]+|mmcblk\d+"
"""Names of whole drives; not of partitions, volumes and RAM disks."""

LINKS = r"(?!lo$|veth|docker|br|virbr|cni|cali|flannel|tunl|dummy|ifb|bond\d+\.).*"
"""Names of links that leave the host."""


@dataclass(frozen=True)
class Drive:
    """A drive: accesses per s, bytes per s, the fraction of time in which it was busy, and mean accesses at a time."""

    reads: float
    writes: float
    read_bytes: float
    written_bytes: float
    busy: float
    in_flight: float


@dataclass(frozen=True)
class Link:
    """A link: bytes per s in each direction, and its rate in bytes per s; NaN: it has none that is known."""

    received: float
    sent: float
    rate: float


@dataclass(frozen=True)
class Host:
    """A host: its number of cores, those busy on average, those that other guests of a hypervisor took, and devices."""

    cores: int
    busy_cores: float
    stolen_cores: float
    drives: dict[str, Drive]
    links: dict[str, Link]


def hosts(
    metrics: Metrics, instances: str = ".*", drives: str = DRIVES, links: str = LINKS, least_accesses: float = 0.0
) -> dict[str, Host]:
    """Return the hosts by the instances that were scraped.

    Args:
        metrics: of a window.
        instances, drives, links: patterns of instances, names of drives and names of links.
        least_accesses: a drive with fewer accesses per s is left out.
    """
    cpu = metrics.named("node_cpu_seconds_total", instance=instances)
    found = {}
    for name in dict.fromkeys(each.labels.get("instance", "") for each in cpu):
        own = [each for each in cpu if each.labels.get("instance", "") == name and math.isfinite(each.rate)]
        if not own:
            continue
        here = re.escape(name)
        found[name] = Host(
            len({each.labels.get("cpu") for each in own}),
            sum(each.rate for each in own if each.labels.get("mode") not in ("idle", "iowait", "steal")),
            sum(each.rate for each in own if each.labels.get("mode") == "steal"),
            {
                device: drive
                for device in _devices(metrics.named("node_disk_io_time_seconds_total", instance=here, device=drives))
                if (drive := _drive(metrics, here, re.escape(device))).reads + drive.writes >= least_accesses
            },
            {
                device: _link(metrics, here, re.escape(device))
                for device in _devices(metrics.named("node_network_receive_bytes_total", instance=here, device=links))
            },
        )
    return found


def _devices(series: list[Series]) -> list[str]:
    return sorted({each.labels.get("device", "") for each in series if math.isfinite(each.rate)})


def _drive(metrics: Metrics, instance: str, device: str) -> Drive:
    def rate(name: str) -> float:
        return metrics.rate(f"node_disk_{name}_total", instance=instance, device=device) or 0.0

    return Drive(
        rate("reads_completed"),
        rate("writes_completed"),
        rate("read_bytes"),
        rate("written_bytes"),
        rate("io_time_seconds"),
        rate("io_time_weighted_seconds"),
    )


def _link(metrics: Metrics, instance: str, device: str) -> Link:
    def rate(name: str) -> float:
        return metrics.rate(f"node_network_{name}_bytes_total", instance=instance, device=device) or 0.0

    speed = metrics.gauge("node_network_speed_bytes", instance=instance, device=device)
    return Link(rate("receive"), rate("transmit"), speed if speed and speed > 0 else math.nan)
