"""Seven requests to a real store on four drives, issued one after another, and the logs of the drives.

A PUT of a new object of 4 KiB and one that overwrites it, a GET and a DELETE; a PUT and a GET of 1 MiB; a LIST.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.runs import run_of
from traces.run import Run
from validate.lab.box.accesses import DriveLog

FOLDER = Path(__file__).with_name("recorded")
ZERO_AT = 1_700_000_000
LOGS = [DriveLog(0, i, FOLDER / f"d{i + 1}.accesses.tsv") for i in range(4)]


def recorded_run() -> Run:
    """The Run, without its accesses."""
    requests = json.loads((FOLDER / "requests.json").read_text())
    start_s, end_s = (np.array([request[name] for request in requests]) * 1e-9 for name in ("start_ns", "end_ns"))
    columns = {name: [request[name] for request in requests] for name in ("op", "key", "size_bytes")}
    info = {"zero_at": ZERO_AT, "created_buckets": {"b": "bench"}}
    return run_of(end_s - start_s, info=info, arrival_s=start_s, **columns)
