"""Reads the logical cores of a host from `/proc/cpuinfo`, `numactl -H` and `dmidecode`.

Formats: Linux, arch/x86/kernel/cpu/proc.c; numactl(8); dmidecode(8), type 4 of SMBIOS.
"""

from __future__ import annotations

import re

from models.site.reader import Facts, Found, Reader, SiteFile

_PROCESSOR = re.compile(r"^\s*processor\s*:\s*\d+\s*$", re.MULTILINE)
_NODE = re.compile(r"^\s*node (\d+) cpus:((?: \d+)*)\s*$", re.MULTILINE)
_SOCKET = re.compile(r"^\s*Processor Information\s*$(.*?)(?=^\s*Handle 0x|\Z)", re.MULTILINE | re.DOTALL)


def _facts(threads: int, cores: int) -> Facts:
    """Return the facts of logical cores, of which physical cores may have several each; 0: not known how many."""
    each = threads // cores if cores else 1
    return {"cores": threads, **({"threads-per-core": each} if each > 1 else {})}


def read_cpuinfo(file: SiteFile) -> Found:
    """Return the number of logical cores in `/proc/cpuinfo`."""
    siblings, cores = (
        int(match[1]) if (match := re.search(rf"^\s*{name}\s*:\s*(\d+)", file.text, re.MULTILINE)) else 0
        for name in ("siblings", "cpu cores")
    )
    threads = len(_PROCESSOR.findall(file.text))
    return Found(_facts(threads, threads * cores // siblings if siblings else 0))


def read_numactl(file: SiteFile) -> Found:
    """Return the number of logical cores in `numactl -H`."""
    nodes = [len(cpus.split()) for _, cpus in _NODE.findall(file.text)]
    if not sum(nodes):
        raise ValueError("its nodes have no cpus")
    notes = [f"{len(nodes)} nodes of memory are taken as one; slower access to another's is left out"]
    return Found(_facts(sum(nodes), 0), tuple(notes if len(nodes) > 1 else ()))


def read_dmidecode(file: SiteFile) -> Found:
    """Return the number of logical cores of the populated sockets in `dmidecode`."""
    sockets = [each for each in _SOCKET.findall(file.text) if "Unpopulated" not in each]
    cores, threads = (
        sum(int(match[1]) for each in sockets if (match := re.search(rf"^\s*{name} Count: (\d+)", each, re.MULTILINE)))
        for name in ("Core", "Thread")
    )
    if not cores:
        raise ValueError("no socket of it says how many cores it has")
    return Found(_facts(threads or cores, cores))


CPUINFO = Reader("/proc/cpuinfo", lambda file: bool(_PROCESSOR.search(file.text)), read_cpuinfo)
NUMACTL = Reader("numactl -H", lambda file: bool(_NODE.search(file.text)), read_numactl, frozenset({"cores"}))
DMIDECODE = Reader(
    "dmidecode", lambda file: bool(_SOCKET.search(file.text)) and "Core Count:" in file.text, read_dmidecode,
    frozenset({"cores", "threads-per-core"}),
)  # fmt: skip
"""The readers."""
