"""Reads what a Garage cluster is: `garage.toml`, `garage status` and `garage layout show`.

Formats: the reference of the configuration file (doc/book/reference-manual/configuration.md), and garage/cli/cmd.rs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from models.site.kubernetes import quantity
from models.site.reader import Facts, Found, Reader, SiteFile
from traces.spec.units import parse_bytes

_HEALTHY = re.compile(r"^=+ HEALTHY NODES =+$(?P<rows>.*?)(?:^=+ |\Z)", re.MULTILINE | re.DOTALL)
_LAYOUT = re.compile(r"^=+ CURRENT CLUSTER LAYOUT =+$(?P<rows>.*?)(?:^=+ |\Z)", re.MULTILINE | re.DOTALL)
_CAPACITY = re.compile(r"\s(?P<size>\d+(?:\.\d+)?\s?[kMGTP]i?)B\b")
_NODE = re.compile(r"^(?P<id>[0-9a-f]{8,})\s+(?P<rest>.*)$", re.MULTILINE)
_DIFFERS = 1.1
_NO_DATA = re.compile(r"NO ROLE|pending|gateway")


def _options(file: SiteFile) -> Mapping[str, Any]:
    """Return the options of a configuration file; empty: it is none of Garage."""
    if "metadata_dir" not in file.text:
        return {}
    try:
        found = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError:
        return {}
    return found if {"metadata_dir", "data_dir"} <= found.keys() else {}


def read_options(file: SiteFile) -> Found:
    """Return copies, block size and syncs, and of the drives how many a host has."""
    options = _options(file)
    facts: Facts = {}
    if (copies := options.get("replication_factor", options.get("replication_mode"))) is not None:
        facts["replicas"] = 1 if copies == "none" else int(str(copies).partition("-")[0])
    if "block_size" in options:
        facts["block-size"] = parse_bytes(_with_unit(options["block_size"]))
    for name in ("data_fsync", "metadata_fsync"):
        if name in options:
            facts[name.replace("_", "-")] = bool(options[name])
    folders = options["data_dir"]
    facts["drives"] = sum("read_only" not in each for each in folders) if isinstance(folders, list) else 1
    notes = []
    if (engine := str(options.get("db_engine", "lmdb"))) != "lmdb":
        notes.append(f"metadata are in {engine}; the model is of LMDB")
    if (level := options.get("compression_level", "none")) != "none":
        notes.append(f"blocks are compressed by zstd (level {level}); `compressed` is what is left of them")
    return Found(facts, tuple(notes))


def _with_unit(size: int | str) -> int | str:
    """Return a size with a unit of parse_bytes: Garage reads ``10M`` as powers of 1000, as ``10MB``."""
    return f"{size}B" if isinstance(size, str) and re.fullmatch(r"[\d.]+[kMGT]i?", size) else size


def read_nodes(file: SiteFile, part: re.Pattern[str], others: str, left_out: str) -> Found:
    """Return the number of nodes with data, which are taken as hosts; gateways have none.

    Args:
        part: the part of the text that lists them.
        others: heading of another part, whose nodes or changes do not count.
        left_out: the note on that part.

    Raises:
        ValueError: no node has data.
    """
    match = part.search(file.text)
    nodes = list(_NODE.finditer(match["rows"] if match else ""))
    hosts = [each["rest"] for each in nodes if not _NO_DATA.search(each["rest"])]
    if not hosts:
        raise ValueError("no node has a role with a capacity")
    notes = [f"{len(nodes) - len(hosts)} nodes without data are left out"] if len(nodes) > len(hosts) else []
    notes += [left_out] if others in file.text else []
    sizes = [quantity(size["size"]) for rest in hosts if (size := _CAPACITY.search(rest))]
    if sizes and max(sizes) > _DIFFERS * min(sizes):
        notes.append(f"nodes have {min(sizes) / 1e9:,.0f} to {max(sizes) / 1e9:,.0f} GB; a spec has equal ones")
    return Found({"hosts": len(hosts), **({"host-capacity": fmean(sizes)} if sizes else {})}, tuple(notes))


READERS = (
    Reader("garage.toml", lambda file: bool(_options(file)), read_options),
    Reader(
        "garage status",
        lambda file: bool(_HEALTHY.search(file.text)),
        lambda file: read_nodes(file, _HEALTHY, "FAILED NODES", "nodes that have failed are left out"),
    ),
    Reader(
        "garage layout show",
        lambda file: bool(_LAYOUT.search(file.text)),
        lambda file: read_nodes(file, _LAYOUT, "STAGED ROLE CHANGES", "changes that are not applied yet are left out"),
    ),
)
"""The readers of Garage."""
