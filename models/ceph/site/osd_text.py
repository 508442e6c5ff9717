"""Reads the text of `ceph osd tree`, `ceph osd df tree` and `ceph osd df`, of all releases since Firefly.

Formats: src/osd/OSDMap.cc (print_tree) and src/mgr/DaemonServer.cc (osd df). Sizes are in powers of 1024. Text may have
been pasted: without its indentation, or with lines that were wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from models.ceph.site.osds import ROUGH_PGS, Osd, facts_of_osds, fill, without_hosts
from models.site.reader import Found, Reader, SiteFile

_NUMBER = r"\d+(?:\.\d+)?"
_NAME = r"(?:(?P<type>[a-z][\w-]*)\s+(?P<name>\S+)|(?P<osd>osd\.\d+))"
_CLASS = r"(?:(?P<class>[a-zA-Z][\w.-]*)\s+)?"
_LINE = re.compile(
    rf"^\s*(?P<id>-?\d+)\s+{_CLASS}(?P<weight>{_NUMBER}|-)\s+{_NAME}"
    rf"(?:\s+(?P<status>up|down|DNE|destroyed|exists|new)(?:\s+(?P<reweight>{_NUMBER}))?.*)?\s*$"
)
_DF_LINE = re.compile(
    rf"^\s*(?P<id>-?\d+)\s+{_CLASS}(?P<weight>{_NUMBER}|-)\s+(?P<reweight>{_NUMBER}|-)\s+"
    rf"(?P<size>{_NUMBER})\s*(?P<unit>[KMGTPEkmgtpe]?)(?:i?B)?\s.*?\s"
    rf"(?P<use>{_NUMBER}|-)\s+(?:{_NUMBER}|-)(?:\s+(?P<pgs>\d+|-))?(?:\s+(?P<status>up|down|destroyed|DNE))?"
    rf"(?:\s+{_NAME})?\s*$"
)
_ROUNDED, _LEAST_WEIGHT = 1.05, 0.02  # weights are rounded
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}


def _rows(file: SiteFile, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the rows of a table; a row that was wrapped continues on the next two lines at most."""
    lines = file.text.expandtabs().splitlines()
    for number, line in enumerate(lines):
        if not re.match(r"\s*-?\d+\s", line):
            continue
        for more in range(3):
            wrapped = [each.strip() for each in lines[number + 1 : number + 1 + more]]
            if match := pattern.match(" ".join([line, *wrapped])):
                yield match
                break
            if number + 1 + more < len(lines) and re.match(r"\s*-\d+\s", lines[number + 1 + more]):
                break  # a bucket of the tree begins


def read_tree(file: SiteFile) -> Found:
    """Return what `ceph osd tree` says; before Luminous it has no device classes.

    An OSD that is not below a host, such as one that was removed from CRUSH, holds no data.
    """
    host, root, host_column, strays = "", "", 0, 0
    osds: dict[str, Osd] = {}
    weights: dict[str, float] = {}
    rows = list(_rows(file, _LINE))
    hosts = [row.start("type") for row in rows if row["type"] == "host"]
    # Text that was pasted without its indentation has all names in a column.
    is_indented = any(row["osd"] and row.start("osd") > min(hosts, default=0) for row in rows)
    for row in rows:
        if row["type"]:
            host, root = _place(row, host, root)
            if row["type"] == "host":
                host_column = row.start("type")
                weights[host] = max(weights.get(host, 0.0), 0.0 if row["weight"] == "-" else float(row["weight"]))
        elif not host or (is_indented and row.start("osd") <= host_column):
            strays += 1
        elif row["osd"] not in osds:
            weight = 0.0 if row["weight"] == "-" else float(row["weight"])
            number = int(row["osd"].removeprefix("osd."))
            is_in = float(row["reweight"] or 1) > 0
            osds[row["osd"]] = Osd(
                host, row["class"] or "", weight * 2**40, row["status"] in (None, "up"), number, -1, root, weight, is_in
            )
    if not osds and strays:
        raise ValueError("it has no hosts")
    found = facts_of_osds(list(osds.values()))
    notes = [f"{strays} OSDs on no host are left out"] if strays else []
    return Found(found.facts, (*found.notes, *notes, *_lacking(osds.values(), weights)))


def _lacking(osds: Iterable[Osd], weights: Mapping[str, float]) -> list[str]:
    """Return a note if hosts weigh more than the OSDs below them, as where lines were left out."""
    below = dict.fromkeys(weights, 0.0)
    for osd in osds:
        below[osd.host] += osd.weight or 0.0
    lacking = [host for host, weight in weights.items() if weight > _ROUNDED * below[host] + _LEAST_WEIGHT]
    if not lacking:
        return []
    theirs, own = (sum(of_hosts[host] for host in lacking) for of_hosts in (weights, below))
    which = f"{len(lacking)} of {len(weights)} hosts weigh {theirs:.4g}, the OSDs below them {own:.4g}"
    return [f"{which}: the text lacks OSDs, so their numbers are too small"]


def _place(row: re.Match[str], host: str, root: str) -> tuple[str, str]:
    """Return host and root after the row of a bucket; a shadow tree has the names of its tree before a `~`."""
    name = row["name"].partition("~")[0]
    if row["type"] == "root":
        return "", name
    return (name if row["type"] == "host" else host), root


def read_df(file: SiteFile) -> Found:
    """Return what `ceph osd df tree` says: hosts, drives with their sizes, and fill; `ceph osd df` has no hosts."""
    host, root = "", ""
    osds: list[Osd] = []
    nodes: list[Mapping[str, Any]] = []
    for row in _rows(file, _DF_LINE):
        if row["type"]:
            host, root = _place(row, host, root)
            continue
        size_bytes = float(row["size"]) * 2 ** _POWERS[row["unit"].upper()]
        groups = {"pgs": int(row["pgs"])} if row["pgs"] and row["pgs"] != "-" else {}
        weight, reweight = (None if row[name] == "-" else float(row[name]) for name in ("weight", "reweight"))
        is_up, is_in = row["status"] in (None, "up"), reweight is None or reweight > 0
        number = int(row["osd"].removeprefix("osd.") if row["osd"] else row["id"])
        osds.append(
            Osd(host, row["class"] or "", size_bytes, is_up, number, groups.get("pgs", -1), root, weight, is_in)
        )
        used = 0.0 if row["use"] == "-" else float(row["use"])
        nodes.append({"type": "osd", "kb": size_bytes / 1024, "kb_used": used * size_bytes / 102400, **groups})
    if not host:
        return without_hosts(osds, nodes)
    found = facts_of_osds(osds)
    return Found(found.facts, (*found.notes, *fill(nodes)))


def _has(file: SiteFile, header: str) -> bool:
    return bool(re.search(header, file.text, re.MULTILINE))


READERS = (
    Reader(
        "ceph osd tree",
        lambda file: (
            _has(file, r"^\s*#?\s*(?:ID|id)\s.*(?i:WEIGHT)\s+(?i:TYPE)[ _]\s*(?i:NAME)") and "%USE" not in file.text
        ),
        read_tree,
    ),
    Reader(
        "ceph osd df tree", lambda file: _has(file, r"^\s*ID\s.*\n?.*%USE\s.*\n?.*TYPE[ _]\s*NAME"), read_df, ROUGH_PGS
    ),
    Reader("ceph osd df", lambda file: _has(file, r"^\s*ID\s.*REWEIGHT\s.*\n?.*%USE\s"), read_df, ROUGH_PGS),
)
"""The readers of OSDs in text."""
