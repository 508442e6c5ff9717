"""Lines of an Amazon S3 server access log, for tests of what becomes of any log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

FIELDS = {
    "bucket": "b", "time": "21/Nov/2026:10:00:00 +0000", "remote": "192.0.2.1", "op": "REST.GET.OBJECT", "key": "k",
    "uri": "GET /b/k HTTP/1.1", "status": "200", "error": "-", "sent": "100", "size": "100", "total": "7", "turn": "5",
}  # fmt: skip


def line(**fields: Any) -> str:
    """A line; fields not given are those of a GET of 100 bytes."""
    f = FIELDS | fields
    return (
        f'owner {f["bucket"]} [{f["time"]}] {f["remote"]} requester id {f["op"]} {f["key"]} "{f["uri"]}" '
        f'{f["status"]} {f["error"]} {f["sent"]} {f["size"]} {f["total"]} {f["turn"]} "-" "agent" -'
    )


def at(second: int, **fields: Any) -> str:
    """A line of that second after ten o'clock."""
    return line(time=f"21/Nov/2026:{10 + second // 3600}:{second // 60 % 60:02d}:{second % 60:02d} +0000", **fields)


def log(path: Path, lines: Sequence[str]) -> Path:
    """A file with those lines."""
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
