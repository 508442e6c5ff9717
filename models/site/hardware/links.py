"""Reads `ethtool DEVICE`, the nominal rate of a link, and `iperf3 -J`, a measured one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from models.shared.links import mtu_of, payload_fraction, segment_bytes
from models.site.reader import Found, Reader, SiteFile

_MTU = 1500  # of Ethernet without jumbo frames
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
        ValueError: the test failed.
    """
    if error := file.fields.get("error"):
        raise ValueError(f"iperf3 says: {error}")
    end = file.fields["end"]
    total = end.get("sum_received") or end["sum"]
    segment = file.fields["start"].get("tcp_mss_default") or segment_bytes(_MTU)
    return Found({"nic": rate_text(float(total["bits_per_second"]) / payload_fraction(mtu_of(segment)))})


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
