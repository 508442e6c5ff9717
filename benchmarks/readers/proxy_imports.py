"""Compares imports of lines of nginx with imports of as many lines of Amazon S3's access log.

    python benchmarks/readers/proxy_imports.py [--requests N] [--repeat N] [--json]

Both logs are made from samples of the tests. Whole imports (reading, sorting, a Trace and a Run) take turns, each in a
process of its own. Printed is how many times as long the S3 lines take as the lines of nginx, by CPU time and by the
wall clock: medians of the ratios of neighbours. The aim is at least 0.5.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import log_files
from readers import measured, named

AIM = 0.5
FORMATS = ("nginx-access-log", "s3-access-log")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000_000, help="lines of each log (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="number of measurements of each (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    requested = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in FORMATS}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / name for name in FORMATS}
        lines = {}
        for name, path in paths.items():
            log_files.write(named(name), requested.requests, path)
            lines[name] = path.read_bytes().count(b"\n")
        for _ in range(requested.repeat):
            for name, path in paths.items():
                found[name].append(measured("import", named(name), path))
    ratios = {
        clock: statistics.median(
            (s3[clock] / lines[FORMATS[1]]) / (nginx[clock] / lines[FORMATS[0]])
            for nginx, s3 in zip(*found.values(), strict=True)
        )
        for clock in ("cpu_s", "wall_s")
    }
    if requested.json:
        print(json.dumps({"lines": lines, "ratios": ratios, "aim": AIM}))
        return
    for name in FORMATS:
        times = ", ".join(f"{result['wall_s']:.1f}" for result in found[name])
        print(f"{name}: {lines[name]:,} lines in {times} s")
    print(f"S3 / nginx: {ratios['cpu_s']:.2f} by CPU time, {ratios['wall_s']:.2f} by the clock; the aim is {AIM}")


if __name__ == "__main__":
    main()
