"""Reads the text of `ceph pg dump`, `ceph pg dump pgs_brief` and `ceph pg ls`, of all releases since Firefly.

Formats: src/mon/PGMap.cc (dump_pg_stats, dump_basic, dump_brief) and src/mgr/DaemonServer.cc (pg ls), whose lists of
OSDs end with the primary, as in ``[2,0,1]p2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from models.ceph.site.placed import placed_groups
from models.site.reader import Found, Reader, SiteFile

_HEADER = re.compile(r"^\s*(?:pg_stat|pg)\s.*\bacting\b.*$", re.IGNORECASE | re.MULTILINE)
_ROW = re.compile(r"^\s*(?P<pgid>\d+\.[0-9a-f]+)\s+(?P<columns>.*)$", re.MULTILINE)
_OSDS = re.compile(r"\[(?P<osds>[\d,NOE]*)\](?:p(?P<primary>-?\d+)|\s+(?P<next>-?\d+)\b)?")
_STATE = re.compile(r"(?:\S*(?:active|peered|down|incomplete|peering|stale|unknown|creating)\S*)")


def read(file: SiteFile) -> Found:
    """Return which OSDs have the placement groups of the data pool, and are their primaries."""
    return placed_groups(list(_rows(file.text)))


def _rows(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the placement groups as in JSON."""
    header = _HEADER.search(text)
    names = header[0].lower().split() if header else []
    bytes_at = names.index("bytes") - 1 if "bytes" in names else None
    for row in _ROW.finditer(text):
        lists = list(_OSDS.finditer(row["columns"]))
        if len(lists) < 2:
            raise ValueError(f"placement group {row['pgid']} lacks its OSDs, up and acting")
        state, acting = _STATE.search(row["columns"]), lists[1]
        osds = [int(each) for each in acting["osds"].split(",") if each.isdigit()]
        primary = acting["primary"] or (acting["next"] if "acting_primary" in names else None)
        numbers = row["columns"].split()
        yield {
            "pgid": row["pgid"],
            "acting": osds,
            "acting_primary": int(primary) if primary else osds[0] if osds else -1,
            "state": state[0] if state else "unknown",
            "stat_sum": {} if bytes_at is None else {"num_bytes": int(numbers[bytes_at])},
        }


PG_TEXT = Reader("ceph pg dump", lambda file: bool(_HEADER.search(file.text) and _ROW.search(file.text)), read)
"""The reader."""
