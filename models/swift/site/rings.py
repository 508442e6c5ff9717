"""Reads a ring of Swift, a file such as `object.ring.gz` (swift/common/ring/ring.py, RingData.serialize_v1)."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from models.site.reader import Found, Reader, SiteFile
from models.site.site_text import RING
from models.swift.site.readers import Device, found_of

_HEAD = struct.Struct("!4sHI")  # mark, version, bytes of the JSON


def _header(file: SiteFile) -> Mapping[str, Any]:
    """Return the JSON at the begin of a ring: its devices, and the partitions in powers of two.

    Raises:
        ValueError: the ring is of another version, or cut off.
    """
    data = file.text[: _HEAD.size].encode("latin-1")
    if len(data) < _HEAD.size:
        raise ValueError("it is cut off")
    _, version, length = _HEAD.unpack(data)
    if version != 1:
        raise ValueError(f"it has version {version}; that of swift-ring-builder RING.builder is text")
    header = json.loads(file.text[_HEAD.size : _HEAD.size + length])
    if not isinstance(header, Mapping):
        raise ValueError("it has no header")
    return header


def read_ring_file(file: SiteFile) -> Found:
    """Return hosts, drives, zones, partitions and replicas of a ring."""
    header = _header(file)
    devices = [
        Device(str(each["region"]), str(each["zone"]), str(each["ip"]), str(each["port"]), float(each["weight"]))
        for each in header["devs"]
        if each and float(each["weight"]) >= 0
    ]
    return found_of(devices, 32 - int(header["part_shift"]), float(header["replica_count"]))


READERS = (Reader("ring of Swift", lambda file: file.text.startswith(RING.decode()), read_ring_file),)
"""The reader of ring files."""
