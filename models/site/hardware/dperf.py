"""Reads the table of `dperf --verbose`: how fast each drive of a host reads and writes files.

Format: pkg/dperf/result.go, whose rates are in powers of 1024. Without `--verbose` it has the sums of all drives only.
"""

from __future__ import annotations

import re
from statistics import mean

from models.site.reader import Found, Reader, SiteFile

_TITLE = re.compile(r"TotalREAD\W+TotalWRITE")
_RATE = r"(?P<{0}>[\d.]+)\s*(?P<{0}_unit>[KMGT]i)?B/s"
_ROW = re.compile(rf"(?P<path>/\S*)\W+{_RATE.format('read')}\W+{_RATE.format('write')}")
_FACTORS = {None: 1.0, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_DIFFERS = 1.2
"""Ratio of the fastest drive's rate to that of the slowest from which this is noted."""


def read(file: SiteFile) -> Found:
    """Return the bandwidths of a drive, the means over those of the host, all of which were busy at the same time.

    Of several tables, the last row of each drive counts.

    Raises:
        ValueError: it has no drive.
    """
    rows = {row["path"]: row for row in _ROW.finditer(file.text)}
    if not rows:
        raise ValueError("it has sums of all drives only; dperf --verbose has those of each")
    of_way = {
        way: [float(row[way]) * _FACTORS[row[f"{way}_unit"]] for row in rows.values()] for way in ("read", "write")
    }
    notes = [
        f"drives {way} {min(rates) / 1e6:,.0f} to {max(rates) / 1e6:,.0f} MB/s; the mean is taken"
        for way, rates in of_way.items()
        if max(rates) > _DIFFERS * min(rates)
    ]
    return Found({f"drive.{way}.bandwidth": mean(rates) for way, rates in of_way.items()}, tuple(notes))


DPERF = Reader("dperf --verbose", lambda file: bool(_TITLE.search(file.text)), read)
"""The reader."""
