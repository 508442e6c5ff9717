"""The lines of JuiceFS's access log: calls with their arguments, results and status.

Layout: juicefs pkg/vfs/accesslog.go and pkg/vfs/vfs.go: ``time [uid:…,gid:…,pid:…] operation (arguments): status
(result) <seconds>``; release 1.4 writes ``operation (arguments): (result) - status <seconds>``. The SDK
(pkg/fs/fs.go) writes paths in place of inodes, and ``Operation (arguments): (result,status) <seconds>``. The time is
local, and that of the operation's end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from traces.readers.formats import Head

OWN_INODE = 0x7FFFFFFFFFFFF0
"""The lowest inode of a file of JuiceFS itself (pkg/vfs/internal.go: minInternalNode)."""

_LINE = re.compile(r"\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d\.\d+ \[uid:\d+,gid:\d+,pid:\d+\] \w+ \(.*<\d+\.\d+>$")

CALL = r"^(?<time>\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d\.\d+) \[(?<process>[^\]]*)\] (?<verb>\w+) (?<call>.*)$"
"""A line: time, process, operation (`verb`), and the rest (`call`)."""

# Names of files may hold any of the marks, so these go by the last ones. The status is last, first, or in the result.
_END = r" <(?<seconds>\d+\.?\d*)>$"
_FH = r"(?: \[fh:(?<handle>\d+)\])?"
_FORMS = {
    "with_result": r"^\((?<arguments>.*)\): \((?<result>[^()]*)\)" + _FH + r" - (?<status>[^()]*)" + _END,
    "later": r"^\((?<arguments>.*)\):?" + _FH + r" - (?<status>[^()]*)" + _END,
    "earlier": r"^\((?<arguments>.*)\): (?<status>[^()\[]+?)(?: \((?<result>[^()]*)\))?"
    + _FH
    + r"(?: \[[^\]]*\])*"
    + _END,
    "sdk": r"^\((?<arguments>.*)\): \((?<result>[^()]*)\)" + _END,
}
_WITHOUT = {"result": ("later",), "status": ("sdk",), "handle": ("sdk",)}


def _found(name: str) -> pl.Expr:
    return pl.coalesce([pl.col(form).struct.field(name) for form in _FORMS if form not in _WITHOUT.get(name, ())])


FORMS: Mapping[str, pl.Expr] = {form: pl.col("call").str.extract_groups(pattern) for form, pattern in _FORMS.items()}
"""The first step: the parts of a call in each of the layouts that it may have."""

PARTS: Mapping[str, pl.Expr] = {name: _found(name) for name in ("arguments", "result", "seconds", "status", "handle")}
"""The second step: the parts in the layout that it has; ``status`` is null for the SDK, and ``handle`` may be."""

END_NS = pl.col("time").str.to_datetime("%Y.%m.%d %H:%M:%S%.f", time_unit="ns", strict=False).cast(pl.Int64)
"""The local time of the end, ns."""


def recognises(head: Head) -> bool:
    """Return whether a file begins with an access log."""
    return any(_LINE.match(line) for line in head.lines)
