"""The readers of hardware, which belong to no store."""

from __future__ import annotations

from models.site.hardware.fio import FIO
from models.site.hardware.links import ETHTOOL, IPERF3
from models.site.hardware.lsblk import LSBLK
from models.site.hardware.lscpu import LSCPU
from models.site.hardware.probe import PROBE

READERS = (LSCPU, LSBLK, ETHTOOL, IPERF3, PROBE, FIO)
"""Each of them."""
