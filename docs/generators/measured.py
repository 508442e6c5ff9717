"""Pages of what benchmarks measured: one for each CSV file next to a benchmark, and one of conclusions."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from docs.generators.markdown import table

FOLDER = "measured"
TITLES = {
    "box/minio_box.csv": "MinIO in a box: loads",
    "box/minio_links.csv": "MinIO in a box: full links, with and without a queue",
    "box/minio_disks.csv": "MinIO in a box: disks that choose the nearest access",
    "box/minio_parts.csv": "MinIO in a box: uploads in parts",
    "box/minio_uneven.csv": "MinIO in a box: hosts that differ",
    "box/minio_failures.csv": "MinIO in a box: failures",
    "box/minio_healing.csv": "MinIO in a box: healing",
    "box/ceph_loads.csv": "Ceph in a box: loads",
    "box/ceph_uneven.csv": "Ceph in a box: hosts that differ",
    "box/ceph_failures.csv": "Ceph in a box: failures",
    "box/ceph_multipart.csv": "Ceph in a box: uploads in parts",
    "box/ceph_spill.csv": "Ceph in a box: a block.db that spills",
    "box/ceph_accesses.csv": "Ceph in a box: accesses of an operation",
    "box/swift_loads.csv": "Swift in a box: loads",
    "box/swift_failures.csv": "Swift in a box: failures",
    "box/swift_large_objects.csv": "Swift in a box: large objects",
    "box/swift_background.csv": "Swift in a box: background work",
    "box/swift_earlier.csv": "Swift in a box: loads measured earlier",
    "box/juicefs_box.csv": "JuiceFS in a box: loads",
    "box/juicefs_conflicts.csv": "JuiceFS: several clients in one folder and on one file",
    "box/s3fs_box.csv": "s3fs in a box: loads",
    "box/seaweedfs_loads.csv": "SeaweedFS in a box: loads",
    "box/seaweedfs_failures.csv": "SeaweedFS in a box: failures",
    "box/versitygw_loads.csv": "versitygw in a box: loads",
    "box/lab_spec.csv": "Ceph and Swift on loopback: specs of the lab",
    "loopback.csv": "Garage and SeaweedFS on loopback",
    "file_system_failures.csv": "Failures below file systems",
    "locality_figures.csv": "Learned workloads: bursts, reuse and hit ratios",
    "locality_latencies.csv": "Learned workloads: simulated latencies",
    "page_cache.csv": "The page cache of a MinIO",
    "file_system_accesses.csv": "Accesses of file systems for requests of stores",
    "interval_coverage.csv": "How often intervals contain the long-run value",
    "engine/memory.csv": "Memory and CPU time of simulations",
    "replay/watched_replay.csv": "What watching a replay changes",
}
"""Titles of the pages, by file in `benchmarks`."""
ELSEWHERE = {"box/stores.csv", "box/accesses.csv", "published/discrepancy.csv", "history.csv"}
"""Files of which other pages are made, and the record of `benchmarks/history.py`."""
_CONCLUSIONS = {
    "minio-box.md": "MinIO in a box",
    "minio-failures.md": "Failures of MinIO",
    "ceph-box.md": "Ceph in a box",
    "swift-box.md": "Swift in a box",
    "locality.md": "Learned workloads",
}


def measured_pages(benchmarks: Path, docs: Path) -> dict[str, str]:
    """Return the pages by path: conclusions, with a link to each table, and one page for each file of `TITLES`."""
    pages = {f"{FOLDER}/index.md": _conclusions(docs)}
    return pages | {_place(name): _page(benchmarks, name, title) for name, title in TITLES.items()}


def _place(name: str) -> str:
    return f"{FOLDER}/{Path(name).stem.replace('_', '-')}.md"


def _conclusions(docs: Path) -> str:
    parts = ["# Measured next to predicted\n", "What follows from the measurements, then all figures.\n"]
    for name, title in _CONCLUSIONS.items():
        parts += [f"## [{title}](../{name})\n", _section(docs / name)]
    parts.append("## All figures\n")
    parts += [f"- [{title}]({Path(_place(name)).name})" for name, title in TITLES.items()]
    return "\n".join(parts) + "\n"


def _section(page: Path) -> str:
    """Return the conclusions of a page: the items of lists that begin in bold.

    Raises:
        ValueError: it has none.
    """
    found = re.findall(r"^- (\*\*.+?)(?=\n- |\n\n)", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"{page}: has no conclusions, such as '- **Sentence.** Details'")
    items = "".join(f"- {' '.join(each.split())}\n" for each in found)
    return re.sub(r"\]\((?!https?:|#)", "](../", items)


def _page(benchmarks: Path, name: str, title: str) -> str:
    with (benchmarks / name).open(newline="", encoding="utf-8") as file:
        columns, *rows = csv.reader(file)
    return "\n".join([
        f"# {title}\n",
        f"The file is `benchmarks/{name}`; [Benchmarks](../benchmarks.md) says how it is made.\n",
        table([column.replace("_", " ") for column in columns], [list(map(_cell, row)) for row in rows]),
    ])  # fmt: skip


def _cell(text: str) -> str:
    """Return a cell; long numbers with four digits."""
    return f"{float(text):.4g}" if re.fullmatch(r"-?\d*\.\d{5,}(e-?\d+)?", text) else text


def unnamed(benchmarks: Path) -> Sequence[str]:
    """Return the CSV files of which no page is made."""
    files = {path.relative_to(benchmarks).as_posix() for path in benchmarks.rglob("*.csv")}
    return sorted(files - set(TITLES) - ELSEWHERE)
