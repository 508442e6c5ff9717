"""Reads `ethtool DEVICE`, the nominal rate of a link, and `iperf3`, JSON or text, a measured one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from models.shared.links import mtu_of, payload_fraction
from models.site.reader import Found, Reader, SiteFile

_MTU = 1500  # of Ethernet without jumbo frames
_RATE = re.compile(
    r"^\s*\[\s*(SUM|\d+)\]\s+0?0\.0+\s*-\s*[\d.]+\s+sec\s.*?([\d.]+)\s+([KMGT]?)bits/sec.*?(sender|receiver)?\s*$",
    re.MULTILINE,
)
_UDP = "a test with UDP sends at the rate that it is given; one with TCP, the default, shows that of the link"
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SPEED = re.compile(r"^\s*Speed:\s*(\S.*?)\s*$", re.MULTILINE)


def rate_text(bits_per_s: float) -> str:
    """Return a bandwidth as specs have it, in Gbit/s with three digits."""
    return f"{bits_per_s / 1e9:.3g}Gbit/s"


def read_ethtool(file: SiteFile) -> Found:
    """Return the rate of a link.

    Raises:
        ValueError: the link has no rate.
    """
    (speed, *further) = _SPEED.findall(file.text)
    match = re.fullmatch(r"(\d+)Mb/s", speed)
    if match is None:
        raise ValueError(f"the link has no rate: Speed: {speed}")
    notes = ("it has several links; the first one is used",) if further else ()
    return Found({"nic": rate_text(int(match[1]) * 1e6)}, notes)


def read_iperf(file: SiteFile) -> Found:
    """Return the rate of the link that carried a transfer: the payload that was received, and its headers.

    Raises:
        ValueError: the test failed, or sent UDP at a given rate.
    """
    if (file.fields["start"].get("test_start") or {}).get("protocol") == "UDP":
        raise ValueError(_UDP)
    if error := file.fields.get("error"):
        raise ValueError(f"iperf3 says: {error}")
    end = file.fields["end"]
    total = end.get("sum_received") or end["sum"]
    return _link_of(float(total["bits_per_second"]), file.fields["start"].get("tcp_mss_default"))


def read_iperf_text(file: SiteFile) -> Found:
    """Return the measured rate in the text of iperf3 or iperf: that of all connections, as received.

    Raises:
        ValueError: it has no rate, or that of a test with UDP, which sends at a given rate.
    """
    if "Datagrams" in file.text:
        raise ValueError(_UDP)
    rows = _RATE.findall(file.text)
    if not rows:
        raise ValueError("it has no rate; the test failed or was stopped")
    best = max(rows, key=lambda row: (row[0] == "SUM", row[3] == "receiver", float(row[1]) * _PREFIXES[row[2]]))
    return _link_of(float(best[1]) * _PREFIXES[best[2]])


def _link_of(received_bits_per_s: float, segment: int | None = None) -> Found:
    """Return the rate of the link that carried payload in packets with as many bytes of it, and their headers."""
    mtu = mtu_of(segment) if segment else _MTU
    return Found({"nic": rate_text(received_bits_per_s / payload_fraction(mtu))})


def _is_iperf(file: SiteFile) -> bool:
    fields = file.fields
    return isinstance(fields.get("end"), Mapping) and isinstance(fields.get("start"), Mapping) and "intervals" in fields


ETHTOOL = Reader(
    "ethtool", lambda file: file.text.lstrip().startswith("Settings for") and bool(_SPEED.search(file.text)),
    read_ethtool,
)  # fmt: skip
"""The reader of the nominal rate."""

IPERF3 = Reader("iperf3 -J", _is_iperf, read_iperf)
"""The reader of a measured rate."""

IPERF3_TEXT = Reader(
    "iperf3", lambda file: bool(re.search(r"^\s*\[ *ID\] Interval", file.text, re.MULTILINE)), read_iperf_text
)
"""The reader of a measured rate in text."""
