"""Reads what a JuiceFS is: the output of `juicefs status` and `juicefs config` (cmd/status.go, pkg/meta/config.go)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.site.reader import Facts, Found, Reader, SiteFile
from traces.spec.units import binary_size


def _setting(file: SiteFile) -> Mapping[str, Any]:
    """Return the settings of a file system; empty: the file has none."""
    setting = file.fields.get("Setting", file.fields)
    is_one = isinstance(setting, Mapping) and {"BlockSize", "Storage", "UUID"} <= setting.keys()
    return setting if is_one else {}


def read_status(file: SiteFile) -> Found:
    """Return the size of blocks, and the number of machines with a mount now."""
    setting = _setting(file)
    facts: Facts = {"block": binary_size(int(setting["BlockSize"]) << 10)}
    notes = []
    sessions = file.fields.get("Sessions") or ()
    if mounts := {str(each.get("HostName", each.get("Hostname"))) for each in sessions}:
        facts["mounts"] = len(mounts)
        if len(mounts) < len(sessions):
            notes.append(f"{len(sessions)} sessions are on {len(mounts)} hosts, which are taken as mounts")
    if (compression := str(setting.get("Compression") or "none")) != "none":
        notes.append(f"blocks are compressed by {compression}, which the model leaves out")
    return Found(facts, tuple(notes))


READERS = (Reader("juicefs status", lambda file: bool(_setting(file)), read_status),)
"""The reader of JuiceFS."""
