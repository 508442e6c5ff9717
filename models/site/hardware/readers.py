"""The readers of hardware, which belong to no store."""

from __future__ import annotations

from models.site.hardware.arrays import MDADM, MDSTAT, ZPOOL
from models.site.hardware.dperf import DPERF
from models.site.hardware.drive_lists import LSHW, NVME, SMARTCTL
from models.site.hardware.fio import FIO
from models.site.hardware.fio_text import FIO_TEXT
from models.site.hardware.links import ETHTOOL, IPERF3, IPERF3_TEXT
from models.site.hardware.lsblk import LSBLK
from models.site.hardware.lscpu import LSCPU
from models.site.hardware.probe import PROBE
from models.site.hardware.processor_tests import OPENSSL, SYSBENCH
from models.site.hardware.processors import CPUINFO, DMIDECODE, NUMACTL

READERS = (
    LSCPU, CPUINFO, NUMACTL, DMIDECODE, LSBLK, SMARTCTL, NVME, LSHW, MDADM, MDSTAT, ZPOOL, ETHTOOL, IPERF3, IPERF3_TEXT,
    PROBE, FIO, FIO_TEXT, DPERF, OPENSSL, SYSBENCH,
)  # fmt: skip
"""Each of them."""
