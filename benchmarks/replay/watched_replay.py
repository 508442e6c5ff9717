"""What watching a replay changes: lateness, latency and CPU time of the client, on a MinIO of the lab.

    python benchmarks/replay/watched_replay.py [--rounds N] [--rate R] [--seconds S] [--out FILE]

Replays the same trace in each round without a page, with one that no one views, with one that is fetched each second,
and with the view of a terminal; the order alternates. What fetches stands for a browser, whose drawing is not measured:
it belongs on another machine's cores, or on spare ones. Appends a row for each replay to the CSV file, and prints the
medians. Starts the store, and stops it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from traces.spec.spec_file import validated
from traces.workload.generate import generate
from traces.workload.workload import Workload
from validate.lab import lab

ROOT = Path(__file__).resolve().parents[2]
VARIANTS = ("no page", "page", "page viewed", "terminal")
COLUMNS = (
    "variant", "round", "lag_p50_ms", "lag_p99_ms", "lag_max_ms", "late_fraction", "get_p50_ms", "get_p99_ms",
    "client_ms_per_op", "other_load",
)  # fmt: skip
MIX = {"GET": 80, "PUT": 20}


def write_trace(path: Path, rate_ops: float, length_s: float) -> None:
    """Write a trace of an open loop with objects of 32 KiB."""
    fields = {
        "rate": rate_ops,
        "duration": length_s,
        "mix": MIX,
        "object_size": "32KiB",
        "keys": {"kind": "uniform", "count": 500},
    }
    generate(validated(Workload, fields, "the benchmark", "workload"), 1).write(path)


def command_of(variant: str, trace: Path) -> list[str]:
    """Return the command of a variant."""
    more = ["--live"] if variant.startswith("page") else []
    return [sys.executable, "-m", "tailcast", "replay", str(trace), "--lab", "--json", *more]


def replayed(variant: str, trace: Path) -> dict[str, Any]:
    """Replay the trace, and return what the command prints."""
    command, environment = command_of(variant, trace), os.environ | {"PYTHONPATH": str(ROOT)}
    reader, writer = pty.openpty() if variant == "terminal" else os.pipe()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=writer, env=environment)
        os.close(writer)
        for line in lines_of(reader):
            if variant == "page viewed" and "watch the replay at " in line:
                threading.Thread(target=view, args=(line.split()[-1], process), daemon=True).start()
        if process.wait():
            raise SystemExit(f"{variant}: exit code {process.returncode}")
        out.seek(0)
        result: dict[str, Any] = json.load(out)
        return result


def lines_of(reader: int) -> Iterator[str]:
    """Yield what a process writes, until it has ended; reads of a terminal fail then."""
    with open(reader, errors="replace") as reading, contextlib.suppress(OSError):
        yield from reading


def view(url: str, process: subprocess.Popen[bytes]) -> None:
    """Fetch what a page fetches each second until the replay has ended."""
    with urlopen(f"{url}_dash-dependencies", timeout=30) as response:
        (follow,) = [each for each in json.load(response) if "opening.children" in each["output"]]
    outputs = [
        dict(zip(("id", "property"), each.split("."), strict=True)) for each in follow["output"].strip(".").split("...")
    ]
    number = 0
    while process.poll() is None:
        number += 1
        ticked = {"id": "tick", "property": "n_intervals", "value": number}
        body = {
            "output": follow["output"],
            "outputs": outputs,
            "inputs": [ticked],
            "changedPropIds": ["tick.n_intervals"],
        }
        data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        with (
            contextlib.suppress(URLError, ConnectionError, TimeoutError),
            urlopen(Request(f"{url}_dash-update-component", data, headers), timeout=30) as response,
        ):
            response.read()
        time.sleep(1.0)


def row_of(variant: str, number: int, result: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a replay."""
    schedule, cpu, latency_s = result["schedule"], result["cpu"], result["ops"]["GET"]["latency_s"]
    figures = {
        "lag_p50_ms": 1e3 * schedule["lag_p50_s"],
        "lag_p99_ms": 1e3 * schedule["lag_p99_s"],
        "lag_max_ms": 1e3 * schedule["lag_max_s"],
        "late_fraction": schedule["late_share"],
        "get_p50_ms": 1e3 * latency_s["p50"],
        "get_p99_ms": 1e3 * latency_s["p99"],
        "client_ms_per_op": 1e3 * cpu["client_per_op_s"],
        "other_load": cpu["other_share"] or 0.0,
    }
    return {"variant": variant, "round": number} | {name: f"{value:.4g}" for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6, help="replays of each variant (default: 6)")
    parser.add_argument("--rate", type=float, default=100.0, help="requests per second (default: 100)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a replay (default: 20)")
    parser.add_argument(
        "--out", type=Path, default=Path("watched_replay.csv"), help="CSV file (default: watched_replay.csv)"
    )
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.parquet"
        write_trace(trace, options.rate, options.seconds)
        lab.up("minio")
        try:
            for number in range(options.rounds):
                order = VARIANTS if number % 2 == 0 else VARIANTS[::-1]
                rows += [row_of(variant, number, replayed(variant, trace)) for variant in order]
        finally:
            lab.down("minio")
    is_new = not options.out.exists()
    with options.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerows(rows)
    for variant in VARIANTS:
        found = [row for row in rows if row["variant"] == variant]
        medians = (f"{name} {statistics.median(float(row[name]) for row in found):.3g}" for name in COLUMNS[2:])
        print(f"{variant}: {', '.join(medians)}")


if __name__ == "__main__":
    main()
