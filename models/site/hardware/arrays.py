"""Reads arrays of drives: `mdadm --detail` and `/proc/mdstat` of Linux, and `zpool status` of ZFS.

Formats: mdadm, Detail.c (sizes in KiB); Linux, drivers/md/md.c (md_seq_show, blocks of 1 KiB); zpool-status(8).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from models.site.reader import Facts, Found, Reader, SiteFile

_LEVELS = 0, 1, 5, 6, 10
_DETAIL = re.compile(
    r"Raid Level : (?:raid)?(?P<level>\w+).*?Array Size : (?P<size>\d+).*?Raid Devices : (?P<members>\d+)", re.DOTALL
)
_MDSTAT = re.compile(
    r"^md\S* : active (?:\(\S+\) )?raid(?P<level>\d+) (?P<devices>.*)\n\s+(?P<size>\d+) blocks.*", re.MULTILINE
)
_GROUP = re.compile(r"^\s+(?P<kind>raidz[123]?|mirror|draid[123]?\S*)-\d+\s+[A-Z]+", re.MULTILINE)
_SERVES = {
    "mirror": "a mirror serves as many small reads as its drives together",
    "raidz": "a raidz serves about as many small reads as one of its drives",
}


class _Array(NamedTuple):
    """An array: level, number of members, and usable bytes."""

    level: int
    members: int
    size_bytes: float


def read_mdadm(file: SiteFile) -> Found:
    """Return arrays in `mdadm --detail`."""
    found = [(each["level"], int(each["members"]), each["size"]) for each in _DETAIL.finditer(file.text)]
    return _arrays([_Array(int(level), number, 1024.0 * int(size)) for level, number, size in found if level.isdigit()])


def read_mdstat(file: SiteFile) -> Found:
    """Return arrays in `/proc/mdstat`."""
    return _arrays(list(_active(file.text)))


def _active(text: str) -> Iterator[_Array]:
    for row in _MDSTAT.finditer(text):
        stated = re.search(r"\[(\d+)/\d+\]", row[0])
        members = int(stated[1]) if stated else len(re.findall(r"\S+\[\d+\](?!\([SF]\))", row["devices"]))
        yield _Array(int(row["level"]), members, 1024.0 * int(row["size"]))


def _arrays(found: Sequence[_Array]) -> Found:
    """Return the most frequent kind of arrays with the most bytes, each as a drive of the host.

    Raises:
        ValueError: a spec has no such arrays.
    """
    known = [array for array in found if array.level in _LEVELS]
    if not known:
        raise ValueError(f"it has no array of level {', '.join(map(str, _LEVELS))}")
    kinds: Counter[tuple[int, int]] = Counter()
    for array in known:
        kinds[array.level, array.members] += round(array.size_bytes)
    (level, members), size = max(kinds.items(), key=lambda each: each[1])
    taken = [array for array in known if (array.level, array.members) == (level, members)]
    facts: Facts = {"drives": len(taken), "raid-level": level, "raid-members": members}
    facts["drive.capacity"] = f"{round(size / len(taken) / 1e9)}GB"
    notes = [f"each drive of a host is an array: RAID {level} of {members}; its times are those of a member"]
    if others := len(found) - len(taken):
        notes.append(f"{others} other arrays are left out")
    return Found(facts, tuple(notes))


def read_pool(file: SiteFile) -> Found:
    """Return what kinds of groups a ZFS pool has: in notes, as the model is of drives without ZFS."""
    groups = Counter(match["kind"] for match in _GROUP.finditer(file.text))
    if not groups:
        return Found({}, ("its drives are not in mirrors or raidz groups; each is a drive",))
    has = ", ".join(f"{count} {kind}" for kind, count in groups.items())
    serves = [text for kind, text in _SERVES.items() if any(name.startswith(kind) for name in groups)]
    notes = [f"ZFS is not in the model: the pool has {has}; {'; '.join(serves)}; give drives that serve as many"]
    if re.search(r"^\s*logs\s*$", file.text, re.MULTILINE):
        notes.append(
            "it has drives for the log, which take synced writes; give drives with its time of a durable write"
        )
    return Found({}, tuple(notes))


_OF_ARRAYS = frozenset({"drives", "drive.capacity"})

MDADM = Reader("mdadm --detail", lambda file: bool(_DETAIL.search(file.text)), read_mdadm)
MDSTAT = Reader("/proc/mdstat", lambda file: file.text.lstrip().startswith("Personalities :"), read_mdstat, _OF_ARRAYS)
ZPOOL = Reader(
    "zpool status",
    lambda file: bool(re.search(r"^\s*NAME\s+STATE\s+READ\s+WRITE\s+CKSUM", file.text, re.MULTILINE)),
    read_pool,
)
"""The readers."""
