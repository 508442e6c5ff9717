"""The log of the tutorial, rgw-ops.json.gz: synthetic, written from a simulation of the cluster beside it.

    python examples/tutorial/make_log.py

Its lines are as the operations log of a RADOS gateway of Reef has them, without the fields that an import does not use.
`total_time` is the simulated latency as the client sees it, in whole milliseconds.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from models.store import spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.spec.spec_file import load_mapping

HERE = Path(__file__).parent
BEGIN = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
SEED = 2026
WORKLOAD = {
    "rate": "290/s",
    "duration": "12s",
    "mix": {"GET": 74, "PUT": 20, "HEAD": 4, "DELETE": 2},
    "object_size": {"kind": "lognormal", "mean": "500KiB", "cv": 1.2, "max": "16MiB"},
    "keys": {"kind": "zipf", "count": 3000, "exponent": 0.8},
    "buckets": 2,
}
OPERATIONS = {"GET": "get_obj", "HEAD": "get_obj", "PUT": "put_obj", "DELETE": "delete_obj"}


def main() -> None:
    """Simulate, and write the log."""
    spec = spec_of(load_mapping(HERE / "cluster.yaml") | {"workload": WORKLOAD}, "the tutorial's cluster")
    text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines(simulate(spec, seed=SEED)))
    (HERE / "rgw-ops.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def lines(run: Run) -> Iterator[dict[str, Any]]:
    """An entry for each request, in order of arrival."""
    for row in run.requests.to_pylist():
        op, bucket, key, size = row["op"], row["bucket"], row["key"], row["size_bytes"]
        yield {
            "bucket": bucket,
            "object": key,
            "time": (BEGIN + timedelta(seconds=row["start_s"])).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "remote_addr": f"192.0.2.{10 + row['client'] % 4}",
            "operation": OPERATIONS[op],
            "uri": f"{op} /{bucket}/{key} HTTP/1.1",
            "http_status": "204" if op == "DELETE" else "200",
            "error_code": "",
            "bytes_sent": size if op == "GET" else 0,
            "bytes_received": size if op == "PUT" else 0,
            "object_size": size if op in ("GET", "PUT") else 0,
            "total_time": round((row["end_s"] - row["start_s"]) * 1e3),
        }


if __name__ == "__main__":
    main()
