"""Memory and CPU time of `tailcast simulate` by the number of requests, with the requests and without.

    python benchmarks/engine/memory.py [--size FACTOR] [--csv FILE]

`examples/minio.yaml` for longer and longer: a closed loop whose Trace repeats 100,000 rows, so that only results grow.
Peak memory and CPU time are those of the whole process. The rate of the example is some 1,530 requests per second.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "minio.yaml"
DURATIONS_S = {"requests": (65, 655), "no requests": (65, 655, 6550)}
COLUMNS = ("kept", "requests", "peak_mb", "cpu_s")


def measure(kept: str, duration_s: float) -> dict[str, object]:
    """Return the row of one simulation."""
    command = [sys.executable, "-m", "tailcast", "simulate", str(EXAMPLE), "--json"]
    command += ["--set", f"workload.duration={duration_s:g}s", *(["--no-requests"] if kept == "no requests" else [])]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}")
        output.seek(0)
        ops = json.load(output)["ops"]
    requests = sum(figures["count"] for figures in ops.values())
    cpu_s = used.ru_utime + used.ru_stime
    return dict(zip(COLUMNS, (kept, requests, round(used.ru_maxrss / 1024), round(cpu_s, 2)), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=1.0, help="factor of the durations (default: %(default)s)")
    parser.add_argument("--csv", type=Path, help="file for the rows (default: none)")
    arguments = parser.parse_args()
    rows = []
    for kept, durations_s in DURATIONS_S.items():
        for duration_s in durations_s:
            rows.append(measure(kept, duration_s * arguments.size))
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if arguments.csv is not None:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
