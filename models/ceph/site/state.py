"""Reads what a Ceph cluster holds and which gateways it has: `ceph -s` and `ceph df detail`, as text and JSON.

Formats: src/mon/PGMap.cc and src/mgr/ServiceMap.cc. Sizes are in powers of 1024 in all releases; up to Luminous with
units such as GB or G.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from models.site.reader import Facts, Found, Reader, SiteFile

ROUGH = frozenset({"objects", "stored-size"})
"""Facts that statistics of buckets have more exactly."""

_STRIPED = "RADOS objects are counted as objects, although those above 4 MiB are several"
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_POWERS = " KMGTPE"
_SIZE = r"(\d+(?:\.\d+)?)\s*(bytes|[kKMGTPE]?i?B|[kKMGTPE]?)(?![\w.])"
_INTERNAL = re.compile(r"\.mgr|health_metrics|\.index|\.meta|\.log|control|non-ec|\.rgw\.root")


@dataclass(frozen=True)
class _Pool:
    """A pool with the objects and bytes that clients have stored in it."""

    name: str
    objects: float
    stored_bytes: float


def holdings(objects: float, total_bytes: float) -> Found:
    """Return the number of objects and their mean size."""
    if not objects:
        return Found({}, ("the cluster is empty",))
    size = max(1, round(total_bytes / objects))
    return Found({"objects": round(objects), "stored-size": f"{size}B"}, (_STRIPED,))


def _of_pools(pools: Iterable[_Pool]) -> Found:
    """Return what the pool with the objects of buckets holds: by its name, or that with the most bytes."""
    found = list(pools)
    named = [pool for pool in found if pool.name.endswith("buckets.data")]
    others = [pool for pool in found if not _INTERNAL.search(pool.name)]
    data = max(named or others, key=lambda pool: pool.stored_bytes, default=None)
    if data is None:
        raise ValueError("it has no pool for data")
    held = holdings(data.objects, data.stored_bytes)
    notes = [*held.notes, f"the data are in the pool {data.name}"]
    if larger := [pool.name for pool in others if pool.stored_bytes > data.stored_bytes]:
        notes.append(f"more bytes are in {', '.join(larger)}, which the spec leaves out")
    return Found(held.facts, tuple(notes))


def read_df(file: SiteFile) -> Found:
    """Return what `ceph df detail` says in JSON of the data pool."""
    stats = [(str(pool["name"]), pool["stats"]) for pool in file.fields["pools"]]
    return _of_pools(
        _Pool(name, float(each["objects"]), float(each.get("stored", each.get("bytes_used", 0))))
        for name, each in stats
    )


def read_df_text(file: SiteFile) -> Found:
    """Return what `ceph df`, or `ceph df detail`, says as text of the data pool."""
    lines = file.text.splitlines()
    start = next(number for number, line in enumerate(lines) if re.match(r"\s*(NAME|POOL)\s+ID\s", line))
    header = _cells(lines[start])
    size, objects = header.index("STORED" if "STORED" in header else "USED"), header.index("OBJECTS")
    pools = []
    for line in lines[start + 1 :]:
        cells = _cells(line)
        if not cells:
            break
        if len(cells) != len(header):
            raise ValueError(f"its pool {cells[0]} has {len(cells)} columns instead of {len(header)}")
        pools.append(_Pool(cells[0], _count(cells[objects]), _bytes(cells[size])))
    return _of_pools(pools)


def _cells(line: str) -> list[str]:
    """Return the cells of a line: names of columns of two words, and numbers with their units, are one each."""
    line = re.sub(r"\b(MAX|QUOTA|RAW|USED|UNDER) (AVAIL|OBJECTS|BYTES|USED|COMPR)\b", r"\1_\2", line)
    return re.sub(r"(?<=\d) (?=[KMGTPE]?i?B\b)", "", line).split()


def _count(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMGT]?)", text)
    if match is None:
        raise ValueError(f"{text!r} is no number of objects")
    return float(match[1]) * _UNITS[match[2]]


def _bytes(text: str) -> float:
    match = re.fullmatch(_SIZE, text)
    if match is None:
        raise ValueError(f"{text!r} is no size")
    unit = match[2][:1].upper().replace("B", "")
    return float(match[1]) * 1024.0 ** max(_POWERS.index(unit), 0) if unit else float(match[1])


def read_status(file: SiteFile) -> Found:
    """Return what `ceph -s` says in JSON: gateways and objects."""
    group = file.fields["pgmap"]
    found = holdings(float(group.get("num_objects", 0)), float(group.get("data_bytes", 0)))
    daemons = file.fields.get("servicemap", {}).get("services", {}).get("rgw", {}).get("daemons", {})
    gateways = len([name for name in daemons if name != "summary"])
    return Found({**found.facts, **({"gateways": gateways} if gateways else {})}, found.notes)


def read_status_text(file: SiteFile) -> Found:
    """Return what `ceph -s` says as text: gateways and objects."""
    facts: Facts = {}
    notes: tuple[str, ...] = ()
    if match := re.search(rf"objects:\s+(\d+(?:\.\d+)?\s*[kMGT]?) objects, ({_SIZE})", file.text):
        found = holdings(_count(match[1].replace(" ", "")), _bytes(match[2]))
        facts, notes = dict(found.facts), found.notes
    elif match := re.search(rf"pgmap .*?, ({_SIZE}) data, (\d+(?:\.\d+)?\s*[kMGT]?)objects", file.text):
        found = holdings(_count(match[4].replace(" ", "")), _bytes(match[1].replace(" ", "")))  # before Luminous
        facts, notes = dict(found.facts), found.notes
    if match := re.search(r"^\s*rgw:\s+(\d+) daemons? active", file.text, re.MULTILINE):
        facts["gateways"] = int(match[1])
    return Found(facts, notes)


STATE = (
    Reader(
        "ceph -s -f json",
        lambda file: isinstance(file.fields.get("pgmap"), dict) and "osdmap" in file.fields,
        read_status,
        ROUGH,
    ),
    Reader(
        "ceph -s",
        lambda file: bool(re.search(r"^\s*health:? HEALTH_", file.text, re.MULTILINE)) and "mon" in file.text,
        read_status_text,
        ROUGH,
    ),
    Reader("ceph df detail -f json", lambda file: {"stats", "pools"} <= file.fields.keys(), read_df, ROUGH),
    Reader(
        "ceph df detail",
        lambda file: bool(re.search(r"^\s*(NAME|POOL)\s+ID\s.*\bOBJECTS\b", file.text, re.MULTILINE)),
        read_df_text,
        ROUGH,
    ),
)
"""The readers of the state of a cluster."""
